"""A folder to work in, for every test of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import TOOLS, Place
from journal_collection import collect_files

BY_CHANCE = {"test_cli_signals"}
"""Modules whose runs end at no fixed moment, so that their journals are another evidence each time."""


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    (tmp_path / "tools.py").write_text(TOOLS)
    yield Place(tmp_path)
    if request.path.stem not in BY_CHANCE:
        collect_files(tmp_path)
