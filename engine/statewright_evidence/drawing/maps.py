"""The map of the machines in each format. Pure: the same links give the same text, on every machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from statewright.core.links import LINKS, Link
from statewright_evidence.drawing.map_svg import map_svg
from statewright_evidence.drawing.map_text import map_dot, map_markdown, map_mermaid
from statewright_states.errors import ConfigurationError

MAP = "map"
"""The name of the map among the drawings."""

MAP_FORMATS: Mapping[str, Callable[[Sequence[Link]], str]] = {
    "mermaid": map_mermaid,
    "dot": map_dot,
    "svg": map_svg,
    "markdown": map_markdown,
}
"""The formats of the map by name."""


def map_drawing(format_name: str) -> str:
    """How the machines talk, in one of the formats mermaid, dot, svg, markdown. Raises ConfigurationError for any other."""
    if format_name not in MAP_FORMATS:
        raise ConfigurationError(
            f"the map has no format {format_name!r}",
            where="the drawing of the map",
            cure=f"use one of: {', '.join(MAP_FORMATS)}",
        )
    return MAP_FORMATS[format_name](LINKS)
