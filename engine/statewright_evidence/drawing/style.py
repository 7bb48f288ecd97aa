"""Colours, type and line styles of the drawings, for light and for dark."""

from __future__ import annotations

from statewright_evidence.drawing.picture import EdgeKind

PALETTE = {
    "paper": ("#ffffff", "#0b1120"),
    "card": ("#ffffff", "#131c2e"),
    "head": ("#e8edf4", "#25324a"),
    "rule": ("#cbd5e1", "#3b4a63"),
    "ink": ("#0f172a", "#e5e9f0"),
    "quiet": ("#566377", "#a3b0c4"),
    "onward": ("#475569", "#a3b1c6"),
    "happy": ("#1d4ed8", "#7fb2ff"),
    "happy-tint": ("#eaf1ff", "#182b52"),
    "success": ("#15703a", "#4ade80"),
    "success-tint": ("#dcfce7", "#123a22"),
    "partial": ("#9a4a04", "#fbbf24"),
    "partial-tint": ("#fef3c7", "#3d2c0a"),
    "failed": ("#b91c1c", "#ff9b9b"),
    "failed-tint": ("#fee2e2", "#431a1a"),
    "stop": ("#7e22ce", "#cfa6ff"),
    "focus": ("#c2410c", "#fde047"),
}
"""Each colour in light and in dark."""

ENDS = (EdgeKind.SUCCESS, EdgeKind.PARTIAL, EdgeKind.FAILED)
WAYS = (EdgeKind.HAPPY, EdgeKind.ONWARD, *ENDS)

_COLOURED = (
    (".paper", "fill", "paper"),
    ("text", "fill", "ink"),
    (".quiet, .stays text, .resumed text, .ignored text", "fill", "quiet"),
    (".frame", "stroke", "rule"),
    (".frame", "fill", "card"),
    (".rule", "stroke", "rule"),
    (".head, .node.state .frame", "fill", "head"),
    (".node .frame", "stroke", "onward"),
    (".happy > .head, .section.happy > .tint, .node.happy .frame", "fill", "happy-tint"),
    (".card.happy > .frame, .node.happy .frame", "stroke", "happy"),
    (".card.happy > .name, .node.happy .name", "fill", "happy"),
    *((f".node.{end} .frame", "fill", f"{end}-tint") for end in ENDS),
    *((f".node.{end} .frame", "stroke", end) for end in ENDS),
    *((f".node.{end} .name", "fill", end) for end in ENDS),
    *((f".{way} > .name, .edge.{way} .lead", "fill", way) for way in WAYS),
    (".back > .name, .edge.back .lead", "fill", "onward"),
    (".row.happy text, .edge .happy", "fill", "happy"),
    (".row.stop text, text.stop", "fill", "stop"),
    (".edge .ground", "fill", "paper"),
    *((f".edge.{way} .line, .edge.{way} .ground, .section.{way} > .mark", "stroke", way) for way in WAYS),
    *((f".edge.{way} polygon", "fill", way) for way in WAYS),
    (".edge.back .line, .edge.back .ground, .section.back > .mark", "stroke", "onward"),
    (".edge.back polygon", "fill", "onward"),
    (".edge.talk .line, .edge.talk .ground, .node.machine .frame", "stroke", "happy"),
    (".edge.talk polygon", "fill", "happy"),
    (".node.machine .frame", "fill", "happy-tint"),
    (".node.machine .name", "fill", "happy"),
    (".loop .line", "stroke", "quiet"),
    (".loop polygon", "fill", "quiet"),
    ("a:focus-visible .whole, .node:focus-visible .frame, .edge:focus-visible .ground", "stroke", "focus"),
)
"""What is coloured: selector, property, name of the colour. Later ones win."""

_FIXED = """\
text { font-size: 12px; font-family: Arial, "Liberation Sans", Helvetica, "Noto Sans", sans-serif; }
.title { font-size: 22px; font-weight: 700; }
.subtitle { font-size: 16px; font-weight: 700; }
.card > .name { font-size: 16px; font-weight: 700; text-anchor: middle; }
.card.group > .name { font-size: 13px; }
.node .name { font-size: 17px; font-weight: 700; text-anchor: middle; }
.node.group .name { font-size: 13px; }
.section > .name, .event { font-weight: 700; }
.row .id, .lead, .edge .happy { font-weight: 700; }
.row.happy text { font-weight: 700; }
.row .whole, .tint { fill: transparent; }
.frame { stroke-width: 1.2; }
.node.happy .frame { stroke-width: 2.5; }
.group > .frame { stroke-dasharray: 5 3; }
.mark { stroke-width: 3; }
.line { fill: none; stroke-width: 1.6; }
.edge .ground { stroke-width: 1; }
.edge.happy .line { stroke-width: 4; }
.edge.back .line, .edge.back .ground, .section.back > .mark { stroke-dasharray: 7 4; }
.edge.partial .line, .edge.partial .ground, .section.partial > .mark { stroke-dasharray: 12 3 2 3; }
.edge.failed .line, .edge.failed .ground, .section.failed > .mark { stroke-dasharray: 2 3; }
.edge.failed .line { stroke-width: 2.2; }
.edge.talk .line { stroke-width: 2.6; }
.node.machine .frame { stroke-width: 2.5; }
.node.party .name { font-size: 13px; }
.edge:focus { outline: none; }
.loop .line { stroke-width: 1.4; }
.resumed .row text, .ignored .row text { font-style: italic; }
a { cursor: pointer; }
a:focus, .node:focus { outline: none; }
a:focus-visible .whole { stroke-width: 2.5; }
.node:focus-visible .frame, .edge:focus-visible .ground { stroke-width: 4; stroke-dasharray: none; }"""

PEN = {
    EdgeKind.HAPPY: ("happy", "penwidth=4, arrowsize=1.2, weight=40"),
    EdgeKind.ONWARD: ("onward", "penwidth=1.6, weight=3"),
    EdgeKind.BACK: ("onward", "penwidth=1.6, style=dashed, weight=2"),
    EdgeKind.SUCCESS: ("success", "penwidth=1.1"),
    EdgeKind.PARTIAL: ("partial", "penwidth=1.1"),
    EdgeKind.FAILED: ("failed", "penwidth=1.1, style=dotted"),
}


def pen(kind: EdgeKind) -> str:
    """The DOT attributes of an edge."""
    colour, attributes = PEN[kind]
    return f'color="{PALETTE[colour][0]}", {attributes}'


def style_sheet(scope: str) -> str:
    """The CSS of one drawing; every selector lies within ``scope``, so that drawings can share a page.

    First the light colours, plainly. Then, under ``@media`` (which simple converters such as CairoSVG leave out), the same
    rules by variables, which are light, or dark as the reader's system is; a page around the drawing may set them too.
    """
    fixed = "\n".join(_scoped(scope, rule) for rule in _FIXED.splitlines())
    plain = _rules(scope, {name: light for name, (light, _) in PALETTE.items()})
    variable = _rules(scope, {name: f"var(--{name})" for name in PALETTE})
    light, dark = (_variables(scope, at) for at in (0, 1))
    # Browsers keep a stand-alone drawing at the top of the page by this height; converters would draw nothing.
    height = f"{scope} {{ height: auto; }}"
    return (
        f"{fixed}\n{plain}\n@media all {{\n{height}\n{light}\n{variable}\n}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}"
    )


def _variables(scope: str, at: int) -> str:
    return f"{scope} {{ {' '.join(f'--{name}: {colours[at]};' for name, colours in PALETTE.items())} }}"


def _rules(scope: str, colours: dict[str, str]) -> str:
    return "\n".join(_scoped(scope, f"{selectors} {{ {what}: {colours[name]}; }}") for selectors, what, name in _COLOURED)


def _scoped(scope: str, rule: str) -> str:
    selectors, declarations = rule.split(" {", 1)
    return ", ".join(f"{scope} {selector}" for selector in selectors.split(", ")) + " {" + declarations
