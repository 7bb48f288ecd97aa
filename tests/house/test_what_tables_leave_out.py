"""Each table says what it does not decide, and where that is decided: in modules that exist."""

from __future__ import annotations

import importlib
import re
from importlib.util import find_spec

import pytest

from statewright_states.requirements import TABLES

HEADING = "**What is not in this table**"


@pytest.mark.parametrize("name", [table.name for table in TABLES])
def test_a_table_ends_with_what_is_decided_elsewhere_and_names_modules_that_exist(name: str) -> None:
    text = importlib.import_module(f"statewright_states.{name}.table").__doc__ or ""
    *_, last = text.strip().split("\n\n")
    assert last.startswith(HEADING)
    named = re.findall(r"``((?:statewright|statewright_states|statewright_providers)\.[\w.]+)``", last)
    assert len(named) >= 4
    assert [module for module in named if find_spec(module) is None] == []
