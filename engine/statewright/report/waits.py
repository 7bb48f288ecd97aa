"""Who waited for what: the times in which a run waited for a model, a tool, a person, another run, or for nobody at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from statewright.journal.entry import TABLES
from statewright.report.model import Wait
from statewright.report.opened_run import Happened, OpenedRun
from statewright_states.call import events as of_call
from statewright_states.frozen import dataclass
from statewright_states.tool import events as of_tool
from statewright_states.words.vocabulary import Resumed

KINDS: Mapping[str, str] = {
    "model": "model",
    "tool": "tools",
    "person": "persons",
    "backoff": "backoff",
    "run": "other runs",
    "state": "states",
    "nobody": "nobody drove it",
}
"""Each kind of wait in words, in the order in which they are shown."""

WAITED_FOR: Mapping[tuple[str, str], str] = {
    ("call", "sending"): "model",
    ("call", "streaming"): "model",
    ("call", "backing_off"): "backoff",
    ("tool", "awaiting_approval"): "person",
    ("tool", "running"): "tool",
    ("plan_build", "planning"): "run",
    ("plan_build", "building"): "run",
}
"""What is waited for in a state of a machine; in any other one something else decides at once, or waits itself."""

Interval = tuple[int, int]


def waits_of(run: OpenedRun) -> tuple[Wait, ...]:
    """The waits of a run, in the order in which they began."""
    follower = _Follower(run)
    for happened in run.happened:
        follower.follow(happened)
    return follower.finished()


@dataclass(frozen=True, slots=True)
class _Open:
    kind: str
    what: str
    began_us: int
    decision: int


class _Follower:
    """Follows the decisions of a run, and what each instance waits for."""

    def __init__(self, run: OpenedRun) -> None:
        self._ended = run.end is not None
        self._final = {name: set(machine.form.final) for name, machine in run.machines.items()}
        self._open: dict[str, _Open] = {}
        self._names: dict[str, str] = {}
        self._done: list[Wait] = []
        self._before_us = run.header.at_us

    def follow(self, happened: Happened) -> None:
        """Take in the next decision."""
        decision, event = happened.decision, happened.event
        if isinstance(event, Resumed) and decision.row is not None and decision.machine == decision.instance:
            self._was_left(happened)
        match event:
            case of_tool.ToolRequested():
                self._names[decision.instance] = event.request.name
            case of_call.CallRequested():
                purpose = event.purpose.value
                self._names[decision.instance] = f"step {event.step}" if purpose == "generation" else purpose
            case of_tool.ToolWaits() if decision.row is not None:
                self._switch(happened, "person" if event.questions else "tool")
                self._before_us = happened.at_us
                return
            case _:
                pass
        if decision.row is not None:
            self._switch(happened, self._kind(decision.machine, decision.target))
        self._before_us = happened.at_us

    def _kind(self, machine: str, state: str) -> str | None:
        if machine not in TABLES:
            return None if state in self._final.get(machine, ()) else "state"
        return WAITED_FOR.get((machine, state))

    def _switch(self, happened: Happened, kind: str | None) -> None:
        """This instance waits for something else from here on; for the same, it goes on waiting."""
        decision = happened.decision
        what = decision.target if decision.machine not in TABLES else self._names.get(decision.instance, decision.instance)
        before = self._open.get(decision.instance)
        if before is not None and (before.kind, before.what) == (kind, what):
            return
        self._close(decision.instance, happened.at_us)
        if kind is not None:
            self._open[decision.instance] = _Open(kind, what, happened.at_us, decision.seq)

    def _close(self, instance: str, at_us: int) -> None:
        before = self._open.pop(instance, None)
        if before is not None:
            self._done.append(Wait(before.kind, before.what, before.began_us, at_us, before.decision))

    def _was_left(self, happened: Happened) -> None:
        """The run is taken up: since its last entry nobody has driven it, and what was under way then was not."""
        asked = {instance: wait for instance, wait in self._open.items() if wait.kind in ("person", "state")}
        for instance, wait in list(self._open.items()):
            if instance not in asked:
                self._close(instance, self._before_us)
                if wait.kind != "backoff":  # it goes on, or its own resumption says otherwise
                    self._open[instance] = _Open(wait.kind, wait.what, happened.at_us, happened.decision.seq)
        if not asked:
            self._done.append(Wait("nobody", "not driven", self._before_us, happened.at_us, happened.decision.seq))

    def finished(self) -> tuple[Wait, ...]:
        """All waits; those that have not ended are open where the run is, and end with it where it has."""
        for instance in list(self._open):
            if self._ended:
                self._close(instance, self._before_us)
        left = [Wait(wait.kind, wait.what, wait.began_us, None, wait.decision) for wait in self._open.values()]
        return tuple(sorted((*self._done, *left), key=lambda wait: (wait.began_us, wait.decision)))


# -- sums ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WaitSum:
    """The waits of one kind: how many, and how long in all (those side by side counted once) and the longest. Microseconds."""

    kind: str
    count: int
    total_us: int
    longest: Wait
    longest_us: int


def sums(waits: Sequence[Wait], last_us: int) -> tuple[WaitSum, ...]:
    """The waits by kind; one that has not ended counts up to ``last_us``."""
    found: list[WaitSum] = []
    for kind in KINDS:
        here = [wait for wait in waits if wait.kind == kind]
        if here:
            longest = max(here, key=lambda wait: lasted_us(wait, last_us))
            total = covered_us(interval(wait, last_us) for wait in here)
            found.append(WaitSum(kind, len(here), total, longest, lasted_us(longest, last_us)))
    return tuple(found)


def interval(wait: Wait, last_us: int) -> Interval:
    """From when to when."""
    return wait.began_us, last_us if wait.ended_us is None else wait.ended_us


def lasted_us(wait: Wait, last_us: int) -> int:
    """How long."""
    began_us, ended_us = interval(wait, last_us)
    return ended_us - began_us


def covered_us(intervals: Iterable[Interval]) -> int:
    """How much time these cover together."""
    return sum(end - start for start, end in united(intervals))


def united(intervals: Iterable[Interval]) -> list[Interval]:
    """The intervals in order, those that overlap or touch as one."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def left_alone(waits: Sequence[Wait], began_us: int, last_us: int) -> list[Interval]:
    """The times in which persons alone were waited for, or nobody drove the run: nothing of ours was under way."""
    busy = united(interval(wait, last_us) for wait in waits if wait.kind not in ("person", "nobody"))
    asked = united(interval(wait, last_us) for wait in waits if wait.kind in ("person", "nobody"))
    return [piece for start, end in asked for piece in _without(start, end, busy)]


def _without(start: int, end: int, others: Sequence[Interval]) -> Iterable[Interval]:
    for other_start, other_end in others:
        if other_end <= start or other_start >= end:
            continue
        if other_start > start:
            yield start, other_start
        start = max(start, other_end)
    if start < end:
        yield start, end
