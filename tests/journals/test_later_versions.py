"""What was recorded outlives changes: fields are added to messages and facts, and older runs go on; some are taken away.

The journal is written by the code as it is. A copy of the source with the change, in a process of its own, takes it up.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from changed_trees import Change, changed_tree, run_in
from golden_runs import ENDS, record
from statewright import SQLiteJournal, verify
from statewright.presentation.recorded import replayed, state_of
from statewright.testing.virtual_time import run_virtual

STATES = "states/statewright_states"
ENGINE = "engine/statewright"
OPEN = ("waiting", "killed")
DONE: list[object] = ["success", "Done.", True]

ADDED: dict[str, Change] = {
    "an event": (
        f"{STATES}/run/events.py",
        '''    """Its turn in its session's lane has come."""\n''',
        '''    """Its turn in its session's lane has come."""\n\n    waited_ms: int = 0\n''',
    ),
    "an event from outside": (
        f"{STATES}/tool/events.py",
        "    result: PayloadDigest | None\n    message: MessageDigest\n    decisions: tuple[HookDecision, ...] = ()\n",
        """    result: PayloadDigest | None
    message: MessageDigest
    decisions: tuple[HookDecision, ...] = ()
    notes: tuple[str, ...] = ("none",)
""",
    ),
    "facts": (
        f"{STATES}/run/facts.py",
        "    budget: Budget | None = None\n",
        "    budget: Budget | None = None\n    mood: float = 0.5\n",
    ),
    "a command": (
        f"{STATES}/run/commands.py",
        "    call: str\n    purpose: Purpose\n    step: int\n",
        "    call: str\n    purpose: Purpose\n    step: int\n    urgent: bool = False\n",
    ),
    "an object within": (
        f"{STATES}/words/vocabulary.py",
        "    parallel: bool\n    asked_if: AskedIf | None = None\n",
        "    parallel: bool\n    asked_if: AskedIf | None = None\n    weight: int | None = None\n",
    ),
    "the header": (
        f"{ENGINE}/journal/entry.py",
        "    requested_by: str | None = None\n",
        "    requested_by: str | None = None\n    labels: Mapping[str, str] = field(default_factory=dict[str, str])\n",
    ),
    "the end": (
        f"{ENGINE}/journal/entry.py",
        "    verified: bool | None = None\n",
        "    verified: bool | None = None\n    retries: Count = 0\n",
    ),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A journal that the code as it is has written."""
    path = tmp_path_factory.mktemp("written") / "runs.db"
    run_virtual(record(path))
    return path.read_bytes()


@pytest.fixture
def journal(written: bytes, tmp_path: Path) -> Path:
    (tmp_path / "runs.db").write_bytes(written)
    return tmp_path / "runs.db"


def taken_up(tmp_path: Path, journal: Path, *changes: Change, accept: bool = False) -> dict[str, list[Any]]:
    """What a changed version finds in the journal, after it has carried the open runs on; ``accept`` that it has changed."""
    done = run_in(changed_tree(tmp_path, changes), journal, *OPEN, accept=accept)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


def as_today(path: Path) -> dict[str, list[Any]]:
    """What the code as it is finds in a journal."""

    async def story() -> dict[str, list[Any]]:
        store = SQLiteJournal(path, durability="memory")
        found: dict[str, list[Any]] = {}
        for run_id in ENDS:
            state = await state_of(store, await replayed(store, run_id))
            found[run_id] = [state.status, state.final_output, (await verify(store, run_id)).ok]
        await store.aclose()
        return found

    return run_virtual(story())


@pytest.mark.parametrize(
    "changes", [*([change] for change in ADDED.values()), list(ADDED.values())], ids=[*ADDED, "all of them"]
)
def test_a_field_with_a_default_was_added_and_older_runs_replay_verify_and_go_on(
    tmp_path: Path, journal: Path, changes: list[Change]
) -> None:
    found = taken_up(tmp_path, journal, *changes)
    assert {run_id: found[run_id] for run_id in OPEN} == dict.fromkeys(OPEN, DONE)
    ended = {run_id: [status, output, True] for run_id, (status, _, output) in ENDS.items() if run_id not in OPEN}
    assert {run_id: found[run_id] for run_id in ended} == ended
    assert as_today(journal) == found, "and the version before reads what the later one has written"


FOUND: Change = (
    f"{STATES}/run/commands.py",
    "    call: str\n    purpose: Purpose\n    step: int\n",
    "    call: str\n    purpose: Purpose\n    step: int = 1\n",
)


def test_a_field_that_had_no_default_may_be_given_one(tmp_path: Path, journal: Path) -> None:
    found = taken_up(tmp_path, journal, FOUND, accept=True)
    assert {run_id: found[run_id] for run_id in OPEN} == dict.fromkeys(OPEN, DONE)
    assert all(found[run_id][0] == status for run_id, (status, _, _) in ENDS.items() if run_id not in OPEN)


# -- what is taken away ----------------------------------------------------------------------------------------------

RENAMED: tuple[Change, ...] = (
    (f"{STATES}/call/events.py", "    messages: int\n", "    shown: str\n"),
    (f"{ENGINE}/core/surroundings.py", "    messages: int\n", "    shown: str\n"),
    (
        f"{ENGINE}/core/run_surroundings.py",
        '            "messages": len(conversation.messages),\n',
        """            "shown": f"{len(conversation.messages)} messages",\n""",
    ),
    (f"{STATES}/tool/commands.py", "    tool: str\n    start: int\n", "    tool: str\n    times: str\n"),
    (f"{STATES}/tool/table.py", "StartTool(facts.tool, facts.starts + 1)", "StartTool(facts.tool, 'x' * (facts.starts + 1))"),
)
"""An event and a command of which a field has another name and another type."""
FACTS: tuple[Change, ...] = (
    (f"{STATES}/call/facts.py", "    fallbacks: int = 0\n", "    models: int = 1\n"),
    (f"{STATES}/call/table.py", "return facts.model_index < facts.fallbacks", "return facts.model_index < facts.models - 1"),
    (f"{STATES}/call/table.py", "fallbacks=event.fallbacks", "models=event.fallbacks + 2"),
)
"""Facts that count something else."""

FORMAT_2: Change = (f"{ENGINE}/journal/entry.py", "FORMAT = 1\n", "FORMAT = 2\n")
UPCASTERS: Change = (
    f"{ENGINE}/journal/upcasters.py",
    "UPCASTERS: tuple[Upcaster, ...] = ()\n",
    """def _shown(data: Data) -> Data:
    return {**{name: data[name] for name in data if name != "messages"}, "shown": f"{data['messages']} messages"}


def _times(data: Data) -> Data:
    return {"tool": data["tool"], "times": "x" * data["start"]}


def _fallbacks(data: Data) -> Data:
    return {name: data[name] for name in data if name != "models"}


UPCASTERS: tuple[Upcaster, ...] = (
    Upcaster("call", Recorded.FACTS, "", 2, _fallbacks),
    Upcaster("call", Recorded.EVENT, "CallRequested", 2, _shown),
    Upcaster("tool", Recorded.COMMAND, "StartTool", 2, _times),
)
""",
)


def test_a_field_that_is_not_known_is_an_error_in_words_with_the_cure(tmp_path: Path, journal: Path) -> None:
    found = taken_up_without_carrying_on(tmp_path, journal, *RENAMED)
    kind, words, sound = found["tools"]
    assert (kind, sound) == ("JournalDamaged", True)
    assert "call.CallRequested does not hold what it should: its field 'data.messages' is not known to this version" in words
    assert "declare an upcaster" in words
    assert "entry 1, decision 4" in words


def test_a_command_whose_field_is_not_known_is_an_error_in_words_with_the_cure(tmp_path: Path, journal: Path) -> None:
    kind, words, sound = taken_up_without_carrying_on(tmp_path, journal, *RENAMED[3:5])["tools"]
    assert (kind, sound) == ("ReplayDiverged", True)
    assert "its field 'StartTool.start' is not known to this version" in words
    assert "declare an upcaster" in words


def test_facts_that_are_others_are_named_with_their_machine(tmp_path: Path, journal: Path) -> None:
    kind, words, sound = taken_up_without_carrying_on(tmp_path, journal, *FACTS)["tools"]
    assert (kind, sound) == ("ReplayDiverged", True)
    assert "the facts of call-1: recorded" in words


def taken_up_without_carrying_on(tmp_path: Path, journal: Path, *changes: Change) -> dict[str, list[Any]]:
    done = run_in(changed_tree(tmp_path, changes), journal)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


def test_upcasters_make_older_records_readable_and_what_is_appended_names_its_own_format(tmp_path: Path, journal: Path) -> None:
    found = taken_up(tmp_path, journal, *RENAMED, *FACTS, FORMAT_2, UPCASTERS, accept=True)
    assert {run_id: found[run_id] for run_id in OPEN} == dict.fromkeys(OPEN, DONE)
    assert all(found[run_id][0] == status for run_id, (status, _, _) in ENDS.items() if run_id not in OPEN)


def test_a_version_says_that_it_does_not_know_a_later_format(tmp_path: Path, journal: Path) -> None:
    taken_up(tmp_path, journal, *RENAMED, *FACTS, FORMAT_2, UPCASTERS, accept=True)
    kind, words, sound = taken_up_without_carrying_on(tmp_path / "again", journal)["waiting"]
    assert (kind, sound) == ("NotAJournal", False)
    assert "has the journal format 2; this version reads formats from 1 to 1" in words
