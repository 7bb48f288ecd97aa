"""Verify says of a sound record that it is sound, and of any other which entry is the first that is not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorded_runs import (
    RUN_ID,
    WITH_A_TOOL,
    asks,
    chained,
    journal_of,
    loop_for,
    payloads_of,
    record,
    verify_forged,
)
from statewright.agent.loop import AgentLoop
from statewright.config.settings import AgentConfig, EvaluationConfig, RetryConfig
from statewright.journal import MemoryJournal
from statewright.journal.entry import listed, references
from statewright.journal.verify import MAX_PROBLEMS, Verification, verify
from statewright_providers.scripted import Item, ScriptedProvider
from statewright_states.errors import ContextOverflow, JournalDamaged, RequestRejected, RunNotFound, ServerFailed
from statewright_states.run.facts import EvaluationMode
from statewright_states.words.messages import LLMResponse, Message, ToolCall, digest_of
from statewright_states.words.ports import Journal, StoredEntry

VERDICT = LLMResponse('{"completed": true, "confidence": 1.0, "issues": [], "suggestion": ""}')
HASTY = AgentConfig(max_steps=4, retry=RetryConfig(max_attempts=2, waits_s=(0,)))
JUDGED = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.FULL, max_retries=1), retry=RetryConfig(max_attempts=1))


def recorded(script: Sequence[Item] = WITH_A_TOOL, config: AgentConfig = HASTY) -> Verification:
    async def scenario() -> Verification:
        journal = MemoryJournal()
        await record(journal, script, config)
        return await verify(journal, RUN_ID)

    return asyncio.run(scenario())


# -- sound records ---------------------------------------------------------------------------------------------------


def test_a_run_that_the_engine_recorded_is_sound() -> None:
    found = recorded()
    assert found.problems == ()
    assert (found.ok, found.ended, found.status, found.stop_reason) == (True, True, "success", "completed")
    assert (found.run_id, found.entries, found.decisions) == (RUN_ID, 5, 15)


def test_every_payload_that_an_entry_names_is_looked_at_once() -> None:
    async def scenario() -> None:
        journal = MemoryJournal()
        await record(journal)
        named = [digest for entry in await journal.entries(RUN_ID) for digest in references(json.loads(entry.data))]
        assert (await verify(journal, RUN_ID)).payloads == len(set(named)) < len(named)

    asyncio.run(scenario())


def test_the_head_hash_is_the_hash_of_the_last_entry() -> None:
    async def scenario() -> None:
        journal = MemoryJournal()
        await record(journal)
        assert (await verify(journal, RUN_ID)).head_hash == (await journal.entries(RUN_ID))[-1].hash

    asyncio.run(scenario())


TEXTS = st.sampled_from(["", "done", "\N{SNOWMAN}", VERDICT.content, "\ud800"])
CALLS = st.sampled_from([("add", '{"a": 1, "b": 2}'), ("add", "{"), ("nothing", "{}"), ("send", '{"text": "x"}')])
REPLIES = st.builds(
    lambda text, calls, finish: LLMResponse(text, tuple(ToolCall(f"c{at}", *call) for at, call in enumerate(calls)), finish),
    TEXTS,
    st.lists(CALLS, max_size=2),
    st.sampled_from(["stop", "tool_calls", "length", "content_filter", "other"]),
)
FAULTS = st.sampled_from([ServerFailed("down"), ContextOverflow("too long"), RequestRejected("no")])


@settings(max_examples=60)
@given(st.lists(st.one_of(REPLIES, FAULTS), max_size=6), st.sampled_from([HASTY, JUDGED]))
def test_whatever_the_model_does_the_record_is_sound(script: list[Item], config: AgentConfig) -> None:
    found = recorded(script, config)
    assert found.problems == ()


def test_a_run_that_waits_for_a_person_has_not_ended_and_is_sound() -> None:
    found = recorded([asks("send", '{"text": "x"}')])
    assert (found.ok, found.ended, found.status, found.stop_reason) == (True, False, None, None)


def test_a_run_that_was_taken_up_again_is_sound() -> None:
    async def scenario() -> Verification:
        journal = MemoryJournal()
        loop = loop_for(journal, [asks("send", '{"text": "x"}'), LLMResponse("sent")])
        await loop.run("Send x.", run_id=RUN_ID)
        await loop.decide(RUN_ID, "c1", approve=True, actor="ada")
        await loop.resume(RUN_ID)
        return await verify(journal, RUN_ID)

    found = asyncio.run(scenario())
    assert found.problems == ()
    assert found.status == "success"


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_a_record_that_stops_after_any_entry_but_its_last_is_sound_so_far(length: int) -> None:
    async def scenario() -> Verification:
        journal = MemoryJournal()
        await record(journal)
        return await verify(await journal_of((await journal.entries(RUN_ID))[:length], await payloads_of(journal)), RUN_ID)

    found = asyncio.run(scenario())
    assert (found.ok, found.ended, found.entries) == (True, False, length)


def test_a_run_that_is_not_there_is_not_found() -> None:
    with pytest.raises(RunNotFound):
        asyncio.run(verify(MemoryJournal(), "no such run"))


# -- meddling with hashes --------------------------------------------------------------------------------------------


def meddled(change: Callable[[list[StoredEntry]], object], run_id: str = RUN_ID) -> Verification:
    """Verify a run whose stored entries were changed."""

    async def scenario() -> Verification:
        journal = MemoryJournal()
        await record(journal)
        entries = list(await journal.entries(RUN_ID))
        change(entries)
        renumbered = [StoredEntry(seq, entry.data, entry.hash) for seq, entry in enumerate(entries)]
        return await verify(await journal_of(renumbered, await payloads_of(journal), run_id), run_id)

    return asyncio.run(scenario())


def test_a_changed_stored_hash_is_one_problem() -> None:
    found = meddled(lambda entries: entries.__setitem__(2, StoredEntry(2, entries[2].data, "0" * 64)))
    assert [problem.seq for problem in found.problems] == [2]


def test_swapped_entries_show_at_the_first_of_them() -> None:
    def swap(entries: list[StoredEntry]) -> None:
        entries[1], entries[3] = entries[3], entries[1]

    assert meddled(swap).problems[0].seq == 1


def test_an_entry_that_was_entered_twice_shows_where_it_stands_the_second_time() -> None:
    assert meddled(lambda entries: entries.insert(3, entries[2])).problems[0].seq == 3


def test_an_entry_taken_out_with_the_rest_moved_up_shows_where_it_was() -> None:
    assert meddled(lambda entries: entries.pop(2)).problems[0].seq == 2


def test_the_record_of_another_run_under_this_name_is_one_problem() -> None:
    found = meddled(lambda entries: None, run_id="run-2")
    assert [(problem.seq, problem.what) for problem in found.problems] == [(0, f"it is the header of another run, {RUN_ID}")]


def test_entries_of_another_run_do_not_continue_this_one() -> None:
    async def scenario() -> Verification:
        journal = MemoryJournal()
        await record(journal)
        await record(journal, run_id="run-2")
        entries, others = await journal.entries(RUN_ID), await journal.entries("run-2")
        return await verify(await journal_of([*entries[:3], *others[3:]], await payloads_of(journal)), RUN_ID)

    assert asyncio.run(scenario()).problems[0].seq == 3


def test_no_more_problems_are_listed_than_people_read() -> None:
    found = meddled(lambda entries: entries.__setitem__(slice(None), [StoredEntry(0, b"{}", "") for _ in range(50)]))
    assert (len(found.problems), found.problems[0].seq, found.entries) == (MAX_PROBLEMS, 0, 50)


@settings(max_examples=100)
@given(
    st.integers(0, 4), st.one_of(st.binary(max_size=40), st.integers(1, 3000).map(lambda depth: b"[" * depth + b"]" * depth))
)
def test_bytes_that_are_no_entry_are_a_problem_and_never_an_exception(seq: int, data: bytes) -> None:
    found = meddled(lambda entries: entries.__setitem__(seq, StoredEntry(seq, data, sha256(data).hexdigest())))
    assert found.problems[0].seq == seq


# -- payloads --------------------------------------------------------------------------------------------------------


class FailingJournal(MemoryJournal):
    """A store that cannot read the entries, or no payloads, and says so."""

    def __init__(self, journal: Journal, *, entries: JournalDamaged | None, payloads: JournalDamaged | None) -> None:
        super().__init__()
        self._journal = journal
        self._entries_damaged = entries
        self._payloads_damaged = payloads

    async def entries(self, run_id: str, after_seq: int = -1) -> Sequence[StoredEntry]:
        if self._entries_damaged is not None:
            raise self._entries_damaged
        return await self._journal.entries(run_id, after_seq)

    async def blob(self, digest: str) -> bytes | None:
        if self._payloads_damaged is not None:
            raise self._payloads_damaged
        return await self._journal.blob(digest)


def damaged(seq: int | None = None) -> JournalDamaged:
    return JournalDamaged("the journal's file is damaged", where="runs.db", seq=seq)


def on_a_failing_store(*, entries: JournalDamaged | None = None, payloads: JournalDamaged | None = None) -> Verification:
    async def scenario() -> Verification:
        journal = MemoryJournal()
        await record(journal)
        return await verify(FailingJournal(journal, entries=entries, payloads=payloads), RUN_ID)

    return asyncio.run(scenario())


@pytest.mark.parametrize("named", [0, 3, None])
def test_a_store_that_cannot_read_an_entry_is_a_problem_with_the_entry_that_it_names(named: int | None) -> None:
    found = on_a_failing_store(entries=damaged(named))
    assert [problem.seq for problem in found.problems] == [named]
    assert "the store cannot read it: the journal's file is damaged, runs.db" in found.problems[0].what


class BentJournal(MemoryJournal):
    """A store that gives one entry with values of other types, as a damaged index of a database can."""

    def __init__(self, entries: Sequence[StoredEntry], at: int, seq: Any, data: Any, digest: Any) -> None:
        super().__init__()
        self._bent = [StoredEntry(seq, data, digest) if entry.seq == at else entry for entry in entries]

    async def entries(self, run_id: str, after_seq: int = -1) -> Sequence[StoredEntry]:
        return self._bent


STRANGE = st.one_of(st.none(), st.text(max_size=3), st.binary(max_size=3), st.floats(), st.integers(-2, 20))


@given(st.integers(0, 4), STRANGE, STRANGE, STRANGE)
@settings(max_examples=60)
def test_values_of_other_types_are_a_problem_and_never_an_exception(at: int, seq: Any, data: Any, digest: Any) -> None:
    async def scenario() -> Verification:
        journal = MemoryJournal()
        await record(journal)
        return await verify(BentJournal(await journal.entries(RUN_ID), at, seq, data, digest), RUN_ID)

    assert not asyncio.run(scenario()).ok


def test_a_payload_that_the_store_cannot_read_is_a_problem_with_the_entry_that_names_it() -> None:
    found = on_a_failing_store(payloads=damaged())
    assert found.problems[0].seq == 0
    assert "the store cannot read its payload sha256:" in found.problems[0].what
    assert found.status == "success"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda blobs, digest: blobs.pop(digest), "is missing"),
        (lambda blobs, digest: blobs.update({digest: b"7"}), "was changed"),
    ],
)
def test_a_payload_that_is_gone_or_changed_shows_at_the_first_entry_that_names_it(
    change: Callable[[dict[str, bytes], str], object], words: str
) -> None:
    async def scenario() -> Verification:
        journal = MemoryJournal()
        await record(journal)
        entries, blobs = await journal.entries(RUN_ID), await payloads_of(journal)
        shown: str = json.loads(entries[3].data)["decisions"][0]["data"]["message"]
        change(blobs, shown)
        return await verify(await journal_of(entries, blobs), RUN_ID)

    (problem,) = asyncio.run(scenario()).problems
    assert problem.seq == 3
    assert words in problem.what


# -- the shapes are the format's -------------------------------------------------------------------------------------


LEFT_OUT: dict[str, Any] = {"role": "tool", "tool_call_id": "x", "content": "of no call"}


@pytest.mark.parametrize(
    ("seq", "field", "history", "built"),
    [
        (0, "history", [LEFT_OUT], [{"role": "user", "content": "What is 2 + 3?"}]),
        (2, "raw", [], [{"role": "user", "content": "What is 2 + 3?"}, LEFT_OUT]),
    ],
)
def test_a_message_that_is_gone_or_changed_shows_at_the_entry_whose_payload_lists_it(
    seq: int, field: str, history: list[dict[str, Any]], built: list[dict[str, Any]]
) -> None:
    lost = Message.from_dict(LEFT_OUT).digest

    async def scenario() -> None:
        journal = MemoryJournal()
        loop = AgentLoop(ScriptedProvider([LLMResponse("5")]), journal=journal, on_build_context=lambda *_: built)
        await loop.run("What is 2 + 3?", history, run_id=RUN_ID)
        entries, blobs = await journal.entries(RUN_ID), await payloads_of(journal)
        shape = json.loads(entries[seq].data)
        named = shape["decisions"][0]["data"][field] if seq else shape[field]
        blobs |= {digest: await journal.blob(digest) or b"" for digest in listed(blobs[named])}
        assert (await verify(await journal_of(entries, blobs), RUN_ID)).ok
        for change, words in (
            ({name: data for name, data in blobs.items() if name != lost}, f"its payload {lost} is missing"),
            (blobs | {lost: b"{}"}, f"its payload {lost} was changed"),
            (blobs | {named: b"{}"}, f"its payload {named} was changed"),
        ):
            (problem,) = (await verify(await journal_of(entries, change), RUN_ID)).problems
            assert problem.seq == seq
            assert words in problem.what

    asyncio.run(scenario())


@pytest.mark.parametrize("listing", (b"7", b"[7]", b"{"))
def test_a_history_that_is_no_list_of_digests_is_a_problem(listing: bytes) -> None:
    found = verify_forged(lambda entries: entries[0].update(history=digest_of(listing)), {digest_of(listing): listing})
    assert [problem.seq for problem in found.problems] == [0]
    assert f"its list of messages {digest_of(listing)} cannot be read" in found.problems[0].what


def test_what_chained_gives_is_what_the_engine_writes() -> None:
    async def scenario() -> None:
        journal = MemoryJournal()
        await record(journal)
        entries = tuple(await journal.entries(RUN_ID))
        assert chained(RUN_ID, [entry.data for entry in entries]) == entries

    asyncio.run(scenario())
