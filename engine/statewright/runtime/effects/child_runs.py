"""The runs that tools begin: each is named after its call and its place there, begun once, and ended with its call.

Theory of operation. A tool asks its context for a run of another agent. That run has a whole record of its own in the same
journal, under an id that is made of the run, the call and how many runs the tool has asked for (``RUN.tool-3.1.1``). Its header
names the command that started the tool. So when the tool runs again after a crash, the run of the same place is found and
goes on where its record ends.

While only persons can carry on all runs that a call has open, the call is told what they are asked (``ToolWaits``). Where none
of these runs is driven here any more, since nobody can be asked here, what is left of the tool counts as nothing that is under
way: the pump may leave. A stop is passed on, also to a run that stands still. Before a call is given up (its time is up, its
run is cancelled, its tool has returned and left a run behind), its runs are cancelled and their ends awaited, so that what they
used is told (``ChildEnded``) before the call settles.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NoReturn, cast

from statewright.core.execution import RunExecution
from statewright.journal.entry import encode
from statewright.journal.reading import read_header
from statewright.runtime.effects.equipment import Deliver, Equipment
from statewright.runtime.effects.open_children import ChildrenOfCall, OpenChild, ParentRun
from statewright.runtime.effects.tasks import TaskOwner
from statewright.runtime.giving_up import CLOSE_S
from statewright.tools import Tool
from statewright.tools.context import ChildOptions, RunnableAgent
from statewright.views.state import AgentState
from statewright_states.errors import ConfigurationError, InternalError, JournalError, RunExists, RunNotFound
from statewright_states.run.events import ChildEnded
from statewright_states.tool.events import ChildQuestion, ToolWaits
from statewright_states.words.messages import digest_of
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import Status, ToolRequest

END_S = 4 * CLOSE_S
"""How long the ends of cancelled runs are waited for: each waits for its own tasks, and for runs further below."""
REPEATABLE = (ToolEffect.READ, ToolEffect.IDEMPOTENT)


class ChildRuns:
    """Begins or finds the runs that the tools of one run ask for, and ends them with their calls."""

    def __init__(self, execution: RunExecution, equipment: Equipment, tasks: TaskOwner, deliver: Deliver) -> None:
        self._execution = execution
        self._equipment = equipment
        self._tasks = tasks
        self._deliver = deliver
        self._calls: dict[str, ChildrenOfCall] = {}
        self._closing = False
        self.failure: JournalError | None = None
        """What keeps a run of a tool from being recorded: the caller is told, and the run goes on when it is taken up."""
        self.on_waiting: Callable[[str, bool], None] = lambda tool, waits: None
        """Is told when a call begins to wait, and when it waits no longer."""

    @property
    def waiting(self) -> bool:
        """Whether a call waits for runs that persons have to carry on from elsewhere, or that cannot be recorded now."""
        return self.failure is not None or any(call.told and call.stands for call in self._calls.values())

    def started(self, cause: str, request: ToolRequest, tool: Tool) -> ChildrenOfCall:
        """A tool is started: what it asks for belongs to this start."""
        call = self._calls[request.tool] = ChildrenOfCall(cause, request, tool)
        return call

    # -- beginning ---------------------------------------------------------------------------------------------------

    def run(
        self, call: ChildrenOfCall, agent: RunnableAgent, prompt: str, options: ChildOptions
    ) -> Coroutine[Any, Any, AgentState]:
        """Begin the next run of a call, or find it. Raises ConfigurationError at once; see ``ToolContext.run``."""
        _require_runnable(call.tool, agent)
        child = OpenChild(call.next_id(self._execution.inputs.run_id))
        return self._answer(call, child, agent, prompt, options)

    async def _answer(
        self, call: ChildrenOfCall, child: OpenChild, agent: RunnableAgent, prompt: str, options: ChildOptions
    ) -> AgentState:
        """The state of a run at its end, which is driven in a task of its own: cancelling this wait cancels the run."""
        if call.over:
            await _until_given_up()
        call.open[child.run_id] = child
        self._look_at(call)
        if call.stopping:
            child.stop()
        self._tasks.start(child.run_id, self._drive(call, child, agent, prompt, options))
        try:
            outcome = await asyncio.shield(child.answer)
        except asyncio.CancelledError:
            if not self._closing:
                child.cancel()
            raise
        if call.over:
            await _until_given_up()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _drive(
        self, call: ChildrenOfCall, child: OpenChild, agent: RunnableAgent, prompt: str, options: ChildOptions
    ) -> None:
        outcome: AgentState | Exception
        try:
            outcome = await self._end_of(call, child, agent, prompt, options)
            self._deliver("run", "run", _ended(outcome, call.request.tool), None)
        except RunExists as error:
            outcome = error
        except JournalError as error:
            self.failure = error
            self._tasks.park(call.request.tool, *call.open)
            return
        except Exception as error:  # the tool is told, as it would be of any function that it calls
            outcome = error
        del call.open[child.run_id]
        child.answer.set_result(outcome)
        self._look_at(call)

    async def _end_of(
        self, call: ChildrenOfCall, child: OpenChild, agent: RunnableAgent, prompt: str, options: ChildOptions
    ) -> AgentState:
        await self._require_ours(child.run_id, prompt)
        inputs, equipment = self._execution.inputs, self._equipment
        parent = ParentRun(
            child_id=child.run_id,
            link=f"{inputs.run_id}/{call.cause}",
            journal=equipment.journal,
            approver=equipment.approver,
            requested_by=inputs.requested_by,
            session=options.session,
            deps=equipment.deps if options.deps is None else options.deps,
            on_live=child.went_live,
            on_decision=lambda _: self._look_at(call) if child.look() else None,
            accept_changed_code=equipment.accepted,
        )
        while True:
            told = child.told
            state = await agent.run_within(parent, prompt, options.history)
            if state.status is not Status.RUNNING:
                return state
            if told:
                raise InternalError(f"the run {child.run_id} was told to stop and does not end", where="runs inside tools")
            child.stood_still(state)
            self._look_at(call)
            await child.woken()
            self._look_at(call)

    async def _require_ours(self, child_id: str, prompt: str) -> None:
        """A run of this name that is on record already must be the one that is asked for."""
        run_id = self._execution.inputs.run_id
        try:
            header = read_header(child_id, await self._equipment.journal.entries(child_id))
        except RunNotFound:
            return
        if (header.parent or "").rpartition("/")[0] != run_id:
            raise RunExists(
                f"the run {child_id!r} is on record, and was not begun by a tool of this run",
                where=f"run {run_id}",
                cure="begin this run under another id",
            )
        if header.task != digest_of(encode(prompt)):
            raise ConfigurationError(
                f"the run {child_id!r} is on record with another prompt than the tool gives now",
                where=f"run {run_id}",
                cure="let the tool give the same prompts in the same order whenever it runs: it runs again after a crash",
            )

    # -- waiting -----------------------------------------------------------------------------------------------------

    def _look_at(self, call: ChildrenOfCall) -> None:
        """Tell the call whether all its runs wait for persons, and for which. What its tool does beside that is not seen.

        Where none of these runs is driven here any more, the call holds nothing, and what is left of its tool is parked.
        """
        questions, tool = call.waits, call.request.tool
        if questions != call.told and not call.over:
            self._tell(call, questions)
        if questions and call.stands:
            self._tasks.park(tool, *call.open)
        else:
            self._tasks.unpark(tool, *call.open)

    def _tell(self, call: ChildrenOfCall, questions: tuple[ChildQuestion, ...]) -> None:
        call.told, tool = questions, call.request.tool
        self.on_waiting(tool, bool(questions))
        self._deliver("tool", tool, ToolWaits(questions), call.cause)

    # -- ending ------------------------------------------------------------------------------------------------------

    def stop(self, tool: str) -> None:
        """Pass a stop on to the runs of a call."""
        call = self._calls.get(tool)
        if call is not None:
            call.stopping = True
            for child in list(call.open.values()):
                child.stop()

    def end(self, tools: Iterable[str], then: Callable[[], None]) -> None:
        """Cancel the runs of these calls; when they have ended, do what gives the calls up. At once where there are none."""
        calls = [call for tool in tools if (call := self._calls.get(tool)) is not None]
        left = self._cancelled(calls)
        if left:
            names = ", ".join(call.request.tool for call in calls)
            self._tasks.start(f"ending the runs of {names}", self._then(left, then))
        else:
            then()

    def end_all(self, then: Callable[[], None]) -> None:
        """The same for the runs of every call."""
        self.end(list(self._calls), then)

    async def _then(self, left: list[OpenChild], then: Callable[[], None]) -> None:
        await asyncio.wait([child.answer for child in left], timeout=END_S)
        then()

    def _cancelled(self, calls: Iterable[ChildrenOfCall]) -> list[OpenChild]:
        left: list[OpenChild] = []
        for call in calls:
            call.over = True
            if call.told and call.open:  # persons are not waited for any more
                self._tell(call, ())
            left += call.open.values()
        for child in left:
            child.cancel()
        return left

    def settled(self, tool: str) -> None:
        """The call has settled: nothing more is begun for it, and what it left behind ends."""
        call = self._calls.get(tool)
        if call is not None and not self._cancelled([call]):
            del self._calls[tool]

    async def aclose(self) -> None:
        """End what is left of a run that has ended; of one that goes on later, leave it to be found."""
        left = self._cancelled(self._calls.values()) if self._execution.main.ended else []
        if left:
            await asyncio.wait([child.answer for child in left], timeout=END_S)
        self._closing = True


def _require_runnable(tool: Tool, agent: RunnableAgent) -> None:
    """Raise ConfigurationError for a tool that may begin no run, and for what is no agent."""
    problem = cure = ""
    if not tool.is_async:
        problem, cure = "it is no async function, and a run is awaited", "declare it with async def"
    elif tool.effect not in REPEATABLE:
        problem = f"its effect is {tool.effect}, and a tool that begins runs may be run again to find them"
        cure = 'declare it @tool(effect="idempotent"), or "read", and leave what may not happen twice to tools of that agent'
    elif not callable(getattr(cast("object", agent), "run_within", None)):
        problem, cure = f"{type(agent).__name__} is no agent", "give an AgentLoop: await context.run(agent, prompt)"
    if problem:
        raise ConfigurationError(f"the tool {tool.name!r} cannot begin a run: {problem}", where="ToolContext.run", cure=cure)


async def _until_given_up() -> NoReturn:
    """Wait for the cancellation that is on its way: the call is being given up."""
    await asyncio.get_running_loop().create_future()
    raise InternalError("a call that is given up goes on", where="runs inside tools")


def _ended(state: AgentState, tool: str) -> ChildEnded:
    """The end of a run, with what it used."""
    assert state.stop_reason is not None, "it has ended"
    usage = state.usage
    return ChildEnded(
        run=state.run_id,
        tool=tool,
        status=state.status,
        stop_reason=state.stop_reason,
        attempts=state.model_calls,
        tokens=usage.total_tokens,
        cost_microusd=state.cost_microusd,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        estimated_tokens=usage.estimated_tokens,
    )
