"""Runs the demo: the agent on its script (or on a model of yours), then the account of what it did and the check of it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from statewright import AgentLoop, AgentState, ConfigurationError, GracefulShutdown, SQLiteJournal, StatewrightError, replay
from statewright.agent.assemble import clock, connect, names
from statewright.cli.exits import Exit, exit_for
from statewright.cli.layout import as_typed
from statewright.cli.outcome import exit_of
from statewright.cli.output import answers, printable
from statewright.cli.streams import OutputLost, give_up_stdout, settle_streams
from statewright.demo.agent import CONFIG, TASK, Clerk, DemoController
from statewright.demo.books import REPORT, Books
from statewright.demo.screen import DemoScreen
from statewright.journal.verify import verify
from statewright_states.words.ports import Provider

HOME = Path(".statewright")
SCRIPT = Path(__file__).with_name("script.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; the exit code means what it means for ``statewright run`` (see ``statewright.cli.exits``)."""
    settle_streams()
    given = _parser().parse_args(arguments)
    try:
        return asyncio.run(_demo(given.model, given.base_url, given.journal))
    except BrokenPipeError:
        give_up_stdout()
        return Exit.BROKEN_PIPE
    except StatewrightError as error:
        if isinstance(error, OutputLost):
            give_up_stdout()
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return exit_for(error)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m statewright.demo",
        description="An agent reconciles a ledger with a bank statement. A script plays the model: no key, no server.",
        epilog="The same agent on a real model: --model openai:gpt-5-mini with OPENAI_API_KEY set, or --model openai:NAME "
        "--base-url http://127.0.0.1:8080/v1 for a server of your own. What it makes of the task is then up to the model.",
    )
    parser.add_argument("--model", metavar="PREFIX:MODEL", help="the model to ask (default: the script of the demo)")
    parser.add_argument("--base-url", metavar="URL", help="where the model's server is")
    parser.add_argument(
        "--journal", metavar="PATH", type=Path, help=f"the journal, an SQLite file (default: {HOME / 'demo.db'})"
    )
    return parser


async def _demo(model: str | None, base_url: str | None, journal_path: Path | None) -> int:
    provider = connect(model or f"scripted:{as_typed(SCRIPT)}", base_url=base_url)
    run_id = names(clock()).run_id()
    books = _working_copy(HOME / "demo" / run_id)
    journal = SQLiteJournal(journal_path or HOME / "demo.db")
    screen = DemoScreen(answers(), CONFIG.retry)
    screen.introduction(provider.model, books.folder, journal.location)
    try:
        state = await _run(provider, books, journal, screen, run_id)
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


async def _run(provider: Provider, books: Books, journal: SQLiteJournal, screen: DemoScreen, run_id: str) -> AgentState:
    loop = AgentLoop(
        provider,
        Clerk(books).tools(),
        CONFIG,
        journal=journal,
        shutdown=GracefulShutdown(),
        approver=DemoController(books, screen.question),
        on_event=screen.event,
    )
    return await loop.run(TASK, run_id=run_id)


async def _check(journal: SQLiteJournal, screen: DemoScreen, run_id: str) -> bool:
    """Check the record and replay it; whether it is whole. Raises ReplayDiverged."""
    verification = await verify(journal, run_id)
    screen.verification(verification)
    if verification.ok:
        screen.replayed((await replay(journal, run_id)).decisions)
    return verification.ok


if __name__ == "__main__":
    sys.exit(main())
