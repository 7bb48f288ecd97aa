"""The map in words: as a Markdown table, in Mermaid's language and in Graphviz's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from statewright.core.links import MACHINES, Link, Participant
from statewright_evidence.drawing.markdown_parts import code, plain, table
from statewright_evidence.drawing.mermaid_text import plain as mermaid_plain
from statewright_states.form.row import Event


def map_markdown(links: Sequence[Link]) -> str:
    """The map as a document: every command of every machine, then the events that nobody commanded."""
    lines = [
        "# How the machines talk",
        "",
        "*Generated from the declared links: do not edit.*",
        "",
        "[![How the machines talk](map.svg)](map.svg)",
        "",
        "Machines know nothing of each other. A command of one becomes an event of another, or something is done outside, and",
        "what comes of it is an event for the machine that gave the command. Tests hold this equal to the journals of runs.",
        "",
    ]
    for machine in MACHINES:
        given = [link for link in links if link.sender is machine]
        lines += [f"## Commands of [{machine}]({machine}.md)", ""]
        rows = (
            (code(_name(link)), _participant(link.receiver), _events(link.becomes), _events(link.answers), plain(link.note))
            for link in given
        )
        lines += table(("command", "to", "becomes", "comes back", "remark"), rows)
    lines += ["## Events without a command", ""]
    arrivals = [link for link in links if link.command is None]
    lines += table(
        ("from", "to", "events", "remark"),
        (
            (_participant(link.sender), _participant(link.receiver), _events(link.becomes), plain(link.note))
            for link in arrivals
        ),
    )
    return "\n".join(lines)


def map_mermaid(links: Sequence[Link]) -> str:
    """The map as a Mermaid flowchart: one edge for each two participants in each direction."""
    lines = ["%% How the machines talk. Generated: do not edit.", "flowchart LR"]
    for participant in Participant:
        opened, closed = ("[[", "]]") if participant in MACHINES else ("([", "])")
        lines.append(f'  {_id(participant)}{opened}"{participant}"{closed}')
    for sender, receiver, words in _edges(links):
        label = "<br/>".join(map(mermaid_plain, words))
        lines.append(f'  {_id(sender)} -->|"{label}"| {_id(receiver)}')
    return "\n".join(lines) + "\n"


def map_dot(links: Sequence[Link]) -> str:
    """The map in the DOT language."""
    lines = [
        "// How the machines talk. Generated: do not edit.",
        'digraph "map" {',
        '  graph [rankdir=LR, nodesep=0.4, ranksep=1.2, bgcolor="transparent"];',
        '  node [fontname="Arial", fontsize=13];',
        '  edge [fontname="Arial", fontsize=10];',
    ]
    shapes = {participant: "box" if participant in MACHINES else "ellipse" for participant in Participant}
    lines += [f'  {_id(participant)} [label="{participant}", shape={shape}];' for participant, shape in shapes.items()]
    for sender, receiver, words in _edges(links):
        label = "".join(f"{word}\\l" for word in words)
        lines.append(f'  {_id(sender)} -> {_id(receiver)} [label="{label}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _edges(links: Sequence[Link]) -> Iterable[tuple[Participant, Participant, list[str]]]:
    """What goes from each participant to each other, in words."""
    ordered = sorted(links, key=lambda link: (list(Participant).index(link.sender), list(Participant).index(link.receiver)))
    for (sender, receiver), found in groupby(ordered, key=lambda link: (link.sender, link.receiver)):
        yield sender, receiver, [_words(link) for link in found]


def _words(link: Link) -> str:
    becomes, back = (", ".join(event.__name__ for event in events) for events in (link.becomes, link.answers))
    goes = " → ".join(filter(None, (_name(link), becomes)))
    return f"{goes}, back {back}" if back else goes


def _name(link: Link) -> str:
    return link.command.__name__ if link.command else ""


def _participant(participant: Participant) -> str:
    return f"[{participant}]({participant}.md)" if participant in MACHINES else participant.value


def _events(events: Iterable[type[Event]]) -> str:
    return ", ".join(code(event.__name__) for event in events)


def _id(participant: Participant) -> str:
    """A name that is no word of either language: ``call`` is one of Mermaid's."""
    return f"the_{participant.replace(' ', '_')}"
