"""A folder to work in, for every test of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import TOOLS, Place
from journal_collection import collect_files


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "tools.py").write_text(TOOLS)
    yield Place(tmp_path)
    collect_files(tmp_path)
