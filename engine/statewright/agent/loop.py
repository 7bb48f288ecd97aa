"""AgentLoop: the face of the engine. Give it a model, tools and a configuration; ask it to run a task."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from copy import copy
from functools import partial
from typing import Any, Unpack

from statewright.agent import assemble
from statewright.agent.arguments import (
    messages_of,
    require_callables,
    require_kind,
    require_no_secret,
    require_options,
    require_port,
    require_possible_choice,
    require_several,
    require_text,
)
from statewright.agent.handle import RunHandle
from statewright.agent.stepper import Stepper
from statewright.agent.task_runner import ErrorCallback, History, TaskRunner
from statewright.config.prices import require_prices
from statewright.config.settings import AgentConfig
from statewright.core.inputs import RunInputs, cards_of
from statewright.hooks import Hook, Hooks
from statewright.journal import MemoryJournal
from statewright.runtime.decisions import check_decision, leave_decision, require_counted
from statewright.runtime.driver import AgentDriver, RunKeywords, RunOptions, Watch
from statewright.runtime.effects.equipment import BuildContext, Equipment, ToolCheck
from statewright.runtime.effects.open_children import ParentRun
from statewright.runtime.lanes import Lanes
from statewright.runtime.observers import ChunkCallback, EventCallback, Observers, ProgressCallback
from statewright.runtime.shutdown import GracefulShutdown
from statewright.runtime.stepping import Stepping
from statewright.tools import ExecutionEngine, Tool, ToolRegistry
from statewright.tools.context import require_deps
from statewright.views.approvals import ApprovalDecision, Approver
from statewright.views.state import AgentState
from statewright_states.errors import RunExists
from statewright_states.frozen import replace
from statewright_states.run.table import RUN
from statewright_states.words.approval import SignOff, statement_of
from statewright_states.words.ports import Clock, Journal, OverHttp, Provider, TokenEstimator
from statewright_states.words.tool_effects import ToolEffect

NO_TOOLS: tuple[Tool, ...] = ()


class AgentLoop(TaskRunner[RunInputs, AgentState]):
    """An agent: a model, its tools, its configuration, and the journal that its runs are recorded in.

    One loop may run any number of tasks at the same time. Without a journal, runs are recorded in memory.
    ``shutdown`` passes signals on; ``approver`` asks a person, and without one a run that needs a person waits;
    ``token_estimator`` says how long messages are where the provider has not counted them (about 4 characters a token).
    """

    _machine = RUN.name

    def __init__(
        self,
        provider: Provider,
        tools: ToolRegistry | Iterable[Tool | Callable[..., Any]] = NO_TOOLS,
        config: AgentConfig | None = None,
        *,
        journal: Journal | None = None,
        shutdown: GracefulShutdown | None = None,
        hooks: Iterable[Hook] = (),
        clock: Clock | None = None,
        approver: Approver | None = None,
        token_estimator: TokenEstimator | None = None,
        on_build_context: BuildContext | None = None,
        on_tool_check: ToolCheck | None = None,
        on_error: ErrorCallback | None = None,
        on_event: EventCallback | None = None,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Raises ConfigurationError: an unknown tool, a bound on cost without a model's price, a key in what is recorded."""
        require_port("provider", provider or False)
        require_kind("config", AgentConfig() if config is None else config, AgentConfig, "write AgentConfig(max_steps=10, ...)")
        require_port("journal", journal)
        require_port("shutdown", shutdown)
        require_port("clock", clock)
        require_port("approver", approver)
        require_port("token_estimator", token_estimator)
        require_callables(on_build_context=on_build_context, on_tool_check=on_tool_check, on_error=on_error)
        require_callables(on_event=on_event, on_progress=on_progress)
        require_several("tools", tools, "give a list of functions: tools=[add]")
        require_several("hooks", hooks, "give a list of hooks: hooks=[guard]")
        super().__init__(MemoryJournal() if journal is None else journal, on_error)
        self.provider = provider
        self.tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
        self.config = AgentConfig() if config is None else config
        require_possible_choice(self.config, self.tools.schemas(self.config.allowed_tools))
        self.clock = assemble.clock() if clock is None else clock
        self.shutdown = shutdown
        self.on_event = on_event
        self._names = assemble.names(self.clock)
        listening = Hooks(hooks)
        equipment = Equipment(
            providers=assemble.with_fallbacks(provider, self.config),
            registry=self.tools,
            execution=ExecutionEngine(),
            clock=self.clock,
            chance=assemble.chance(),
            lanes=Lanes(),
            observers=Observers(on_event, hooks=listening, on_progress=() if on_progress is None else (on_progress,)),
            hooks=listening,
            journal=self.journal,
            approver=approver,
            on_build_context=on_build_context,
            on_tool_check=on_tool_check,
        )
        require_prices(self.config, (each.model for each in equipment.providers))
        require_no_secret(self.config, equipment.providers)
        self._driver = AgentDriver(equipment, self.journal, shutdown=shutdown, token_estimator=token_estimator)

    @property
    def _driving(self) -> AgentDriver:
        return self._driver

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
        """Decide about a tool call that waits for a person, from any process; gives who has signed so far.

        ``call_id`` is the model's id of the call, or its name in the journal (``tool-3.1``). The decision is bound to
        exactly what the call is now; ``digest`` (the beginning of it) says which call was looked at. A run that is live
        takes the decision at once here and within a second elsewhere, any other when it is resumed. Raises CallerError
        when no such question is open (it says who has decided, and when), and for a statement that is not counted, which is
        on record nevertheless. Of two who decide at the same time, the second is told what the first has said.
        """
        for name, text in {"run_id": run_id, "call_id": call_id, "actor": actor, "comment": comment}.items():
            require_text(name, text)
        for name, flag in {"approve": approve, "ends_run": ends_run}.items():
            require_kind(name, flag, bool, "give True or False")
        decision = ApprovalDecision(approve, actor, meaning or ("approved" if approve else "rejected"), comment, ends_run)
        check_decision(decision)
        pending = await leave_decision(self.journal, run_id, call_id, digest, decision, self.clock.now_us())
        live = self._driver.live.get(run_id)
        if live is not None:
            await live.take_posted()
        require_counted(pending, decision)
        return pending.sign_off.after(actor, statement_of(approve, decision.meaning))

    # -- stepped through ---------------------------------------------------------------------------------------------

    def step(self, prompt: str, history: History | None = None, *, by: str = "", **options: Unpack[RunKeywords]) -> Stepper:
        """A run that waits before each event: ``async with loop.step("the task") as stepper: async for held in stepper: ...``.

        Arguments are those of ``run``; ``by`` is who steps through it, for the record of what they inject or edit. The run is
        begun with the block, and given up with it unless it has ended.
        """
        chunks, deps = options.get("on_stream_chunk"), options.get("deps")
        return Stepper(
            lambda stepping: self._start("step", prompt, history, options, stepping=stepping),
            lambda run_id, stepping: self._take_up("step", run_id, chunks, False, deps, stepping),
            by,
        )

    def step_on(
        self,
        run_id: str,
        *,
        by: str = "",
        on_stream_chunk: ChunkCallback | None = None,
        accept_changed_code: bool = False,
        deps: Any = None,
    ) -> Stepper:
        """``resume`` that waits before each event: a run on record, taken up and stepped through."""

        def taken_up(run_id: str, stepping: Stepping) -> Coroutine[Any, Any, RunHandle[AgentState]]:
            return self._take_up("step_on", run_id, on_stream_chunk, accept_changed_code, deps, stepping)

        return Stepper(partial(taken_up, run_id), taken_up, by)

    async def _release(self) -> None:
        await self._driver.end_sessions()
        for provider in self._driver.equipment.providers:
            await provider.aclose()
        await self.journal.aclose()

    # -- as a part of something larger -------------------------------------------------------------------------------

    def reading_only(self, config: AgentConfig, provider: Provider | None = None) -> AgentLoop:
        """The same agent with its read-only tools alone, this configuration, and maybe another model.

        Raises ConfigurationError.
        """
        reader = copy(self)
        reader.provider, reader.config = provider or self.provider, config
        reader.tools = ToolRegistry(tool for tool in self.tools if tool.effect is ToolEffect.READ)
        require_possible_choice(config, reader.tools.schemas(config.allowed_tools))
        models = assemble.with_fallbacks(reader.provider, config)
        require_no_secret(config, models)
        reader._driver = self._driver.equipped(replace(self._driver.equipment, providers=models, registry=reader.tools))
        return reader

    async def run_within(self, parent: ParentRun, prompt: str, history: History | None) -> AgentState:
        """Begin a run that a tool of another one asks for, or take it up; it is recorded with that one."""
        child, equipment = copy(self), self._driver.equipment
        child.journal = parent.journal
        approver = equipment.approver if equipment.approver is not None else parent.approver
        child._driver = self._driver.recording_in(parent.journal, replace(equipment, approver=approver))
        options = RunOptions(session=parent.session, requested_by=parent.requested_by, deps=parent.deps)
        with self.reporting("run"):
            inputs = replace(child.inputs(prompt, history, options), run_id=parent.child_id, parent=parent.link)
            watch = Watch(on_decision=parent.on_decision, on_live=parent.on_live, deps=parent.deps, stopped_by=parent.link)
            return await child.run_child(inputs, watch, accept_changed_code=parent.accept_changed_code)

    async def run_child(self, inputs: RunInputs, watch: Watch, *, accept_changed_code: bool = False) -> AgentState:
        """Begin a run that belongs to another one, or take it up if it is on record; ``inputs.parent`` names the other."""
        try:
            return await self._driver.start(inputs, watch)
        except RunExists:
            return await self._driver.take_up(inputs.run_id, watch, accept_changed_code=accept_changed_code)

    def inputs(self, prompt: str, history: History | None, options: RunOptions) -> RunInputs:
        """What a run with these arguments is given. Raises CallerError for what is wrong with them."""
        require_text("prompt", prompt)
        require_options(options)
        self.config.approval.check(options.requested_by)
        self._driver.equipment.lanes.require_no_circle(options.session)
        self.require_deps(options.deps)
        return RunInputs(
            run_id=options.run_id or self._names.run_id(),
            model=self.provider.model,
            config=self.config,
            task=prompt,
            history=messages_of(history),
            cards=cards_of(self._usable),
            stream=options.stream,
            session=options.session,
            hooks=self._driver.equipment.hooks.cards,
            requested_by=options.requested_by,
            agent=options.agent,
            equipment=options.equipment,
            http=self.provider.http if isinstance(self.provider, OverHttp) else "",
        )

    @property
    def _usable(self) -> list[Tool]:
        allowed = self.config.allowed_tools
        return [tool for tool in self.tools if allowed is None or tool.name in allowed]

    def require_deps(self, deps: object) -> None:
        """Raise ConfigurationError where these are not the deps that a tool which may be used wants."""
        require_deps(((tool.name, tool.parameters.deps) for tool in self._usable if tool.parameters.context is not None), deps)
