"""Runs over the wire: AgentLoop, its provider on real HTTP, and a model server that follows a script.

One module per point of the contract, named after its number. ``run`` plays a case in virtual time; ``on_the_wire`` is for
cases with several acts. Whatever a case states, this holds each of its runs to what is true of every run: the record
verifies, its replay gives the same entries and the same state, one end entry stands last, each tool call has one tool
message in the order of the request, observers saw the entries, every request could be sent, the key is nowhere but in the
requests' headers, and the script is used up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from flat_records import shapes_of
from loop_invariants import check_run, rows_of, well_formed, worst_case_requests
from loop_model_server import ModelServer, Request, model_server
from loop_scenarios import RUN_ID, Ended, Happening
from plan_build_scenarios import TASK, check_task
from statewright import AgentConfig, AgentLoop, AgentState, MemoryJournal, MixedModeRunner, MixedState, StreamChunk, connect
from statewright.journal.entry import encode
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_states.words.ports import Journal

KEY = "sk-contract-5e1f0c7a9b3d"
"""The key that no record, output or message may hold."""

GRACE_S = 0.005
"""The server shares the loop of the run: what it has sent is in the kernel before anything else happens, so a short real
wait before the time jumps is enough (``test_what_is_sent_within_one_loop_is_never_overtaken``)."""

OF_THE_RUN = ("prompt", "history", "stream", "at", "session", "requested_by")
"""The options of ``run`` that are those of ``Wire.run``; the others are the loop's."""

both = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
"""What holds for an unstreamed run as for a streamed one."""


@dataclass
class WireOutcome(Ended):
    """What came of a run over the wire."""

    server: ModelServer
    chunks: list[StreamChunk]
    told: list[tuple[str, dict[str, Any]]]
    """What ``on_event`` was told."""

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of the requests that the server saw."""
        return self.server.requests

    @property
    def asked(self) -> int:
        """How many requests the server saw."""
        return len(self.server.seen)

    @property
    def waits_s(self) -> list[float]:
        """The time between each request and the one before."""
        times = [request.at_s for request in self.server.seen]
        return [later - earlier for earlier, later in pairwise(times)]

    @property
    def output(self) -> str | None:
        return self.state.final_output

    @property
    def how(self) -> tuple[str, str | None]:
        """Status and stop reason."""
        return self.status, self.reason

    @property
    def shown(self) -> str:
        """The text that was streamed, with ``<restart>`` where what was shown became void."""
        return "".join("<restart>" if chunk.type == "restart" else chunk.data for chunk in self.chunks)

    def events(self, name: str) -> list[Any]:
        """The events of this name that were told, in order."""
        return [payload["event"] for kind, payload in self.told if kind.endswith(f".{name}")]

    def messages_of(self, request: int, role: str | None = None) -> list[dict[str, Any]]:
        """The messages of a request, all or those of one role."""
        return [message for message in self.requests[request]["messages"] if role in (None, message["role"])]


@dataclass
class Wire:
    """A loop that is connected to a scripted server."""

    loop: AgentLoop
    server: ModelServer
    clock: VirtualClock
    chunks: list[StreamChunk] = field(default_factory=list[StreamChunk])
    told: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])

    async def run(
        self,
        prompt: str = "the task",
        *,
        history: Sequence[Mapping[str, Any]] = (),
        stream: bool = False,
        at: Sequence[tuple[float, Happening]] = (),
        session: str | None = None,
        requested_by: str | None = None,
    ) -> WireOutcome:
        """Run the task to its end, or until it waits for a person. ``at`` lists what happens meanwhile, by virtual seconds."""
        happenings = [asyncio.create_task(_happen(after_s, what, self.loop)) for after_s, what in at]
        given: dict[str, Any] = {"session": session, "requested_by": requested_by, "run_id": RUN_ID}
        shown = self.chunks.append
        try:
            state = await self.loop.run(prompt, list(history), stream=stream, on_stream_chunk=shown, **given)
            return await self.outcome(state)
        finally:
            for happening in happenings:
                happening.cancel()
            await asyncio.gather(*happenings, return_exceptions=True)

    async def resume(self) -> WireOutcome:
        """Take the run up."""
        return await self.outcome(await self.loop.resume(RUN_ID, on_stream_chunk=self.chunks.append))

    async def plan_and_build(
        self, runner: MixedModeRunner, *, stream: bool = False, at: Sequence[tuple[float, Callable[[], Awaitable[object]]]] = ()
    ) -> MixedState:
        """Plan the task, then build it, to the end or until it waits for a person; all three records are held to the rules."""
        happenings = [asyncio.create_task(_happen_to_task(after_s, what)) for after_s, what in at]
        try:
            state = await runner.run("the task", stream=stream, on_stream_chunk=self.chunks.append, run_id=TASK)
        finally:
            for happening in happenings:
                happening.cancel()
            await asyncio.gather(*happenings, return_exceptions=True)
        await check_task(self.loop.journal, state)
        for request in self.server.seen:
            _could_be_sent(request)
        for run_id in (state.run_id, *(run.run_id for run in state.runs)):
            await _the_key_is_nowhere(self.loop.journal, run_id, state.to_output_dict(), self.told)
        return state

    async def outcome(self, state: AgentState) -> WireOutcome:
        """What came of the run, which is held to everything that is true of every run."""
        ended_at_s, journal = self.clock.monotonic_s(), self.loop.journal
        await check_run(journal, state)
        assert len(self.server.seen) <= worst_case_requests(self.loop.config)
        _observers_saw_the_record(await shapes_of(journal, RUN_ID), self.told)
        for request in self.server.seen:
            _could_be_sent(request)
        await _the_key_is_nowhere(journal, state.run_id, state.to_output_dict(), self.told)
        return WireOutcome(state, journal, await rows_of(journal, RUN_ID), ended_at_s, self.server, self.chunks, self.told)


@asynccontextmanager
async def on_the_wire(
    script: Sequence[Any],
    tools: Iterable[Any] = (),
    config: AgentConfig | None = None,
    *,
    journal: Journal | None = None,
    before: Callable[[ModelServer], object] = lambda server: None,
    on_address: str | None = None,
    **options: Any,
) -> AsyncGenerator[Wire]:
    """A server with this script (``Reply`` items) and a loop that asks it. ``before`` is called with the server when it is up.

    ``on_address`` has the loop ask somebody else.
    """
    clock = VirtualClock()
    async with model_server(*script) as server:
        before(server)
        told: list[tuple[str, dict[str, Any]]] = []
        options.setdefault("on_event", lambda kind, payload: told.append((kind, payload)))
        loop = AgentLoop(
            connect("openai:stub", base_url=on_address or server.base_url, api_key=KEY),
            tools,
            config,
            journal=journal or MemoryJournal(clock=clock),
            clock=clock,
            **options,
        )
        async with loop:
            yield Wire(loop, server, clock, told=told)
        assert (server.script, server.beyond) == ([], 0), "the script was not followed: what is left, what it lacked"
    await _bodies_are_closed()


def run(script: Sequence[Any], tools: Iterable[Any] = (), config: AgentConfig | None = None, **options: Any) -> WireOutcome:
    """Play a case in virtual time. ``options`` are those of ``Wire.run`` and of ``on_the_wire``."""
    mine = {name: options.pop(name) for name in OF_THE_RUN if name in options}

    async def case() -> WireOutcome:
        async with on_the_wire(script, tools, config, **options) as wire:
            return await wire.run(**mine)

    return run_virtual(case(), grace_s=GRACE_S)


async def _happen(after_s: float, what: Happening, loop: AgentLoop) -> None:
    await asyncio.sleep(after_s)
    await what(loop, RUN_ID)


async def _happen_to_task(after_s: float, what: Callable[[], Awaitable[object]]) -> None:
    await asyncio.sleep(after_s)
    await what()


async def _bodies_are_closed() -> None:
    """A body that was not read to its end is closed by a task that the event loop makes for the generators in httpx."""
    await asyncio.sleep(0)
    closing = [task for task in asyncio.all_tasks() if "async_generator" in repr(task.get_coro())]
    await asyncio.gather(*closing, return_exceptions=True)


# -- what is true of every run -----------------------------------------------------------------------------------------


def _observers_saw_the_record(shapes: Sequence[Mapping[str, Any]], told: Sequence[tuple[str, dict[str, Any]]]) -> None:
    if told:  # a case may watch for itself
        recorded = [(shape["seq"], f"{shape['machine']}.{shape['event']}") for shape in shapes if shape["kind"] == "decision"]
        assert [(payload["seq"], kind) for kind, payload in told] == recorded


def _could_be_sent(request: Request) -> None:
    body = request.body
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert body["model"]
    well_formed(body["messages"])
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    assert len(names) == len(set(names))


async def _the_key_is_nowhere(journal: Journal, run_id: str, output: Mapping[str, Any], told: object) -> None:
    entries = b"".join(entry.data for entry in await journal.entries(run_id))
    blobs = [await journal.blob(digest) or b"" for digest in _digests(entries)]
    for place in (entries, b"".join(blobs), encode(output), repr(told).encode()):
        assert KEY.encode() not in place


def _digests(entries: bytes) -> set[str]:
    return {"sha256:" + part[:64].decode() for part in entries.split(b"sha256:")[1:]}
