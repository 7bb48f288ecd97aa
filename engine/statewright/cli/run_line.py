"""One run of a list of runs, and which runs are listed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from statewright.core.moment import CommandUnderWay
from statewright.journal.entry import End, Header
from statewright.presentation.output import one_line
from statewright.runtime.decisions import progress
from statewright.views.state import PendingApproval
from statewright_states.frozen import dataclass

UNITS_S = {"s": 1, "min": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run of the list. ``status`` is ``waiting`` for a run that waits for a person, ``damaged`` for one nobody can read.

    One that goes on is ``running`` in a live process, ``killed`` where its process died, ``interrupted`` where it left it.
    ``owner`` is the process that has its lease.

    For a run of a table of somebody's own it is the state, ``steps`` are its rows, ``task`` is the event that it began with.
    """

    run_id: str
    status: str
    stop_reason: str | None
    steps: int
    started_at_us: int
    task: str
    agent: str | None = None
    session: str | None = None
    owner: str | None = None
    tokens: int = 0
    """What models counted, or what was estimated; 0 for a table of somebody's own."""
    cost_microusd: int = 0
    waits_for: str = ""
    """What is under way in a run that has not ended: whom it waits for, in words."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are listed; None is any. Times in microseconds since 1970."""

    status: str | None = None
    agent: str | None = None
    session: str | None = None
    since_us: int | None = None
    until_us: int | None = None

    def admits(self, header: Header) -> bool:
        """Whether what stands in the header is as asked for."""
        return (
            self.agent in (None, header.agent)
            and self.session in (None, header.session)
            and (self.until_us is None or header.at_us <= self.until_us)
            and (self.since_us is None or header.at_us >= self.since_us)
        )


def line_of_end(run_id: str, header: Header, end: End, task: str) -> RunLine:
    """The line of a run of an agent, or of a planned task, that has ended: header and last entry say all of it.

    ``run_id`` is what the store calls it: where that is another name than the header's, it is under this one that it is found.
    """
    return RunLine(
        run_id,
        end.status,
        end.stop_reason,
        end.steps,
        header.at_us,
        task,
        header.agent,
        header.session,
        tokens=end.input_tokens + end.output_tokens,
        cost_microusd=end.cost_microusd,
    )


def age(age_s: float) -> str:
    """How long ago: ``3 min``, in whole units, the largest that fits."""
    unit, unit_s = next(((unit, unit_s) for unit, unit_s in reversed(UNITS_S.items()) if age_s >= unit_s), ("s", 1))
    return f"{max(int(age_s // unit_s), 0)} {unit}"


# -- whom a run waits for ----------------------------------------------------------------------------------------------

WHOM: Mapping[str, str] = {
    "SendRequest": "the model",
    "BackOff": "a pause before the next attempt",
    "JoinLane": "its turn in the session",
    "BuildContext": "its context",
    "AssessTool": "a tool's assessment",
    "StartPlan": "the run that plans",
    "StartBuild": "the run that builds",
}
"""Whom a run waits for while a command of ours is under way. Timers are not waited for."""
TIMERS = ("WatchRunDeadline", "PauseRunDeadline", "WatchStepDeadline")


def waits_for(pending: Iterable[PendingApproval], under_way: Iterable[CommandUnderWay], tools: Mapping[str, str]) -> str:
    """Whom a run waits for: persons with what is needed of them, else what is under way. ``tools`` has names by instance."""
    persons = [f"a person: {one_line(asked.name)}, {progress(asked.sign_off)}" for asked in pending]
    if persons:
        return "; ".join(map(one_line, persons))
    told = (_whom(command, tools) for command in under_way if command.command not in TIMERS)
    return one_line(", ".join(dict.fromkeys(filter(None, told))))


def _whom(command: CommandUnderWay, tools: Mapping[str, str]) -> str:
    if command.command == "StartTool":
        return f"the tool {tools.get(command.instance, command.instance)}"
    return WHOM.get(command.command, command.command)
