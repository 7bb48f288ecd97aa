"""What comes of each event in each situation, found out once."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from statewright.core.routing import Router
from statewright_evidence.proofs.composition.decisions import IGNORED, Decisions
from statewright_evidence.proofs.composition.external_events import ExternalEvents
from statewright_evidence.proofs.composition.macrostep import Macrostep, Setting
from statewright_evidence.proofs.composition.normal import Normal
from statewright_evidence.proofs.composition.outside import RUN
from statewright_evidence.proofs.composition.situation import Call, Core, ExternalEvent, Wrong
from statewright_evidence.proofs.composition.surroundings import EveryAnswer
from statewright_states.form.row import Command


class Consequence(NamedTuple):
    """What came of an event."""

    label: str
    core: Core
    effects: tuple[Command, ...]
    current: dict[str, int]
    """The number of the request that each live call waits for, as its machine counted."""
    counted: bool
    """Whether the event itself was taken: an ignored one leaves what it came from as it was."""
    requests: int
    """Requests put on the wire, those that are sent again after a death not counted."""
    starts: int
    """Tool calls that began, those that began again not counted."""
    wrong: tuple[Wrong, ...]


class Macrosteps:
    """Finds out what comes of events, each once."""

    def __init__(self, router: Router, decisions: Decisions, external_events: ExternalEvents, normal: Normal) -> None:
        scope = external_events.scope
        self._setting = Setting(router, decisions, EveryAnswer(scope), external_events.of if scope.at_once else None)
        self._normal = normal
        self.after = cache(self._after)

    def _after(self, core: Core, external: ExternalEvent) -> tuple[Consequence, ...]:
        """What may come of this in this situation."""
        first = Macrostep(self._setting, core)
        machine = RUN if external.instance == RUN else external.instance.split("-")[0]
        first.apply(machine, external.instance, external.event)
        first.counted = not first.rows[-1][1].endswith(IGNORED)
        if not first.counted and not first.changed:
            return (Consequence(_label(external.text, [], first.rows), core, (), {}, False, 0, 0, ()),)
        under_way, ended = [first], list[Consequence]()
        while under_way:
            macrostep = under_way.pop()
            forks = macrostep.proceed()
            under_way += reversed(forks)
            if not forks:
                ended.append(self._ended(macrostep, external))
        return tuple(ended)

    def _ended(self, macrostep: Macrostep, external: ExternalEvent) -> Consequence:
        if not macrostep.wrong:
            macrostep.judge_end(external)
        calls = [Call(name, placed) for name, placed in macrostep.calls.items()]
        return Consequence(
            label=_label(external.text, macrostep.notes, macrostep.rows),
            core=self._normal.core(macrostep.run, calls, list(macrostep.tools.values())),
            effects=tuple(macrostep.effects),
            current={call.name: call.placed.facts.send for call in calls if not call.placed.ended},
            counted=macrostep.counted,
            requests=macrostep.requests,
            starts=macrostep.starts,
            wrong=tuple(macrostep.wrong),
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
