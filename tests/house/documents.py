"""The pages for people, and the blocks of code in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from house import ROOT

BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GOES_ON = "the example above"
"""Words in the paragraph before a block of Python: it goes on where the one before it ended."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code as it is printed."""

    page: str
    line: int
    language: str
    text: str
    before: str
    """The paragraph before it."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def pages() -> tuple[tuple[str, str], ...]:
    """Every page, by its path, with its text."""
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    return tuple((path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths)


@cache
def blocks(*languages: str) -> tuple[Block, ...]:
    """The blocks of all pages that are in one of these languages; all of them when none is named."""
    return tuple(block for block in _blocks() if not languages or block.language in languages)


def _blocks() -> Iterator[Block]:
    for page, text in pages():
        for found in BLOCK.finditer(text):
            before = text[: found.start()].rstrip().rpartition("\n\n")[2]
            yield Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2], before)


@cache
def programs() -> tuple[tuple[Block, str], ...]:
    """Each block of Python, and the whole program that it is the end of."""
    found: list[tuple[Block, str]] = []
    for block in blocks("python"):
        goes_on = GOES_ON in block.before
        assert not goes_on or (found and found[-1][0].page == block.page), f"{block}: there is no example above"
        found.append((block, f"{found[-1][1]}\n\n{block.text}" if goes_on else block.text))
    return tuple(found)
