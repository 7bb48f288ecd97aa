"""The map as SVG: one page, each machine a link to its own picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from statewright.core.links import MACHINES, Link
from statewright_evidence.drawing.labels import Label
from statewright_evidence.drawing.map_layout import JOURNAL_HEIGHT, TITLE_HEIGHT, MapLine, MapNode, map_layout
from statewright_evidence.drawing.picture import element_id
from statewright_evidence.drawing.places import Box
from statewright_evidence.drawing.svg_overview import label_texts
from statewright_evidence.drawing.svg_parts import (
    CORNER,
    MARGIN,
    PAGE_WIDTH,
    arrow,
    centred,
    fixed_text,
    moved,
    page,
    point,
    rectangle,
    sample,
)

TOP = 118.0
TITLE = "How the machines talk"
SUMMARY = "A command of one machine becomes an event of another, or something is done outside, and an event comes of it."


def map_svg(links: Sequence[Link]) -> str:
    """The map of these links as a stand-alone SVG document."""
    found = map_layout(links)
    width = max(PAGE_WIDTH, found.width + 2 * MARGIN)
    left = (width - 2 * MARGIN - found.width) / 2
    machines = [node for node in found.nodes if node.participant in MACHINES]
    outside = [node for node in found.nodes if node.participant not in MACHINES]
    body = [
        f'<text class="title" y="34">{TITLE}</text>',
        f'<text class="quiet" y="54">{SUMMARY}</text>',
        moved("legend", 0, 78, _legend()),
        moved("nodes", left, TOP, map(_machine, machines)),
        moved("edges", left, TOP, map(_line, found.lines)),
        moved("parties", left, TOP, map(_participant, outside)),
    ]
    said = f"{SUMMARY} {'. '.join(map(_sentence, links))}."
    return page("map", (width, TOP + found.height + MARGIN), body, kind="map of machines", title=TITLE, description=said)


def _sentence(link: Link) -> str:
    """A link as people say it."""
    events = ", ".join(event.__name__ for event in link.becomes) or "nothing"
    back = ", ".join(event.__name__ for event in link.answers)
    if link.command is None:
        return f"{link.sender} gives {link.receiver}: {events}"
    goes = f"{link.sender} gives {link.command.__name__} to {link.receiver}"
    comes = f", which becomes {events}" if link.becomes else ""
    return goes + comes + (f"; back comes {back}" if back else "")


def _machine(node: MapNode) -> str:
    box, inside = node.box, node.inside
    name = centred("name", node.participant.value, box.x + box.width / 2, box.y + 26)
    said = f"machine {node.participant}; opens its picture"
    texts = ""
    if inside:
        place = Box(box.x + (box.width - inside.width) / 2, box.y + TITLE_HEIGHT, inside.width, inside.height)
        texts = "".join(label_texts(inside, place))
    identity = element_id(node.participant)
    return (
        f'<a id="map-{identity}" class="node machine" href="{identity}.svg" tabindex="0" '
        f"aria-label={quoteattr(said)}><title>{escape(said)}</title>{rectangle('frame', box, CORNER)}{name}"
        f'<g class="stays">{texts}</g></a>'
    )


def _participant(node: MapNode) -> str:
    box = node.box
    first = box.middle + 5 - (len(node.title) - 1) * 8
    names = (centred("name", text, box.x + box.width / 2, first + at * 16) for at, text in enumerate(node.title))
    round_corners = min(box.height, JOURNAL_HEIGHT) / 2.2
    return (
        f'<g id="map-{element_id(node.participant.replace(" ", "-"))}" class="node party" role="graphics-object">'
        f"<title>{escape(node.participant.value)}</title>{rectangle('frame', box, round_corners)}{''.join(names)}</g>"
    )


def _line(line: MapLine) -> str:
    one, other = line.participants
    between = all(participant in MACHINES for participant in line.participants)
    ends = (line.start, line.end), (line.end, line.start)
    heads = "".join(arrow(*way, 10) for way, arrives in zip(ends, line.arrows, strict=True) if arrives)
    said = f"{one} and {other}: {_spoken(line.label)}"
    identity = f"map-{element_id(one.replace(' ', '-'))}-to-{element_id(other.replace(' ', '-'))}"
    return (
        f'<g id="{identity}" class="edge {"talk" if between else "onward"}" role="graphics-symbol" tabindex="0" '
        f"aria-label={quoteattr(said)}><title>{escape(said)}</title>"
        f'<path class="line" d="M{point(line.start)}L{point(line.end)}"/>{heads}'
        f"{rectangle('ground', line.box, CORNER)}{''.join(label_texts(line.label, line.box))}</g>"
    )


def _spoken(label: Label) -> str:
    return "; ".join(line.text for line in label.lines)


def _legend() -> Iterable[str]:
    for way, words, x in (("talk", "between machines", 0), ("onward", "with what is outside", 218)):
        yield f'<g transform="translate({x} 0)">{sample(way, words, 10)}</g>'
    yield f'<g class="edge onward">{fixed_text("lead", "bold: a command", 436, 4, 12, bold=True)}</g>'
    yield fixed_text("", "→ the event that comes of it; plain: nobody commanded it", 556, 4, 12)
    yield fixed_text("stop", "■ a stop or a cancellation", 900, 4, 12)
