"""How a run stands, and why, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from statewright.core.explanation import Explanation
from statewright.presentation.event_words import counted, seconds
from statewright.report.model import BoundedText, ReportedOutcome
from statewright.report.opened_run import OpenedRun
from statewright_states.call.events import AttemptFailed
from statewright_states.words.vocabulary import StopReason

BECAUSE: Mapping[str, str] = {
    StopReason.COMPLETED: "the model gave an answer, and nothing was left to do",
    StopReason.MAX_STEPS: "the model had been called as often as the configuration allows",
    StopReason.STEP_TIMEOUT: "the model did not reply within the time for a step",
    StopReason.RUN_TIMEOUT: "the time for the whole run was up",
    StopReason.INTERRUPTED: "somebody asked it to stop",
    StopReason.CANCELLED: "somebody cancelled it",
    StopReason.TRUNCATED: "the model's reply was cut off by its length",
    StopReason.BLOCKED: "a guard or the model's service did not let it go on",
    StopReason.EMPTY_REPLY: "the model had nothing to say, also when it was asked again",
    StopReason.INCOMPLETE: "the answer was not complete",
    StopReason.REPEATING: "the model asked for the same calls again and again",
    StopReason.CONTEXT_FULL: "the messages no longer fitted into the model's window",
    StopReason.BUDGET_EXCEEDED: "its budget was used up",
    StopReason.LLM_ERROR: "the model could not be asked",
    StopReason.TOOL_OUTCOME_UNKNOWN: "a tool had begun, and nobody knows how it ended",
    StopReason.EVALUATION_FAILED: "the answer did not pass its evaluation",
    StopReason.APPROVAL_DENIED: "a person rejected it",
    StopReason.INTERNAL_ERROR: "the engine itself failed",
}
"""What each stop reason means, to be said behind "because"."""

ENDED: Mapping[str, str] = {"success": "succeeded", "partial": "ended as partial", "failed": "failed"}
STANDS: Mapping[str, str] = {
    "waiting": "It waits for a person",
    "running": "It goes on, driven by a process that is alive",
    "interrupted": "It was left by its process, and can be resumed",
    "killed": "The process that drove it has died, and it can be resumed",
    "open": "Its record does not say how it ended",
}


def outcome_of(run: OpenedRun, standing: str) -> ReportedOutcome:
    """How the run stands; ``standing`` says it of one that has not ended."""
    why = run.explain(run.timeline.asked_about) if run.timeline.asked_about else None
    end = run.end
    output = run.plain(end.output) if end is not None else None
    told = BoundedText("") if output is None else run.bounded(_as_text(output), markdown=run.ours)
    return ReportedOutcome(
        word=_word(run, standing),
        stop_reason=end.stop_reason if end is not None else None,
        sentence=_sentence(run, standing, why) + _interfered(run),
        reason=why.why if why is not None else "",
        row=why.id if why is not None else None,
        decision=why.decision if why is not None else None,
        output=told if told.text else None,
        error=_error(run),
    )


def _word(run: OpenedRun, standing: str) -> str:
    end = run.end
    if end is None:
        return standing
    return end.status


def _as_text(output: object) -> str:
    if isinstance(output, str):
        return output
    return "" if output is None else _lines(output)


def _lines(value: object) -> str:
    if isinstance(value, Mapping):
        fields = cast("Mapping[object, object]", value)
        return "\n".join(f"{name}: {given}" for name, given in fields.items())
    return str(value)


def _sentence(run: OpenedRun, standing: str, why: Explanation | None) -> str:
    what = "The task" if run.header.machine == "plan_build" else "The run"
    took = seconds((run.last_us - run.header.at_us) / 1_000_000)
    end = run.end
    if end is None:
        where = f" after {took}, in the state {run.timeline.at(run.timeline.last).main.state}" if why is not None else ""
        damaged = ", as far as its record can be read" if run.problem else ""
        return f"{what} has not ended{where}{damaged}. {STANDS[standing]}."
    if not run.ours:
        why_so = f", by the row {why.id}: {why.why}" if why is not None and why.why else f", by the row {end.stop_reason}"
        return f"{what} ended in the state {end.status} after {took}{why_so}."
    steps = f"{counted(end.steps, 'step')} and {took}"
    because = BECAUSE.get(end.stop_reason, f"of {end.stop_reason}")
    if run.header.machine == "plan_build" and end.stop_reason == StopReason.COMPLETED:
        because = "the run that builds has done it"
    by = f" (row {why.id})" if why is not None and why.id else ""
    judged = {True: " A judge found the task completed.", False: " A judge found the task not completed.", None: ""}
    return f"{what} {ENDED.get(end.status, end.status)} after {steps}, because {because}{by}.{judged[end.verified]}"


def _interfered(run: OpenedRun) -> str:
    """That somebody interfered with it: such a run is never told like an undisturbed one."""
    marks = sum(each.decision.interference is not None for each in run.happened)
    return f" It was interfered with {counted(marks, 'time')}: what it did, it did not do by itself." if marks else ""


def _error(run: OpenedRun) -> str:
    """The last error that a model's service gave, of a run that could not ask it."""
    if run.end is None or run.end.stop_reason != StopReason.LLM_ERROR:
        return ""
    failed = [each.event for each in run.happened if isinstance(each.event, AttemptFailed)]
    return f"{failed[-1].error}: {failed[-1].detail}" if failed else ""
