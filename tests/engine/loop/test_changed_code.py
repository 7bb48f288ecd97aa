"""A run goes on under other deciding code only when that is accepted, which is on record; what was decided before stands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from code_trees import FORGETS_TO_COUNT, OTHER_COMMAND, STEPS_LEFT, Change, apply, copied_tree
from loop_invariants import shapes_of
from loop_other_code import as_by_other_code, other_lists
from loop_scenarios import RUN_ID, asks, call, playing, says
from loop_tools import Bench
from statewright import AgentConfig, AgentLoop, MemoryJournal, replay, verify
from statewright.journal.entry import MACHINES, TABLES
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Item, ScriptedProvider
from statewright_states.errors import CodeChanged
from statewright_states.words.messages import digest_of
from statewright_states.words.ports import Journal

PAY: list[Item] = [asks(call("pay")), says("paid")]
STEPS = {"run": ("question steps_left",)}


async def waiting(script: Sequence[Item], config: AgentConfig | None = None) -> Journal:
    """A journal with a run that waits for a person to allow its first sensitive call."""
    outcome = await playing(script, Bench().tools, config)
    assert outcome.state.waiting
    return outcome.journal


def loop_on(journal: Journal, *script: Item) -> AgentLoop:
    return AgentLoop(ScriptedProvider(script), Bench().tools, journal=journal, clock=VirtualClock())


async def approved(journal: Journal, *script: Item, accept: bool = False) -> Any:
    """Allow what the run waits for, and go on with it."""
    loop = loop_on(journal, *script)
    for pending in (await replay(journal, RUN_ID)).state().pending:
        await loop.decide(RUN_ID, pending.call_id, True, actor="ann")
    return await loop.resume(RUN_ID, accept_changed_code=accept)


def test_a_header_pins_the_list_of_the_code_of_each_machine_of_the_run() -> None:
    async def scene() -> None:
        journal = await waiting(PAY)
        header, *_ = await shapes_of(journal, RUN_ID)
        assert header["code"] == {name: f"sha256:{TABLES[name].code_digest}" for name in MACHINES["run"]}
        for name, digest in header["code"].items():
            assert await journal.blob(digest) == TABLES[name].code_form
        assert (await verify(journal, RUN_ID)).ok

    run_virtual(scene())


def test_a_run_of_other_code_is_refused_with_what_is_other_and_what_can_be_done() -> None:
    async def scene() -> None:
        journal = await as_by_other_code(await waiting(PAY), {"run": ("question steps_left", "fold"), "tool": ("fold",)})
        before = await journal.entries(RUN_ID)
        with pytest.raises(CodeChanged) as refused:
            await approved(journal, says("paid"))
        assert refused.value.changes == {"run": ("fold", "question steps_left"), "tool": ("fold",)}
        for words in (
            "run: fold, question steps_left; tool: fold",
            RUN_ID,
            "--accept-changed-code",
            "accept_changed_code=True",
        ):
            assert words in str(refused.value)
        assert (await loop_on(journal).get(RUN_ID)).waiting  # to look at it decides nothing
        assert await journal.entries(RUN_ID) == before
        assert (await loop_on(journal, says("paid")).resume(RUN_ID, accept_changed_code=True)).status == "success"

    run_virtual(scene())


def test_what_was_accepted_is_on_record_and_counts_from_then_on() -> None:
    async def scene() -> None:
        journal = await as_by_other_code(await waiting([asks(call("pay")), says("x")]), STEPS)
        state = await approved(journal, asks(call("pay")), accept=True)
        assert state.waiting
        (accepted,) = [shape for shape in await shapes_of(journal, RUN_ID) if shape.get("event") == "CodeChangeAccepted"]
        code = f"sha256:{TABLES['run'].code_digest}"
        change = {
            "table": "run",
            "before": digest_of(other_lists(STEPS)["run"]),
            "code": code,
            "parts": ["question steps_left"],
        }
        assert (accepted["row"], accepted["data"]) == ("RUN-180", {"changes": [change]})
        assert await journal.blob(code) == TABLES["run"].code_form
        recorded = await replay(journal, RUN_ID)
        assert recorded.settled == accepted["seq"] - 1
        assert recorded.code["run"] == code
        assert recorded.state() == state
        assert (await approved(journal, says("paid"))).status == "success"  # nothing is other any more
        assert (await verify(journal, RUN_ID)).ok
        back = await as_by_other_code(journal, {"call": ("fold",)})
        assert (await loop_on(back).resume(RUN_ID)).status == "success"  # it has ended, and is shown

    run_virtual(scene())


def test_a_change_whose_list_is_not_on_record_is_noticed_without_names() -> None:
    async def scene() -> None:
        journal = await as_by_other_code(await waiting(PAY), STEPS, lists=False)
        with pytest.raises(CodeChanged, match="run: which parts is not known"):
            await loop_on(journal).resume(RUN_ID)
        assert (await approved(journal, says("paid"), accept=True)).status == "success"

    run_virtual(scene())


def test_a_run_that_pins_no_code_is_taken_up_as_ever() -> None:
    async def scene() -> None:
        journal = await as_by_other_code(await waiting(PAY), {})
        entries = await journal.entries(RUN_ID)
        assert b'"code":{' in entries[0].data
        assert (await approved(journal, says("paid"))).status == "success"

    run_virtual(scene())


def test_a_run_of_which_only_the_header_is_on_record_begins_under_the_accepted_code() -> None:
    async def scene() -> None:
        journal = await waiting(PAY)
        only = MemoryJournal(clock=VirtualClock())
        header = (await journal.entries(RUN_ID))[0]
        names = [name for shape in await shapes_of(journal, RUN_ID) for name in _texts(shape) if name.startswith("sha256:")]
        blobs = {name: data for name in names if (data := await journal.blob(name)) is not None}
        await only.release(await only.create(RUN_ID, header, blobs))
        journal = await as_by_other_code(only, STEPS)
        with pytest.raises(CodeChanged):
            await loop_on(journal, *PAY).resume(RUN_ID)
        state = await loop_on(journal, *PAY).resume(RUN_ID, accept_changed_code=True)
        assert state.waiting
        assert state.path[:2] == ("RUN-180", "RUN-01")
        assert (await approved(journal, says("paid"))).status == "success"

    run_virtual(scene())


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    return [text for item in value for text in _texts(item)] if isinstance(value, list) else [str(value)]


# -- a changed installation ------------------------------------------------------------------------------------------

TOOLS = """
from statewright import tool

@tool(effect="irreversible")
def post(amount: int) -> str:
    \"\"\"Post an amount.\"\"\"
    return f"posted {amount}"

tools = [post]
"""
CUT = {"content": "Let me ", "finish_reason": "length"}
POST = {"content": "post it.", "tool_calls": [{"id": "call_1", "name": "post", "arguments": {"amount": 7}}]}
DONE = {"content": "it is posted"}
CHANGES: Mapping[str, tuple[Change, str, bool]] = {
    "a question": (STEPS_LEFT, "question steps_left", True),
    "the fold": (FORGETS_TO_COUNT, "function _after_command", False),
    "an effect": (OTHER_COMMAND, "effect build_context", False),
}
"""What is changed, its name, and whether everything so far would be decided alike."""


class Installation:
    """The packages in a folder of their own, and a run that its command line drives."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tree = copied_tree(folder / "site")
        (folder / "tools.py").write_text(TOOLS, "utf-8")

    def statewright(self, *words: str) -> subprocess.CompletedProcess[str]:
        given = {**os.environ, "PYTHONPATH": str(self.tree), "NO_COLOR": "1", "COLUMNS": "200"}
        command = [sys.executable, "-m", "statewright", *words]
        return subprocess.run(command, cwd=self.folder, env=given, capture_output=True, text=True, check=False, timeout=60)

    def messages(self) -> list[Any]:
        messages: list[Any] = json.loads(self.statewright("show", "old", "--json").stdout)["run"]["messages"]
        return messages

    def model(self, *replies: Mapping[str, Any]) -> tuple[str, ...]:
        (self.folder / "script.json").write_text(json.dumps({"replies": replies}), "utf-8")
        return ("--model", "scripted:script.json", "--tools", "tools:tools") if len(replies) > 1 else ("--tools", "tools:tools")


@pytest.mark.parametrize("what", CHANGES)
def test_a_waiting_run_of_a_changed_installation_goes_on_when_that_is_accepted_and_on_record(what: str, tmp_path: Path) -> None:
    change, named, alike = CHANGES[what]
    place = Installation(tmp_path)
    begun = place.statewright("run", "post 7", *place.model(CUT, POST, DONE), "--run-id", "old")
    assert begun.returncode == 4, begun.stderr
    said = place.messages()
    apply(place.tree, change)

    replayed = place.statewright("replay", "old")
    assert replayed.returncode == (0 if alike else 6)
    assert f"other code decides here than the run is pinned to: run: {named}" in replayed.stdout + replayed.stderr

    again = place.model(DONE)
    refused = place.statewright("resume", "old", *again)
    assert refused.returncode == 2
    assert f"other code decides here than the run is pinned to: run: {named}" in refused.stderr
    assert "--accept-changed-code" in refused.stderr
    assert "Traceback" not in refused.stderr

    told = place.statewright("diff", "old")
    assert "declared alike, decided by other code" in told.stdout
    assert f"~ {named}" in told.stdout

    accepted = place.statewright("resume", "old", *again, "--accept-changed-code")
    assert accepted.returncode == 4, accepted.stderr
    assert place.statewright("approve", "old", "call_1", "--as", "Ann").returncode == 0
    ended = place.statewright("resume", "old", *again)
    assert ended.returncode == 0, ended.stderr
    assert "it is posted" in ended.stdout

    assert place.statewright("verify", "old").returncode == 0
    assert place.messages()[: len(said)] == said  # what was commanded before stands
    shown = place.statewright("show", "old").stdout
    assert "RUN-180" in shown
    assert f"goes on under other code, which was accepted: run: {named}" in shown
    replayed = place.statewright("replay", "old")
    assert replayed.returncode == 0, replayed.stderr
    assert "decisions before them stand as recorded: other code was accepted after them" in replayed.stdout
