"""The timeline: one line per decision on record, live and afterwards. A view; nothing here decides anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from statewright.cli.output import first_line, one_line
from statewright.config.settings import RetryConfig
from statewright.core.deciding_code import in_words
from statewright.journal.entry import MACHINES
from statewright.runtime.observers import RunEvent
from statewright.tools.ask_if import asked_if_in_words
from statewright_states.call import events as of_call
from statewright_states.plan_build import events as of_plan_build
from statewright_states.plan_build.facts import ChildEnd, Ending
from statewright_states.run import events as of_run
from statewright_states.run.facts import CutOff, Finish
from statewright_states.tool import events as of_tool
from statewright_states.tool.table import TOOL
from statewright_states.words.vocabulary import (
    CancelRequested,
    CodeChangeAccepted,
    EngineFailed,
    Purpose,
    Resumed,
    RunStalled,
    StopRequested,
)

TONES: Mapping[str, str] = {
    "success": "bold green",
    "returned": "green",
    "replied": "green",
    "partial": "bold yellow",
    "failed": "bold red",
    "timed_out": "red",
    "backing_off": "yellow",
    "awaiting_approval": "bold yellow",
    "outcome_unknown": "bold yellow",
    "waiting": "bold yellow",
    "damaged": "bold red",
    "denied": "yellow",
    "skipped": "yellow",
    "repeated": "yellow",
    "cancelled": "yellow",
}
"""How a state is set, and what the list of runs calls one; every other one is plain."""
TONE_OF_REFUSED = "bold red"
TELLING_OF_A_CALL = (of_call.AttemptReplied, of_call.AttemptFailed, of_call.BackoffElapsed, of_call.StepDeadline, Resumed)
MAX_ERROR_CHARS = 80


@dataclass(slots=True)
class Timeline:
    """Follows a run's decisions, and says each in words. Keeps what a later one does not repeat: names and times."""

    retry: RetryConfig
    stage: str = "accepted"
    """The run's state, as the last decision left it."""
    tokens: int = 0
    step: int = 0
    running: dict[str, str] = field(default_factory=dict[str, str])
    """The tools that run now: the call's name in the journal, and the tool's."""
    _names: dict[str, str] = field(default_factory=dict[str, str])
    _since_us: dict[str, int] = field(default_factory=dict[str, int])
    _failures: dict[str, int] = field(default_factory=dict[str, int])
    _first_us: int | None = None

    def follow(self, event: RunEvent) -> TimelineLine:
        """The line of this decision."""
        if self._first_us is None:
            self._first_us = event.at_us
        self._note(event)
        words = _of_statement(event) + event.note if event.note else self._words(event)
        return TimelineLine((event.at_us - self._first_us) / 1_000_000, event, self._name(event), first_line(words))

    # -- what is kept ------------------------------------------------------------------------------------------------

    def _note(self, event: RunEvent) -> None:
        match event.event:
            case of_tool.ToolRequested() as requested:
                self._names[event.instance] = requested.request.name
            case of_call.AttemptReplied() as replied if event.row:
                self.tokens += replied.input_tokens + replied.output_tokens + replied.estimated_tokens
            case of_call.CallRequested() as requested:
                self._since_us[event.instance] = event.at_us
                self.step = max(self.step, requested.step)
            case _:
                pass
        if event.machine in MACHINES:
            self.stage = event.target
        elif event.machine == "tool" and event.target != event.source:
            self._note_tool(event)

    def _note_tool(self, event: RunEvent) -> None:
        if event.target == "running":
            self._since_us[event.instance] = event.at_us
            self.running[event.instance] = self._name(event)
        else:
            self.running.pop(event.instance, None)

    def _name(self, event: RunEvent) -> str:
        """The tool's name; empty for other machines."""
        return one_line(self._names.get(event.instance, "")) if event.machine == "tool" else ""

    def _took(self, event: RunEvent) -> str:
        since_us = self._since_us.get(event.instance)
        return "" if since_us is None else seconds((event.at_us - since_us) / 1_000_000)

    # -- words -------------------------------------------------------------------------------------------------------

    def _words(self, event: RunEvent) -> str:
        if event.machine == "call":
            return self._of_call(event)
        return _of_tool(event, self._took(event)) if event.machine == "tool" else _of_run(event)

    def _of_call(self, event: RunEvent) -> str:
        match event.event:
            case of_call.CallRequested(purpose=Purpose.GENERATION) as requested:
                return f"step {requested.step}: {counted(requested.messages, 'message')} to the model"
            case of_call.CallRequested() as requested:
                return f"{requested.purpose}: {counted(requested.messages, 'message')} to the model"
            case of_call.AttemptReplied() as replied:
                return f"{self._took(event)}, {_tokens(replied)}" + _resent(replied.resent)
            case of_call.AttemptFailed() as failed:
                told = first_line(f"{failed.error}: {failed.detail}", MAX_ERROR_CHARS) + _resent(failed.resent)
                return told + self._next_attempt(event, failed)
            case of_call.BackoffElapsed():
                return "sending again"
            case of_call.StepDeadline():
                return f"no reply within the step's time ({self._took(event)})"
            case Resumed():
                return "taken up again"
            case _:
                return ""

    def _next_attempt(self, event: RunEvent, failed: of_call.AttemptFailed) -> str:
        """What follows a failed attempt. The wait is about what is said: it is drawn around the configured one."""
        if event.target == "sending":
            self._failures[event.instance] = 0
            return ", now the next model"
        if event.target != "backing_off":
            return ""
        count = self._failures[event.instance] = self._failures.get(event.instance, 0) + 1
        waits_s = self.retry.waits_s or (0.0,)
        wait_s = waits_s[min(count, len(waits_s)) - 1] if failed.retry_after_s is None else failed.retry_after_s
        return f", again in about {min(wait_s, self.retry.max_wait_s):g} s"


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """A decision in words."""

    at_s: float
    event: RunEvent
    name: str
    words: str

    @property
    def telling(self) -> bool:
        """Whether somebody who watches wants to see it: results and turns, not the bookkeeping between them."""
        event = self.event
        if not event.row:
            return event.note.startswith("refused") or isinstance(event.event, of_tool.ApprovalGiven | of_run.MessageUnreadable)
        if event.machine in MACHINES:
            return (event.source != event.target and event.target not in ("queued", "preparing")) or bool(self.words)
        if event.machine == "call":
            return isinstance(event.event, TELLING_OF_A_CALL)
        return event.target in (*TOOL.final, "awaiting_approval") or isinstance(event.event, of_tool.ApprovalGiven)

    def text(self) -> Text:
        """The line as set: time, row, instance, state, words."""
        event = self.event
        tone = TONES.get(event.target, "") if event.row else TONE_OF_REFUSED if event.note.startswith("refused") else "dim"
        line = Text.assemble(
            (f"{self.at_s:8.2f}s  ", "dim"),
            (f"{one_line(event.row) or '-':<8}", "cyan"),
            (f"{one_line(event.instance):<9} ", "dim"),
            (f"{one_line(event.target):<18}", tone),
            (f"{self.name}  " if self.name else "", "bold"),
            self.words,
        )
        line.rstrip()
        return line


def _tokens(replied: of_call.AttemptReplied) -> str:
    """What a reply used, as the provider counted it, or about."""
    if not replied.estimated_tokens:
        return f"{replied.input_tokens} tokens in, {replied.output_tokens} out"
    return f"about {replied.estimated_input_tokens} tokens in, {replied.estimated_output_tokens} out"


def _resent(count: int) -> str:
    return f", sent {counted(count, 'time')} more: its kept connection was closed" if count else ""


def _of_run(event: RunEvent) -> str:
    match event.event:
        case of_run.ContextBuilt() as built:
            mended = "".join(f"; {what}" for what in built.mended)
            return f"{counted(len(built.messages), 'message')}, about {built.context_tokens} tokens{mended}"
        case of_run.ReplyReceived() as reply:
            return _of_reply(reply)
        case of_run.CompactionPlanned() as planned:
            return f"{counted(planned.old, 'message')} could be summarised, {planned.dropped} would have to be dropped"
        case of_run.CallFailed() | of_run.ContextFailed() | of_run.EstimatorFailed() | of_run.SummaryFailed() as failed:
            return failed.error
        case EngineFailed() | RunStalled() as defect:
            return defect.error
        case of_run.CallTimedOut():
            return "the model did not reply in time"
        case of_run.SummaryReady():
            return "old exchanges are summarised"
        case of_run.VerdictReached() as verdict:
            return _of_verdict(verdict)
        case of_run.OutcomeStated() as stated:
            return f"{stated.actor} says: {'go on' if stated.go_on else 'end the run'}. {stated.comment}"
        case of_run.MessageUnreadable() as unreadable:
            return f"a message that cannot be read was left for the run: {unreadable.problem}"
        case of_run.ToolOutcomeUnknown() as unknown:
            return f"{unknown.tool} began, and nobody knows how it ended"
        case of_plan_build.PlanEnded() | of_plan_build.BuildEnded() as ended:
            return _of_child(ended.end)
        case of_plan_build.ChildWaits() as child:
            return f"{child.run} waits for a person"
        case of_plan_build.ChildUnrecorded() as child:
            return f"{child.run} cannot be recorded: {first_line(child.error, MAX_ERROR_CHARS)}"
        case StopRequested():
            return "stop requested"
        case CancelRequested():
            return "cancelled"
        case of_run.RunDeadline():
            return "the time for the run is up"
        case of_run.RunDeadlinePaused() as paused:
            return f"the run's time stands still while a person is asked; {paused.worked_us / 1_000_000:.1f} s of it were used"
        case Resumed():
            return "taken up again"
        case CodeChangeAccepted() as accepted:
            return f"goes on under other code, which was accepted: {in_words(accepted.changes)}"
        case _:
            return ""


def _of_child(end: ChildEnd) -> str:
    why = "" if end.status is Ending.SUCCESS else f", {end.stop_reason}"
    return f"{end.run.rpartition('.')[2]}: {end.status}{why}, {counted(end.steps, 'step')}"


def _of_reply(reply: of_run.ReplyReceived) -> str:
    if reply.finish is Finish.LENGTH or reply.cut_off is CutOff.STATED:
        return "is cut off by its length"
    if reply.cut_off is CutOff.AT_CAP:
        return "is cut off: it has as many tokens as it may have"
    if reply.cut_off is CutOff.IN_ARGUMENTS:
        return "is cut off in the middle of a call's arguments"
    if reply.silent:
        return "has nothing to say"
    if reply.calls:
        return f"asks for {', '.join(request.name for request in reply.calls)}"
    return "answers" if reply.has_text else "says nothing"


def _of_verdict(verdict: of_run.VerdictReached) -> str:
    if not verdict.reached:
        return "the judge could not be asked"
    if not verdict.readable:
        return "nobody can read the judge's words as a verdict"
    said = "completed" if verdict.completed else "not completed"
    return f"judged {said}, confidence {verdict.confidence:g}" + "".join(f"; {issue}" for issue in verdict.issues)


def _of_statement(event: RunEvent) -> str:
    """What a person said that was not counted, or what is wrong with a message; nothing for any other event."""
    match event.event:
        case of_tool.ApprovalGiven():
            return f"{_of_tool(event, '')}, "
        case of_run.OutcomeStated() | of_run.MessageUnreadable():
            return f"{_of_run(event)}, "
        case _:
            return ""


def _of_tool(event: RunEvent, took: str) -> str:
    match event.event:
        case of_tool.ApprovalGiven() as given:
            return f"{given.meaning} by {given.actor}" + (f": {given.comment}" if given.comment else "")
        case of_tool.NobodyToAsk():
            return "nobody can be asked"
        case of_tool.ToolAssessed() as assessed:
            return asked_if_in_words(assessed.asked_if) if assessed.asked_if else assessed.reason
        case of_tool.ToolFailed() as failed:
            return f"{took}, {failed.error}"
        case of_tool.ToolSkipped() as skipped:
            return skipped.reason
        case of_tool.ToolRepeated() as repeated:
            return f"made again; the result of {repeated.earlier} stands for it"
        case of_tool.ToolRequested() as requested:
            request = requested.request
            return ", ".join((request.effect, request.call_id, *map(asked_if_in_words, filter(None, (request.asked_if,)))))
        case of_tool.ToolStopped():
            return f"{took}, stop requested" if took else "stop requested"
        case of_tool.ToolResumed():
            return "taken up again"
        case _:
            return took if event.target in TOOL.final else ""


def seconds(value: float) -> str:
    """A duration in as many digits as say something: ``12 ms``, ``3.4 s``, ``2 min 05 s``."""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60:02d} s"


def counted(number: int, noun: str) -> str:
    """``1 step``, ``2 steps``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def live_event(kind: str, payload: Mapping[str, Any]) -> RunEvent:
    """What ``AgentLoop`` tells its ``on_event`` callback, as a decision's view."""
    return RunEvent(
        run_id=payload["run_id"],
        seq=payload["seq"],
        at_us=payload["at_us"],
        machine=kind.partition(".")[0],
        instance=payload["instance"],
        event=payload["event"],
        row=payload["row"],
        source=payload["from"],
        target=payload["to"],
        note=payload["note"],
    )
