"""Records of every format go through every command of this version.

A run that is pinned to other tables than today's is listed, verified and judged by ``impact``; whatever decides again says in
words that the tables are others.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from golden_runs import ENDS, carry_on, restored, scripts
from statewright import RunTimeline, SQLiteJournal, fork, verify
from statewright.core.described_machines import of_table
from statewright.journal.entry import MACHINES, TABLES
from statewright.journal.reading import read_header
from statewright.journal.verify import Verification
from statewright.presentation.recorded import replayed, state_of
from statewright.testing.virtual_time import run_virtual
from statewright_evidence.differences.impact import Impact, impacts
from write_golden_runs import made

OPEN = [run_id for run_id, (status, _, _) in ENDS.items() if status == "running"]
NEWEST = scripts()[-1]


@pytest.fixture(params=scripts(), ids=lambda script: script.stem)
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return restored(request.param, tmp_path)


def command(journal: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "statewright", *arguments, "--journal", str(journal)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)


async def pinned_to_others(path: Path, run_id: str) -> list[str]:
    """The machines of a run, or of the runs that belong to it, that are others than today's."""
    store = SQLiteJournal(path)
    family = [each for each in ENDS if each == run_id or each.startswith(f"{run_id}.")]
    headers = [read_header(each, await store.entries(each)) for each in family]
    await store.aclose()
    return [
        name
        for header in headers
        for name in MACHINES[header.machine]
        if header.machines[name] != f"sha256:{TABLES[name].fingerprint}"
    ]


def test_the_newest_golden_runs_are_those_that_are_written_today() -> None:
    """Also after a field with a default was added anywhere: it is not written."""
    assert made() == NEWEST.read_text(encoding="utf-8"), "run tests/journals/write_golden_runs.py, and look at the difference"


def test_every_golden_run_is_listed(journal: Path) -> None:
    done = command(journal, "runs", "--json")
    listed = {run["run_id"]: run for run in json.loads(done.stdout)}
    assert list(listed) == list(ENDS)
    for run_id, (status, reason, _) in ENDS.items():
        if status == "running":
            assert listed[run_id]["status"] in ("interrupted", "waiting", "damaged")
        else:
            assert (listed[run_id]["status"], listed[run_id]["stop_reason"]) == (status, reason)


def test_every_golden_run_is_verified(journal: Path) -> None:
    done = command(journal, "verify", "--all", "--json")
    assert done.returncode == 0, done.stdout
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert [(each["run_id"], each["ok"], each["problems"]) for each in found] == [(run_id, True, []) for run_id in ENDS]
    assert [each["ended"] for each in found] == [run_id not in OPEN for run_id in ENDS]


@pytest.mark.parametrize("run_id", ENDS)
def test_a_golden_run_is_shown_and_replayed(journal: Path, run_id: str) -> None:
    status, reason, output = ENDS[run_id]
    others = asyncio.run(pinned_to_others(journal, run_id))
    shown, again = command(journal, "show", run_id, "--json"), command(journal, "replay", run_id)
    if others:
        assert (shown.returncode, again.returncode) == (6, 6)
        assert f"the table {others[0]} is not the one that this run is pinned to" in again.stderr
        return
    assert (shown.returncode, again.returncode) == (0, 0), shown.stderr + again.stderr
    run = json.loads(shown.stdout)["run"]
    assert (run["status"], run["stop_reason"], run["final_output"]) == (status, reason, output)
    assert again.stdout.startswith("same")
    words = command(journal, "show", run_id).stdout
    assert re.search(r"^ +1 +0\.00s (RUN|PLAN)-01", words, re.MULTILINE)


def test_a_golden_run_is_explained_whatever_todays_tables_are(journal: Path) -> None:
    explained = command(journal, "why", "tools", "--json")
    assert explained.returncode == 0, explained.stderr
    found = json.loads(explained.stdout)
    assert (found["outcome"], found["to"], bool(found["asked"])) == ("taken", "success", True)


@pytest.mark.parametrize("run_id", OPEN)
def test_an_open_golden_run_goes_on_to_its_end(journal: Path, run_id: str) -> None:
    if asyncio.run(pinned_to_others(journal, run_id)):
        return

    async def story() -> Verification:
        store = SQLiteJournal(journal, durability="memory")
        state = await carry_on(store, run_id, accept_changed_code=True)
        assert (state.status, state.final_output) == ("success", "Done.")
        assert await state_of(store, await replayed(store, run_id)) == state
        found = await verify(store, run_id)
        await store.aclose()
        return found

    found = run_virtual(story())
    assert (found.problems, found.ended) == ((), True)


@pytest.mark.parametrize("run_id", ["tools", "compacted", "judged"])
def test_a_golden_run_can_be_forked_at_every_entry_but_its_last(journal: Path, run_id: str) -> None:
    if asyncio.run(pinned_to_others(journal, run_id)):
        return

    async def story() -> None:
        store = SQLiteJournal(journal, durability="memory")
        for entry in range(len(await store.entries(run_id)) - 1):
            await fork(store, run_id, entry, f"{run_id}-{entry}")
            assert (await verify(store, f"{run_id}-{entry}")).ok
            assert not (await replayed(store, f"{run_id}-{entry}")).ended
        await store.aclose()

    run_virtual(story())


@pytest.mark.parametrize("machine", ["run", "call", "tool", "plan_build"])
def test_the_tables_of_today_are_held_against_every_golden_run(journal: Path, machine: str) -> None:
    done = command(journal, "impact", machine, "--json")
    assert done.returncode == 0, done.stderr
    assert "cannot be read" not in json.loads(done.stdout)["counts"]

    async def story() -> dict[str, Impact]:
        store = SQLiteJournal(journal)
        found = {each.run_id: each.effect async for each in impacts(store, of_table(TABLES[machine]))}
        await store.aclose()
        return found

    concerned = {run_id for run_id, effect in asyncio.run(story()).items() if effect is not Impact.NOT_CONCERNED}
    assert concerned == ({"planned"} if machine == "plan_build" else set(ENDS) - {"planned"})


@pytest.mark.parametrize("script", scripts(), ids=lambda path: path.stem)
def test_runs_of_every_version_can_be_opened_and_explained(script: Path, tmp_path: Path) -> None:
    async def scene() -> None:
        journal = SQLiteJournal(restored(script, tmp_path))
        for run_id in await journal.run_ids():
            timeline = await RunTimeline.open(journal, run_id)
            moment = await timeline.moment(timeline.last)
            assert timeline.problem is None
            assert moment.known == (timeline.facts_problem == "")
            told = [timeline.explain(number) for number in range(1, timeline.decisions + 1)]
            assert all(each.why for each in told)
            assert timeline.end is None or moment.main.ended
        await journal.aclose()

    asyncio.run(scene())
