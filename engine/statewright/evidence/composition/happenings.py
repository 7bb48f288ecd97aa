"""What may happen: each way in which something outside may end, and everything that comes unasked, late or twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from statewright.evidence.composition.scope import Reply, Said, Scope, ToolKind
from statewright.evidence.composition.situation import Core, Placed, Tables, Tool
from statewright.evidence.composition.wiring import RUN, Pending, What
from statewright.evidence.properties import Kind
from statewright_states.call.events import AttemptFailed, AttemptReplied, BackoffElapsed, ReplyBegan, StepDeadline
from statewright_states.errors import Fault
from statewright_states.row import Event
from statewright_states.run.events import (
    ContextBuilt,
    ContextFailed,
    EngineFailed,
    EstimatorFailed,
    LaneGranted,
    MessageUnreadable,
    OutcomeStated,
    RunAdmitted,
    RunDeadline,
    StartDenied,
)
from statewright_states.run.facts import CallPhase
from statewright_states.tool.events import (
    ApprovalGiven,
    NobodyToAsk,
    ToolAssessed,
    ToolDeadline,
    ToolFailed,
    ToolReturned,
)
from statewright_states.tool.facts import Approval, Assessment, ToolFacts, ToolState
from statewright_states.vocabulary import CancelRequested, Purpose, StopRequested

DUE, TIMER, PERSON, MAYBE = Kind
ARGUMENTS, ANOTHER = "arguments", "another version"
SUMMARY, NO_SUMMARY, PASSED, FAILED = "a summary", "no summary", "passed", "failed"


@dataclass(frozen=True, slots=True, eq=False)
class Happening:
    """One thing that may happen, as people read it, and the event that it is for a machine."""

    text: str
    kind: Kind
    instance: str
    event: Event
    ends_run: bool = False
    """Whether it has to end the run at once."""


STOP = Happening("a stop is asked for", MAYBE, RUN, StopRequested())
UNPROMPTED = (
    STOP,
    Happening("the run is cancelled", MAYBE, RUN, CancelRequested(), ends_run=True),
    Happening("a part of the engine breaks", MAYBE, RUN, EngineFailed("defect"), ends_run=True),
    Happening("the caller's estimator fails", MAYBE, RUN, EstimatorFailed("defect")),
    Happening("a message comes that nobody can read", MAYBE, RUN, MessageUnreadable("nonsense", "raw")),
)
"""What may come at any moment of a run."""

LATE_FOR_RUN = tuple(
    Happening(f"late: {text}", MAYBE, RUN, event)
    for text, event in (
        ("a stop", StopRequested()),
        ("a cancellation", CancelRequested()),
        ("the run's time is up", RunDeadline()),
        ("a part of the engine breaks", EngineFailed("defect")),
        ("its turn comes", LaneGranted()),
        ("its first messages", ContextBuilt(1, (), 1)),
        ("there are no first messages", ContextFailed("error")),
        ("a guard does not let it begin", StartDenied("no", ())),
        ("a statement about a lost outcome", OutcomeStated("tool-1.1", True, "Ann", "")),
        ("a message that nobody can read", MessageUnreadable("nonsense", "raw")),
    )
)
"""What may still come for a run that has ended."""


def _replied(send: int, message: str) -> AttemptReplied:
    return AttemptReplied(send, message, None, None, "stop", 1, 0, 0, 0, 1)


def _failed(send: int, fault: Fault) -> AttemptFailed:
    return AttemptFailed(send, fault, "Error", "it failed", sent=fault is not Fault.BLOCKED)


def statement(tool: str, said: Said, arguments: str = ARGUMENTS) -> ApprovalGiven:
    """A person's statement about a call."""
    rejected = said.meaning == "rejected"
    message = "message" if rejected else None
    return ApprovalGiven(not rejected, said.actor, said.meaning, "", arguments, said.ends_run, message)


LATE_FOR_CALL = (
    ReplyBegan(1),
    _replied(1, "late"),
    *(_failed(1, fault) for fault in Fault),
    BackoffElapsed(1),
    StepDeadline(),
)
LATE_FOR_TOOL = (
    ToolAssessed(Assessment.CLEAR, ARGUMENTS),
    *(statement("", Said("Ann", meaning)) for meaning in ("approved", "rejected", "reviewed")),
    NobodyToAsk("message"),
    ToolReturned(None, "message"),
    ToolFailed("error", "message"),
    ToolDeadline("message"),
)


def late_events(tables: Tables) -> dict[int, tuple[Event, ...]]:
    """What may come for a call or a tool call that has ended, by its table."""
    return {id(tables.call): LATE_FOR_CALL, id(tables.tool): LATE_FOR_TOOL}


class Happenings:
    """What may happen in one scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.kinds: dict[str, ToolKind] = {kind.name: kind for reply in replies_of(scope) for kind in reply.calls}
        self.of = cache(self._of)
        self.unasked = cache(self._unasked)
        self.stale = cache(self._stale)
        self.late = cache(self._late)

    def pending(self, core: Core, pending: Pending) -> tuple[Happening, ...]:
        """Each way in which this may end."""
        subject = ""
        if pending.what in (What.REQUEST, What.REPLY):
            subject = core.placed(pending.machine).facts.purpose
        elif pending.what is What.ASSESSMENT:
            subject = next(tool.seen.request.name for tool in core.tools if tool.name == pending.machine)
        return self.of(pending, subject)

    def unprompted(self, core: Core, harmless: Callable[[Placed], bool]) -> Iterator[Happening]:
        """What comes unasked: interruptions, what is said without a question, results of earlier requests.

        For a machine that has ended only where it is not known that all of it is ``harmless``.
        """
        yield from UNPROMPTED
        for call in core.calls:
            if not harmless(call.placed):
                yield from self.late(call.name, False) if call.placed.ended else self.stale(call.name)
        for tool in core.tools:
            if not harmless(tool.placed):
                yield from self.late(tool.name, True) if tool.placed.ended else self._about(tool)
        for open_call in core.run.facts.tools:
            if open_call.phase is not CallPhase.UNKNOWN:
                yield from self.unasked(open_call.request.tool, "outcome")

    def _about(self, tool: Tool) -> Iterator[Happening]:
        facts: ToolFacts = tool.placed.facts
        yield from self.unasked(tool.name, "another" if tool.seen.asked else "again")
        decided = tool.placed.state is ToolState.AWAITING_APPROVAL and facts.approval is not Approval.OPEN
        if self.scope.nobody and facts.approval is not Approval.OPEN and (decided or tool.placed.state is ToolState.RUNNING):
            yield from self.unasked(tool.name, "nobody")

    # -- each way in which something may end -------------------------------------------------------------------------

    def _of(self, pending: Pending, subject: str) -> tuple[Happening, ...]:
        name, number = pending.machine, pending.number
        match pending.what:
            case What.ADMISSION:
                return (Happening("the run is admitted", DUE, RUN, RunAdmitted(self.scope.settings, "task")),)
            case What.LANE:
                return (Happening("its turn in the lane comes", DUE, RUN, LaneGranted()),)
            case What.CONTEXT:
                return tuple(self._contexts(number))
            case What.REQUEST if self.scope.streamed:
                began = Happening(f"the reply to {name} begins", DUE, name, ReplyBegan(number))
                return (began, *self._answers(name, number, Purpose(subject)))
            case What.REQUEST | What.REPLY:
                return tuple(self._answers(name, number, Purpose(subject)))
            case What.BACKOFF:
                return (Happening(f"{name} has waited", TIMER, name, BackoffElapsed(number)),)
            case What.ASSESSMENT:
                return tuple(self._assessments(name, self.kinds[subject]))
            case What.TOOL:
                return self._results(name)
            case What.PERSON:
                return tuple(self._statements(name, pending.arguments))
            case What.OUTCOME:
                return tuple(self._outcomes(pending.subject))
            case What.RUN_TIMER:
                return (Happening("the run's time is up", MAYBE, RUN, RunDeadline(), ends_run=True),)
            case What.STEP_TIMER:
                return (Happening(f"the time of {name} is up", MAYBE, name, StepDeadline()),)

    def _contexts(self, attempt: int) -> Iterator[Happening]:
        for size in self.scope.sizes:
            yield Happening(f"the first messages are ready ({size} tokens)", DUE, RUN, ContextBuilt(attempt, (), size))
        if self.scope.start_fails:
            yield Happening("the first messages cannot be built", DUE, RUN, ContextFailed("error"))
            yield Happening("a guard does not let the attempt begin", DUE, RUN, StartDenied("no", ()))

    def _answers(self, call: str, send: int, purpose: Purpose) -> Iterator[Happening]:
        for message in self._messages(purpose):
            yield Happening(f"{call} ({purpose}) is answered: {message}", DUE, call, _replied(send, message))
        for fault in self.scope.faults:
            yield Happening(f"{call} ({purpose}) fails: {fault}", DUE, call, _failed(send, fault))

    def _messages(self, purpose: Purpose) -> tuple[str, ...]:
        match purpose:
            case Purpose.GENERATION:
                return tuple(reply.name for reply in self.scope.replies)
            case Purpose.CLOSING:
                return tuple(reply.name for reply in self.scope.closing)
            case Purpose.SUMMARY:
                return tuple(SUMMARY if good else NO_SUMMARY for good in self.scope.summaries)
            case Purpose.EVALUATION:
                return tuple(PASSED if content else FAILED for content in self.scope.verdicts)

    def _assessments(self, tool: str, kind: ToolKind) -> Iterator[Happening]:
        for found in kind.assessed:
            message = "message" if found in (Assessment.FAULTY, Assessment.DENIED) else None
            yield Happening(f"{tool} is assessed: {found}", DUE, tool, ToolAssessed(found, ARGUMENTS, message))

    def _results(self, tool: str) -> tuple[Happening, ...]:
        return (
            Happening(f"{tool} returns", DUE, tool, ToolReturned(None, "message")),
            Happening(f"{tool} raises", DUE, tool, ToolFailed("error", "message")),
            Happening(f"the time of {tool} is up", DUE, tool, ToolDeadline("message")),
        )

    def _statements(self, tool: str, shown: str) -> Iterator[Happening]:
        for said in self.scope.said:
            ending = " and ends the run" if said.ends_run else ""
            yield Happening(
                f"{said.actor!r} says of {tool}: {said.meaning}{ending}", PERSON, tool, statement(tool, said, shown)
            )
        if self.scope.nobody:
            yield Happening(f"nobody can be asked about {tool}", DUE, tool, NobodyToAsk("message"))

    def _outcomes(self, tool: str) -> Iterator[Happening]:
        for go_on in (True, False):
            for actor in dict.fromkeys(said.actor for said in self.scope.said):
                text = f"{actor!r} says of the lost end of {tool}: {'go on' if go_on else 'end the run'}"
                yield Happening(text, PERSON, RUN, OutcomeStated(tool, go_on, actor, ""))

    # -- unasked, late, twice ----------------------------------------------------------------------------------------

    def _unasked(self, tool: str, what: str) -> tuple[Happening, ...]:
        first = {said.meaning: said for said in reversed(self.scope.said)}.values() or (Said("Ann", "approved"),)
        match what:
            case "outcome":
                event = OutcomeStated(tool, True, next(iter(first)).actor, "")
                return (Happening(f"unasked, about the end of {tool}: go on", MAYBE, RUN, event),)
            case "nobody":
                return (Happening(f"late: nobody could be asked about {tool}", MAYBE, tool, NobodyToAsk("message")),)
            case _:
                about = ANOTHER if what == "another" else ARGUMENTS
                of = f"another version of {tool}" if what == "another" else tool
                return tuple(
                    Happening(f"unasked, {said.actor!r} says of {of}: {said.meaning}", MAYBE, tool, statement(tool, said, about))
                    for said in first
                )

    def _stale(self, call: str) -> tuple[Happening, ...]:
        """Results of a request before the current one."""
        events = (ReplyBegan(0), _replied(0, "late"), _failed(0, Fault.TRANSIENT))
        return tuple(Happening(f"late for {call}: {type(event).__name__}", MAYBE, call, event) for event in events)

    def _late(self, instance: str, tool: bool) -> tuple[Happening, ...]:
        events = LATE_FOR_TOOL if tool else LATE_FOR_CALL
        return tuple(Happening(f"late for {instance}: {type(event).__name__}", MAYBE, instance, event) for event in events)


def replies_of(scope: Scope) -> tuple[Reply, ...]:
    """Every reply of a scope."""
    return (*scope.replies, *scope.closing)
