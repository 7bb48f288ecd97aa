"""A folder to work in, for every test of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import TOOLS, Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "tools.py").write_text(TOOLS)
    return Place(tmp_path)
