"""MixedModeRunner: plan first, with tools that only read, then build. Two runs of agents, and one record over both."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from statewright.agent.arguments import require_callables, require_kind, require_text
from statewright.agent.loop import AgentLoop
from statewright.agent.task_runner import History, TaskRunner
from statewright.config.settings import AgentConfig, EvaluationConfig
from statewright.core.inputs import RunInputs
from statewright.core.plan_build_execution import PlanBuildExecution
from statewright.core.plan_build_inputs import PlanBuildInputs
from statewright.core.replay import ReplayedPlanBuild, Reproduced, plan_build_state, replay_plan_build
from statewright.journal.entry import Delivery, decode
from statewright.journal.reading import read_header, read_record
from statewright.journal.recorder import Payloads, Recorder
from statewright.runtime.driver import Driver, RunOptions, Watch
from statewright.runtime.effects.equipment import Deliver
from statewright.runtime.effects.tasks import TaskOwner
from statewright.runtime.observers import EventCallback, Observers
from statewright.runtime.pump import Pump
from statewright.views.plan_build_state import MixedState
from statewright.views.state import AgentState
from statewright_states.errors import CallerError, ConfigurationError, InternalError, JournalError, RunExists, RunNotFound
from statewright_states.form.row import Command, Event
from statewright_states.frozen import replace
from statewright_states.plan_build.commands import CancelChild, StartBuild, StartPlan, StopChild
from statewright_states.plan_build.events import BuildEnded, ChildUnrecorded, ChildWaits, PlanEnded
from statewright_states.plan_build.facts import ChildEnd, Ending, Phase
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.words.approval import SignOff
from statewright_states.words.ports import Journal, Lease
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import EngineFailed, Status, StopReason

CHILDREN = tuple(f".{phase}" for phase in Phase)
"""How the ids of a task's runs end."""


class MixedModeRunner(TaskRunner[PlanBuildInputs, MixedState]):
    """Runs a task in two phases: a plan, then a build that is given the task with the plan.

    ``build`` is the agent that does the work. ``plan`` is the one that plans: left out, it is the same agent (model,
    context, callbacks, shutdown) with its read-only tools, told to plan; a configuration makes it that agent with this
    configuration; a loop of its own may differ in everything but the journal. It is never streamed, and it may have no
    tool whose effect is anything but ``read``.

    A plan that failed leads to no build. One that ended partial is built on only with ``accept_partial_plan``, and only if
    the model said anything and nobody stopped, cancelled or rejected it. The task has
    a record of its own; its runs are ``RUN.plan`` and ``RUN.build`` in the same journal. The build's shutdown stops the
    whole task. ``on_event`` is called with the decisions of the task's own record; default: that of the build.

    A task is no part of a session, and ``stream`` is for the build. Whoever watches a task (``stream``, ``events``) sees its
    own decisions and those of its runs, each with its ``run_id``.
    """

    _machine = PLAN_BUILD.name

    def __init__(
        self,
        build: AgentLoop,
        plan: AgentLoop | AgentConfig | None = None,
        *,
        accept_partial_plan: bool = False,
        on_event: EventCallback | None = None,
    ) -> None:
        """Raises ConfigurationError for a planner that could change something, or records elsewhere."""
        require_kind("build", build, AgentLoop, "give the AgentLoop that does the work")
        if plan is not None and not isinstance(plan, AgentLoop):
            require_kind("plan", plan, AgentConfig, "give an AgentLoop, an AgentConfig, or leave it out")
        require_callables(on_event=on_event)
        super().__init__(build.journal, build.on_error)
        self.build = build
        self.plan = plan if isinstance(plan, AgentLoop) else planner_for(build, plan)
        self.accept_partial_plan = accept_partial_plan
        _check_planner(self.plan, build)
        self._driver = PlanBuildDriver({Phase.PLAN: self.plan, Phase.BUILD: build}, on_event or build.on_event)

    @property
    def _driving(self) -> PlanBuildDriver:
        return self._driver

    def inputs(self, prompt: str, history: History | None, options: RunOptions) -> PlanBuildInputs:
        """What a task with these arguments is given. Raises CallerError for what is wrong with them."""
        if options.session is not None:
            raise ConfigurationError(
                "a task that is planned, then built, is no part of a session", where="session", cure="leave the session out"
            )
        build = self.build.inputs(prompt, history, options)
        plan = self.plan.inputs(prompt, history, replace(options, stream=False, run_id=build.run_id, agent=None))
        return PlanBuildInputs(build.run_id, {Phase.PLAN: plan, Phase.BUILD: build}, self.accept_partial_plan)

    async def decide(
        self,
        run_id: str,
        call_id: str,
        approve: bool,
        *,
        actor: str,
        meaning: str | None = None,
        comment: str = "",
        ends_run: bool = False,
        digest: str | None = None,
    ) -> SignOff:
        """Decide about a tool call of the task's run that waits for a person (``state.waiting_run``), as ``AgentLoop.decide``.

        ``run_id`` is the task's, or that of one of its runs.
        """
        require_text("run_id", run_id)
        asking = run_id if run_id.endswith(CHILDREN) else (await self.get(run_id)).waiting_run
        if asking is None:
            cure = "`state.pending` lists the open ones"
            raise CallerError("no question to a person is open", where=f"run {run_id}", cure=cure)
        loop = self.plan if asking.endswith(f".{Phase.PLAN}") else self.build
        return await loop.decide(
            asking, call_id, approve, actor=actor, meaning=meaning, comment=comment, ends_run=ends_run, digest=digest
        )

    async def _release(self) -> None:
        await self.plan.aclose()
        await self.build.aclose()


def planner_for(build: AgentLoop, config: AgentConfig | None = None) -> AgentLoop:
    """The agent that plans for another: the same one, with its read-only tools alone.

    Without a configuration of its own it has that of the other agent, with a prompt to plan; it is not judged, for a plan is no
    finished task.
    """
    return build.reading_only(_planning(build) if config is None else config)


def _planning(build: AgentLoop) -> AgentConfig:
    told = "\n\n".join(filter(None, (build.config.system_prompt, build.config.prompts.planning)))
    allowed = build.config.allowed_tools
    if allowed is not None:
        allowed = tuple(tool.name for tool in build.tools if tool.name in allowed and tool.effect is ToolEffect.READ)
    other = {"evaluation": EvaluationConfig(), "tool_choice": None}  # a demanded call is one of the building
    return build.config.model_copy(update={"system_prompt": told, "allowed_tools": allowed, **other})


def _check_planner(plan: AgentLoop, build: AgentLoop) -> None:
    if plan.journal is not build.journal:
        raise ConfigurationError(
            "the planner records its runs in another journal than the builder",
            where="MixedModeRunner",
            cure="give both loops the same journal",
        )
    allowed = plan.config.allowed_tools
    changing = [
        tool.name for tool in plan.tools if tool.effect is not ToolEffect.READ and (allowed is None or tool.name in allowed)
    ]
    if changing:
        raise ConfigurationError(
            f"the planner may use tools that are not read-only: {', '.join(changing)}",
            where="MixedModeRunner",
            cure='leave them out, or declare them with @tool(effect="read") if they change nothing',
        )


# -- carrying out ----------------------------------------------------------------------------------------------------


class Children:
    """Carries out a task's commands: begins its runs or takes them up, and hands in how they ended."""

    def __init__(
        self,
        execution: PlanBuildExecution,
        loops: Mapping[Phase, AgentLoop],
        watch: Watch,
        accepted: bool,
        deliver: Deliver,
        on_done: Callable[[], None],
    ) -> None:
        self.failure: JournalError | None = None
        """What keeps a run from being recorded, for the caller: the task's own record says so too, where it still can."""
        self._execution = execution
        self._loops = loops
        self._journal: Journal = loops[Phase.BUILD].journal
        self._watch = watch
        self._accepted = accepted
        self._deliver = deliver
        self._tasks = TaskOwner(self._defect, on_done)
        self._on_record = {phase: asyncio.Event() for phase in Phase}
        """Set once a run is live, or over: from then on it can be told to stop."""
        self.handlers: Mapping[type[Command], Callable[[str, Any], tuple[str, Coroutine[Any, Any, None]]]] = {
            StartPlan: lambda cause, command: ("the plan", self._plan(cause)),
            StartBuild: lambda cause, command: ("the build", self._build(cause, command.output)),
            StopChild: lambda cause, command: ("stopping", self._tell(command.phase, AgentLoop.stop)),
            CancelChild: lambda cause, command: ("cancelling", self._tell(command.phase, AgentLoop.cancel)),
        }

    @property
    def idle(self) -> bool:
        """Whether no run is going on."""
        return self._tasks.idle

    @property
    def asking(self) -> bool:
        """Never: questions to persons belong to the runs."""
        return False

    @property
    def waiting(self) -> bool:
        """Whether a run has paused without an end: it waits for a person, or cannot be recorded."""
        return self.failure is not None or bool(self._execution.main.facts.waits_for)

    def event_from(self, message: bytes) -> Delivery:
        """Nobody leaves messages for a task: they are left for its runs."""
        raise InternalError("a message was left for a task of two runs", where="plan_build")

    def answer_at_once(self, command: Command) -> tuple[str, str, Event] | None:
        """Nothing is done before it is on record."""
        return None

    def perform(self, cause: str, command: Command) -> None:
        """Carry out a command whose entry is on record."""
        self._tasks.start(*self.handlers[type(command)](cause, command))

    def ended(self, instance: str) -> None:
        """A task has no timers."""

    async def aclose(self) -> None:
        """Give up what is under way; a run that is given up can be taken up again."""
        await self._tasks.aclose()

    def _defect(self, error: str) -> None:
        self._hand_in(EngineFailed(error), None)

    def _hand_in(self, event: Event, cause: str | None) -> None:
        self._deliver(PLAN_BUILD.name, PLAN_BUILD.name, event, cause)

    async def _tell(self, phase: Phase, what: Callable[[AgentLoop, str], Awaitable[None]]) -> None:
        await self._on_record[phase].wait()
        with suppress(RunNotFound):  # it has ended meanwhile
            await what(self._loops[phase], self._execution.inputs.child_id(phase))

    # -- the two runs ------------------------------------------------------------------------------------------------

    async def _plan(self, cause: str) -> None:
        inputs = self._execution.inputs.child(Phase.PLAN, self._execution.inputs.task, cause)
        self._hand_in(await self._run(Phase.PLAN, inputs, PlanEnded), cause)

    async def _build(self, cause: str, output: str) -> None:
        plan = decode(await self._journal.blob(output) or b'""')
        inputs = self._execution.inputs.child(Phase.BUILD, self._execution.inputs.build_task(plan), cause)
        self._hand_in(await self._run(Phase.BUILD, inputs, BuildEnded), cause)

    async def _run(self, phase: Phase, inputs: RunInputs, ended: Callable[[ChildEnd], Event]) -> Event:
        """Run a child to its end, or until it waits for a person or cannot be recorded."""
        try:
            await self._require_ours(inputs.run_id)
            watch = replace(self._watch, on_live=self._on_record[phase].set)
            state = await self._loops[phase].run_child(inputs, watch, accept_changed_code=self._accepted)
            return ChildWaits(state.run_id) if state.status is Status.RUNNING else ended(await self._end_of(state))
        except JournalError as error:
            self.failure = error
            return ChildUnrecorded(inputs.run_id, f"{type(error).__name__}: {error.what}")
        finally:
            self._on_record[phase].set()

    async def _require_ours(self, child: str) -> None:
        """A run of this name that is on record already must be a part of this task."""
        try:
            link = read_header(child, await self._journal.entries(child)).parent or ""
        except RunNotFound:
            return
        if link.rpartition("/")[0] != self._execution.inputs.run_id:
            raise RunExists(
                f"the run {child!r} is on record, and is no part of this task",
                where=f"run {self._execution.inputs.run_id}",
                cure="begin the task under another run id",
            )

    async def _end_of(self, state: AgentState) -> ChildEnd:
        """The end of a run, from its own record."""
        end = read_record(state.run_id, await self._journal.entries(state.run_id)).end
        assert end is not None, "the state says that it has ended"
        return ChildEnd(
            run=state.run_id,
            status=Ending(end.status),
            stop_reason=StopReason(end.stop_reason),
            output=end.output,
            transcript=end.messages,
            spoke=any(message["role"] == "assistant" and message["content"] for message in state.messages),
            verified=end.verified,
            steps=end.steps,
            model_calls=end.model_calls,
            tool_calls=end.tool_calls,
            input_tokens=end.input_tokens,
            output_tokens=end.output_tokens,
            cost_microusd=end.cost_microusd,
        )


# -- the driver ------------------------------------------------------------------------------------------------------


PlanBuildPump = Pump[PlanBuildExecution, Children]


class PlanBuildDriver(Driver[PlanBuildInputs, PlanBuildExecution, Children, MixedState]):
    """Drives tasks that are planned, then built, by these agents. ``on_event`` is called with their own decisions."""

    def __init__(self, loops: Mapping[Phase, AgentLoop], on_event: EventCallback | None) -> None:
        build = loops[Phase.BUILD]
        super().__init__(build.journal, build.clock, build.shutdown)
        self._loops = loops
        self._on_event = on_event

    def _execution(self, inputs: PlanBuildInputs, payloads: Payloads) -> PlanBuildExecution:
        return PlanBuildExecution(inputs, payloads)

    def _pump_for(
        self, execution: PlanBuildExecution, recorder: Recorder, lease: Lease, watch: Watch, *, accepted: bool = False
    ) -> PlanBuildPump:
        performing = partial(Children, execution, self._loops, watch, accepted)
        observers = Observers(self._on_event, on_decision=watch.on_decision)
        return Pump(execution, recorder, self._journal, lease, self._clock, observers, performing)

    async def _replay(self, run_id: str, accepted: bool) -> ReplayedPlanBuild:
        return await replay_plan_build(self._journal, run_id, accepted)

    async def _recorded_state(self, recorded: Reproduced[PlanBuildExecution]) -> MixedState:
        return await plan_build_state(self._journal, recorded.run_id)

    async def _state(self, pump: PlanBuildPump) -> MixedState:
        if pump.performer.failure is not None:
            raise pump.performer.failure
        return await plan_build_state(self._journal, pump.execution.inputs.run_id)
