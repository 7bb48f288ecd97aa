"""Colours and type of the drawings, for light and for dark."""

from __future__ import annotations

from statewright.drawing.picture import Course

PALETTE = {
    "paper": ("#ffffff", "#0b1120"),
    "card": ("#ffffff", "#131c2e"),
    "head": ("#e8edf4", "#25324a"),
    "rule": ("#cbd5e1", "#3b4a63"),
    "ink": ("#0f172a", "#e5e9f0"),
    "quiet": ("#64748b", "#93a1b5"),
    "onward": ("#475569", "#a3b1c6"),
    "happy": ("#1d4ed8", "#6ea8fe"),
    "happy-tint": ("#eaf1ff", "#182b52"),
    "success": ("#15803d", "#4ade80"),
    "success-tint": ("#dcfce7", "#123a22"),
    "partial": ("#b45309", "#fbbf24"),
    "partial-tint": ("#fef3c7", "#3d2c0a"),
    "failed": ("#b91c1c", "#f87171"),
    "failed-tint": ("#fee2e2", "#431a1a"),
    "stop": ("#7e22ce", "#c99bff"),
}
"""Each colour in light and in dark."""

_COLOURED = (
    (".paper", "fill", "paper"),
    ("text", "fill", "ink"),
    (".quiet, .stays text, .resumed text, .ignored text", "fill", "quiet"),
    (".card > .frame", "stroke", "rule"),
    (".card > .frame", "fill", "card"),
    (".rule", "stroke", "rule"),
    (".card > .head", "fill", "head"),
    (".card.happy > .head, .section.happy > .tint", "fill", "happy-tint"),
    (".card.happy > .frame", "stroke", "happy"),
    *((f".card.{end} > .head", "fill", f"{end}-tint") for end in ("success", "partial", "failed")),
    *((f".card.{end} > .frame", "stroke", end) for end in ("success", "partial", "failed")),
    *((f".{way} > .name", "fill", way) for way in ("happy", "success", "partial", "failed")),
    (".onward > .name, .back > .name", "fill", "onward"),
    (".row.happy text", "fill", "happy"),
    (".row.stop text", "fill", "stop"),
    *((f".edge.{way} path", "stroke", way) for way in ("happy", "onward", "success", "partial", "failed")),
    *((f".edge.{way} polygon", "fill", way) for way in ("happy", "onward", "success", "partial", "failed")),
    (".edge.back path", "stroke", "onward"),
    (".edge.back polygon", "fill", "onward"),
)
"""What is coloured: selector, property, name of the colour. Later ones win."""

_FIXED = """\
text { font-size: 11px; font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Helvetica, Arial, sans-serif; }
.title { font-size: 22px; font-weight: 700; }
.card > .name { font-size: 16px; font-weight: 700; text-anchor: middle; }
.group > .name { font-size: 12px; }
.section > .name, .event { font-weight: 600; }
.row .id { font-weight: 600; }
.row.happy text { font-weight: 700; }
.row rect, .tint { fill: transparent; }
.frame { stroke-width: 1; }
.card.happy > .frame { stroke-width: 2; }
.group > .frame { stroke-dasharray: 5 3; }
.edge path { fill: none; stroke-width: 1.1; }
.edge.happy path { stroke-width: 4; }
.edge.onward path, .edge.back path { stroke-width: 1.6; }
.edge.back path { stroke-dasharray: 6 4; }
.resumed .row text, .ignored .row text { font-style: italic; }"""

PEN = {
    Course.HAPPY: ("happy", "penwidth=4, arrowsize=1.2, weight=40"),
    Course.ONWARD: ("onward", "penwidth=1.6, weight=3"),
    Course.BACK: ("onward", "penwidth=1.6, style=dashed, weight=2"),
    Course.SUCCESS: ("success", "penwidth=1.1"),
    Course.PARTIAL: ("partial", "penwidth=1.1"),
    Course.FAILED: ("failed", "penwidth=1.1"),
}


def pen(course: Course) -> str:
    """The DOT attributes of an edge."""
    colour, attributes = PEN[course]
    return f'color="{PALETTE[colour][0]}", {attributes}'


def style_sheet(scope: str) -> str:
    """The CSS of one drawing; every selector lies within ``scope``, so that drawings can share a page."""
    fixed = "\n".join(_scoped(scope, rule) for rule in _FIXED.splitlines())
    light, dark = (_colours(scope, dark) for dark in (False, True))
    # Browsers keep a stand-alone drawing at the top of the page by this height; converters that know simple rules alone
    # (CairoSVG) would take it for none and draw nothing, but leave out what stands under @media.
    height = f"@media all {{\n{scope} {{ height: auto; }}\n}}"
    return f"{fixed}\n{light}\n{height}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _colours(scope: str, dark: bool) -> str:
    rules = (f"{selectors} {{ {what}: {PALETTE[colour][dark]}; }}" for selectors, what, colour in _COLOURED)
    return "\n".join(_scoped(scope, rule) for rule in rules)


def _scoped(scope: str, rule: str) -> str:
    selectors, declarations = rule.split(" {", 1)
    return ", ".join(f"{scope} {selector}" for selector in selectors.split(", ")) + " {" + declarations
