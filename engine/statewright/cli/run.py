"""``run`` and ``resume``: a run from the command line, with its timeline, its signals and its questions to a person."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import field
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from statewright.agent import assemble
from statewright.agent.arguments import require_run_id
from statewright.agent.loop import AgentLoop
from statewright.agent.plan_build import MixedModeRunner
from statewright.agent.sync import run_bounded
from statewright.cli.abandoned import note_given_up
from statewright.cli.exits import Exit
from statewright.cli.options import (
    AGENT,
    NO_AGENT,
    NO_DEBUG,
    NO_JOURNAL,
    NO_MODEL,
    NO_NAME,
    NO_OUTPUT,
    PLANNER,
    AgentOptions,
    DebugOptions,
    DurabilityOption,
    JournalOptions,
    ModelOptions,
    NamedAgent,
    OutputOptions,
    RunName,
    StreamOption,
    actor_if_known,
    actor_named,
)
from statewright.cli.outcome import Again, exit_of, print_outcome, remark_outcome
from statewright.cli.runs import resolve_run
from statewright.cli.screen import Screen
from statewright.cli.stepping import StepsThrough, debugging
from statewright.cli.task import task_text
from statewright.cli.terminal import TerminalApprover, somebody_is_there
from statewright.cli.verbose import logged_on
from statewright.cli.workers import Worker, sharing, worker, worker_again
from statewright.config.settings import RetryConfig
from statewright.journal import SQLiteJournal
from statewright.presentation.layout import command_text
from statewright.presentation.output import one_line, remarks, stdout_kept_for_the_answer, typed
from statewright.presentation.recorded import (
    AnyState,
    RecordedSoFar,
    inputs_by_phase,
    recorded_so_far,
    replayed,
    state_of,
    whole_of,
)
from statewright.presentation.timeline import TimelineWriter
from statewright.runtime.driver import RunKeywords
from statewright.runtime.giving_up import GIVEN_UP
from statewright.runtime.observers import ChunkCallback
from statewright.runtime.shutdown import GracefulShutdown
from statewright_states.errors import ConfigurationError
from statewright_states.frozen import dataclass, replace
from statewright_states.plan_build.facts import Phase
from statewright_states.words.vocabulary import Status

Runner = AgentLoop | MixedModeRunner
Work = Callable[[Runner, ChunkCallback], Awaitable[AnyState]]


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a run from the command line is made of. Where an agent plans first, there are two workers."""

    run_id: str
    workers: Mapping[Phase, Worker]
    journal: SQLiteJournal
    output: OutputOptions
    again: Again
    actor: str | None
    so_far: Mapping[str, RecordedSoFar] = field(default_factory=dict[str, RecordedSoFar])
    """What is on record already of the run, and of those that it is made of, by their ids."""
    debugging: StepsThrough | None = None
    """How it is stepped through; None: it is not."""

    def timeline(self, run_id: str, retry: RetryConfig) -> TimelineWriter:
        """The timeline of a run, which knows what began before."""
        timeline = TimelineWriter(retry)
        if run_id in self.so_far:
            for event in self.so_far[run_id].events:
                timeline.follow(event, self.so_far[run_id].message)
        return timeline


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
    steps: DebugOptions = NO_DEBUG,
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
    task = task_text(prompt)
    chosen = agent.resolved(model)
    workers = {Phase.BUILD: worker(chosen, model, journal.hidden)}
    if agent.mode == "mixed":
        _refuse_session(session)
        workers[Phase.PLAN] = worker(agent.planner(model), model, journal.hidden)
    identity = assemble.names(assemble.clock()).run_id() if run_id is None else run_id
    require_run_id(identity)
    asker = actor_if_known(actor)
    store = journal.store(durability, create=True)
    again = Again(journal.again(), agent.again() + model.again())
    job = Job(identity, workers, store, output, again, actor, debugging=debugging(steps, asker, journal.again()))
    console = remarks()
    wished = chosen.stream if stream is None else stream
    streamed = console.is_terminal and not output.json and not output.quiet if wished is None else wished

    options: RunKeywords = {"stream": streamed, "run_id": identity, "session": session, "requested_by": asker}
    options |= {"agent": chosen.name, "equipment": (*agent.words, *model.words)}

    async def work(runner: Runner, on_chunk: ChunkCallback) -> AnyState:
        options["on_stream_chunk"] = on_chunk
        return await _begun(runner, task, options, job)

    return run_bounded(_carry_out(job, console, work))


def resume(
    run: RunName,
    /,
    *,
    model: ModelOptions = NO_MODEL,
    agent: NamedAgent = NO_NAME,
    journal: JournalOptions = NO_JOURNAL,
    durability: DurabilityOption = "full",
    output: OutputOptions = NO_OUTPUT,
    actor: ActorOption = None,
    accept_changed_code: bool = False,
    steps: DebugOptions = NO_DEBUG,
) -> Exit:
    """Go on with a run that was interrupted, killed or waits; one that has ended is shown as it ended.

    Task and configuration are the recorded ones; an agent gives its tools and its model's address and nothing else. A model
    request that was under way is sent again; a tool that may run twice runs again; about any other a person is asked. Nothing
    runs twice silently.

    Parameters
    ----------
    durability
        As for `run`.
    actor
        Who decides here about tool calls (default: the login name).
    accept_changed_code
        Go on although other code decides here than the run is pinned to; that is put on record, with what is other.
    """
    store = journal.store(durability)
    chosen = agent.agents().choose(agent.named, model.layer)
    planner = agent.agents().choose(PLANNER, model.layer)
    again = Again(journal.again(), agent.again() + model.again())

    async def go_on() -> Exit:
        async with aclosing(store):
            identity = await whole_of(store, await resolve_run(store, run))
            console = remarks()
            recorded = await replayed(store, identity, accept_changed_code)
            if recorded.ended:
                return _finish(console, await state_of(store, recorded), output, again)
            workers = {
                phase: worker_again(inputs, planner if phase is Phase.PLAN else chosen, model, journal.hidden)
                for phase, inputs in inputs_by_phase(recorded).items()
            }
            steps_through = debugging(steps, actor_if_known(actor), journal.again())
            job = Job(identity, workers, store, output, again, actor, debugging=steps_through)
            job = replace(job, so_far=await recorded_so_far(store, recorded, accept_changed_code))

            async def work(runner: Runner, on_chunk: ChunkCallback) -> AnyState:
                if steps_through is None:
                    return await runner.resume(identity, on_stream_chunk=on_chunk, accept_changed_code=accept_changed_code)
                taken_up = _steppable(runner).step_on(
                    identity, by=steps_through.actor, on_stream_chunk=on_chunk, accept_changed_code=accept_changed_code
                )
                return await steps_through.through(taken_up, store)

            return await _carry_out(job, console, work)

    return run_bounded(go_on())


async def _begun(runner: Runner, task: str, options: RunKeywords, job: Job) -> AnyState:
    """Run a task, by itself or stepped through."""
    if job.debugging is None:
        return await runner.run(task, **options)
    return await job.debugging.through(_steppable(runner).step(task, by=job.debugging.actor, **options), job.journal)


def _steppable(runner: Runner) -> AgentLoop:
    """What steps through a run. Raises ConfigurationError for a task that is planned, then built."""
    if isinstance(runner, AgentLoop):
        return runner
    raise ConfigurationError(
        "a task that is planned, then built, is not stepped through as a whole",
        where="--debug --mode mixed",
        cure="step through one agent: --mode plan or --mode build",
    )


async def _carry_out(job: Job, console: Console, work: Work) -> Exit:
    """Run or resume, with everything around it."""
    asyncio.get_running_loop().set_exception_handler(_remark_what_is_given_up)
    screen = Screen(console, quiet=job.output.quiet or job.debugging is not None)
    async with _runner(job, sharing(job.workers), screen) as runner:
        with stdout_kept_for_the_answer(), screen, logged_on(console, wanted=job.output.verbose):
            state = await work(runner, screen.chunk)
    code = _finish(console, state, job.output, job.again)
    left = job.debugging is not None and state.status is Status.RUNNING and not state.waiting
    return Exit.INTERRUPTED if left else code


def _remark_what_is_given_up(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Name what does not end; whatever else the event loop complains of goes where it always did."""
    if GIVEN_UP not in context:
        loop.default_exception_handler(context)
        return
    note_given_up(context[GIVEN_UP])
    remarks().print(Text(f"given up: {one_line(context[GIVEN_UP])}", style="yellow"))


def _runner(job: Job, workers: Mapping[Phase, Worker], screen: Screen) -> Runner:
    go_on = command_text(remarks(), f"resume {typed(job.run_id)}{job.again.equipment}{job.again.journal}", "go on")
    shutdown = GracefulShutdown(screen.stopping, lambda: screen.leave(go_on))
    asks = somebody_is_there() and job.debugging is None  # else the developer approves and rejects in the debugger
    approver = TerminalApprover(actor_named(job.actor), screen, job.run_id) if asks else None

    def loop(phase: Phase) -> AgentLoop:
        worker = workers[phase]
        run_id = f"{job.run_id}.{phase}" if Phase.PLAN in workers else job.run_id
        return AgentLoop(
            worker.provider,
            worker.tools,
            worker.config,
            journal=job.journal,
            shutdown=shutdown,
            approver=approver,
            on_event=screen.watching(job.timeline(run_id, worker.config.retry), _heading(run_id, worker, job.journal)),
            on_progress=screen.progress,
        )

    if Phase.PLAN not in workers:
        return loop(Phase.BUILD)
    watching = screen.watching(job.timeline(job.run_id, RetryConfig()), _heading(job.run_id, None, job.journal))
    return MixedModeRunner(loop(Phase.BUILD), loop(Phase.PLAN), on_event=watching)


def _heading(run_id: str, worker: Worker | None, journal: SQLiteJournal) -> str:
    facts = [run_id, "plan, then build"]
    if worker is not None:
        dry = "dry run" if worker.config.dry_run else ""
        facts = [run_id, f"agent {worker.name}" if worker.name else "", worker.provider.model, dry]
    return one_line("  ".join(fact for fact in (*facts, journal.location) if fact))


def _finish(console: Console, state: AnyState, output: OutputOptions, again: Again) -> Exit:
    if console.is_terminal and not output.quiet:
        console.print()
    if print_outcome(state, as_json=output.json) and console.is_terminal and not output.quiet:
        console.print()
    if not output.quiet or state.waiting:
        remark_outcome(console, state, again)
    return exit_of(state)


def _refuse_session(session: str | None) -> None:
    if session is not None:
        raise ConfigurationError(
            "a task that is planned, then built, is no part of a session",
            where="--mode mixed --session",
            cure="leave one of them out",
        )
