"""The view of a run: steps, usage, path and outcome, gathered while its decisions are applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from statewright.config.prompts import notice
from statewright.context.conversation import Conversation
from statewright.context.judge import EvalResult
from statewright.core.inputs import RunInputs
from statewright.core.replies import same_call
from statewright.journal.recorder import Payloads
from statewright.views.state import AgentState, ChildRun, PendingApproval, StepResult, ToolCallResult
from statewright_states.call.events import AttemptReplied
from statewright_states.form.table import Taken
from statewright_states.frozen import dataclass, replace
from statewright_states.run.events import ChildEnded, OutcomeStated, ReplyReceived
from statewright_states.run.facts import STATUS, CutOff, RunFacts, RunState, Verdict
from statewright_states.tool.events import ApprovalGiven, ChildQuestion
from statewright_states.tool.facts import ToolState
from statewright_states.words.messages import LLMResponse, Message, Usage
from statewright_states.words.vocabulary import AskedIf, Status, StopReason, ToolRequest

NOT_RUN = (ToolState.SKIPPED, ToolState.REPEATED)
"""Outcomes of calls without a result of their own."""


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A tool call that was made before: its name in the journal, and what the model was shown."""

    tool: str
    result: str


class Projection:
    """Gathers what AgentState shows. Appends only; nothing is recomputed per step."""

    def __init__(self, inputs: RunInputs, payloads: Payloads) -> None:
        self._inputs = inputs
        self._payloads = payloads
        self._steps: list[tuple[int, LLMResponse, tuple[ToolRequest, ...], CutOff]] = []
        self._results: dict[str, ToolCallResult] = {}
        self._requests: dict[str, tuple[ToolRequest, str]] = {}
        self._last_reply: AttemptReplied | None = None
        self.decided: dict[str, ApprovalGiven | OutcomeStated] = {}
        """For each tool call that persons have decided about, the statement that decided."""
        self.usage = Usage()
        self.path: list[str] = []
        self.error: str | None = None
        self.judgement: EvalResult | None = None
        """What the judge said last."""
        self._ended_children: list[ChildRun] = []
        self.asked_below: dict[str, tuple[ChildQuestion, ...]] = {}
        """For calls that wait for runs that their tools have begun: what is asked there."""

    # -- gathering ---------------------------------------------------------------------------------------------------

    def asked_if(self, call_id: str) -> AskedIf | None:
        """What a tool's ``ask_if`` said of this call of the last reply."""
        reply = self._last_reply
        return next((asked for asked in reply.asked_if if asked.call_id == call_id), None) if reply else None

    def took(self, taken: Taken[Any]) -> None:
        """The run machine took a row."""
        self.path.append(taken.row.id)

    def replied(self, event: AttemptReplied) -> None:
        """A model call of any purpose was answered."""
        self._last_reply = event
        self.usage += _usage_of(event)

    def step(self, number: int, message: Message, event: ReplyReceived) -> None:
        """A generation or closing call was answered; the closing one is no step of its own."""
        for request, call in zip(event.calls, message.tool_calls, strict=True):
            self._requests[request.tool] = (request, call.arguments)
        if self._steps and self._steps[-1][0] == number:
            return
        reply = self._last_reply
        response = LLMResponse(
            parts=message.parts,
            finish_reason=reply.finish if reply else event.finish.value,
            usage=_usage_of(reply) if reply else None,
            model=reply.model if reply else None,
        )
        self._steps.append((number, response, event.calls, event.cut_off))

    def changed(self, tool: str, call: Message, asked_if: AskedIf | None) -> None:
        """Guards have replaced the arguments of a call; ``call`` holds it as it is now, of which ``asked_if`` speaks."""
        request, _ = self._requests[tool]
        self._requests[tool] = (replace(request, asked_if=asked_if), call.tool_calls[0].arguments)

    def child_ended(self, event: ChildEnded) -> None:
        """A run that a tool has begun is over."""
        self._ended_children.append(ChildRun(event.run, event.tool, event.status, event.stop_reason, event.cost_microusd))
        counted = (event.input_tokens, event.output_tokens, event.cached_input_tokens)
        self.usage += Usage(*counted, event.reasoning_tokens, event.estimated_tokens)

    def asks_below(self, tool: str, questions: tuple[ChildQuestion, ...]) -> None:
        """What is asked in the runs that a tool has begun and waits for; nothing once it waits no longer."""
        if questions:
            self.asked_below[tool] = questions
        else:
            self.asked_below.pop(tool, None)

    def settled(self, tool: str, outcome: str, message: Message) -> None:
        """A tool call has its one result."""
        request, arguments = self._requests[tool]
        self._results[tool] = ToolCallResult(request.name, arguments, message.content or "", request.call_id, outcome)

    # -- showing -----------------------------------------------------------------------------------------------------

    @property
    def actions(self) -> list[str]:
        """The tool calls so far, one line each, for a judge."""
        return [f"{result.tool_name}({result.args}): {result.outcome}" for result in self._results.values()]

    def asked_for(self, tool: str) -> bool:
        """Whether the model asked for this call."""
        return tool in self._requests

    def arguments_of(self, tool: str) -> tuple[ToolRequest, str]:
        """A tool call and its argument text: the model's, or what guards put in its place."""
        return self._requests[tool]

    def earlier(self, tool: str) -> EarlierCall | None:
        """The last call before ``tool`` that is the same and was not skipped. It is searched for from the end."""
        request, arguments = self._requests[tool]
        wanted = same_call(request.name, arguments)
        for before, result in reversed(self._results.items()):
            if result.outcome not in NOT_RUN and same_call(result.tool_name, result.args) == wanted:
                return EarlierCall(before, result.result)
        return None

    @staticmethod
    def verified(facts: RunFacts) -> bool | None:
        """What the judge said, or None where nobody judged, the judge could not be asked, or its words are no verdict."""
        return facts.verdict is Verdict.PASSED if facts.verdict in (Verdict.PASSED, Verdict.FAILED) else None

    def final_output(self, facts: RunFacts, conversation: Conversation) -> str:
        """The answer; where the model said nothing, a notice that says why. Silence is empty."""
        if facts.stop_reason is None or facts.silent:
            return ""
        if facts.stop_reason is StopReason.BLOCKED and self.error is None:
            return conversation.output  # the model refused, and said so or nothing
        budget, error = facts.budget.value if facts.budget else "", self.error or "no reason was given"
        told = {"steps": facts.step, "error": error, "budget": budget}
        return conversation.output or notice(self._inputs.config.prompts, facts.stop_reason, told)

    def state(
        self,
        state: RunState,
        facts: RunFacts,
        conversation: Conversation,
        times_us: tuple[int, int],
        counts: tuple[int, int],
        pending: Sequence[PendingApproval] = (),
    ) -> AgentState:
        """The run as callers see it; ``times_us`` are its start and the time of its last entry.

        ``counts`` are how many requests went to models, and how many events did not come about by themselves.
        """
        ended = facts.stop_reason is not None
        return AgentState(
            run_id=self._inputs.run_id,
            status=STATUS[state],
            stop_reason=facts.stop_reason,
            final_output=self.final_output(facts, conversation) if ended else None,
            messages=[message.to_dict() for message in conversation.messages],
            steps=tuple(self._step(*step) for step in self._steps),
            usage=self.usage,
            model=self._inputs.model,
            verified=self.verified(facts),
            started_at_us=times_us[0],
            duration_s=round((times_us[1] - times_us[0]) / 1_000_000, 6),
            model_calls=counts[0],
            path=tuple(self.path),
            pending=() if ended else tuple(pending),
            error=self.error,
            steps_taken=facts.step,
            cost_microusd=facts.cost_microusd,
            silent=ended and facts.silent,
            budget_spent=facts.budget.value if facts.budget else None,
            new_messages_start=conversation.begun_with,
            children=(*self._ended_children, *(() if ended else self._waiting_children)),
            interference=counts[1],
        )

    @property
    def _waiting_children(self) -> tuple[ChildRun, ...]:
        """The runs below this one that persons are asked in. One further below stands under the call that waits for it."""
        below = {question.run: tool for tool, asked in self.asked_below.items() for question in asked}
        return tuple(ChildRun(run_id, tool, Status.RUNNING) for run_id, tool in below.items())

    def _step(self, number: int, response: LLMResponse, calls: Sequence[ToolRequest], cut_off: CutOff) -> StepResult:
        results = tuple(self._results[call.tool] for call in calls if call.tool in self._results)
        return StepResult(number, response, results, cut_off)


def _usage_of(event: AttemptReplied) -> Usage:
    """What a reply used: as the provider counted, or as it was estimated."""
    return Usage(
        event.input_tokens + event.estimated_input_tokens,
        event.output_tokens + event.estimated_output_tokens,
        event.cached_input_tokens,
        event.reasoning_tokens,
        event.estimated_tokens,
    )
