"""What comes of each event in each situation, found out once."""

from __future__ import annotations

from typing import NamedTuple

from statewright_evidence.proofs.composition.deciding import IGNORED, Deciding
from statewright_evidence.proofs.composition.drain import Drain, Effect, Setting
from statewright_evidence.proofs.composition.happenings import Happenings
from statewright_evidence.proofs.composition.normal import Normal
from statewright_evidence.proofs.composition.outside import RUN, What
from statewright_evidence.proofs.composition.situation import Call, Core, Happening, Wrong
from statewright_evidence.proofs.composition.surroundings import Around

AT_ONCE = (What.LANE, What.CONTEXT, What.ASSESSMENT)
"""What the engine does within the drain where nobody outside has a say in it."""


class After(NamedTuple):
    """What came of an event."""

    label: str
    core: Core
    effects: tuple[Effect, ...]
    current: dict[str, int]
    """The number of the request that each live call waits for, as its machine counted."""
    counted: bool
    """Whether the event itself was taken: an ignored one leaves what it came from as it was."""
    requests: int
    """Requests put on the wire, those that are sent again after a death not counted."""
    starts: int
    """Tool calls that began, those that began again not counted."""
    wrong: tuple[Wrong, ...]


class Drains:
    """Finds out what comes of events, each once."""

    def __init__(self, deciding: Deciding, happenings: Happenings, normal: Normal) -> None:
        scope = happenings.scope
        self._setting = Setting(deciding, happenings, Around(scope), AT_ONCE if scope.at_once else ())
        self._normal = normal
        self._known: dict[tuple[Core, Happening], tuple[After, ...]] = {}

    def after(self, core: Core, happening: Happening) -> tuple[After, ...]:
        """What may come of this in this situation."""
        found = self._known.get((core, happening))
        if found is None:
            found = self._known[core, happening] = tuple(self._follow(core, happening))
        return found

    def _follow(self, core: Core, happening: Happening) -> list[After]:
        first = Drain(self._setting, core)
        machine = RUN if happening.instance == RUN else happening.instance.split("-")[0]
        first.apply(machine, happening.instance, happening.event)
        first.counted = not first.rows[-1][1].endswith(IGNORED)
        if not first.counted and not first.changed:
            return [After(_label(happening.text, [], first.rows), core, (), {}, False, 0, 0, ())]
        open_drains, ended = [first], list[After]()
        while open_drains:
            drain = open_drains.pop()
            forks = drain.proceed()
            open_drains += reversed(forks)
            if not forks:
                ended.append(self._ended(drain, happening))
        return ended

    def _ended(self, drain: Drain, happening: Happening) -> After:
        if not drain.wrong:
            drain.judge_end(happening)
        calls = [Call(name, placed) for name, placed in drain.calls.items()]
        core = self._normal.core(drain.run, calls, list(drain.tools.values()))
        current = {name: placed.facts.send for name, placed in drain.calls.items() if not placed.ended}
        label = _label(happening.text, drain.notes, drain.rows)
        return After(
            label, core, tuple(drain.effects), current, drain.counted, drain.requests, drain.starts, tuple(drain.wrong)
        )


def _label(text: str, notes: list[str], rows: list[tuple[str, str]]) -> str:
    """What happened, what was found on the way, and the rows taken, by machine, in the order in which they were taken."""
    parts: list[str] = []
    last = ""
    for instance, row in rows:
        parts.append(f" {row}" if instance == last else f"{'; ' if parts else ''}{instance} {row}")
        last = instance
    found = f" ({', then '.join(notes)})" if notes else ""
    return f"{text}{found} → {''.join(parts)}"
