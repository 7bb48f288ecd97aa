"""What callers see of a run: AgentState, its steps and tool results. Views only; nothing here decides anything."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from statewright_states.approval import UNSIGNED, SignOff
from statewright_states.messages import LLMResponse, Usage
from statewright_states.vocabulary import Status, StopReason


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """One tool call of a step, settled: what was asked, how it ended, and what the model was shown."""

    tool_name: str
    args: str
    result: str
    call_id: str
    outcome: str
    """The final state of the tool machine: returned, failed, timed_out, denied, skipped, cancelled, outcome_unknown."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """One model call for generation and the tool calls that it led to, in request order. ``number`` is 1-based."""

    number: int
    response: LLMResponse
    tool_results: tuple[ToolCallResult, ...] = ()


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

    @property
    def waiting(self) -> bool:
        """Whether the run waits for a person."""
        return bool(self.pending) and self.status is Status.RUNNING

    def to_output_dict(self) -> dict[str, Any]:
        """JSON-ready data for machines that read the outcome."""
        shape = asdict(self)
        shape["waiting"] = self.waiting
        shape["steps"] = [_step(step) for step in self.steps]
        return shape


def _step(step: StepResult) -> dict[str, Any]:
    response = step.response
    return {
        "number": step.number,
        "content": response.content,
        "finish_reason": response.finish_reason,
        "tool_calls": [asdict(call) for call in response.tool_calls],
        "tool_results": [asdict(result) for result in step.tool_results],
    }
