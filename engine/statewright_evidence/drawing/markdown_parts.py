"""Pieces of Markdown: tables, anchors, and text that cannot be mistaken for markup."""

from __future__ import annotations

from collections.abc import Iterable

from statewright_evidence.drawing.picture import element_id
from statewright_evidence.drawing.words import one_line

SPECIAL = frozenset("\\`*[]<>|#~&")


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterable[str]:
    """A table with an empty line after it; nothing where it has no rows."""
    lines = [line(*row) for row in rows]
    if lines:
        heads = tuple(titles)
        yield from (line(*heads), "|" + "---|" * len(heads), *lines, "")


def line(*cells: str) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def anchor(identity: str) -> str:
    """The id, where links to it lead."""
    return f'<a id="{element_id(identity)}"></a>{plain(identity)}'


def linked(identity: str, words: str = "") -> str:
    """A link to where the id is anchored."""
    return f"[{plain(words or identity)}](#{element_id(identity)})"


def code(text: str) -> str:
    """Text in code type; where a backtick or a bar would break it, plain."""
    shown = one_line(text)
    return plain(shown) if set("`|") & set(shown) or not shown else f"`{shown}`"


def plain(text: str) -> str:
    """Text without a meaning to Markdown. Underscores between letters have none."""
    return "".join(f"&#{ord(letter)};" if letter in SPECIAL else letter for letter in one_line(text))
