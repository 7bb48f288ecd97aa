"""Pictures of the debugger's screen, as text: what stands there, and below it how each cell is set.

The pictures in ``screens`` are compared with what is drawn; ``UPDATE_SCREENS=1 pytest tests/engine/debugger`` draws them anew.
They are kept as text, since a changed letter is seen in a diff then; Textual's own pictures are SVG of 100 kB each.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from string import ascii_letters
from typing import Any

from rich.style import Style
from textual.app import App

SCREENS = Path(__file__).parent / "screens"
UPDATE = "UPDATE_SCREENS"


@dataclass(frozen=True)
class Screenshot:
    """What is seen: ``text``, a line for each row; ``styles``, the same with a letter for each style; what letters mean."""

    text: str
    styles: str
    legend: str

    def __str__(self) -> str:
        return f"{self.text}\n\n{self.styles}\n\n{self.legend}\n"


def screenshot(application: App[Any]) -> Screenshot:
    """What the application shows now."""
    letters: dict[str, str] = {}
    texts: list[str] = []
    styles: list[str] = []
    for strip in application.screen._compositor.render_strips():
        texts.append("".join(part.text for part in strip).rstrip())
        row = "".join(
            letters.setdefault(named(part.style), ascii_letters[len(letters) % 52]) * part.cell_length for part in strip
        )
        styles.append(shortened(row))
    return Screenshot("\n".join(texts), "\n".join(styles), "\n".join(f"{letter}: {style}" for style, letter in letters.items()))


def named(style: Style | None) -> str:
    """A style in words, without what it links to."""
    if style is None:
        return "plain"
    return str(Style.combine([style, Style(meta={})]).without_color) + f" {style.color} on {style.bgcolor}"


def shortened(row: str) -> str:
    """``aaaab`` as ``4a1b``."""
    runs: list[tuple[str, int]] = []
    for letter in row:
        if runs and runs[-1][0] == letter:
            runs[-1] = (letter, runs[-1][1] + 1)
        else:
            runs.append((letter, 1))
    return " ".join(f"{count}{letter}" for letter, count in runs)


def compare(picture: Screenshot, name: str) -> None:
    """Hold a screen to the picture of it that is kept. Raises AssertionError."""
    path = SCREENS / f"{name}.txt"
    if os.environ.get(UPDATE):
        SCREENS.mkdir(exist_ok=True)
        path.write_text(str(picture), encoding="utf-8")
    assert str(picture) == path.read_text(encoding="utf-8"), (
        f"it looks other than {path}; {UPDATE}=1 keeps what it looks like now"
    )
