"""The timeline: one line per decision on record, live and afterwards. A view; nothing here decides anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rich.text import Text

from statewright.config.settings import RetryConfig
from statewright.journal.entry import MACHINES
from statewright.presentation.event_words import (
    counted,
    first_line,
    resent_in_words,
    seconds,
    tokens_in_words,
    words_of_run,
    words_of_statement,
    words_of_tool,
)
from statewright.presentation.layout import arguments_in_brief, folded, in_brief, result_in_brief
from statewright.presentation.output import one_line
from statewright.runtime.observers import EventPayload, RunEvent
from statewright_states.call import events as of_call
from statewright_states.run import events as of_run
from statewright_states.tool import events as of_tool
from statewright_states.tool.table import TOOL
from statewright_states.words.messages import Message
from statewright_states.words.vocabulary import Purpose, Resumed

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
MAX_LINE_CHARS = 200
STATE_COLUMN = 33
"""Where the state stands in a line: behind number, time, row and instance."""
WIDE = 100
"""From so many columns on, what is said of the states begins in a column of its own."""

GetMessage = Callable[[str], Message]
"""A message from its digest; raises KeyError for one that is not at hand."""


def no_message(digest: str) -> Message:
    """No message is at hand."""
    raise KeyError(digest)


@dataclass(slots=True)
class TimelineWriter:
    """Follows a run's decisions, and says each in words. Keeps what a later one does not repeat: names and times."""

    retry: RetryConfig
    stage: str = "accepted"
    """The run's state, as the last decision left it."""
    tokens: int = 0
    step: int = 0
    running: dict[str, str] = field(default_factory=dict[str, str])
    """The tools that run now: the call's name in the journal, and the tool's."""
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why rows exist: said of a decision of which nothing else is."""
    _names: dict[str, str] = field(default_factory=dict[str, str])
    _arguments: dict[str, str] = field(default_factory=dict[str, str])
    _since_us: dict[str, int] = field(default_factory=dict[str, int])
    _failures: dict[str, int] = field(default_factory=dict[str, int])
    _first_us: int | None = None

    def follow(self, event: RunEvent, message: GetMessage = no_message) -> TimelineLine:
        """The line of this decision; ``message`` gives what it names: arguments of calls, and results."""
        if self._first_us is None:
            self._first_us = event.at_us
        self._note(event, message)
        whole = self._whole(event, message)
        words = words_of_statement(event) + event.note if event.note else self._words(event, whole)
        if event.interference is not None:
            words = f"[{event.interference}] {words.strip()}"
        words = in_brief(words.strip().partition("\n")[0], MAX_LINE_CHARS) or self.reasons.get(event.row, "")
        at_s, name = (event.at_us - self._first_us) / 1_000_000, self._name(event)
        if event.machine == "tool" and event.row and event.target in TOOL.final:
            self._arguments.pop(event.instance, None)
        return TimelineLine(at_s, event, name, words, whole)

    # -- what is kept ------------------------------------------------------------------------------------------------

    def _note(self, event: RunEvent, message: GetMessage) -> None:
        match event.event:
            case of_run.ReplyReceived() as reply if event.row and reply.calls:
                called = _at_hand(reply.message, message)
                asked = called.tool_calls if called is not None else ()
                self._arguments |= {request.tool: call.arguments for request, call in zip(reply.calls, asked, strict=False)}
            case of_tool.ToolAssessed(changed=str() as changed):
                called = _at_hand(changed, message)
                if called is not None and called.tool_calls:
                    self._arguments[event.instance] = called.tool_calls[0].arguments
            case of_tool.ToolRequested() as requested:
                self._names[event.instance] = requested.request.name
            case of_call.AttemptReplied() as replied if event.row:
                self.tokens += replied.input_tokens + replied.output_tokens + replied.estimated_tokens
            case of_call.CallRequested() as requested:
                self._since_us[event.instance] = event.at_us
                self.step = max(self.step, requested.step)
            case _:
                pass
        if isinstance(event.event, Resumed | of_tool.ToolResumed):  # it is done again: the time between is nobody's
            self._since_us[event.instance] = event.at_us
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

    def _whole(self, event: RunEvent, message: GetMessage) -> str:
        """The text that a decision is about: the arguments of a call, its result, or a reply."""
        match event.event:
            case of_tool.ToolRequested():
                return self._arguments.get(event.instance, "")
            case of_tool.ToolReturned() | of_tool.ToolFailed() | of_tool.ToolRepeated() | of_run.ReplyReceived() as told:
                found = _at_hand(told.message, message)
                return (found.content or "") if found is not None else ""
            case _:
                return ""

    def _words(self, event: RunEvent, whole: str) -> str:
        if event.machine == "call":
            return self._of_call(event)
        if event.machine != "tool":
            return words_of_run(event)
        words = words_of_tool(event, self._took(event))
        asked = event.target == "awaiting_approval" != event.source
        if not asked and event.target not in TOOL.final and not isinstance(event.event, of_tool.ToolRequested):
            return words
        told = arguments_in_brief(self._arguments.get(event.instance, ""))
        if whole and isinstance(event.event, of_tool.ToolReturned | of_tool.ToolRepeated):
            told = f"{told} → {result_in_brief(whole)}".strip()
        return " · ".join(filter(None, (told, words)))

    def _of_call(self, event: RunEvent) -> str:
        match event.event:
            case of_call.CallRequested(purpose=Purpose.GENERATION) as requested:
                return f"step {requested.step}: {counted(requested.messages, 'message')} to the model"
            case of_call.CallRequested() as requested:
                return f"{requested.purpose}: {counted(requested.messages, 'message')} to the model"
            case of_call.AttemptReplied() as replied:
                return f"{self._took(event)}, {tokens_in_words(replied)}{resent_in_words(replied.resent)}"
            case of_call.AttemptFailed() as failed:
                told = first_line(f"{failed.error}: {failed.detail}")
                told += resent_in_words(failed.resent)
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
    whole: str = ""
    """The text that it is about, as it was: arguments, a result, a reply."""

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

    def text(self, width: int | None = None) -> Text:
        """The line as set: number, time, row, instance, state, words; in ``width`` columns, or on one line."""
        event = self.event
        tone = TONES.get(event.target, "") if event.row else TONE_OF_REFUSED if event.note.startswith("refused") else "dim"
        line = Text.assemble(
            (f"{event.seq:>4} {self.at_s:7.2f}s ", "dim"),
            (f"{one_line(event.row) or '-':<8} ", "cyan"),
            (f"{one_line(event.instance):<9} ", "dim"),
            (one_line(event.target) if width is not None and width < WIDE else f"{one_line(event.target):<17}", tone),
            ("  " + self.name if self.name else "", "bold"),
            "  " + self.words,
        )
        line.rstrip()
        return line if width is None else folded(line, width, STATE_COLUMN + 2)


def _at_hand(digest: str, message: GetMessage) -> Message | None:
    try:
        return message(digest)
    except KeyError:
        return None


def live_event(kind: str, payload: EventPayload) -> RunEvent:
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
