"""``run`` and ``resume``: a run from the command line, with its timeline, its signals and its questions to a person."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from statewright import assemble
from statewright.cli.exits import Exit, exit_of
from statewright.cli.options import (
    AGENT,
    NO_AGENT,
    NO_JOURNAL,
    NO_MODEL,
    NO_OUTPUT,
    AgentOptions,
    DurabilityOption,
    JournalOptions,
    ModelOptions,
    OutputOptions,
    StreamOption,
    actor_named,
)
from statewright.cli.outcome import Again, Outcome, print_outcome, remark_outcome
from statewright.cli.output import printable, remarks, stdout_kept_for_the_answer
from statewright.cli.runs import resolve_run, whole_of
from statewright.cli.screen import Screen
from statewright.cli.terminal import TerminalApprover, somebody_is_there
from statewright.cli.timeline import Timeline
from statewright.config import AgentConfig
from statewright.inputs import RunInputs
from statewright.journal import SQLiteJournal
from statewright.loop import AgentLoop
from statewright.mixed import MixedModeRunner
from statewright.mixed_state import MixedState
from statewright.observers import ChunkCallback
from statewright.replay import recorded_state, replay, replay_mixed
from statewright.shutdown import GracefulShutdown
from statewright.state import AgentState
from statewright.tools import ToolRegistry
from statewright_states.errors import ConfigurationError
from statewright_states.plan_build.facts import Phase
from statewright_states.ports import Provider

FROM_STDIN = "/dev/stdin"
"""What ``-`` stands for (``main`` replaces it: the option parser takes a lone hyphen for an option)."""

Work = Callable[[AgentLoop, ChunkCallback], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a run from the command line is made of."""

    run_id: str
    provider: Provider
    tools: ToolRegistry
    config: AgentConfig
    journal: SQLiteJournal
    output: OutputOptions
    again: Again
    actor: str | None


ActorOption = Annotated[str | None, Parameter(name="--as", group=AGENT)]


def run(
    prompt: str | None = None,
    /,
    *,
    model: ModelOptions = NO_MODEL,
    agent: AgentOptions = NO_AGENT,
    journal: JournalOptions = NO_JOURNAL,
    durability: DurabilityOption = "full",
    output: OutputOptions = NO_OUTPUT,
    stream: StreamOption = None,
    run_id: str | None = None,
    session: str | None = None,
    actor: ActorOption = None,
) -> Exit:
    """Run an agent on a task: the answer goes to stdout, the timeline to stderr.

    Without a terminal, a run that needs a person waits (exit code 4): `approve` or `reject`, then `resume`. The first
    Ctrl-C finishes what is under way and ends the run; the second one ends the process at once, and the run can be resumed.

    Parameters
    ----------
    prompt
        The task, in quotes; - or nothing reads it from stdin.
    durability
        full: on the disk before anything happens (default). normal: a power cut may take the last entries.
    stream
        Ask the model for its reply in pieces (default: when they can be shown).
    run_id
        The run's id (default: a new one).
    session
        Runs of one session go one after another.
    actor
        Who decides here about tool calls (default: the login name).
    """
    task = _task(prompt)
    config, provider, tools = agent.agent_config(), model.provider(), model.registry()
    identity = run_id or assemble.names(assemble.clock()).run_id()
    store = journal.store(durability, create=True)
    again = Again(journal.again(), model.again())
    job = Job(identity, provider, tools, config, store, output, again, actor)
    console = remarks()
    streamed = console.is_terminal and not output.json and not output.quiet if stream is None else stream

    async def work(loop: AgentLoop, on_chunk: ChunkCallback) -> AgentState:
        return await loop.run(task, stream=streamed, on_stream_chunk=on_chunk, run_id=identity, session=session)

    return asyncio.run(_carry_out(job, console, work))


def resume(
    run: str,
    /,
    *,
    model: ModelOptions = NO_MODEL,
    journal: JournalOptions = NO_JOURNAL,
    durability: DurabilityOption = "full",
    output: OutputOptions = NO_OUTPUT,
    actor: ActorOption = None,
) -> Exit:
    """Go on with a run that was interrupted, killed or waits; one that has ended is shown as it ended.

    Task and configuration are the recorded ones. A model request that was under way is sent again; a tool that may run
    twice runs again; about any other a person is asked. Nothing runs twice silently.

    Parameters
    ----------
    run
        The run's id, the beginning or the end of it, or `last`.
    durability
        As for `run`.
    actor
        Who decides here about tool calls (default: the login name).
    """
    store = journal.store(durability)
    return asyncio.run(_resume(run, model, store, output, Again(journal.again(), model.again()), actor))


async def _resume(
    named: str, model: ModelOptions, store: SQLiteJournal, output: OutputOptions, again: Again, actor: str | None
) -> Exit:
    async with aclosing(store):
        identity = await whole_of(store, await resolve_run(store, named))
        state = await recorded_state(store, identity)
        console = remarks()
        if state.stop_reason is not None:
            return _finish(console, state, output, again)
        tools = model.registry()
        if isinstance(state, MixedState):
            given = (await replay_mixed(store, identity)).course.inputs.phases
            _require_tools(identity, [*given[Phase.PLAN].cards, *given[Phase.BUILD].cards], tools)
            inputs, work = given[Phase.BUILD], _take_up_task(identity, given[Phase.PLAN], model)
        else:
            inputs, work = (await replay(store, identity)).course.inputs, _take_up_run(identity)
            _require_tools(identity, inputs.cards, tools)
        job = Job(identity, model.provider(inputs.model), tools, inputs.config, store, output, again, actor)
        return await _carry_out(job, console, work)


def _take_up_run(run_id: str) -> Work:
    async def work(loop: AgentLoop, on_chunk: ChunkCallback) -> Outcome:
        return await loop.resume(run_id, on_stream_chunk=on_chunk)

    return work


def _take_up_task(run_id: str, plan: RunInputs, model: ModelOptions) -> Work:
    async def work(loop: AgentLoop, on_chunk: ChunkCallback) -> Outcome:
        provider = None if plan.model == loop.provider.model else model.provider(plan.model)
        async with MixedModeRunner(loop, loop.reading_only(plan.config, provider)) as runner:
            return await runner.resume(run_id, on_stream_chunk=on_chunk)

    return work


async def _carry_out(job: Job, console: Console, work: Work) -> Exit:
    """Run or resume, with everything around it."""
    heading = f"{job.run_id}  {printable(job.provider.model)}  {job.journal.location}"
    screen = Screen(console, Timeline(job.config.retry), heading, quiet=job.output.quiet)
    loop = AgentLoop(
        job.provider,
        job.tools,
        job.config,
        journal=job.journal,
        shutdown=GracefulShutdown(screen.stopping),
        approver=TerminalApprover(actor_named(job.actor), screen) if somebody_is_there() else None,
        on_event=screen.event,
    )
    async with loop:
        with stdout_kept_for_the_answer(), screen:
            state = await work(loop, screen.chunk)
    return _finish(console, state, job.output, job.again)


def _finish(console: Console, state: Outcome, output: OutputOptions, again: Again) -> Exit:
    if console.is_terminal and not output.quiet:
        console.print()
    if print_outcome(state, as_json=output.json) and console.is_terminal and not output.quiet:
        console.print()
    if not output.quiet or state.waiting:
        remark_outcome(console, state, again)
    return exit_of(state)


def _task(prompt: str | None) -> str:
    if prompt is not None and prompt != FROM_STDIN:
        return prompt
    if sys.stdin is None or (prompt is None and sys.stdin.isatty()):
        raise ConfigurationError(
            "no task is given", where="statewright run", cure='write it in quotes: statewright run "What is 17 plus 25?"'
        )
    try:
        task = sys.stdin.read()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"the task is not text: {error}", where="stdin", cure="give text in UTF-8") from error
    if not task.strip():
        raise ConfigurationError("the task is empty", where="stdin", cure="write the task to stdin, or give it in quotes")
    return task


def _require_tools(run_id: str, told: Iterable[str], tools: ToolRegistry) -> None:
    """The model was told of these tools: without them, its calls would fail as unknown."""
    missing = [name for name in dict.fromkeys(told) if name not in tools]
    if missing:
        raise ConfigurationError(
            f"the run began with tools that are not given: {', '.join(missing)}",
            where=f"run {run_id}",
            cure="name what holds them: --tools module:attribute",
        )
