"""The execution of a task that is planned, then built: everything that the entries of its own record determine.

Its two runs have executions and records of their own; here they are known by their ends alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from statewright.config.prompts import notice
from statewright.context.conversation import EMPTY_DIGEST
from statewright.core.execution import Execution
from statewright.core.plan_build_inputs import PlanBuildInputs
from statewright.journal.entry import End, encode
from statewright.journal.recorder import Payloads
from statewright.machine import Instance
from statewright.views.plan_build_state import MixedState
from statewright.views.state import AgentState
from statewright_states.errors import InternalError
from statewright_states.form.row import Event
from statewright_states.form.table import Taken
from statewright_states.plan_build.facts import PLAN_BUILD_STATUS, ChildEnd, Phase, PlanBuildFacts, PlanBuildState
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.words.vocabulary import EngineFailed, Resumed, RunStalled, StopReason


class PlanBuildExecution(Execution[PlanBuildInputs, PlanBuildFacts]):
    """A task in progress. Its record holds one machine; every command of it is an effect, or the end."""

    def __init__(self, inputs: PlanBuildInputs, payloads: Payloads) -> None:
        super().__init__(inputs, payloads, PLAN_BUILD)
        self._path: list[str] = []
        self._error: str | None = None

    def _follow(self, instance: Instance[Any], before: Any, event: Event, taken: Taken[Any]) -> None:
        self._path.append(taken.row.id)
        if isinstance(event, EngineFailed | RunStalled):
            self._error = event.error

    @property
    def admitted(self) -> bool:
        return self.main.facts.begun

    def resumption(self, epoch: int, worked_us: int) -> Iterator[tuple[str, str, Event]]:
        yield PLAN_BUILD.name, self.main.name, Resumed(epoch)

    # -- the end, and what callers see -------------------------------------------------------------------------------

    @property
    def last(self) -> ChildEnd | None:
        """The end of the run that ended last."""
        return self.main.facts.build or self.main.facts.plan

    def end(self) -> End:
        """What the last entry says of the task, once it has ended."""
        facts, last = self.main.facts, self.last
        if facts.stop_reason is None:
            raise InternalError("the task ended without a reason", where=f"run {self.inputs.run_id}")
        return End(
            status=PLAN_BUILD_STATUS[PlanBuildState(self.main.state)].value,
            stop_reason=facts.stop_reason.value,
            output=last.output if last else self.payloads.put(encode(self._notice(facts.stop_reason))),
            messages=last.transcript if last else EMPTY_DIGEST,
            steps=facts.steps,
            model_calls=facts.model_calls,
            tool_calls=facts.tool_calls,
            input_tokens=facts.input_tokens,
            output_tokens=facts.output_tokens,
            cost_microusd=facts.cost_microusd,
            verified=last.verified if last else None,
            interference=self.interference,
        )

    def run_of(self, phase: Phase) -> str:
        """The id of the run of this phase: a task that was forked has the ended runs of the other."""
        end = self.main.facts.plan if phase is Phase.PLAN else self.main.facts.build
        return end.run if end is not None else self.inputs.child_id(phase)

    def state(self, times_us: tuple[int, int], plan: AgentState | None, build: AgentState | None) -> MixedState:
        """The task as callers see it, with its runs; ``times_us`` are its start and the time of its last entry."""
        facts = self.main.facts
        last = build if facts.build else plan if facts.plan else None
        output = last.final_output if last else self._notice(facts.stop_reason)
        return MixedState(
            run_id=self.inputs.run_id,
            status=PLAN_BUILD_STATUS[PlanBuildState(self.main.state)],
            stop_reason=facts.stop_reason,
            final_output=output if facts.stop_reason else None,
            plan=plan,
            build=build,
            model=self.inputs.phases[Phase.BUILD].model,
            started_at_us=times_us[0],
            duration_s=round((times_us[1] - times_us[0]) / 1_000_000, 6),
            tool_calls=facts.tool_calls,
            cost_microusd=facts.cost_microusd,
            path=tuple(self._path),
            error=self._error or next((run.error for run in (build, plan) if run and run.error), None),
        )

    def _notice(self, reason: StopReason | None) -> str:
        """What is said when no run ended, so that nobody said anything."""
        config = self.inputs.phases[Phase.BUILD].config
        return notice(config.prompts, reason, {"steps": 0, "error": self._error or ""}) if reason else ""
