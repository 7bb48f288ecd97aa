"""The execution of a run: everything that its entries determine. The pump drives it live, a replay drives it from records.

Theory of operation. An execution holds the machines' instances, the conversation, the commands that wait for their turn, and
the view of the run that callers see. ``apply`` hands one event to one machine and puts what it commands behind what waits.
``next_command`` takes the first that waits, by the route of its link: an event for another machine comes back to be applied, an
effect comes back to be performed, and a command that changes only the messages is carried out on the way. An execution does no
input or output and knows no time: the same deliveries give the same execution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

from statewright.config.prompts import tool_message
from statewright.context.builder import ContextManager
from statewright.context.conversation import Conversation
from statewright.context.judge import EvalResult
from statewright.core.inputs import Inputs, RunInputs
from statewright.core.links import Route
from statewright.core.message_commands import message_handlers
from statewright.core.projection import Projection
from statewright.core.routing import ROUTER
from statewright.core.run_surroundings import RunSurroundings
from statewright.journal.entry import TABLES, Delivery, End, command_id, encode
from statewright.journal.reading import Tables
from statewright.journal.recorder import Payloads
from statewright.machine import Decision, EarlierDecision, Instance, machine_for
from statewright.views.state import AgentState, PendingApproval
from statewright_states.call.events import AttemptReplied
from statewright_states.call.table import CALL
from statewright_states.errors import InternalError
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Table, Taken
from statewright_states.frozen import dataclass, replace
from statewright_states.run.events import (
    CallFailed,
    ChildEnded,
    ContextBuilt,
    ContextFailed,
    EstimatorFailed,
    OutcomeStated,
    ReplyReceived,
    StartDenied,
    VerdictReached,
)
from statewright_states.run.facts import STATUS, CallPhase, RunFacts, RunState
from statewright_states.run.table import RUN
from statewright_states.tool.events import ApprovalGiven, ToolAssessed, ToolResumed, ToolStopped, ToolWaits
from statewright_states.tool.facts import Approval, ToolFacts, ToolState
from statewright_states.tool.table import TOOL
from statewright_states.words.approval import UNSIGNED
from statewright_states.words.vocabulary import EngineFailed, Purpose, Resumed, RunStalled

I = TypeVar("I", bound=Inputs)  # noqa: E741 - inputs, beside facts
F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Applied:
    """What was decided about a delivery, and the facts after it."""

    delivery: Delivery
    source: StrEnum
    decision: Decision
    facts: Any


class NextCommand(NamedTuple):
    """A command whose turn has come. Without a delivery it is an effect to be performed."""

    id: str
    command: Command
    delivery: Delivery | None


class Execution(ABC, Generic[I, F]):
    """What a pump drives and a replay checks: a run of any machine, with whatever instances it is made of.

    Apply deliveries, then take the internal ones that follow until there are none.
    """

    def __init__(self, inputs: I, payloads: Payloads, table: Table[F]) -> None:
        self.inputs = inputs
        """What the run was given at its start."""
        self.payloads = payloads
        self.tables: Tables = TABLES
        """The tables of all instances that there may be, by name."""
        self.main: Instance[F] = machine_for(table).new(table.name)
        """The instance that is the run itself."""
        self.instances: dict[str, Instance[Any]] = {self.main.name: self.main}
        self.live: dict[str, Instance[Any]] = dict(self.instances)
        """The instances that have not ended."""
        self._waiting: deque[tuple[str, Command]] = deque()
        self.interference = 0
        """How many of the events did not come about by themselves."""

    def apply(self, seq: int, delivery: Delivery, earlier: EarlierDecision | None = None) -> Applied:
        """Fire the delivery's event; ``seq`` is the number of the decision. ``earlier`` is what was decided, to be kept."""
        instance = self._instance(delivery)
        source, before = instance.state, instance.facts
        if delivery.interference is not None:
            self.interference += 1
        decision = machine_for(instance.table).apply(instance, delivery.event, earlier)
        if isinstance(decision, Taken):
            if instance.ended:
                self.live.pop(instance.name, None)
            self._follow(instance, before, delivery.event, decision)
            self._waiting.extend((command_id(seq, at), command) for at, command in enumerate(decision.commands))
        return Applied(delivery, source, decision, instance.facts)

    def _instance(self, delivery: Delivery) -> Instance[Any]:
        instance = self.instances.get(delivery.instance)
        if instance is None:
            instance = machine_for(self.tables[delivery.machine]).new(delivery.instance)
            self.instances[delivery.instance] = self.live[delivery.instance] = instance
        return instance

    def next_command(self, recorded: Event | None = None) -> NextCommand | None:
        """The next command that waits. Those that only change the messages, or say why the run ends, are taken on the way.

        A replay hands in the event that is recorded next: what was measured is taken from there.
        """
        while self._waiting:
            identity, command = self._waiting.popleft()
            route = ROUTER.route(command)
            if route is Route.EFFECT:
                return NextCommand(identity, command, None)
            if (following := self._inside(route, identity, command, recorded)) is not None:
                return following
        return None

    def _inside(self, route: Route, identity: str, command: Command, recorded: Event | None) -> NextCommand | None:
        """What a command that is no effect leads to in this run: an event for one of its machines, or nothing more.

        The one that ends the run leads to nothing: its reason is in the last entry, which is written when all has settled.
        """
        return None

    def defect(self, error: str) -> Event | None:
        """The event that tells the run of a defect of the engine; None for a machine whose table declares no such event."""
        return EngineFailed(error)

    def repeats(self, delivery: Delivery) -> bool:
        """Whether this delivery says what is on record already: it is not applied then."""
        return False

    def take_defect(self) -> Event | None:
        """A defect since the last call of this method, as an event for the run; None where there was none."""
        return None

    @abstractmethod
    def _follow(self, instance: Instance[Any], before: Any, event: Event, taken: Taken[Any]) -> None:
        """Keep what callers and models are shown in step with what was decided."""

    @property
    @abstractmethod
    def admitted(self) -> bool:
        """Whether the admission is on record."""

    @abstractmethod
    def resumption(self, epoch: int, worked_us: int) -> Iterator[tuple[str, str, Event]]:
        """The events for the instances that have not ended when the run is taken up: machine, instance, event.

        ``worked_us`` is for how long the timer over the run had been running when the record ends. Rows decide what follows.
        """

    @abstractmethod
    def end(self) -> End:
        """What the last entry says of the run, once it has ended."""


class RunExecution(Execution[RunInputs, RunFacts]):
    """A run of an agent in progress."""

    def __init__(self, inputs: RunInputs, payloads: Payloads) -> None:
        super().__init__(inputs, payloads, RUN)
        self.conversation = Conversation()
        self.projection = Projection(inputs, payloads)
        context = ContextManager(inputs.config)
        self._surroundings = RunSurroundings(inputs, self.run, self.conversation, payloads, self.projection, context)
        self.message_handlers = message_handlers(inputs.config.prompts, self.conversation, payloads, context.keep_recent)

    @property
    def run(self) -> Instance[RunFacts]:
        """The run machine's instance."""
        return self.main

    @property
    def model_calls(self) -> int:
        """Requests sent to models so far: those reported to the run, and those of the call that it waits for or gave up."""
        facts = self.run.facts
        call = self.instances.get(f"call-{facts.calls}") if facts.in_call else None
        return facts.model_calls + (call.facts.attempts if call is not None else 0)

    # -- following what was decided ----------------------------------------------------------------------------------

    def _follow(self, instance: Instance[Any], before: Any, event: Event, taken: Taken[Any]) -> None:
        if instance.table is RUN:
            self._follow_run(before, event, taken)
        elif instance.table is CALL and isinstance(event, AttemptReplied):
            if instance.facts.purpose is Purpose.GENERATION:
                self.conversation.counted(event.input_tokens)
            self.projection.replied(event)
        elif instance.table is TOOL:
            self._follow_tool(instance, before, event)

    def _follow_run(self, before: RunFacts, event: Event, taken: Taken[RunFacts]) -> None:
        self.projection.took(taken)
        match event:
            case ContextBuilt():
                self.conversation.begin(map(self.payloads.message, event.messages), event.context_tokens)
            case ReplyReceived():
                message = self.payloads.message(event.message)
                self.conversation.reply(message, event.calls, goes_on=taken.facts.continuing)
                self.projection.error = None  # what went wrong before, such as a request that was too long, is mended
                self.projection.step(before.step, message, event)
            case VerdictReached() if event.reached and event.readable:
                self.projection.judgement = EvalResult(event.completed, event.confidence, event.issues, event.suggestion)
            case ChildEnded():
                self.projection.child_ended(event)
            case OutcomeStated():
                self.projection.decided[event.tool] = event
            case CallFailed() | ContextFailed() | EngineFailed() | RunStalled() | StartDenied():
                self.projection.error = event.error
            case _:
                pass

    def _follow_tool(self, instance: Instance[ToolFacts], before: ToolFacts, event: Event) -> None:
        facts = instance.facts
        if isinstance(event, ApprovalGiven) and facts.approval is not before.approval:
            self.projection.decided[instance.name] = event
        if isinstance(event, ToolAssessed) and event.changed is not None:
            self.projection.changed(instance.name, self.payloads.message(event.changed), event.asked_if)
        if isinstance(event, ToolWaits):
            self.projection.asks_below(instance.name, event.questions)
        elif instance.ended or isinstance(event, ToolResumed | ToolStopped):
            self.projection.asks_below(instance.name, ())
        if instance.ended and facts.message is not None:
            message = self.payloads.message(facts.message)
            self.conversation.settle(instance.name, message)
            self.projection.settled(instance.name, instance.state, message)

    # -- what follows ------------------------------------------------------------------------------------------------

    def take_defect(self) -> Event | None:
        failure = self.conversation.estimates.take_failure()
        return EstimatorFailed(failure) if failure is not None else None

    def _inside(self, route: Route, identity: str, command: Command, recorded: Event | None) -> NextCommand | None:
        if route is Route.MACHINE:
            surroundings = self._surroundings if recorded is None else replace(self._surroundings, recorded=recorded)
            told = ROUTER.event(command, self.run.facts, surroundings)
            return NextCommand(identity, command, Delivery(*told, cause=identity))
        if route is Route.MESSAGES:
            self.message_handlers[type(command)](command)
        return None

    # -- the end, and what callers see -------------------------------------------------------------------------------

    @property
    def admitted(self) -> bool:
        return RunState(self.run.state) is not RunState.ACCEPTED

    def resumption(self, epoch: int, worked_us: int) -> Iterator[tuple[str, str, Event]]:
        lost = self.inputs.config.prompts.outcome_unknown
        for name, instance in list(self.live.items()):
            event: Event = Resumed(epoch)
            if instance.table is RUN:
                event = Resumed(epoch, 0 if self.run.facts.paused else worked_us)
            elif instance.table is TOOL:
                message = tool_message(instance.facts.call_id, lost)
                event = ToolResumed(epoch, self.payloads.put_message(message))
            yield instance.table.name, name, event

    def end(self) -> End:
        """What the last entry says of the run, once it has ended; its output is put among the payloads."""
        facts, state, projection = self.run.facts, RunState(self.run.state), self.projection
        if facts.stop_reason is None:
            raise InternalError("the run ended without a reason", where=f"run {self.inputs.run_id} in {state}")
        return End(
            status=STATUS[state].value,
            stop_reason=facts.stop_reason.value,
            output=self.payloads.put(encode(projection.final_output(facts, self.conversation))),
            messages=self.conversation.digest,
            steps=facts.step,
            model_calls=self.model_calls,
            tool_calls=facts.tool_calls,
            input_tokens=projection.usage.input_tokens,
            output_tokens=projection.usage.output_tokens,
            cost_microusd=facts.cost_microusd,
            verified=projection.verified(facts),
            estimated_tokens=projection.usage.estimated_tokens,
            interference=self.interference,
        )

    def state(self, times_us: tuple[int, int]) -> AgentState:
        """The run as callers see it; ``times_us`` are its start and the time of its last entry."""
        state, pending = RunState(self.run.state), pending_approvals(self)
        counts = self.model_calls, self.interference
        return self.projection.state(state, self.run.facts, self.conversation, times_us, counts, pending)


def pending_approvals(execution: RunExecution) -> list[PendingApproval]:
    """The questions to persons that are open now: about calls of the run, then of runs that its tools have begun."""
    run_id = execution.inputs.run_id
    open_calls = {call.request.tool: call for call in execution.run.facts.tools}
    pending: list[PendingApproval] = []
    for tool, call in open_calls.items():
        instance = execution.instances.get(tool)
        if instance is None:
            continue
        lost = call.phase is CallPhase.UNKNOWN
        undecided = ToolState(instance.state) is ToolState.AWAITING_APPROVAL and instance.facts.approval is Approval.OPEN
        if undecided or lost:
            request, arguments = execution.projection.arguments_of(tool)
            facts: ToolFacts = instance.facts
            about = (tool, request.call_id, request.name, arguments, facts.arguments)
            remark = execution.inputs.remark(request, arguments)
            asked = PendingApproval(*about, outcome_lost=lost, sign_off=facts.sign_off, remark=remark, run_id=run_id)
            pending.append(asked)
    return [*pending, *_asked_below(execution)]


def _asked_below(execution: RunExecution) -> Iterator[PendingApproval]:
    """The questions that are open in the runs that tools have begun and wait for."""
    for questions in execution.projection.asked_below.values():
        for asked in questions:
            about = (asked.tool, asked.call_id, asked.name, asked.asked, asked.digest)
            signed = asked.signed or UNSIGNED
            yield PendingApproval(*about, asked.outcome_lost, signed, asked.remark, run_id=asked.run)
