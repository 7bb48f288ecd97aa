"""What may happen: each way in which something outside may end, and everything that comes unasked, late or twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from statewright_evidence.proofs.composition.late import (
    ANOTHER,
    ARGUMENTS,
    ASKED_BELOW,
    LATE_FOR_CALL,
    LATE_FOR_TOOL,
    UNPROMPTED,
    child_ended,
    failed,
    late_for,
    replied,
    statement,
)
from statewright_evidence.proofs.composition.outside import RUN, WAITED, Activity, Pending
from statewright_evidence.proofs.composition.scope import Reply, Said, Scope, ToolKind
from statewright_evidence.proofs.composition.situation import Core, ExternalEvent, Placed, ToolCallState
from statewright_evidence.proofs.composition.watch import HARMLESS_TWICE
from statewright_evidence.proofs.properties import Kind
from statewright_states.call.events import BackoffElapsed, ReplyBegan, StepDeadline
from statewright_states.errors import Fault
from statewright_states.frozen import replace
from statewright_states.run import events as of_run
from statewright_states.run.facts import CallPhase
from statewright_states.tool.events import NobodyToAsk, ToolAssessed, ToolDeadline, ToolFailed, ToolReturned, ToolWaits
from statewright_states.tool.facts import Approval, Assessment, ToolFacts, ToolState
from statewright_states.words.approval import WithoutAPerson
from statewright_states.words.vocabulary import Purpose

DUE, TIMER, PERSON, MAYBE = Kind
SUMMARY, NO_SUMMARY = "a summary", "no summary"


class ExternalEvents:
    """What may happen in one scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.kinds: dict[str, ToolKind] = {kind.name: kind for reply in replies_of(scope) for kind in reply.calls}
        self.of = cache(self._of)
        self.unasked = cache(self._unasked)
        self.stale = cache(self._stale)
        self.child_ends = cache(_child_ends)

    def pending(self, core: Core, pending: Pending) -> tuple[ExternalEvent, ...]:
        """Each way in which this may end."""
        subject = ""
        if pending.activity is Activity.RUN_TIMER and core.run.facts.paused:
            return ()
        if pending.activity in (Activity.REQUEST, Activity.REPLY):
            subject = next(call.placed.facts.purpose for call in core.calls if call.name == pending.machine)
        elif pending.activity is Activity.ASSESSMENT:
            subject = next(tool.seen.request.name for tool in core.tools if tool.name == pending.machine)
        elif pending.activity is Activity.TOOL and self.scope.children:
            effect = next(tool.seen.request.effect for tool in core.tools if tool.name == pending.machine)
            subject = "" if effect in HARMLESS_TWICE and pending.subject != WAITED else WAITED
        return self.of(pending, subject)

    def unprompted(self, core: Core, harmless: Callable[[Placed], bool]) -> Iterator[ExternalEvent]:
        """What comes unasked: interruptions, what is said without a question, results of earlier requests.

        For a machine that has ended only where it is not known that all of it is ``harmless``.
        """
        yield from UNPROMPTED
        for call in core.calls:
            if not harmless(call.placed):
                ended, purpose = call.placed.ended, call.placed.facts.purpose
                yield from late_for(call.name, LATE_FOR_CALL) if ended else self.stale(call.name, purpose)
        for tool in core.tools:
            if not harmless(tool.placed):
                yield from late_for(tool.name, LATE_FOR_TOOL) if tool.placed.ended else self._about(tool)
        for open_call in core.run.facts.tools:
            if open_call.phase is not CallPhase.UNKNOWN:
                yield from self.unasked(open_call.request.tool, "outcome")

    def _about(self, tool: ToolCallState) -> Iterator[ExternalEvent]:
        facts: ToolFacts = tool.placed.facts
        if self.scope.children and tool.placed.at(ToolState.RUNNING) and tool.seen.request.effect in HARMLESS_TWICE:
            yield self.child_ends(tool.name)
        yield from self.unasked(tool.name, "another" if tool.seen.asked else "again")
        decided = tool.placed.at(ToolState.AWAITING_APPROVAL) and facts.approval is not Approval.OPEN
        if self.scope.nobody and facts.approval is not Approval.OPEN and (decided or tool.placed.at(ToolState.RUNNING)):
            yield from self.unasked(tool.name, "nobody")

    # -- each way in which something may end -------------------------------------------------------------------------

    def _of(self, pending: Pending, subject: str) -> tuple[ExternalEvent, ...]:
        name, number = pending.machine, pending.number
        match pending.activity:
            case Activity.ADMISSION:
                settings = replace(self.scope.settings, without_a_person=self.scope.nobody or WithoutAPerson.WAIT)
                return (ExternalEvent("the run is admitted", DUE, RUN, of_run.RunAdmitted(settings, "task")),)
            case Activity.LANE:
                return (ExternalEvent("its turn in the lane comes", DUE, RUN, of_run.LaneGranted()),)
            case Activity.CONTEXT:
                return tuple(self._contexts(number))
            case Activity.REQUEST if self.scope.streamed:
                began = ExternalEvent(f"the reply to {name} begins", DUE, name, ReplyBegan(number))
                return (began, *self._answers(name, number, Purpose(subject)))
            case Activity.REQUEST | Activity.REPLY:
                return tuple(self._answers(name, number, Purpose(subject)))
            case Activity.BACKOFF:
                return (ExternalEvent(f"{name} has waited", TIMER, name, BackoffElapsed(number)),)
            case Activity.ASSESSMENT:
                return tuple(self._assessments(name, self.kinds[subject]))
            case Activity.TOOL if self.scope.children and subject != WAITED:
                waits = f"{name} waits for a run of its own, and that for a person"
                return (*self._results(name), ExternalEvent(waits, MAYBE, name, ToolWaits(ASKED_BELOW)))
            case Activity.TOOL:
                return self._results(name)
            case Activity.CHILD:
                return (ExternalEvent(f"a person decides in the run of {name}", PERSON, name, ToolWaits(())),)
            case Activity.PERSON:
                return tuple(self._statements(name, pending.arguments))
            case Activity.OUTCOME:
                return tuple(self._outcomes(pending.subject))
            case Activity.PAUSE:
                return (ExternalEvent("the timer over the run is put aside", DUE, RUN, of_run.RunDeadlinePaused(0)),)
            case Activity.RUN_TIMER:
                return (ExternalEvent("the run's time is up", MAYBE, RUN, of_run.RunDeadline(), ends_run=True),)
            case Activity.STEP_TIMER:
                return (ExternalEvent(f"the time of {name} is up", MAYBE, name, StepDeadline()),)

    def _contexts(self, attempt: int) -> Iterator[ExternalEvent]:
        for size in self.scope.sizes:
            yield ExternalEvent(
                f"the first messages are ready ({size} tokens)", DUE, RUN, of_run.ContextBuilt(attempt, (), size)
            )
        if self.scope.start_fails:
            yield ExternalEvent("the first messages cannot be built", DUE, RUN, of_run.ContextFailed("error"))
            yield ExternalEvent("a guard does not let the attempt begin", DUE, RUN, of_run.StartDenied("no", ()))

    def _answers(self, call: str, send: int, purpose: Purpose) -> Iterator[ExternalEvent]:
        for message in self._messages(purpose):
            yield ExternalEvent(f"{call} ({purpose}) is answered: {message}", DUE, call, replied(send, message))
        for fault in self.scope.faults:
            yield ExternalEvent(f"{call} ({purpose}) fails: {fault}", DUE, call, failed(send, fault))

    def _messages(self, purpose: Purpose) -> tuple[str, ...]:
        match purpose:
            case Purpose.GENERATION:
                return tuple(reply.name for reply in self.scope.replies)
            case Purpose.CLOSING:
                return tuple(reply.name for reply in self.scope.closing)
            case Purpose.SUMMARY:
                return tuple(SUMMARY if good else NO_SUMMARY for good in self.scope.summaries)
            case Purpose.EVALUATION:
                return tuple(verdict.value for verdict in self.scope.verdicts)

    def _assessments(self, tool: str, kind: ToolKind) -> Iterator[ExternalEvent]:
        for found in kind.assessed:
            message = "message" if found in (Assessment.FAULTY, Assessment.DENIED) else None
            yield ExternalEvent(f"{tool} is assessed: {found}", DUE, tool, ToolAssessed(found, ARGUMENTS, message))

    def _results(self, tool: str) -> tuple[ExternalEvent, ...]:
        return (
            ExternalEvent(f"{tool} returns", DUE, tool, ToolReturned(None, "message")),
            ExternalEvent(f"{tool} raises", DUE, tool, ToolFailed("error", "message")),
            ExternalEvent(f"the time of {tool} is up", DUE, tool, ToolDeadline("message")),
        )

    def _statements(self, tool: str, shown: str) -> Iterator[ExternalEvent]:
        for said in self.scope.said:
            ending = " and ends the run" if said.ends_run else ""
            yield ExternalEvent(
                f"{said.actor!r} says of {tool}: {said.meaning}{ending}", PERSON, tool, statement(tool, said, shown)
            )
        if self.scope.nobody is not None:
            kind = DUE if self.scope.nobody is WithoutAPerson.DENY else MAYBE  # one that waits may be told so again and again
            yield ExternalEvent(f"nobody can be asked about {tool}", kind, tool, NobodyToAsk("message"))

    def _outcomes(self, tool: str) -> Iterator[ExternalEvent]:
        for go_on in (True, False):
            for actor in dict.fromkeys(said.actor for said in self.scope.said):
                text = f"{actor!r} says of the lost end of {tool}: {'go on' if go_on else 'end the run'}"
                yield ExternalEvent(text, PERSON, RUN, of_run.OutcomeStated(tool, go_on, actor, ""))

    # -- unasked, late, twice ----------------------------------------------------------------------------------------

    def _unasked(self, tool: str, what: str) -> tuple[ExternalEvent, ...]:
        first = {said.meaning: said for said in reversed(self.scope.said)}.values() or (Said("Ann", "approved"),)
        match what:
            case "outcome":
                event = of_run.OutcomeStated(tool, True, next(iter(first)).actor, "")
                return (ExternalEvent(f"unasked, about the end of {tool}: go on", MAYBE, RUN, event, idle=True),)
            case "nobody":
                text = f"late: nobody could be asked about {tool}"
                return (ExternalEvent(text, MAYBE, tool, NobodyToAsk("message"), idle=True),)
            case _:
                about = ANOTHER if what == "another" else ARGUMENTS
                of = f"another version of {tool}" if what == "another" else tool
                told = [
                    (f"unasked, {said.actor!r} says of {of}: {said.meaning}", statement(tool, said, about)) for said in first
                ]
                return tuple(ExternalEvent(text, MAYBE, tool, event, idle=True) for text, event in told)

    def _stale(self, call: str, purpose: Purpose) -> tuple[ExternalEvent, ...]:
        """Results of a request before the current one."""
        message = next(iter(self._messages(purpose)), "")
        return late_for(call, (ReplyBegan(0), replied(0, message), failed(0, Fault.TRANSIENT)))


def _child_ends(tool: str) -> ExternalEvent:
    return ExternalEvent(f"a run of {tool} ends", MAYBE, RUN, child_ended(tool))


def replies_of(scope: Scope) -> tuple[Reply, ...]:
    """Every reply of a scope."""
    return (*scope.replies, *scope.closing)
