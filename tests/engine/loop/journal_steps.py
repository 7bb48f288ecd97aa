"""A run's journal, taken step by step through the composition that is proven: the same rows, by the same events.

Each event from outside begins a macrostep of the composition. What follows inside has to be what the record says: for each
command the router makes the event anew, where only what the machines cannot know (``Surroundings``) is read from the record. On
the way everything that the proofs watch is watched here too.
"""

from __future__ import annotations

from statewright.core.links import Route
from statewright.core.routing import ROUTER
from statewright.core.surroundings import Remainder, ReplySigns, RequestSigns, Summary, VerdictSigns
from statewright.journal.entry import Delivery
from statewright.journal.reading import Record, delivery_of
from statewright_evidence.proofs.composition.decisions import Decisions
from statewright_evidence.proofs.composition.external_events import DUE
from statewright_evidence.proofs.composition.macrostep import Macrostep, Setting
from statewright_evidence.proofs.composition.outside import Pending
from statewright_evidence.proofs.composition.scope import Scope
from statewright_evidence.proofs.composition.situation import Call, Core, ExternalEvent, Pool, Tables
from statewright_evidence.proofs.composition.surroundings import EveryAnswer
from statewright_states.call.commands import ReportCall
from statewright_states.call.events import CallRequested
from statewright_states.form.row import Event
from statewright_states.run.commands import CancelTool, SkipTool, StopTool
from statewright_states.run.events import (
    CompactionPlanned,
    ReplyReceived,
    SummaryFailed,
    SummaryReady,
    ToolOutcomeUnknown,
    ToolSettled,
    VerdictReached,
)
from statewright_states.tool.events import ToolCancelled, ToolRepeated, ToolSkipped, ToolStopped
from statewright_states.words.vocabulary import ToolRequest

ANY = Scope("a record", "")
INSIDE = frozenset(command.__name__ for command, link in ROUTER.links.items() if link.route is Route.MACHINE)
AT_ONCE = frozenset(command.__name__ for command, link in ROUTER.links.items() if link.at_once)


class Remaining:
    """The events of a record with the rows that they took, from the next one on. ``at`` is its place."""

    def __init__(self, record: Record) -> None:
        self._decisions = [(decision, entry.seq) for entry in record.entries for decision in entry.decisions]
        self._deliveries = [delivery_of(decision, entry) for decision, entry in self._decisions]
        self._commands = {given.id: given.command for decision, _ in self._decisions for given in decision.commands}
        self.at = 0

    @property
    def next(self) -> Delivery | None:
        """What comes next."""
        return self._deliveries[self.at] if self.at < len(self._deliveries) else None

    @property
    def next_comes_of(self) -> str:
        """The name of the command that led to what comes next; empty where none did."""
        return self._commands.get(self.next.cause or "", "") if self.next else ""

    @property
    def next_row(self) -> tuple[str, str]:
        """Who took what comes next, and by which row or ignore."""
        decision, _ = self._decisions[self.at]
        late = f"{decision.ignored} (ignored)" if decision.ignored else "refused"
        return decision.instance, decision.row or late

    def at_once(self, pending: Pending, name: str) -> tuple[ExternalEvent, ...] | None:
        """What comes next, where it came at once of this effect."""
        recorded, command = self.next, self.next_comes_of
        if recorded is None or recorded.instance != pending.machine or command not in AT_ONCE:
            return None
        return (ExternalEvent(command, DUE, recorded.instance, recorded.event),)

    @property
    def event(self) -> Event:
        """The event that comes next."""
        assert self.next is not None, "the record ends, and something should follow"
        return self.next.event


class RecordedAnswers(EveryAnswer):
    """Answers what the router asks as the record's next event says."""

    def __init__(self, record: Remaining) -> None:
        super().__init__(ANY)
        self._record = record

    def model_request(self) -> RequestSigns:
        event = self._record.event
        assert isinstance(event, CallRequested), event
        return {
            "max_attempts": event.max_attempts,
            "fallbacks": event.fallbacks,
            "transcript": event.transcript,
            "messages": event.messages,
            "added": event.added,
        }

    def context_tokens(self) -> int:
        event = self._record.event
        assert isinstance(event, ToolSettled | ToolOutcomeUnknown), event
        return event.context_tokens

    def reply(self, report: ReportCall) -> ReplySigns:
        event = self._record.event
        assert isinstance(event, ReplyReceived), event
        return {
            "finish": event.finish,
            "has_text": event.has_text,
            "message": event.message,
            "calls": event.calls,
            "calls_digest": event.calls_digest,
            "context_tokens": event.context_tokens,
            "cut_off": event.cut_off,
            "silent": event.silent,
        }

    def judgement(self, report: ReportCall) -> VerdictSigns:
        event = self._record.event
        assert isinstance(event, VerdictReached), event
        return {
            "readable": event.readable,
            "completed": event.completed,
            "confidence": event.confidence,
            "issues": event.issues,
            "suggestion": event.suggestion,
        }

    def summary(self, report: ReportCall) -> Summary:
        event = self._record.event
        assert isinstance(event, SummaryReady | SummaryFailed), event
        if isinstance(event, SummaryReady):
            return Summary(event.message, "", _remainder(event))
        return Summary(None, event.error, _remainder(event))

    def holds_summary(self, report: ReportCall) -> bool:
        return isinstance(self._record.event, SummaryReady)

    def compaction(self) -> tuple[int, Remainder]:
        event = self._record.event
        assert isinstance(event, CompactionPlanned), event
        return event.old, _remainder(event)

    def repeated(self, request: ToolRequest) -> tuple[str, str]:
        event = self._record.event
        assert isinstance(event, ToolRepeated), event
        return event.earlier, event.message

    def tool_message(self, command: SkipTool | StopTool | CancelTool) -> str:
        event = self._record.event
        assert isinstance(event, ToolSkipped | ToolStopped | ToolCancelled), event
        return event.message


def _remainder(event: CompactionPlanned | SummaryReady | SummaryFailed) -> Remainder:
    return {
        "dropped": event.dropped,
        "exchanges": event.exchanges,
        "context_tokens": event.context_tokens,
        "before": event.before,
        "after": event.after,
    }


class RecordedStep(Macrostep):
    """A macrostep that moves on in the record with each event, and compares events and rows."""

    def __init__(self, setting: Setting, core: Core, record: Remaining) -> None:
        super().__init__(setting, core)
        self._record = record

    def apply(self, machine: str, instance: str, event: Event) -> None:
        recorded = self._record.next
        assert recorded is not None, f"the record ends, and {event} follows for {instance}"
        assert (machine, instance, event) == (recorded.machine, recorded.instance, recorded.event)
        super().apply(machine, instance, event)
        assert self.wrong == [], f"the record says {self._record.next}"
        assert self.rows[-1] == self._record.next_row
        self._record.at += 1


def steps_as_proven(recorded: Record) -> int:
    """Take a record through the composition, and count its macrosteps. Raises AssertionError where they differ."""
    tables, pool, record = Tables(), Pool(), Remaining(recorded)
    setting = Setting(ROUTER, Decisions(tables, pool), RecordedAnswers(record), record.at_once)
    core, steps = pool.core(pool.new(tables.run), (), ()), 0
    while (begins := record.next) is not None:
        assert record.next_comes_of not in INSIDE, f"{begins.event} follows from inside, and comes after all that follows"
        step = RecordedStep(setting, core, record)
        step.apply(begins.machine, begins.instance, begins.event)
        step.proceed()
        if not step.wrong:
            step.judge_end(ExternalEvent(type(begins.event).__name__, DUE, begins.instance, begins.event))
        assert step.wrong == [], f"after {begins.event}"
        calls = tuple(Call(name, placed) for name, placed in step.calls.items())
        core, steps = pool.core(step.run, calls, tuple(step.tools.values())), steps + 1
    return steps
