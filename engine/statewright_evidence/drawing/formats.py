"""A table, or the map of the machines, in each format. Pure: the same table gives the same text, on every machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from statewright.core.links import LINKS, Link
from statewright_evidence.drawing.dot_text import dot
from statewright_evidence.drawing.map_svg import map_svg
from statewright_evidence.drawing.map_text import map_dot, map_markdown, map_mermaid
from statewright_evidence.drawing.markdown_text import markdown
from statewright_evidence.drawing.mermaid_text import mermaid
from statewright_evidence.drawing.scxml_text import scxml
from statewright_evidence.drawing.svg_text import svg
from statewright_evidence.drawing.xstate_text import xstate
from statewright_states.errors import ConfigurationError
from statewright_states.form.table import Table

FORMATS: Mapping[str, Callable[[Table[Any]], str]] = {
    "mermaid": mermaid,
    "dot": dot,
    "svg": svg,
    "markdown": markdown,
    "scxml": scxml,
    "xstate": xstate,
}
"""Every format by its name."""

SUFFIXES = {"mermaid": "mmd", "dot": "dot", "svg": "svg", "markdown": "md", "scxml": "scxml", "xstate": "xstate.json"}
"""The file name suffix of each format."""

FOR_PEOPLE = ("mermaid", "svg", "markdown")
"""The formats that people read in a repository; the others are for programs, and are made when somebody asks for them."""

MAP = "map"
"""The name of the map among the drawings."""

MAP_FORMATS: Mapping[str, Callable[[Sequence[Link]], str]] = {
    "mermaid": map_mermaid,
    "dot": map_dot,
    "svg": map_svg,
    "markdown": map_markdown,
}
"""The formats of the map by name."""


def drawing(table: Table[Any], format_name: str) -> str:
    """The table in one of the ``FORMATS``. Raises ConfigurationError for any other."""
    if format_name not in FORMATS:
        raise ConfigurationError(
            f"there is no drawing format {format_name!r}",
            where=f"the drawing of {table.name}",
            cure=f"use one of: {', '.join(FORMATS)}",
        )
    return FORMATS[format_name](table)


def map_drawing(format_name: str) -> str:
    """How the machines talk, in one of the ``MAP_FORMATS``. Raises ConfigurationError for any other."""
    if format_name not in MAP_FORMATS:
        raise ConfigurationError(
            f"the map has no format {format_name!r}",
            where="the drawing of the map",
            cure=f"use one of: {', '.join(MAP_FORMATS)}",
        )
    return MAP_FORMATS[format_name](LINKS)
