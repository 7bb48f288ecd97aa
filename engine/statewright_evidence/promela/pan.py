"""What ``pan``, the checker that SPIN makes of a model, says on its standard output; and a trail, as ``spin -t`` tells it."""

from __future__ import annotations

import re

from statewright_states.errors import InternalError
from statewright_states.frozen import dataclass

ERROR = re.compile(r"^pan:\s*\d+: (?P<what>.+?)(?: \(at depth \d+\))?$", re.MULTILINE)
ERRORS = re.compile(r"depth reached (?P<depth>\d+).* errors: (?P<errors>\d+)")
STATES = re.compile(r"^\s*(?P<states>[\d.e+]+) states, stored(?: \((?P<visited>[\d.e+]+) visited\))?", re.MULTILINE)
TRANSITIONS = re.compile(r"^\s*(?P<transitions>[\d.e+]+) transitions", re.MULTILINE)
UNREACHED = re.compile(r"^\s+(?P<file>\S+):(?P<line>\d+), state \d+, ", re.MULTILINE)
INCOMPLETE = ("Search not completed", "max search depth too small", "out of memory", "hashtable")
SAID = re.compile(r"^\s*\| (?P<said>.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PanReport:
    """One search of a model. ``what`` says what went wrong first, empty where nothing did.

    ``unreached`` are the lines of the model that no path came to; with an error the search ended early, and they say
    nothing. ``complete`` tells that every state was visited.
    """

    errors: int
    what: str
    states: int
    transitions: int
    depth: int
    unreached: frozenset[int]
    complete: bool

    @property
    def holds(self) -> bool:
        """Whether everything was searched and nothing was found."""
        return self.complete and not self.errors


def read_report(output: str, model_file: str) -> PanReport:
    """Read what pan printed. Raises InternalError when that is no report of a search."""
    summary, states, transitions = ERRORS.search(output), STATES.search(output), TRANSITIONS.search(output)
    if summary is None or states is None or transitions is None:
        raise InternalError(
            "SPIN's checker printed no report of a search", where=f"the check of {model_file}: {output[-400:]!r}"
        )
    error = ERROR.search(output)
    return PanReport(
        errors=int(summary["errors"]),
        what=error["what"] if error else "",
        states=int(float(states["states"])),
        transitions=int(float(transitions["transitions"])),
        depth=int(summary["depth"]),
        unreached=frozenset(int(match["line"]) for match in UNREACHED.finditer(output) if match["file"].endswith(model_file)),
        complete=not any(mark in output for mark in INCOMPLETE),
    )


def read_trail(output: str) -> tuple[str, ...]:
    """What a model says along a trail: events with the answers, rows by their ids in brackets."""
    return tuple(match["said"].strip() for match in SAID.finditer(output))
