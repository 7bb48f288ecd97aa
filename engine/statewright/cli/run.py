"""``run`` and ``resume``: a run from the command line, with its timeline, its signals and its questions to a person."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
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
    actor_if_known,
    actor_named,
)
from statewright.cli.outcome import Again, print_outcome, remark_outcome
from statewright.cli.output import printable, remarks, stdout_kept_for_the_answer
from statewright.cli.runs import resolve_run
from statewright.cli.screen import Screen
from statewright.cli.terminal import TerminalApprover, somebody_is_there
from statewright.cli.timeline import Timeline
from statewright.config import AgentConfig
from statewright.journal import SQLiteJournal
from statewright.loop import AgentLoop
from statewright.observers import ChunkCallback
from statewright.replay import Replayed, replay
from statewright.shutdown import GracefulShutdown
from statewright.state import AgentState
from statewright.tools import ToolRegistry
from statewright_states.errors import ConfigurationError
from statewright_states.ports import Provider

FROM_STDIN = "/dev/stdin"
"""What ``-`` stands for (``main`` replaces it: the option parser takes a lone hyphen for an option)."""

Work = Callable[[AgentLoop, ChunkCallback], Awaitable[AgentState]]


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
    agent: str | None = None
    """The agent's name, to be shown."""


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
        Who asks for the run, and decides here about tool calls (default: the login name).
    """
    task = _task(prompt)
    chosen = agent.resolved(model)
    equipment = ModelOptions(model=chosen.model, base_url=chosen.base_url, tools=chosen.tools)
    tools = equipment.registry()
    config, provider = chosen.config_for(tools), equipment.provider()
    identity = run_id or assemble.names(assemble.clock()).run_id()
    asker = actor_if_known(actor)
    store = journal.store(durability, create=True)
    again = Again(journal.again(), equipment.again())
    job = Job(identity, provider, tools, config, store, output, again, actor, chosen.name)
    console = remarks()
    wished = chosen.stream if stream is None else stream
    streamed = console.is_terminal and not output.json and not output.quiet if wished is None else wished

    async def work(loop: AgentLoop, on_chunk: ChunkCallback) -> AgentState:
        return await loop.run(
            task, stream=streamed, on_stream_chunk=on_chunk, run_id=identity, session=session, requested_by=asker
        )

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
        identity = await resolve_run(store, named)
        recorded = await replay(store, identity)
        console = remarks()
        if recorded.ended:
            return _finish(console, recorded.state(), output, again)
        inputs = recorded.course.inputs
        tools = model.registry()
        _require_tools(recorded, tools)
        job = Job(identity, model.provider(inputs.model), tools, inputs.config, store, output, again, actor)

        async def work(loop: AgentLoop, on_chunk: ChunkCallback) -> AgentState:
            return await loop.resume(identity, on_stream_chunk=on_chunk)

        return await _carry_out(job, console, work)


async def _carry_out(job: Job, console: Console, work: Work) -> Exit:
    """Run or resume, with everything around it."""
    facts = (job.run_id, job.agent and f"agent {job.agent}", job.provider.model, job.journal.location)
    heading = printable("  ".join(fact for fact in facts if fact))
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


def _finish(console: Console, state: AgentState, output: OutputOptions, again: Again) -> Exit:
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


def _require_tools(recorded: Replayed, tools: ToolRegistry) -> None:
    """The model was told of these tools: without them, its calls would fail as unknown."""
    missing = [name for name in recorded.course.inputs.cards if name not in tools]
    if missing:
        raise ConfigurationError(
            f"the run began with tools that are not given: {', '.join(missing)}",
            where=f"run {recorded.run_id}",
            cure="name what holds them: --tools module:attribute",
        )
