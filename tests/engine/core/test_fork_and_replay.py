"""Fork and replay: a run's entries begin another run, and a record that no longer holds is told apart in words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from flat_records import flat, packed
from statewright import AgentLoop, CallerError, LLMResponse, MemoryJournal, ToolCall, fork, replay, tool, verify
from statewright.journal.entry import NO_HASH, chain, decode
from statewright_providers import ScriptedProvider
from statewright_states.errors import JournalDamaged, NotAJournal, ReplayDiverged, RunNotFound
from statewright_states.words.ports import Batch, Journal, ModelRequest, StoredEntry

DECIDED = {"tool": "tool-1.1", "ends_run": False}


@tool(effect="read")
async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def answer(request: ModelRequest) -> LLMResponse:
    if any(message.role == "tool" for message in request.messages):
        return LLMResponse("42")
    return LLMResponse(tool_calls=(ToolCall("c", "add", '{"a": 17, "b": 25}'),), finish_reason="tool_calls")


def agent(journal: Journal) -> AgentLoop:
    return AgentLoop(ScriptedProvider([answer] * 9), [add], journal=journal)


async def recorded(journal: Journal) -> int:
    """A run ``origin`` in the journal; gives the number of its entries."""
    await agent(journal).run("17 + 25?", run_id="origin")
    return len(await journal.entries("origin"))


def test_a_run_can_be_forked_from_every_entry_and_ends_like_the_other() -> None:
    async def story() -> None:
        journal = MemoryJournal()
        for seq in range(await recorded(journal) - 1):
            await fork(journal, "origin", seq, f"fork-{seq}")
            state = await agent(journal).resume(f"fork-{seq}")
            assert (state.status, state.final_output) == ("success", "42")
            assert (await verify(journal, f"fork-{seq}")).ok
            assert (await replay(journal, f"fork-{seq}")).state() == state
            header = decode((await journal.entries(f"fork-{seq}"))[0].data)
            assert header["parent"].startswith(f"origin@{seq}:")

    asyncio.run(story())


@pytest.mark.parametrize(("seq", "words"), [(-1, "no entry -1"), (99, "no entry 99"), (4, "entry 4 ends the run")])
def test_an_entry_that_a_run_cannot_go_on_from_is_refused(seq: int, words: str) -> None:
    async def story() -> None:
        journal = MemoryJournal()
        assert await recorded(journal) == 5
        with pytest.raises(CallerError, match=words):
            await fork(journal, "origin", seq, "copy")
        with pytest.raises(RunNotFound):
            await journal.entries("copy")

    asyncio.run(story())


Change = Callable[[dict[str, Any]], object]


async def changed(seq: int, change: Change) -> Journal:
    """A journal whose run ``origin`` has one decision changed and every hash made to fit."""
    honest, forged = MemoryJournal(), MemoryJournal()
    await recorded(honest)
    stored = await honest.entries("origin")
    shapes = flat(stored)
    change(shapes[seq])
    entries: list[StoredEntry] = []
    for number, data in enumerate(packed(shapes, stored)):
        previous = entries[-1].hash if entries else NO_HASH
        entries.append(StoredEntry(number, data, chain("origin", previous, data)))
    named = {digest for shape in shapes for digest in str(shape).split("'") if digest.startswith("sha256:")}
    found = {digest: await honest.blob(digest) for digest in named}
    blobs = {digest: payload for digest, payload in found.items() if payload is not None}
    lease = await forged.create("origin", entries[0], blobs)
    await forged.append(lease, Batch(tuple(entries[1:]), entries[0].hash))
    return forged


@pytest.mark.parametrize(
    ("seq", "change", "error", "words"),
    [
        (3, lambda shape: shape.update(to="acting"), ReplayDiverged, "to: recorded 'acting', replayed 'generating'"),
        (4, lambda shape: shape["data"].update(step=9), ReplayDiverged, "should receive CallRequested"),
        (6, lambda shape: shape["data"].update(finish="length"), ReplayDiverged, "recorded"),
        (
            11,
            lambda shape: shape.update(event="CallDecided", data=DECIDED),
            ReplayDiverged,
            "ToolSettled(tool='tool-1.1', context_tokens=61)",
        ),
        (6, lambda shape: shape.update(event="Unheard"), JournalDamaged, "not one of this version's"),
        (6, lambda shape: shape["data"].update(send="often"), JournalDamaged, "does not hold what it should"),
        (0, lambda shape: shape.update(format=99), NotAJournal, "journal format 99"),
        (
            0,
            lambda shape: shape["machines"].update(run="sha256:" + "0" * 64),
            ReplayDiverged,
            "not the one that this run is pinned",
        ),
        (16, lambda shape: shape.update(steps=7), ReplayDiverged, "steps: recorded 7, replayed 2"),
    ],
)
def test_a_record_that_no_longer_holds_is_told_apart(seq: int, change: Change, error: type[Exception], words: str) -> None:
    async def story() -> None:
        journal = await changed(seq, change)
        with pytest.raises(error) as diverged:
            await replay(journal, "origin")
        assert words in str(diverged.value)
        assert "cure:" in str(diverged.value)

    asyncio.run(story())


def test_text_that_utf_8_cannot_hold_survives_the_record() -> None:
    async def story() -> None:
        journal = MemoryJournal()
        script = [LLMResponse(tool_calls=(ToolCall("c\ud800", "ad\udc00d", "{}"),)), LLMResponse("done \udfff")]
        state = await AgentLoop(ScriptedProvider(script), [add], journal=journal).run("go \ud800", run_id="odd")
        assert state.status == "success"
        assert (await replay(journal, "odd")).state() == state
        assert (await verify(journal, "odd")).ok

    asyncio.run(story())
