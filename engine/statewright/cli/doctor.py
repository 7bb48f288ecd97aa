"""``doctor``: whether everything that a run needs is there."""

from __future__ import annotations

import asyncio
import os
import platform
import sqlite3
import sys
from contextlib import aclosing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.text import Text

from statewright.agent.agent_files import Agent, Agents
from statewright.agent.profiles import PROFILES
from statewright.cli.exits import Exit
from statewright.cli.options import AGENT, MODEL_VARIABLE, NO_JOURNAL, NO_MODEL, JournalOptions, ModelOptions
from statewright.journal.verify import verify
from statewright.presentation.layout import in_brief, print_folded
from statewright.presentation.output import answers, one_line
from statewright.version import ENGINE
from statewright_states.errors import JournalUnavailable, StatewrightError
from statewright_states.frozen import dataclass
from statewright_states.words.messages import Message, StreamChunk
from statewright_states.words.ports import Journal, ModelRequest, OverHttp

LIBRARIES = ("transitions", "httpx", "httpx-aiohttp", "aiohttp", "pydantic", "orjson", "rich", "cyclopts")
CONNECTIONS = {"aiohttp": "aiohttp's connections", "httpx": "httpx's own connections"}
MODEL_TIMEOUT_S = 30.0
WAL_SINCE = (3, 7, 0)
MARKS = {"good": ("✓", "green"), "note": ("·", "yellow"), "bad": ("✗", "bold red")}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that was looked at. A ``note`` is no fault; something is missing that not everybody needs."""

    name: str
    verdict: Literal["good", "note", "bad"]
    words: str


def doctor(
    *,
    model: ModelOptions = NO_MODEL,
    journal: JournalOptions = NO_JOURNAL,
    config: Annotated[Path | None, Parameter(group=AGENT)] = None,
) -> Exit:
    """Check this installation: versions, the journal, the terminal; the model, the tools and the agents, where they are named.

    A named model is asked one short question, which may cost a few tokens. Exit code 1 when something is broken.

    Parameters
    ----------
    config
        A TOML file: is it sound, which agents does it define, and which tools may each of them use?
    """
    findings = [*_installation(), *_agents(config), *asyncio.run(_surroundings(model, journal))]
    console = answers()
    for finding in findings:
        mark, tone = MARKS[finding.verdict]
        print_folded(console, Text.assemble((f"{mark} ", tone), f"{finding.name:<10} ", one_line(finding.words)), 13)
    return Exit.FAILED if any(finding.verdict == "bad" for finding in findings) else Exit.SUCCESS


def _installation() -> list[Diagnosis]:
    python = Diagnosis("python", "good", f"{platform.python_version()}, {platform.platform(terse=True)}")
    wal = sqlite3.sqlite_version_info >= WAL_SINCE
    sqlite = Diagnosis(
        "sqlite", "good" if wal else "bad", f"{sqlite3.sqlite_version}, {'with' if wal else 'without'} a write-ahead log"
    )
    return [Diagnosis("engine", "good", ENGINE), python, sqlite, _libraries(), _terminal()]


def _libraries() -> Diagnosis:
    try:
        return Diagnosis("libraries", "good", ", ".join(f"{name} {version(name)}" for name in LIBRARIES))
    except PackageNotFoundError as error:
        return Diagnosis("libraries", "bad", f"{error.name} is not installed")


def _terminal() -> Diagnosis:
    streams = {"stdin": sys.stdin, "stdout": sys.stdout, "stderr": sys.stderr}
    piped = [name for name, stream in streams.items() if stream is None or not stream.isatty()]
    if piped:
        return Diagnosis(
            "terminal", "note", f"{', '.join(piped)} not a terminal: nobody can be asked here unless stdin and stderr are"
        )
    return Diagnosis("terminal", "good", f"{answers().width} columns; approvals can be asked here")


def _agents(config: Path | None) -> list[Diagnosis]:
    if config is None:
        return [Diagnosis("agents", "good", f"{', '.join(PROFILES)} are built in; --config FILE checks a file of others")]
    try:
        agents = Agents.read(config)
    except StatewrightError as error:
        return [Diagnosis("agents", "bad", f"{error.what} ({error.where}); {error.cure}")]
    words = f"{config} defines {', '.join(agents.tables) or 'none'}"
    built_in = ", ".join(name for name in agents.names if name not in agents.tables)
    summary = Diagnosis("agents", "good", f"{words}; built in: {built_in}" if built_in else words)
    return [summary, *(_agent(agents, name) for name in agents.tables)]


def _agent(agents: Agents, name: str) -> Diagnosis:
    """One agent of the file, as it would run."""
    try:
        agent = agents.choose(name)
        return Diagnosis("agent", "good", f"{name}: {' · '.join(_traits(agent))}")
    except StatewrightError as error:
        return Diagnosis("agent", "bad", f"{name}: {error.what} ({error.where})")


def _traits(agent: Agent) -> list[str]:
    registry = agent.registry()
    allowed = agent.config_for(registry).allowed_tools
    usable = [tool for tool in registry.names if allowed is None or tool in allowed]
    kept_out = [tool for tool in registry.names if tool not in usable]
    return [
        f"profile {agent.profile}" if agent.profile else "no profile",
        f"effects {', '.join(agent.effects) or 'none'}" if agent.effects is not None else "any effect",
        f"tools {', '.join(usable) or 'none'}" + (f" (kept out: {', '.join(kept_out)})" if kept_out else ""),
        agent.model or "no model of its own",
        f"{agent.settings.max_steps} steps",
    ]


async def _surroundings(model: ModelOptions, journal: JournalOptions) -> list[Diagnosis]:
    findings = [await _journal(journal)]
    if model.tools or model.workspace:
        findings.append(_tools(model))
    findings.append(await _model(model))
    return findings


async def _journal(options: JournalOptions) -> Diagnosis:
    try:
        async with aclosing(options.store()) as journal:
            return await _last_run(journal)
    except JournalUnavailable as error:
        return Diagnosis("journal", "bad" if options.journal else "note", f"{error.what} ({error.where})")
    except StatewrightError as error:
        return Diagnosis("journal", "bad", f"{error.what} ({error.where})")


async def _last_run(journal: Journal) -> Diagnosis:
    runs = await journal.run_ids()
    if not runs:
        return Diagnosis("journal", "good", f"{journal.location}, empty")
    found = await verify(journal, runs[-1])
    if not found.ok:
        return Diagnosis("journal", "bad", f"{journal.location}: {found.problems[0].where}: {found.problems[0].what}")
    return Diagnosis(
        "journal", "good", f"{journal.location}, runs: {len(runs)}, the last one is verified, head {found.head_hash[:16]}…"
    )


def _tools(model: ModelOptions) -> Diagnosis:
    try:
        return Diagnosis("tools", "good", ", ".join(model.registry().names))
    except StatewrightError as error:
        return Diagnosis("tools", "bad", f"{error.what} ({error.where})")


class _Silent:
    """Watches a reply without a word."""

    def began(self) -> None:
        """Nothing to show."""

    def resent(self) -> None:
        """Nothing to show."""

    def chunk(self, chunk: StreamChunk) -> None:
        """Nothing to show."""


async def _model(model: ModelOptions) -> Diagnosis:
    named = model.model or os.environ.get(MODEL_VARIABLE)
    if not named:
        words = f"none named; --model openai:NAME, or {MODEL_VARIABLE}, asks it one short question"
        return Diagnosis("model", "note", words)
    name = named if model.model else f"{named} ({MODEL_VARIABLE})"
    question = ModelRequest(
        (Message("user", "Reply with the word: ready"),), max_output_tokens=16, idle_timeout_s=MODEL_TIMEOUT_S
    )
    try:
        provider = model.provider()
        name += f" over {CONNECTIONS.get(provider.http, provider.http)}" if isinstance(provider, OverHttp) else ""
        try:
            reply = await asyncio.wait_for(provider.complete(question, _Silent()), MODEL_TIMEOUT_S)
        finally:
            await provider.aclose()
    except TimeoutError:
        return Diagnosis("model", "bad", f"{name} did not reply within {MODEL_TIMEOUT_S:g} s")
    except StatewrightError as error:
        return Diagnosis("model", "bad", f"{name}: {error.what}" + (f"; {error.cure}" if error.cure else ""))
    return Diagnosis("model", "good", f"{name} replies: {in_brief(reply.content or reply.finish_reason, 40)}")
