"""The record of a planned task is judged by its pinned table alone, like any other: its header says which machine it is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from flat_records import flat, packed
from recorded_runs import Entries, Forgery, chained, journal_of, payloads_of
from statewright import AgentLoop, LLMResponse, MemoryJournal, MixedModeRunner
from statewright.core.replay import replay_plan_build
from statewright.journal.entry import decode
from statewright.journal.verify import Verification, verify
from statewright_providers.scripted import ScriptedProvider
from statewright_states.errors import NotAJournal, ReplayDiverged

TASK = "task-1"


async def recorded() -> MemoryJournal:
    journal = MemoryJournal()
    loop = AgentLoop(ScriptedProvider([LLMResponse("the plan"), LLMResponse("done")]), journal=journal)
    await MixedModeRunner(loop).run("the task", run_id=TASK)
    return journal


async def forged(forge: Forgery) -> MemoryJournal:
    """The task's record as somebody rewrote it, with every hash computed again."""
    journal = await recorded()
    stored = await journal.entries(TASK)
    shapes: Entries = flat(stored)
    forge(shapes)
    return await journal_of(chained(TASK, packed(shapes, stored)), await payloads_of(journal, TASK), TASK)


def verified(forge: Forgery) -> Verification:
    async def scene() -> Verification:
        return await verify(await forged(forge), TASK)

    return asyncio.run(scene())


def put(seq: int, /, **fields: object) -> Forgery:
    return lambda entries: entries[seq].update(fields)


def nothing(entries: Entries) -> None:
    pass


def a_failed_plan_built_on(entries: Entries) -> None:
    entries[2]["answers"]["plan"] = "failed"


FORGERIES: list[tuple[Forgery, int, str]] = [
    (a_failed_plan_built_on, 2, "the table says PLAN-05"),
    (put(2, to="success"), 2, "PLAN-02 leads to building, not to success"),
    (put(2, instance="run"), 2, "run cannot be an instance of the machine plan_build"),
    (put(3, **{"from": "planning"}), 3, "it finds plan_build in planning, but that was in building"),
    (put(4, status="partial"), 4, "it says that the run ended as partial, but the run is in success"),
    (put(4, stop_reason="max_steps"), 4, "but the run was finished for completed"),
    (lambda entries: entries.pop(4), 4, "its end is missing: the run is in success, which is final"),
    (lambda entries: entries[0]["machines"].clear(), 0, "it pins no table for the machine plan_build"),
    (put(0, machine="run"), 0, "it pins no table for the machine run"),
    (lambda entries: entries[0].pop("machine"), 0, "its field 'machine'"),
]


def test_the_record_of_a_planned_task_is_sound() -> None:
    found = verified(nothing)
    assert (found.ok, found.ended, found.status, found.stop_reason) == (True, True, "success", "completed")


@pytest.mark.parametrize(("forge", "seq", "words"), FORGERIES, ids=[words for _, _, words in FORGERIES])
def test_a_forger_of_a_planned_task_is_found_by_what_the_entry_says(forge: Forgery, seq: int, words: str) -> None:
    first = verified(forge).problems[0]
    assert (first.seq, words in first.what) == (min(seq, 3), True), first


def test_a_task_that_was_rewritten_is_no_replay_of_itself() -> None:
    def cheaper(entries: Entries) -> None:
        entries[4]["model_calls"] = 1

    with pytest.raises(ReplayDiverged, match="model_calls: recorded 1, replayed 2"):
        asyncio.run(replayed(cheaper))


def test_a_run_of_an_unknown_machine_is_told_apart() -> None:
    with pytest.raises(NotAJournal, match="one of the machine 'lamp', a table of somebody's own; run, plan_build are those"):
        asyncio.run(replayed(put(0, machine="lamp")))


async def replayed(forge: Forgery) -> Any:
    return await replay_plan_build(await forged(forge), TASK)


def test_the_header_names_both_configurations_and_both_sets_of_tools() -> None:
    async def scene() -> None:
        journal = await recorded()
        header = decode((await journal.entries(TASK))[0].data)
        config = decode(await journal.blob(header["config"]) or b"")
        tools = decode(await journal.blob(header["tools"]) or b"")
        assert set(config) == {"accept_partial_plan", "models", "plan", "build"}
        assert set(tools) == {"plan", "build"}
        assert (header["machine"], list(header["machines"])) == ("plan_build", ["plan_build"])

    asyncio.run(scene())
