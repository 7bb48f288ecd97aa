"""The course of a run: everything that its entries determine. The pump drives it live, a replay drives it from records.

A course holds the machines' instances, the conversation, the commands that wait for their turn, and the view of the run
that callers see. It does no input or output and knows no time: the same deliveries give the same course.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from statewright.context import ContextManager
from statewright.conversation import Conversation
from statewright.evaluate import EvalResult
from statewright.inputs import RunInputs
from statewright.journal.entry import TABLES, Delivery, End, command_id, encode
from statewright.journal.recorder import Payloads
from statewright.machine import Decision, Subject, machine_for
from statewright.projection import Projection
from statewright.routing import Router
from statewright.state import PendingApproval
from statewright_states.call.events import AttemptReplied
from statewright_states.call.table import CALL
from statewright_states.errors import InternalError
from statewright_states.messages import Message
from statewright_states.row import Command, Event
from statewright_states.run.commands import AskAgain, AskToClose, ContinueText, DropOldExchanges, Nudge, ReplaceOldExchanges
from statewright_states.run.events import CallFailed, ContextBuilt, ContextFailed, EngineFailed, ReplyReceived, VerdictReached
from statewright_states.run.facts import STATUS, CallPhase, ReplyKind, RunFacts, RunState
from statewright_states.run.questions import reply_kind
from statewright_states.run.table import RUN
from statewright_states.table import Taken
from statewright_states.tool.facts import Approval, ToolFacts, ToolState
from statewright_states.tool.table import TOOL
from statewright_states.vocabulary import Purpose


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a delivery."""

    delivery: Delivery
    source: StrEnum
    decision: Decision
    facts: Any


class Course:
    """A run in progress: apply deliveries, then take the internal ones that follow until there are none."""

    def __init__(self, inputs: RunInputs, payloads: Payloads) -> None:
        self.inputs = inputs
        self.payloads = payloads
        self.conversation = Conversation()
        self.projection = Projection(inputs, payloads)
        self.subjects: dict[str, Subject[Any]] = {"run": machine_for(RUN).new("run")}
        self.live: dict[str, Subject[Any]] = dict(self.subjects)
        """The instances that have not ended."""
        self._context = ContextManager(inputs.config)
        self._router = Router(inputs, self.run, self.conversation, payloads, self.projection)
        self._waiting: deque[tuple[str, Command]] = deque()

    @property
    def run(self) -> Subject[RunFacts]:
        """The run machine's instance."""
        return self.subjects["run"]

    # -- applying ----------------------------------------------------------------------------------------------------

    def apply(self, seq: int, delivery: Delivery) -> Applied:
        """Fire the delivery's event; ``seq`` is the number of the entry that will record it."""
        subject = self._subject(delivery)
        source, before = subject.state, subject.facts
        decision = machine_for(subject.table).apply(subject, delivery.event)
        if isinstance(decision, Taken):
            self._follow(subject, before, delivery.event, decision)
            self._waiting.extend((command_id(seq, at), command) for at, command in enumerate(decision.commands))
        return Applied(delivery, source, decision, subject.facts)

    def _subject(self, delivery: Delivery) -> Subject[Any]:
        subject = self.subjects.get(delivery.instance)
        if subject is None:
            subject = machine_for(TABLES[delivery.machine]).new(delivery.instance)
            self.subjects[delivery.instance] = self.live[delivery.instance] = subject
        return subject

    def _follow(self, subject: Subject[Any], before: Any, event: Event, taken: Taken[Any]) -> None:
        """Keep the conversation and the view in step with what was decided."""
        if subject.ended:
            self.live.pop(subject.instance, None)
        if subject.table is RUN:
            self._follow_run(before, event, taken)
        elif subject.table is CALL and isinstance(event, AttemptReplied):
            if subject.facts.purpose is Purpose.GENERATION:
                self.conversation.counted(event.input_tokens)
            self.projection.replied(event)
        elif subject.table is TOOL:
            self._follow_tool(subject)

    def _follow_run(self, before: RunFacts, event: Event, taken: Taken[RunFacts]) -> None:
        self.projection.took(taken)
        match event:
            case ContextBuilt():
                self.conversation.begin(self.payloads.message(digest) for digest in event.messages)
            case ReplyReceived():
                message = self.payloads.message(event.message)
                cut = reply_kind(event) is ReplyKind.LENGTH
                self.conversation.reply(message, event.calls, cut=cut)
                self.projection.step(before.step, message, event)
            case VerdictReached() if event.reached:
                self.projection.judgement = EvalResult(event.completed, event.confidence, event.issues, event.suggestion)
            case CallFailed() | ContextFailed() | EngineFailed():
                self.projection.error = event.error
            case _:
                pass

    def _follow_tool(self, subject: Subject[ToolFacts]) -> None:
        facts = subject.facts
        if subject.ended and facts.message is not None:
            message = self.payloads.message(facts.message)
            self.conversation.settle(subject.instance, message)
            self.projection.settled(subject.instance, subject.state, message)

    # -- what follows ------------------------------------------------------------------------------------------------

    def next_command(self) -> tuple[str, Command, Delivery | None] | None:
        """The next waiting command: (id, command, where it goes); no delivery means it is an effect to be performed.

        Commands that only concern the conversation are carried out on the way.
        """
        while self._waiting:
            identity, command = self._waiting.popleft()
            if self._converse(command):
                continue
            routed = self._router.route(command)
            return identity, command, Delivery(*routed, cause=identity) if routed else None
        return None

    def _converse(self, command: Command) -> bool:
        prompts = self.inputs.config.prompts
        match command:
            case ContinueText():
                self._say(Message("user", prompts.continuation))
            case Nudge():
                self._say(Message("user", prompts.nudge))
            case AskToClose():
                self._say(Message("user", prompts.closing))
            case ReplaceOldExchanges():
                self.conversation.replace_old(self.payloads.message(command.message), self._context.keep_recent)
            case DropOldExchanges():
                self.conversation.drop_old(self._context.window_tokens)
            case AskAgain():
                pass
            case _:
                return False
        return True

    def _say(self, message: Message) -> None:
        self.payloads.put_message(message)
        self.conversation.add(message)


def pending_approvals(course: Course) -> list[PendingApproval]:
    """The questions to persons that are open now."""
    open_calls = {call.request.tool: call for call in course.run.facts.tools}
    pending: list[PendingApproval] = []
    for tool, call in open_calls.items():
        subject = course.subjects.get(tool)
        if subject is None:
            continue
        lost = call.phase is CallPhase.UNKNOWN
        asked = ToolState(subject.state) is ToolState.AWAITING_APPROVAL and subject.facts.approval is Approval.OPEN
        if asked or lost:
            request, arguments = course.projection.arguments_of(tool)
            pending.append(
                PendingApproval(tool, request.call_id, request.name, arguments, subject.facts.arguments, outcome_lost=lost)
            )
    return pending


def end_entry(course: Course, seq: int, at_us: int) -> End:
    """The last entry of a run that has ended; its output is put among the payloads."""
    facts: RunFacts = course.run.facts
    state = RunState(course.run.state)
    projection = course.projection
    if facts.stop_reason is None:
        raise InternalError("the run ended without a reason", where=f"run {course.inputs.run_id} in {state}")
    return End(
        seq=seq,
        at_us=at_us,
        status=STATUS[state].value,
        stop_reason=facts.stop_reason.value,
        output=course.payloads.put(encode(projection.final_output(facts, course.conversation))),
        messages=course.conversation.digest,
        steps=facts.step,
        model_calls=facts.model_calls,
        tool_calls=facts.tool_calls,
        input_tokens=projection.usage.input_tokens,
        output_tokens=projection.usage.output_tokens,
        cost_microusd=facts.cost_microusd,
        verified=projection.verified(facts),
    )
