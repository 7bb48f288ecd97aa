"""``demo``: the agent on its script (or on a model of yours), then the account of what it did and the check of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from statewright import AgentLoop, AgentState, ConfigurationError, GracefulShutdown, SQLiteJournal, replay
from statewright.agent.assemble import clock, connect, names
from statewright.cli.exits import Exit
from statewright.cli.options import NO_DEBUG, DebugOptions, actor_if_known
from statewright.cli.outcome import exit_of
from statewright.cli.stepping import StepsThrough, debugging
from statewright.demo.agent import CONFIG, TASK, Clerk, DemoController
from statewright.demo.books import REPORT, Books
from statewright.demo.screen import DemoScreen
from statewright.journal.verify import verify
from statewright.presentation.layout import as_typed
from statewright.presentation.output import answers, typed
from statewright_states.words.ports import Provider
from statewright_states.words.vocabulary import Status

HOME = Path(".statewright")
SCRIPT = Path(__file__).with_name("script.json")


def demo(
    *,
    model: str | None = None,
    base_url: str | None = None,
    journal: Path | None = None,
    steps: DebugOptions = NO_DEBUG,
) -> Exit:
    """Watch an agent reconcile a ledger with a bank statement. A script plays the model: no key, no server, ten seconds.

    Afterwards it is checked and done again from its record, and what to type next is printed. The same agent works on a real
    model too: --model openai:gpt-5-mini with OPENAI_API_KEY set, or --model openai:NAME --base-url http://127.0.0.1:8080/v1
    for a server of your own; what it makes of the task is then up to the model. --debug steps through it in the debugger.

    Parameters
    ----------
    model
        The model to ask (default: the script of the demo).
    base_url
        Where the model's server is.
    journal
        The journal, an SQLite file (default: .statewright/demo.db).
    """
    path = journal or HOME / "demo.db"
    steps_through = debugging(steps, actor_if_known(None), f" --journal {typed(str(path))}")
    return asyncio.run(_demo(model, base_url, path, steps_through))


async def _demo(model: str | None, base_url: str | None, path: Path, steps_through: StepsThrough | None) -> Exit:
    provider = connect(model or f"scripted:{as_typed(SCRIPT)}", base_url=base_url)
    run_id = names(clock()).run_id()
    books = _working_copy(HOME / "demo" / run_id)
    journal = SQLiteJournal(path)
    screen = DemoScreen(answers(), CONFIG.retry)
    screen.introduction(provider.model, books.folder, journal.location)
    try:
        state = await _run(provider, books, journal, screen, run_id, steps_through)
        if state.status is Status.RUNNING:
            screen.left(run_id, journal.location)
            return Exit.INTERRUPTED
        screen.path(state)
        screen.outcome(state)
        screen.report(books.folder / REPORT)
        whole = await _check(journal, screen, run_id)
        screen.next(run_id, journal.location)
    finally:
        await provider.aclose()
        await journal.aclose()
    return exit_of(state) if whole else Exit.VERIFICATION_FAILED


def _working_copy(folder: Path) -> Books:
    """The books for one run. The journal lies outside their folder, out of the reach of the agent's tools."""
    try:
        return Books.copy_to(folder)
    except OSError as error:
        raise ConfigurationError(
            f"the books cannot be copied: {error.strerror or error}",
            where=str(folder),
            cure="run the demo in a folder that you may write to",
        ) from error


async def _run(
    provider: Provider,
    books: Books,
    journal: SQLiteJournal,
    screen: DemoScreen,
    run_id: str,
    steps_through: StepsThrough | None,
) -> AgentState:
    loop = AgentLoop(
        provider,
        Clerk(books).tools(),
        CONFIG,
        journal=journal,
        shutdown=GracefulShutdown(),
        approver=DemoController(books, screen.question),
        on_event=screen.event if steps_through is None else None,
    )
    if steps_through is None:
        return await loop.run(TASK, run_id=run_id)
    return await steps_through.through(loop.step(TASK, by=steps_through.actor, run_id=run_id), journal)


async def _check(journal: SQLiteJournal, screen: DemoScreen, run_id: str) -> bool:
    """Check the record and replay it; whether it is whole. Raises ReplayDiverged."""
    verification = await verify(journal, run_id)
    screen.verification(verification)
    if verification.ok:
        screen.replayed((await replay(journal, run_id)).decisions)
    return verification.ok
