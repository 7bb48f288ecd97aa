"""Drawings of the declared machines, for people and for other tools, all from the tables, the same bytes each time."""

from __future__ import annotations

from statewright_evidence.drawing.files import all_drawings, drawings, stale_drawings, write_drawings
from statewright_evidence.drawing.formats import FORMATS, dot, drawing, markdown, mermaid, scxml, svg, xstate
from statewright_evidence.drawing.maps import MAP, map_drawing

__all__ = [
    "FORMATS",
    "MAP",
    "all_drawings",
    "dot",
    "drawing",
    "drawings",
    "map_drawing",
    "markdown",
    "mermaid",
    "scxml",
    "stale_drawings",
    "svg",
    "write_drawings",
    "xstate",
]
