"""Pieces of SVG that every drawing is made of: the page, text, boxes, arrows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import hypot
from xml.sax.saxutils import escape, quoteattr

from statewright_evidence.drawing.places import Box, Point
from statewright_evidence.drawing.style import style_sheet
from statewright_evidence.drawing.type_metrics import text_width

PAGE_WIDTH = 1120.0
"""Type of 12 is then read as 14 pixels in a window of 1400, and as 11 in a forge's column of 1012."""
MARGIN = 24.0
MAX_SCALE = 1.25
CORNER = 5
BEND = 9.0
"""The radius of a line's corners."""
ARROW = 9.0
ARROW_HALF_WIDTH = 0.42
"""As a share of the arrow's length."""


def page(identity: str, size: tuple[float, float], body: Iterable[str], *, kind: str, title: str, description: str) -> str:
    """A stand-alone SVG document of this width and height, light or dark as the reader's system is.

    ``kind``, ``title`` and ``description`` are for those who do not see it; ``identity`` begins the ids of these texts.
    """
    width, height = map(number, size)
    names = quoteattr(f"{identity}--title"), quoteattr(f"{identity}--description")
    labelled = quoteattr(f"{identity}--title {identity}--description")
    opening = f"""\
<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" class="statewright-drawing" lang="en" viewBox="0 0 {width} {height}"
  width="100%" style="max-width: {number(size[0] * MAX_SCALE)}px"
  role="graphics-document document" aria-roledescription={quoteattr(kind)} aria-labelledby={labelled}>
<title id={names[0]}>{escape(title)}</title>
<desc id={names[1]}>{escape(description)}</desc>
<style>
{style_sheet(".statewright-drawing")}
</style>
<rect class="paper" width="{width}" height="{height}"/>
<g transform="translate({number(MARGIN)} 0)">"""
    return "\n".join([opening, *body, "</g>\n</svg>"]) + "\n"


def moved(name: str, x: float, y: float, parts: Iterable[str]) -> str:
    """A group of things at a place."""
    return "\n".join([f'<g class="{name}" transform="translate({number(x)} {number(y)})">', *parts, "</g>"])


def fixed_text(kind: str, text: str, x: float, y: float, size: float, *, bold: bool = False) -> str:
    """A line of text that is as wide as it was measured, whatever the reader's typeface."""
    length = number(text_width(text, size, bold=bold))
    return (
        f'<text{_class(kind)} x="{number(x)}" y="{number(y)}" textLength="{length}" lengthAdjust="spacingAndGlyphs">'
        f"{escape(text)}</text>"
    )


def centred(kind: str, text: str, x: float, y: float) -> str:
    """A line of text around a middle."""
    return f'<text{_class(kind)} x="{number(x)}" y="{number(y)}">{escape(text)}</text>'


def rectangle(kind: str, box: Box, radius: float = 0) -> str:
    """A rectangle."""
    corner = f' rx="{number(radius)}"' if radius else ""
    place = f'x="{number(box.x)}" y="{number(box.y)}" width="{number(box.width)}" height="{number(box.height)}"'
    return f'<rect class="{kind}" {place}{corner}/>'


def sample(way: str, words: str, head: float) -> str:
    """A line as it is drawn, with a head of this length, and beside it what it means."""
    edge = f'<g class="edge {way}"><path class="line" d="M0,0H38"/>{arrow((46, 0), (0, 0), head)}</g>'
    return edge + fixed_text("", words, 56, 4, 12)


def rounded_path(corners: Sequence[Point]) -> str:
    """The path through right-angled corners, each rounded."""
    parts = [f"M{point(corners[0])}"]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        bend = min(BEND, *(hypot(corner[0] - x, corner[1] - y) / 2 for x, y in (before, after)))
        parts.append(f"L{point(_towards(corner, before, bend))}Q{point(corner)} {point(_towards(corner, after, bend))}")
    return "".join([*parts, f"L{point(corners[-1])}"])


def arrow(tip: Point, behind: Point, length: float = ARROW) -> str:
    """The arrow head at ``tip`` of a line that comes from ``behind``."""
    foot = _towards(tip, behind, length)
    across_x, across_y = (tip[1] - foot[1]) * ARROW_HALF_WIDTH, (foot[0] - tip[0]) * ARROW_HALF_WIDTH
    corners = ((foot[0] + across_x, foot[1] + across_y), tip, (foot[0] - across_x, foot[1] - across_y))
    return f'<polygon points="{" ".join(map(point, corners))}"/>'


def _towards(start: Point, goal: Point, length: float) -> Point:
    distance = hypot(goal[0] - start[0], goal[1] - start[1]) or 1.0
    share = length / distance
    return start[0] + (goal[0] - start[0]) * share, start[1] + (goal[1] - start[1]) * share


def number(value: float) -> str:
    """A number with one decimal where it has one."""
    return f"{value:.1f}".removesuffix(".0")


def point(place: Point) -> str:
    """``x,y``"""
    return f"{number(place[0])},{number(place[1])}"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
