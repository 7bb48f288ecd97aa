"""What callers see of a task that is planned, then built: MixedState. A view only; nothing here decides anything."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from statewright.views.state import AgentState, PendingApproval, StepResult
from statewright_states.frozen import dataclass, replace
from statewright_states.words.messages import Usage
from statewright_states.words.vocabulary import Status, StopReason


@dataclass(frozen=True, slots=True)
class MixedState:
    """A task that is planned, then built: one status, and the two runs that it is made of, as far as they have begun.

    Counters are sums over both runs. ``tool_calls`` and ``cost_microusd`` (millionths of a US dollar) count a run once it
    has ended. What ``AgentState`` has, this has too, under the same names.
    """

    run_id: str
    status: Status
    stop_reason: StopReason | None
    final_output: str | None
    """The build's output, or the plan's when there is no build."""
    plan: AgentState | None
    build: AgentState | None
    model: str
    started_at_us: int
    duration_s: float
    tool_calls: int
    cost_microusd: int
    path: tuple[str, ...]
    """The ids of the rows that the plan_build machine took."""
    error: str | None = None

    @property
    def runs(self) -> tuple[AgentState, ...]:
        """The runs that have begun, the plan's first."""
        return tuple(run for run in (self.plan, self.build) if run is not None)

    @property
    def steps(self) -> tuple[StepResult, ...]:
        """The steps of both runs, in order."""
        return tuple(step for run in self.runs for step in run.steps)

    @property
    def model_calls(self) -> int:
        """Requests to models for any purpose, retries included."""
        return sum(run.model_calls for run in self.runs)

    @property
    def usage(self) -> Usage:
        """The tokens that both runs used."""
        return sum((run.usage for run in self.runs), Usage())

    @property
    def steps_taken(self) -> int:
        """Model calls for generation that were begun, in both runs."""
        return sum(run.steps_taken for run in self.runs)

    @property
    def cost_usd(self) -> float:
        """The cost in US dollars; ``cost_microusd`` is exact."""
        return self.cost_microusd / 1_000_000

    @property
    def silent(self) -> bool:
        """Whether the run that began last replied that there is nothing to say."""
        return bool(self.runs) and self.runs[-1].silent

    @property
    def budget_spent(self) -> str | None:
        """The bound of BudgetConfig that ended the run that began last."""
        return self.runs[-1].budget_spent if self.runs else None

    @property
    def interference(self) -> int:
        """How many events of its runs did not come about by themselves."""
        return sum(run.interference for run in self.runs)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The transcript of the run that began last, in the chat shape."""
        return self.runs[-1].messages if self.runs else []

    @property
    def verified(self) -> bool | None:
        """What the judge of the run that began last said."""
        return self.runs[-1].verified if self.runs else None

    @property
    def pending(self) -> tuple[PendingApproval, ...]:
        """The questions to persons that are open; they are asked by ``waiting_run``."""
        return self.runs[-1].pending if self.runs and self.status is Status.RUNNING else ()

    @property
    def waiting(self) -> bool:
        """Whether one of the runs waits for a person."""
        return bool(self.pending)

    @property
    def waiting_run(self) -> str | None:
        """The id of the run that waits for a person: decisions are about its calls. It may be one that a tool has begun."""
        return self.pending[0].run_id if self.waiting else None

    def to_output_dict(self) -> dict[str, Any]:
        """JSON-ready data for machines that read the outcome; the runs stand in it as their own ``to_output_dict``."""
        return asdict(replace(self, plan=None, build=None)) | {
            "verified": self.verified,
            "steps_taken": self.steps_taken,
            "model_calls": self.model_calls,
            "usage": asdict(self.usage),
            "cost_usd": self.cost_usd,
            "interference": self.interference,
            "waiting": self.waiting,
            "waiting_run": self.waiting_run,
            "plan": self.plan.to_output_dict() if self.plan else None,
            "build": self.build.to_output_dict() if self.build else None,
        }
