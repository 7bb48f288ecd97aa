"""The decisions of a run in words, the path of each of its machines, and what an undisturbed run has none of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from statewright.config.settings import RetryConfig
from statewright.core.deciding_code import in_words as changes_in_words
from statewright.core.described_machines import DescribedMachine
from statewright.core.explanation import Explanation
from statewright.presentation.event_words import words_of_run
from statewright.presentation.layout import in_brief
from statewright.presentation.own_machines import in_words
from statewright.presentation.timeline import TimelineWriter
from statewright.report.model import MachinePath, MachineStep, Noted, OutOfOrder, ReportedDecision
from statewright.report.opened_run import Happened, OpenedRun, run_event
from statewright_states.call import events as of_call
from statewright_states.form.row import Event
from statewright_states.frozen import replace
from statewright_states.run import events as of_run
from statewright_states.tool import events as of_tool
from statewright_states.versions import version_with
from statewright_states.words.vocabulary import (
    CancelRequested,
    CodeChangeAccepted,
    EngineFailed,
    HookDecision,
    HookOutcome,
    Resumed,
    RunStalled,
    StopRequested,
)

MAX_DECISIONS = 5_000
"""Of a run; the newest are shown."""
MAX_EXPLAINED = 600
"""Decisions that are explained in full: the newest, and those that were refused."""
MAX_DATA_CHARS = 400
"""Of one value of an event or a command."""

FAULTS = (
    of_call.AttemptFailed,
    of_call.StepDeadline,
    of_run.CallFailed,
    of_run.CallTimedOut,
    of_run.ContextFailed,
    of_run.StartDenied,
    of_run.SummaryFailed,
    of_run.EstimatorFailed,
    of_run.RunDeadline,
    of_run.MessageUnreadable,
    of_run.ToolOutcomeUnknown,
    of_tool.ToolFailed,
    of_tool.ToolDeadline,
    of_tool.NobodyToAsk,
    of_tool.ToolStopped,
    StopRequested,
    CancelRequested,
    RunStalled,
    EngineFailed,
)
"""Events that say that something did not go as it should, or was stopped."""


def decisions_of(run: OpenedRun) -> tuple[tuple[ReportedDecision, ...], Mapping[str, int]]:
    """The decisions in words, and how many are not told, or not explained."""
    reasons = {identity: said.why for machine in run.machines.values() for identity, said in machine.words.items()}
    writer = TimelineWriter(RetryConfig(), reasons=reasons)
    told = [_decided(run, each, writer) for each in run.happened]
    shown = told[-MAX_DECISIONS:]
    explained = {each.number for each in shown[-MAX_EXPLAINED:]} | {each.number for each in shown if each.outcome == "refused"}
    whole = [replace(each, why=_bounded(run.explain(each.number))) if each.number in explained else each for each in shown]
    left_out = {"decisions": len(told) - len(shown), "explanations": len(shown) - len(explained)}
    return tuple(whole), {name: count for name, count in left_out.items() if count}


def _decided(run: OpenedRun, happened: Happened, writer: TimelineWriter) -> ReportedDecision:
    decision = happened.decision
    if happened.event is not None:
        words = writer.follow(run_event(run.run_id, happened), run.message).words
    else:
        words = in_brief(in_words(decision.event, decision.data))
    return ReportedDecision(
        number=decision.seq,
        entry=happened.entry.seq,
        at_us=happened.at_us,
        instance=decision.instance,
        event=decision.event,
        id=decision.decided or "",
        source=decision.source,
        target=decision.target,
        outcome="taken" if decision.row is not None else "ignored" if decision.ignored is not None else "refused",
        words=words,
        why=None,
    )


def _bounded(why: Explanation | None) -> Explanation | None:
    """The explanation, with long values cut: they stand in the journal, and in the parts of the report about them."""
    if why is None:
        return None
    commands = tuple(replace(given, data=_cut(given.data)) for given in why.commands)
    return replace(why, data=_cut(why.data), commands=commands)


def _cut(data: Mapping[str, object]) -> dict[str, object]:
    return {name: _cut_value(value) for name, value in data.items()}


def _cut_value(value: object) -> object:
    text = value if isinstance(value, str) else "" if isinstance(value, int | float) else str(value)
    return value if len(text) <= MAX_DATA_CHARS else in_brief(text, MAX_DATA_CHARS)


# -- paths -----------------------------------------------------------------------------------------------------------


def paths_of(run: OpenedRun) -> tuple[MachinePath, ...]:
    """The path of each machine that the run is pinned to; that of the run itself is the first."""
    order = sorted(run.machines, key=lambda name: name != run.header.machine)
    return tuple(_path(run, name, run.machines[name]) for name in order)


def _path(run: OpenedRun, name: str, machine: DescribedMachine) -> MachinePath:
    here = (each.decision for each in run.happened if each.decision.machine == name)
    steps = [MachineStep(one.seq, one.instance, one.source, one.row, one.target) for one in here if one.row is not None]
    version = version_with(machine.fingerprint)
    label = version.name if version is not None else f"a form of {name} that is no released version"
    return MachinePath(name, label, machine.fingerprint, len(machine.form.rows), tuple(steps))


# -- out of order ----------------------------------------------------------------------------------------------------


def out_of_order(run: OpenedRun) -> OutOfOrder:
    """What an undisturbed run has none of."""
    taken = [each for each in run.happened if each.decision.row is not None]
    return OutOfOrder(
        interference=tuple(_noted(run.happened, _interference)),
        resumptions=tuple(_noted(taken, _resumption)),
        refused=tuple(_noted(run.happened, lambda each: each.decision.refused)),
        ignored=tuple(_noted(run.happened, lambda each: _ignored(run, each))),
        faults=tuple(_noted(taken, _fault)),
    )


def _noted(happened: Sequence[Happened], says: Callable[[Happened], str | None]) -> Iterator[Noted]:
    for each in happened:
        text = says(each)
        if text is not None:
            what = f"{each.decision.event} at {each.decision.instance}"
            yield Noted(each.decision.seq, each.at_us, what, in_brief(text, MAX_DATA_CHARS))


def _interference(happened: Happened) -> str | None:
    mark = happened.decision.interference
    return None if mark is None else str(mark)


def _resumption(happened: Happened) -> str | None:
    match happened.event:
        case Resumed() as resumed if happened.decision.machine == happened.decision.instance:
            return f"taken up again, under the lease of epoch {resumed.epoch}"
        case CodeChangeAccepted() as accepted:
            return f"whoever took it up let it go on under other code: {changes_in_words(accepted.changes)}"
        case _:
            return None


def _ignored(run: OpenedRun, happened: Happened) -> str | None:
    decision = happened.decision
    if decision.ignored is None:
        return None
    machine = run.machines.get(decision.machine)
    said = machine.words.get(decision.ignored) if machine is not None else None
    return f"{decision.ignored}: {said.why}" if said is not None else decision.ignored


def _fault(happened: Happened) -> str | None:
    event = happened.event
    guards = [each for each in _guards(event) if each.outcome is not HookOutcome.ALLOWED]
    told = [
        f"the guard {each.hook} ({each.point}): {each.outcome}{f', {each.reason}' if each.reason else ''}" for each in guards
    ]
    if isinstance(event, FAULTS):
        told.append(_fault_in_words(happened))
    return "; ".join(filter(None, told)) if told else None


def _guards(event: Event | None) -> tuple[HookDecision, ...]:
    found: tuple[HookDecision, ...] = getattr(event, "decisions", ())
    return found


def _fault_in_words(happened: Happened) -> str:
    match happened.event:
        case of_call.AttemptFailed() as failed:
            status = f", status {failed.status_code}" if failed.status_code else ""
            return f"{failed.error}{status}: {failed.detail}"
        case of_call.StepDeadline():
            return "no reply within the step's time"
        case of_tool.ToolFailed() as failed:
            return failed.error
        case of_tool.ToolDeadline():
            return "the tool's time was up"
        case of_tool.NobodyToAsk():
            return "nobody could be asked"
        case of_tool.ToolStopped():
            return "a stop was asked for"
        case _:
            return words_of_run(run_event("", happened))
