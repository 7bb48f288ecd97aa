"""Drawings of the declared machines, for people and for other tools, all from the tables, the same bytes each time."""

from __future__ import annotations

from statewright_evidence.drawing.dot_text import dot
from statewright_evidence.drawing.files import drawings, stale_drawings, write_drawings
from statewright_evidence.drawing.form_table import table_of_form
from statewright_evidence.drawing.formats import FORMATS, MAP, drawing, map_drawing
from statewright_evidence.drawing.markdown_text import markdown
from statewright_evidence.drawing.mermaid_text import mermaid
from statewright_evidence.drawing.path_svg import PathStep, path_overview, path_rows, path_style
from statewright_evidence.drawing.scxml_text import scxml
from statewright_evidence.drawing.svg_text import svg
from statewright_evidence.drawing.xstate_text import xstate

__all__ = [
    "FORMATS",
    "MAP",
    "PathStep",
    "dot",
    "drawing",
    "drawings",
    "map_drawing",
    "markdown",
    "mermaid",
    "path_overview",
    "path_rows",
    "path_style",
    "scxml",
    "stale_drawings",
    "svg",
    "table_of_form",
    "write_drawings",
    "xstate",
]
