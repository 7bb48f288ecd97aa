"""A bare httpx and json loop beside the engine, doing the same over the same client: one interleaved run, one table.

The client is the one that the engine makes: ``plain`` on httpx's own connections, ``fast`` on aiohttp's under it. CPU is
user and system time of this process, all threads, for one step, one chunk or one run's step. Everything is done once a round,
each after the other, so that whatever else the machine does meets all alike; a ratio is taken within its round. The spread is
that of the ratios, the lowest and the highest.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx
from stub import running_stub
from workload import BareLoop, Pages, Work, engine_loop, finished, interleaved, print_markdown, registry, start

from statewright import MemoryJournal, SQLiteJournal, connect
from statewright_providers.client import new_client
from statewright_providers.connection import HttpTransport
from statewright_states.words.ports import Journal

CLIENTS: dict[str, HttpTransport] = {"plain": "httpx", "fast": "aiohttp"}
JOURNALS = ("memory", "normal", "full")
RESULT_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """What both do: ``steps`` tool steps of ``calls`` calls, ``runs`` times at once, or one reply in ``chunks`` pieces."""

    name: str
    unit: str
    steps: int
    calls: int = 1
    runs: int = 1
    chunks: int = 0

    @property
    def path(self) -> str:
        """Tells the stub what to reply."""
        return f"/steps/{self.steps}/calls/{self.calls}/chunks/{self.chunks}/v1"

    @property
    def units(self) -> int:
        """By how much the CPU of it is divided."""
        return self.chunks or (self.steps + 1) * self.runs


def scenarios(quick: bool) -> list[Scenario]:
    """All of them; smaller ones to try the benchmark."""
    few = 10 if quick else 1
    return [
        Scenario("50 steps", "step", 50 // few),
        Scenario("200 steps", "step", 200 // few),
        Scenario("a stream, per chunk", "chunk", 0, chunks=2_000 // few),
        Scenario("200 runs at once", "step", 3, runs=200 // few),
        Scenario("8 parallel tools", "step", 20 // few, calls=8),
    ]


def journal_named(name: str, path: Path) -> Journal:
    if name == "memory":
        return MemoryJournal()
    return SQLiteJournal(path, durability="full" if name == "full" else "normal")


def times_over(runs: int, once: Callable[[], Awaitable[object]]) -> Work:
    """So many at once."""

    async def work() -> None:
        await asyncio.gather(*(once() for _ in range(runs)))

    return work


async def works_of(scenario: Scenario, client: str, base: str, folder: Path, stack: AsyncExitStack) -> list[Work]:
    """The bare loop's work, then the engine's with each journal."""
    url, http = base + scenario.path, CLIENTS[client]
    tools = registry(Pages(RESULT_BYTES, scenario.steps * scenario.calls))
    bare = BareLoop(url, tools, new_client(httpx.URL(url), http))
    stack.push_async_callback(bare.aclose)
    streamed = bool(scenario.chunks)
    works: list[Work] = [times_over(scenario.runs, bare.stream if streamed else bare.run)]
    for name in JOURNALS:
        journal = journal_named(name, folder / f"{client}-{name}-{scenario.name.replace(' ', '-')}.db")
        model = connect("openai:stub", base_url=url, api_key="stub", http=http)
        loop = await stack.enter_async_context(engine_loop(model, tools, scenario.steps, journal))
        works.append(times_over(scenario.runs, lambda loop=loop: finished(loop, scenario.steps, stream=streamed)))  # type: ignore[misc]
    return works


def rows_of(scenario: Scenario, client: str, measured: list[list[float]]) -> list[list[str]]:
    bare, *engine = measured
    rows: list[list[str]] = []
    for name, ours in zip(JOURNALS, engine, strict=True):
        ratios = [a / b for a, b in zip(ours, bare, strict=True)]
        per_unit = [f"{1e6 * median(times) / scenario.units:.0f}" for times in (bare, ours)]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        rows.append([scenario.name, client, name, *per_unit, f"{median(ratios):.2f}", spread])
    return rows


async def main(*, rounds: int = 7, quick: bool = False) -> None:
    """``quick``: a tenth of the work and two rounds, to try it."""
    rounds = 2 if quick else rounds
    with tempfile.TemporaryDirectory() as folder, running_stub() as base:
        async with AsyncExitStack() as stack:
            cells = [(scenario, client) for scenario in scenarios(quick) for client in CLIENTS]
            works = [await works_of(scenario, client, base, Path(folder), stack) for scenario, client in cells]
            measured = await interleaved([work for group in works for work in group], rounds)
    each = len(JOURNALS) + 1
    groups = [measured[at : at + each] for at in range(0, len(measured), each)]
    rows = [row for (scenario, client), times in zip(cells, groups, strict=True) for row in rows_of(scenario, client, times)]
    print(f"CPU in µs per step (of the stream: per chunk), medians of {rounds} interleaved rounds\n")
    print_markdown(["work", "client", "journal", "bare", "ours", "ratio", "its spread"], rows)


if __name__ == "__main__":
    start(main, __doc__)
