"""The execution of a run: everything that its entries determine. The pump drives it live, a replay drives it from records.

An execution holds the machines' instances, the conversation, the commands that wait for their turn, and the view of the run
that callers see. It does no input or output and knows no time: the same deliveries give the same execution.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

from statewright.context.builder import ContextManager
from statewright.context.conversation import Conversation
from statewright.context.judge import EvalResult
from statewright.core.inputs import RunInputs
from statewright.core.links import KEPT
from statewright.core.projection import Projection
from statewright.core.routing import Router
from statewright.journal.entry import TABLES, Delivery, End, command_id, encode
from statewright.journal.recorder import Payloads
from statewright.machine import Decision, Instance, Recorded, machine_for
from statewright.views.state import AgentState, PendingApproval
from statewright_states.call.events import AttemptReplied
from statewright_states.call.table import CALL
from statewright_states.errors import InternalError
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Taken
from statewright_states.frozen import dataclass
from statewright_states.run.commands import (
    AskToClose,
    ContinueText,
    DropOldExchanges,
    Nudge,
    NudgeToContinue,
    ReplaceOldExchanges,
)
from statewright_states.run.events import (
    CallFailed,
    ContextBuilt,
    ContextFailed,
    EngineFailed,
    EstimatorFailed,
    ReplyReceived,
    StartDenied,
    VerdictReached,
)
from statewright_states.run.facts import STATUS, CallPhase, RunFacts, RunState
from statewright_states.run.table import RUN
from statewright_states.tool.events import ToolAssessed
from statewright_states.tool.facts import Approval, ToolFacts, ToolState
from statewright_states.tool.table import TOOL
from statewright_states.words.messages import Message
from statewright_states.words.vocabulary import Purpose


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a delivery."""

    delivery: Delivery
    source: StrEnum
    decision: Decision
    facts: Any


Following = tuple[str, Command, Delivery | None]
"""A command that waits: its id, itself, and where it goes; no delivery means it is an effect to be performed."""


class Execution(Protocol):
    """What a pump drives and a replay checks: a run of any machine, with whatever instances it is made of."""

    @property
    def main(self) -> Instance[Any]:
        """The instance that is the run itself."""
        ...

    @property
    def live(self) -> Mapping[str, Instance[Any]]:
        """The instances that have not ended."""
        ...

    def apply(self, seq: int, delivery: Delivery, recorded: Recorded | None = None) -> Applied:
        """Fire the delivery's event; ``seq`` is the number of its entry. ``recorded`` is what was decided, to be kept."""
        ...

    def next_command(self, recorded: Event | None = None) -> Following | None:
        """The next command that waits. A replay hands in the event that is recorded next."""
        ...

    def take_defect(self) -> Event | None:
        """What went wrong inside since it was last asked, as an event for the run; None where nothing did."""
        ...

    def defect(self, error: str) -> Event:
        """The event that tells the run of a defect of the engine."""
        ...

    def end(self, seq: int, at_us: int) -> End:
        """The last entry, once the run has ended."""
        ...


class RunExecution:
    """A run in progress: apply deliveries, then take the internal ones that follow until there are none."""

    def __init__(self, inputs: RunInputs, payloads: Payloads) -> None:
        self.inputs = inputs
        self.payloads = payloads
        self.conversation = Conversation()
        self.projection = Projection(inputs, payloads)
        self.instances: dict[str, Instance[Any]] = {"run": machine_for(RUN).new("run")}
        self.live: dict[str, Instance[Any]] = dict(self.instances)
        """The instances that have not ended."""
        self._context = ContextManager(inputs.config)
        self._router = Router(inputs, self.run, self.conversation, payloads, self.projection)
        self._waiting: deque[tuple[str, Command]] = deque()

    @property
    def run(self) -> Instance[RunFacts]:
        """The run machine's instance."""
        return self.instances["run"]

    @property
    def main(self) -> Instance[RunFacts]:
        """The instance that is the run itself."""
        return self.run

    @property
    def model_calls(self) -> int:
        """Requests sent to models so far: what the run was told of, and those of the call that it waits for, or gave up."""
        facts = self.run.facts
        call = self.instances.get(f"call-{facts.calls}") if facts.in_call else None
        return facts.model_calls + (call.facts.attempts if call is not None else 0)

    # -- applying ----------------------------------------------------------------------------------------------------

    def apply(self, seq: int, delivery: Delivery, recorded: Recorded | None = None) -> Applied:
        """Fire the delivery's event; ``seq`` is the number of its entry. ``recorded`` is what was decided, to be kept."""
        instance = self._instance(delivery)
        source, before = instance.state, instance.facts
        decision = machine_for(instance.table).apply(instance, delivery.event, recorded)
        if isinstance(decision, Taken):
            self._follow(instance, before, delivery.event, decision)
            self._waiting.extend((command_id(seq, at), command) for at, command in enumerate(decision.commands))
        return Applied(delivery, source, decision, instance.facts)

    def _instance(self, delivery: Delivery) -> Instance[Any]:
        instance = self.instances.get(delivery.instance)
        if instance is None:
            instance = machine_for(TABLES[delivery.machine]).new(delivery.instance)
            self.instances[delivery.instance] = self.live[delivery.instance] = instance
        return instance

    def _follow(self, instance: Instance[Any], before: Any, event: Event, taken: Taken[Any]) -> None:
        """Keep the conversation and the view in step with what was decided."""
        if instance.ended:
            self.live.pop(instance.name, None)
        if instance.table is RUN:
            self._follow_run(before, event, taken)
        elif instance.table is CALL and isinstance(event, AttemptReplied):
            if instance.facts.purpose is Purpose.GENERATION:
                self.conversation.counted(event.input_tokens)
            self.projection.replied(event)
        elif instance.table is TOOL:
            self._follow_tool(instance, event)

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
            case VerdictReached() if event.reached:
                self.projection.judgement = EvalResult(event.completed, event.confidence, event.issues, event.suggestion)
            case CallFailed() | ContextFailed() | EngineFailed() | StartDenied():
                self.projection.error = event.error
            case _:
                pass

    def _follow_tool(self, instance: Instance[ToolFacts], event: Event) -> None:
        facts = instance.facts
        if isinstance(event, ToolAssessed) and event.changed is not None:
            self.projection.changed(instance.name, self.payloads.message(event.changed))
        if instance.ended and facts.message is not None:
            message = self.payloads.message(facts.message)
            self.conversation.settle(instance.name, message)
            self.projection.settled(instance.name, instance.state, message)

    # -- what follows ------------------------------------------------------------------------------------------------

    def take_defect(self) -> Event | None:
        """That the caller's estimator failed, if it did."""
        failure = self.conversation.estimates.take_failure()
        return EstimatorFailed(failure) if failure is not None else None

    def next_command(self, recorded: Event | None = None) -> Following | None:
        """The next command that waits. Those that only concern the conversation or the end are carried out on the way.

        A replay hands in the event that is recorded next; see ``Router.route``.
        """
        while self._waiting:
            identity, command = self._waiting.popleft()
            if self._converse(command):
                continue
            routed = self._router.route(command, recorded)
            return identity, command, Delivery(*routed, cause=identity) if routed else None
        return None

    def _converse(self, command: Command) -> bool:
        if type(command) not in KEPT:
            return False
        prompts = self.inputs.config.prompts
        match command:
            case ContinueText() | NudgeToContinue():
                self._say(Message("user", prompts.continuation))
            case Nudge():
                self._say(Message("user", prompts.nudge))
            case AskToClose():
                self._say(Message("user", prompts.closing))
            case ReplaceOldExchanges():
                summary = self.payloads.message(command.message)
                self.conversation.replace_old(summary, self._context.keep_recent, command.context_tokens)
            case DropOldExchanges():
                self.conversation.drop_old(command.dropped, command.context_tokens)
            case _:  # AskAgain, FinishRun: what they say is in their entry
                pass
        return True

    def _say(self, message: Message) -> None:
        self.payloads.put_message(message)
        self.conversation.add(message)

    # -- the end, and what callers see -------------------------------------------------------------------------------

    def defect(self, error: str) -> Event:
        """The event that tells the run of a defect of the engine."""
        return EngineFailed(error)

    def end(self, seq: int, at_us: int) -> End:
        """The last entry, once the run has ended."""
        return end_entry(self, seq, at_us)

    def state(self, times_us: tuple[int, int]) -> AgentState:
        """The run as callers see it; ``times_us`` are its start and the time of its last entry."""
        state, pending = RunState(self.run.state), pending_approvals(self)
        return self.projection.state(state, self.run.facts, self.conversation, times_us, self.model_calls, pending)


def pending_approvals(execution: RunExecution) -> list[PendingApproval]:
    """The questions to persons that are open now."""
    open_calls = {call.request.tool: call for call in execution.run.facts.tools}
    pending: list[PendingApproval] = []
    for tool, call in open_calls.items():
        instance = execution.instances.get(tool)
        if instance is None:
            continue
        lost = call.phase is CallPhase.UNKNOWN
        asked = ToolState(instance.state) is ToolState.AWAITING_APPROVAL and instance.facts.approval is Approval.OPEN
        if asked or lost:
            request, arguments = execution.projection.arguments_of(tool)
            facts: ToolFacts = instance.facts
            about = (tool, request.call_id, request.name, arguments, facts.arguments)
            pending.append(PendingApproval(*about, outcome_lost=lost, sign_off=facts.sign_off))
    return pending


def end_entry(execution: RunExecution, seq: int, at_us: int) -> End:
    """The last entry of a run that has ended; its output is put among the payloads."""
    facts: RunFacts = execution.run.facts
    state = RunState(execution.run.state)
    projection = execution.projection
    if facts.stop_reason is None:
        raise InternalError("the run ended without a reason", where=f"run {execution.inputs.run_id} in {state}")
    return End(
        seq=seq,
        at_us=at_us,
        status=STATUS[state].value,
        stop_reason=facts.stop_reason.value,
        output=execution.payloads.put(encode(projection.final_output(facts, execution.conversation))),
        messages=execution.conversation.digest,
        steps=facts.step,
        model_calls=execution.model_calls,
        tool_calls=facts.tool_calls,
        input_tokens=projection.usage.input_tokens,
        output_tokens=projection.usage.output_tokens,
        cost_microusd=facts.cost_microusd,
        verified=projection.verified(facts),
    )
