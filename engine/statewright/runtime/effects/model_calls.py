"""Model requests: put one attempt on the wire, watch it, and report how it went. Waits and deadlines of calls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

from statewright.config.prices import cost_microusd
from statewright.config.prompts import with_attachments
from statewright.context.builder import ContextManager
from statewright.context.estimates import tools_tokens
from statewright.context.judge import SelfEvaluator
from statewright.core.execution import RunExecution
from statewright.core.replies import cut_off, finish_of, is_silent
from statewright.hooks import Decided, HookPoint, ModelCall
from statewright.runtime.effects.equipment import Deliver, Equipment
from statewright.runtime.effects.marker_filter import MarkerFilter
from statewright.runtime.effects.model_request import model_request
from statewright.runtime.effects.reply_bounds import MAX_ERROR_CHARS, MAX_WORD_CHARS, bounded, failed_attempt
from statewright.runtime.effects.tasks import TaskOwner
from statewright.tools.ask_if import asked_if
from statewright_states.call.commands import AbortRequest, BackOff, SendRequest, WatchStepDeadline
from statewright_states.call.events import AttemptFailed, AttemptReplied, BackoffElapsed, ReplyBegan, StepDeadline
from statewright_states.call.facts import CallFacts
from statewright_states.errors import Fault, ProviderError
from statewright_states.frozen import replace
from statewright_states.run.facts import CutOff
from statewright_states.words.messages import LLMResponse, Message, StreamChunk, ToolCall, Usage
from statewright_states.words.parts import Part
from statewright_states.words.ports import ModelRequest, Provider, Timer
from statewright_states.words.vocabulary import AskedIf, Purpose

JITTER = 0.25
"""Waits are drawn from this share around the configured one, so that many runs do not come back at the same moment."""


GUARDS_OF = {Purpose.SUMMARY: HookPoint.BEFORE_COMPACTION, Purpose.EVALUATION: HookPoint.BEFORE_EVALUATION}
"""The points at which requests of one purpose alone are guarded; every request is guarded before it is sent."""


class ModelCalls:
    """Carries out the commands of call machines."""

    def __init__(self, execution: RunExecution, equipment: Equipment, tasks: TaskOwner, deliver: Deliver) -> None:
        self._execution = execution
        self._equipment = equipment
        self._tasks = tasks
        self._deliver = deliver
        self._context = ContextManager(execution.inputs.config)
        self._schemas = tuple(card.schema() for card in execution.inputs.cards.values())
        self._ask_ifs = execution.inputs.ask_ifs
        self._deadlines: dict[str, Timer] = {}
        self._waits: dict[str, Timer] = {}
        self._void = False
        """Whether text of a failed attempt was shown, and observers have not received the chunk ``restart`` yet."""

    @property
    def idle(self) -> bool:
        """Whether no wait before an attempt is under way."""
        return not self._waits

    # -- commands ----------------------------------------------------------------------------------------------------

    def watch(self, cause: str, command: WatchStepDeadline) -> None:
        """Start the step timer, if there is one."""
        timeout_s = self._execution.inputs.config.step_timeout_s
        if timeout_s:
            fire = partial(self._deliver, "call", command.call, StepDeadline(), cause)
            self._deadlines[command.call] = self._equipment.clock.call_later(timeout_s, fire)

    def send(self, cause: str, command: SendRequest) -> None:
        """Put one attempt on the wire."""
        facts: CallFacts = self._execution.instances[command.call].facts
        request = self._request(facts.purpose)
        if command.restart or (self._void and request.stream):
            self._void = False
            self._equipment.observers.chunk(StreamChunk("restart", ""))
        provider = self._equipment.providers[command.model_index]
        self._tasks.start(command.call, self._attempt(cause, command, provider, request))

    def back_off(self, cause: str, command: BackOff) -> None:
        """Wait before the next attempt."""

        def elapsed() -> None:
            self._waits.pop(command.call, None)
            self._deliver("call", command.call, BackoffElapsed(command.send), cause)

        self._waits[command.call] = self._equipment.clock.call_later(self._wait_s(command), elapsed)

    def abort(self, cause: str, command: AbortRequest) -> None:
        """Give the request up."""
        self._tasks.cancel(command.call)

    def ended(self, call: str) -> None:
        """The call has ended: cancel its timers."""
        for timers in (self._deadlines, self._waits):
            timer = timers.pop(call, None)
            if timer is not None:
                timer.cancel()

    def aclose(self) -> None:
        """Cancel all timers."""
        for call in {*self._deadlines, *self._waits}:
            self.ended(call)

    def _wait_s(self, command: BackOff) -> float:
        retry = self._execution.inputs.config.retry
        jitter = 1 + JITTER * (2 * self._equipment.chance.jitter() - 1)
        if command.retry_after_s is not None:
            return min(command.retry_after_s * max(jitter, 1.0), retry.max_wait_s)
        if not retry.waits_s:
            return 0.0
        return min(retry.waits_s[min(command.attempt, len(retry.waits_s)) - 1] * jitter, retry.max_wait_s)

    # -- one attempt -------------------------------------------------------------------------------------------------

    def _request(self, purpose: Purpose) -> ModelRequest:
        execution, config = self._execution, self._execution.inputs.config
        match purpose:
            case Purpose.SUMMARY:
                messages = self._context.summary_request(execution.conversation)
            case Purpose.EVALUATION:
                actions, said = execution.projection.actions, execution.conversation.output
                answer = with_attachments(config.prompts, said, execution.conversation.attachments)
                judge, again = SelfEvaluator(config.prompts), execution.run.facts.unreadable
                messages = judge.request(execution.inputs.task, answer, actions, again=again)
            case _:
                messages = tuple(execution.conversation.messages)
        # A correction is not streamed: its text would follow the answer that it replaces.
        facts = execution.run.facts
        stream, first_step = execution.inputs.stream and facts.attempt == 1, facts.attempt_steps == 1
        return model_request(config, purpose, messages, self._schemas, stream=stream, first_step=first_step)

    async def _attempt(self, cause: str, command: SendRequest, provider: Provider, request: ModelRequest) -> None:
        observer = _Watch(self._deliver, self._equipment, command, cause, self._marker)
        event = await self._guarded(command, provider, request, observer)
        if observer.resends:
            event = replace(event, resent=observer.resends)
        self._void = self._void or (isinstance(event, AttemptFailed) and event.shown)
        self._deliver("call", command.call, event, cause)

    @property
    def _marker(self) -> str:
        """The text that means "no reply"; empty where the reply continues a text that was cut off, which cannot mean that."""
        return "" if self._execution.conversation.continuing else self._execution.inputs.config.prompts.no_reply

    async def _guarded(
        self, command: SendRequest, provider: Provider, request: ModelRequest, observer: _Watch
    ) -> AttemptReplied | AttemptFailed:
        """The outcome of a request; ``AttemptFailed`` with the fault ``blocked`` where a guard forbids it."""
        points = self._guarded_at(self._execution.instances[command.call].facts.purpose)
        if not points:
            return await self._outcome(command, provider, request, observer)
        asked = await self._ask_guards(points, command, provider, request)
        if asked.objection is not None:
            return AttemptFailed(command.send, Fault.BLOCKED, "Blocked", asked.objection, sent=False, decisions=asked.decisions)
        event = await self._outcome(command, provider, request, observer)
        return replace(event, decisions=asked.decisions)

    def _guarded_at(self, purpose: Purpose) -> list[HookPoint]:
        """The points at which hooks are declared: those of this purpose, then those of every request."""
        points = (GUARDS_OF.get(purpose), HookPoint.BEFORE_MODEL_CALL)
        return [point for point in points if point is not None and self._equipment.hooks.at(point)]

    async def _ask_guards(
        self, points: Sequence[HookPoint], command: SendRequest, provider: Provider, request: ModelRequest
    ) -> Decided[ModelCall]:
        """Ask the guards of this request; after an objection no other guard is asked."""
        hooks, purpose = self._equipment.hooks, self._execution.instances[command.call].facts.purpose
        subject = ModelCall(
            self._execution.inputs.run_id,
            command.call,
            command.send,
            purpose,
            provider.model,
            request.messages,
            tuple(tool.name for tool in request.tools),
        )
        decided = Decided(subject)
        for point in points:
            if decided.objection is None:
                asked = await hooks.decide(point, subject)
                decided = replace(asked, decisions=(*decided.decisions, *asked.decisions))
        return decided

    async def _outcome(
        self, command: SendRequest, provider: Provider, request: ModelRequest, observer: _Watch
    ) -> AttemptReplied | AttemptFailed:
        try:
            response = cast("object", await provider.complete(request, observer))
        except ProviderError as error:
            return failed_attempt(command.send, error, shown=observer.shown)
        except Exception as error:  # a provider that breaks its contract is a provider that failed, not an engine that did
            return _failed(command, Fault.REJECTED, type(error).__name__, str(error)[:MAX_ERROR_CHARS], observer.shown)
        if not isinstance(response, LLMResponse):  # whoever wrote the provider may have got it wrong
            what = f"{provider.model} gave {type(response).__name__}, an LLMResponse is expected"
            return _failed(command, Fault.REJECTED, "MalformedReply", what, observer.shown)
        observer.began()
        response = bounded(response)
        if not self._silent(response):
            observer.release()
        return self._replied(command, provider.model, request, response)

    def _silent(self, response: LLMResponse) -> bool:
        """Whether the run will treat this reply as silent; it decides so later, by the same rule, from the record."""
        config, finish, calls = self._execution.inputs.config, finish_of(response.finish_reason), response.tool_calls
        if not is_silent(finish, CutOff.NO, calls, response.content or "", self._marker):
            return False
        return cut_off(finish, calls, (response.usage or Usage()).output_tokens, config.max_output_tokens) is CutOff.NO

    def _replied(self, command: SendRequest, model: str, request: ModelRequest, response: LLMResponse) -> AttemptReplied:
        payloads = self._execution.payloads
        parts = _with_own_ids(response.parts, command.call)
        message, usage = Message("assistant", parts=parts), response.usage or Usage()
        estimated = self._estimated(command, request, message, usage)
        return AttemptReplied(
            send=command.send,
            message=payloads.put_message(message),
            raw=payloads.put(response.raw) if response.raw else None,
            model=response.model,
            finish=response.finish_reason,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_input_tokens=usage.cached_input_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            cost_microusd=cost_microusd(self._execution.inputs.config.budget.prices.get(model), usage + estimated),
            asked_if=self._asked_if(command, parts) if self._ask_ifs else (),
            estimated_input_tokens=estimated.input_tokens,
            estimated_output_tokens=estimated.output_tokens,
        )

    def _estimated(self, command: SendRequest, request: ModelRequest, reply: Message, counted: Usage) -> Usage:
        """About how many tokens a request and its reply have, as far as the provider does not say: budgets need it."""
        estimates = self._execution.conversation.estimates
        asked = 0 if counted.input_tokens else self._estimated_request(command, request)
        return Usage(asked, estimates.of((reply,)) if reply.parts and not counted.output_tokens else 0)

    def _estimated_request(self, command: SendRequest, request: ModelRequest) -> int:
        conversation, facts = self._execution.conversation, cast("CallFacts", self._execution.instances[command.call].facts)
        # The size of a conversation is kept as it grows; a summary's or a judge's request is short, or made but once.
        talking = facts.purpose in (Purpose.GENERATION, Purpose.CLOSING)
        said = conversation.estimate_tokens() if talking else conversation.estimates.of(request.messages)
        return said + tools_tokens(request.tools)

    def _asked_if(self, command: SendRequest, parts: Sequence[Part]) -> tuple[AskedIf, ...]:
        """What the ``ask_if`` of tools says of the calls of a reply."""
        facts: CallFacts = self._execution.instances[command.call].facts
        calls = [part for part in parts if isinstance(part, ToolCall) and part.name in self._ask_ifs]
        tools, generated = self._equipment.registry, facts.purpose is Purpose.GENERATION
        said = (asked_if(tools.get(call.name), self._ask_ifs[call.name], call.id, call.arguments) for call in calls)
        return tuple(asked for asked in said if asked is not None) if generated else ()


class _Watch:
    """Watches one attempt for the machine and for observers."""

    def __init__(self, deliver: Deliver, equipment: Equipment, command: SendRequest, cause: str, marker: str) -> None:
        self._deliver = deliver
        self._observers = equipment.observers
        self._command = command
        self._cause = cause
        self._held = MarkerFilter(marker, self._show)
        self._begun = False
        self.shown = False
        self.resends = 0

    def began(self) -> None:
        if not self._begun:
            self._begun = True
            self._deliver("call", self._command.call, ReplyBegan(self._command.send), self._cause)

    def resent(self) -> None:
        self.resends += 1

    def chunk(self, chunk: StreamChunk) -> None:
        self.began()
        self._held.chunk(chunk)

    def release(self) -> None:
        """The reply is complete, and it is text: nothing is held back."""
        self._held.release()

    def _show(self, chunk: StreamChunk) -> None:
        self.shown = True
        self._observers.chunk(chunk)


def _failed(command: SendRequest, fault: Fault, error: str, message: str, shown: bool) -> AttemptFailed:
    return AttemptFailed(command.send, fault, error, message, shown=shown)


def _with_own_ids(parts: Sequence[Part], call: str) -> list[Part]:
    """The parts, their calls with ids that are present, not endless, and differ; results are matched to calls by them."""
    seen: set[str] = set()
    named: list[Part] = []
    for part in parts:
        if isinstance(part, ToolCall):
            identity = part.id if 0 < len(part.id) <= MAX_WORD_CHARS and part.id not in seen else f"{call}-{len(seen) + 1}"
            seen.add(identity)
            part = part if identity == part.id else replace(part, id=identity)  # noqa: PLW2901 - the same part, named
        named.append(part)
    return named
