"""A record as a flat list, for tests that ask what happened: the header, every decision in order, and the end.

Decisions are numbered from 1 and the header is first, so a decision's number is its place in the list. ``whole`` fills in
what the format leaves out, so that a test may name any field.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from statewright.journal.codec import read
from statewright.journal.entry import TABLES, decode, encode
from statewright.journal.reading import read_header
from statewright_states.form.row import Command
from statewright_states.words.ports import Journal, StoredEntry

Shape = dict[str, Any]


def flat(stored: Sequence[StoredEntry]) -> list[Shape]:
    """What is stored, decision by decision. ``entry`` names the entry that holds a decision or the end."""
    header, *entries = [decode(entry.data) for entry in stored]
    shapes: list[Shape] = [header]
    for entry in entries:
        where = {"entry": entry["seq"]}
        shapes += [{"kind": "decision", "at_us": entry["at_us"], **decision, **where} for decision in entry["decisions"]]
        if "end" in entry:
            shapes.append({"kind": "end", "seq": len(shapes), "at_us": entry["at_us"], **entry["end"], **where})
    return shapes


async def shapes_of(journal: Journal, run_id: str) -> list[Shape]:
    """A record, decision by decision, with every field that the format leaves out because it holds its default."""
    stored = await journal.entries(run_id)
    header = {"kind": "header", **_plain(read_header(run_id, stored))}
    return [header, *(_whole(shape) for shape in flat(stored)[1:])]


def _whole(shape: Shape) -> Shape:
    if shape["kind"] == "end":
        return {"verified": None, **shape}
    (kind,) = [event for event in TABLES[shape["machine"]].events if event.__name__ == shape["event"]]
    data = _plain(read(kind, shape.get("data", {})))
    whole = {"cause": None, "answers": {}, **shape, "data": data}
    if "row" in shape:
        given = [{**command, "data": _command(shape["machine"], command)} for command in shape.get("commands", ())]
        whole["commands"] = given
    return whole


def _command(machine: str, command: Shape) -> Shape:
    (kind,) = [
        each
        for each in Command.__subclasses__()
        if dataclasses.is_dataclass(each)
        and each.__name__ == command["command"]
        and each.__module__ == f"statewright_states.{machine}.commands"
    ]
    return _plain(read(kind, command.get("data", {})))


def _plain(value: Any) -> Shape:
    plain: Shape = decode(encode(dataclasses.asdict(value)))
    return plain


# -- the other way ---------------------------------------------------------------------------------------------------


def packed(shapes: Sequence[Shape], facts: Sequence[StoredEntry]) -> list[bytes]:
    """The bytes of the entries that ``flat`` made these of, with whatever was changed meanwhile.

    ``facts`` are the stored entries, for the hashes that stand in no decision.
    """
    hashes = {entry["seq"]: entry.get("facts") for entry in (decode(one.data) for one in facts[1:])}
    numbers = sorted({shape["entry"] for shape in shapes[1:]})
    return [encode(shapes[0]), *(_entry(number, shapes[1:], hashes.get(number)) for number in numbers)]


def _entry(number: int, shapes: Sequence[Shape], facts: Shape | None) -> bytes:
    held = [shape for shape in shapes if shape["entry"] == number]
    decisions = [shape for shape in held if shape["kind"] != "end"]
    at_us = held[-1]["at_us"]
    entry: Shape = {
        "kind": "decisions",
        "seq": number,
        "at_us": at_us,
        "decisions": [_decision(one, at_us) for one in decisions],
    }
    if facts:
        entry["facts"] = facts
    for end in held:
        if end["kind"] == "end":
            entry["end"] = {name: value for name, value in end.items() if name not in _OWN}
    return encode(entry)


_OWN = ("kind", "seq", "at_us", "entry")


def _decision(shape: Shape, at_us: int) -> Shape:
    own = {} if shape["at_us"] == at_us else {"at_us": shape["at_us"]}
    return {**{name: value for name, value in shape.items() if name not in ("kind", "at_us", "entry")}, **own}
