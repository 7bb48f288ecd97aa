"""What callers see of a run: AgentState, its steps and tool results. Views only; nothing here decides anything."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Any

from statewright_states.frozen import dataclass
from statewright_states.run.facts import CutOff
from statewright_states.tool.facts import ToolState
from statewright_states.words.approval import UNSIGNED, SignOff
from statewright_states.words.chat_shape import without_data
from statewright_states.words.messages import LLMResponse, Usage
from statewright_states.words.vocabulary import Status, StopReason


class LoopPhase(StrEnum):
    """What one step came to, as a loop of generate, execute, evaluate names it."""

    TOOLS_EXECUTED = "tools_executed"
    """The model asked for tools, and they were handled: the loop goes on."""
    COMPLETED = "completed"
    """The model gave a final answer."""
    ERROR = "error"
    """Neither: a reply that was empty, cut off or blocked, or none at all."""


TOOL_RAN = (ToolState.RETURNED, ToolState.FAILED, ToolState.TIMED_OUT, ToolState.OUTCOME_UNKNOWN)
"""Outcomes of tool calls that were executed, or could not be for a fault of their own."""


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """One tool call of a step, settled: what was asked, how it ended, and what the model was shown."""

    tool_name: str
    args: str
    result: str
    call_id: str
    outcome: str
    """The final state of the tool machine: returned, failed, timed_out, denied, skipped, repeated, cancelled,
    outcome_unknown."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """One model call for generation and the tool calls that it led to, in request order. ``number`` is 1-based."""

    number: int
    response: LLMResponse
    tool_results: tuple[ToolCallResult, ...] = ()
    cut_off: CutOff = CutOff.NO
    """Whether the reply was cut off by its length, and how that is known."""

    @property
    def phase(self) -> LoopPhase:
        """Tool calls that are whole are TOOLS_EXECUTED, text that ended by itself is COMPLETED, anything else ERROR."""
        if self.cut_off is not CutOff.NO or self.response.finish_reason not in ("stop", "tool_calls"):
            return LoopPhase.ERROR
        if self.response.tool_calls:
            return LoopPhase.TOOLS_EXECUTED
        completed = self.response.finish_reason == "stop" and (self.response.content or "").strip()
        return LoopPhase.COMPLETED if completed else LoopPhase.ERROR


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What a caller that keeps the conversation itself needs of a run: the answer, and the messages to add.

    ``tools_used`` names the tool of each call that was executed, in order, repetitions included. ``messages`` is the whole
    transcript; those from ``new_messages_start`` on came with the run, those before are what it was given: the system
    prompt, the history and the task.
    """

    final_content: str | None
    tools_used: list[str]
    messages: list[dict[str, Any]]
    new_messages_start: int


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A run that a tool of this one has begun: it waits for persons, or has ended. ``tool`` is the call's name in the journal.

    ``cost_microusd`` is what it used, in millionths of a US dollar, once it has ended.
    """

    run_id: str
    tool: str
    status: Status
    stop_reason: StopReason | None = None
    cost_microusd: int = 0


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A tool call that waits for a person. ``digest`` names exactly what is to be decided about."""

    tool: str
    call_id: str
    name: str
    arguments: str
    digest: str
    outcome_lost: bool = False
    """Whether the question is how to go on after a lost outcome, and not whether to run the call."""
    sign_off: SignOff = UNSIGNED
    """What the call's approval takes, and who has reviewed and approved it so far."""
    remark: str = ""
    """What whoever decides should know besides, such as that the tool declares no effect."""
    run_id: str = ""
    """The run whose call it is, where decisions are made: the run itself, or one that a tool of it has begun."""


@dataclass(frozen=True, slots=True)
class AgentState:
    """A run as callers see it: still going (``running``), waiting for a person, or ended."""

    run_id: str
    status: Status
    stop_reason: StopReason | None
    final_output: str | None
    messages: list[dict[str, Any]]
    """The transcript of the last attempt, in the chat shape."""
    steps: tuple[StepResult, ...]
    usage: Usage
    model: str
    verified: bool | None
    """What the judge said: True, False, or None where nobody judged or the judge could not be asked."""
    started_at_us: int
    duration_s: float
    model_calls: int
    path: tuple[str, ...]
    """The ids of the rows that the run machine took."""
    pending: tuple[PendingApproval, ...] = ()
    error: str | None = None
    steps_taken: int = 0
    """Model calls for generation that were begun, also one that gave no reply and so has no entry in ``steps``."""
    cost_microusd: int = 0
    """Millionths of a US dollar by the configured prices; 0 where there are none."""
    silent: bool = False
    """Whether the model replied that there is nothing to say (``NO_REPLY``); the output is empty then."""
    budget_spent: str | None = None
    """The bound of BudgetConfig that ended the run, such as ``max_total_tokens``."""
    new_messages_start: int = 0
    """How many of ``messages`` the run was given: the system prompt, the history and the task."""
    children: tuple[ChildRun, ...] = ()
    """The runs that tools have begun and that wait or have ended, in this order of events. Their use is counted here too."""
    interference: int = 0
    """How many of its events did not come about by themselves: somebody who stepped through it injected or edited them."""

    @property
    def cost_usd(self) -> float:
        """The cost in US dollars; ``cost_microusd`` is exact."""
        return self.cost_microusd / 1_000_000

    @property
    def phase(self) -> LoopPhase | None:
        """The phase of the last step; ERROR when it gave no reply or the run failed, None before the first."""
        failed = self.status is Status.FAILED or self.stop_reason is StopReason.STEP_TIMEOUT
        return LoopPhase.ERROR if failed else self.steps[-1].phase if self.steps else None

    @property
    def tools_used(self) -> list[str]:
        """The tool of each call that was executed, in order, repetitions included."""
        return [result.tool_name for step in self.steps for result in step.tool_results if result.outcome in TOOL_RAN]

    def turn_result(self) -> TurnResult:
        """The run as one turn of a conversation that the caller keeps."""
        return TurnResult(self.final_output, self.tools_used, self.messages, self.new_messages_start)

    @property
    def waiting(self) -> bool:
        """Whether the run waits for a person."""
        return bool(self.pending) and self.status is Status.RUNNING

    def to_output_dict(self) -> dict[str, Any]:
        """JSON-ready data for machines that read the outcome: every field, and what the properties say.

        The bytes of images and files are replaced by their size; ``messages`` itself holds them.
        """
        shape = asdict(self)
        shape |= {"waiting": self.waiting, "phase": self.phase, "tools_used": self.tools_used, "cost_usd": self.cost_usd}
        shape["messages"] = without_data(self.messages)
        shape["steps"] = [_step(step) for step in self.steps]
        return shape


def _step(step: StepResult) -> dict[str, Any]:
    response = step.response
    return {
        "number": step.number,
        "content": response.content,
        "finish_reason": response.finish_reason,
        "cut_off": step.cut_off,
        "tool_calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in response.tool_calls],
        "tool_results": [asdict(result) for result in step.tool_results],
    }
