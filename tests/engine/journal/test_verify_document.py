"""The document of the journal format says what is: its example verifies, its tables are those of the code."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import MISSING, dataclass, is_dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorded_runs import RUN_ID, journal_of, record_file
from statewright.journal.codec import Slot, all_slots, encoder, slots_of
from statewright.journal.entry import FORMAT, TABLES, End, Entry, GivenCommand, Header, RecordedDecision, digest_fields, encode
from statewright.journal.pinned import PinnedIgnore, PinnedRow, PinnedTable
from statewright.journal.stores.schema import APPLICATION_ID, SCHEMA_VERSION
from statewright.journal.stores.sqlite import SYNCHRONOUS
from statewright.journal.verify import MAX_PROBLEMS, Verification, verify
from statewright_states.form.row import Command
from statewright_states.words.messages import digest_of
from statewright_states.words.ports import StoredEntry

DOCUMENT = (Path(__file__).parents[3] / "docs" / "journal-format.md").read_text(encoding="utf-8")
EXAMPLE_RUN = "hello-1"


def section(heading: str, document: str = DOCUMENT) -> str:
    """The text under a heading, up to the next heading of its rank or a higher one."""
    rank = re.match("#+", heading)
    assert rank is not None
    return re.split(rf"^#{{1,{len(rank[0])}}} ", document.partition(f"\n{heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def listed(text: str) -> list[str]:
    """The names in the first column of the tables of this text."""
    return re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


# -- the example -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """The run that is printed in the document."""

    payloads: dict[str, bytes]
    entries: tuple[StoredEntry, ...]

    def verified(self) -> Verification:
        async def scenario() -> Verification:
            return await verify(await journal_of(self.entries, self.payloads, EXAMPLE_RUN), EXAMPLE_RUN)

        return asyncio.run(scenario())


def example() -> Example:
    payloads, entries = re.findall(r"```text\n(.*?)```", section("## A small journal"), re.DOTALL)
    named = [line.split(" ", 1) for line in payloads.splitlines()]
    numbered = [line.split(" ", 2) for line in entries.splitlines()]
    return Example(
        {digest: data.encode() for digest, data in named},
        tuple(StoredEntry(int(seq), data.encode(), stored) for seq, stored, data in numbered),
    )


def printed_reader() -> str:
    (program,) = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    return str(program)


def test_the_hashes_of_the_example_are_those_that_the_printed_function_gives() -> None:
    functions = printed_reader().partition("\nmain(*")[0]
    printed: dict[str, Any] = {}
    exec(functions, printed)
    before = "0" * 64
    for entry in example().entries:
        before = printed["chain"](EXAMPLE_RUN, before, entry.data)
        assert before == entry.hash


def read_by(program: Path, journal: Path, run_id: str) -> subprocess.CompletedProcess[str]:
    """What the printed reader says, run alone: Python without any package beside its standard library."""
    command = [sys.executable, "-I", "-S", str(program), str(journal), run_id]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)


def test_the_printed_reader_reads_a_real_journal_with_the_standard_library_alone(tmp_path: Path) -> None:
    program, journal = tmp_path / "reader.py", tmp_path / "runs.db"
    program.write_text(printed_reader(), encoding="utf-8")
    stored = record_file(journal)
    done = read_by(program, journal, RUN_ID)
    assert (done.returncode, done.stderr) == (0, "")
    first, *decisions, end, head = [line.split() for line in done.stdout.splitlines()]
    assert first[0] == RUN_ID
    assert [int(line[1]) for line in decisions] == list(range(1, 16))
    assert [line[4] for line in decisions if line[2] == "run"] == ["RUN-01", "RUN-02", "RUN-03", "RUN-12", "RUN-40", "RUN-08"]
    assert end == ["4", "end", "success", "completed"]
    assert head == ["head", stored.hashes[-1]]
    assert len(printed_reader().splitlines()) <= 50


@pytest.mark.parametrize("change", ["data = CAST(replace(data, 'RUN-12', 'RUN-11') AS BLOB)", "hash = 'ff' || substr(hash, 3)"])
def test_the_printed_reader_finds_an_entry_that_was_changed(tmp_path: Path, change: str) -> None:
    program, journal = tmp_path / "reader.py", tmp_path / "runs.db"
    program.write_text(printed_reader(), encoding="utf-8")
    record_file(journal)
    with closing(sqlite3.connect(journal)) as connection:
        connection.execute(f"UPDATE entries SET {change} WHERE id & 255 = 2")
        connection.commit()
    done = read_by(program, journal, RUN_ID)
    assert (done.returncode, done.stderr.strip()) == (1, "entry 2 is not what was written")


def test_the_payloads_of_the_example_have_the_names_that_their_bytes_give() -> None:
    payloads = example().payloads
    assert [digest_of(data) for data in payloads.values()] == list(payloads)


def test_the_example_is_a_sound_run_although_no_code_knows_its_table() -> None:
    printed = example()
    found = printed.verified()
    assert found.problems == ()
    assert (found.entries, found.payloads) == (len(printed.entries), len(printed.payloads))
    assert (found.ended, found.status, found.stop_reason) == (True, "success", "completed")


@settings(max_examples=100)
@given(st.data())
def test_any_character_of_the_example_changed_is_found_where_it_stands(pick: st.DataObject) -> None:
    printed = example()
    at = pick.draw(st.integers(0, len(printed.entries) - 1))
    data = bytearray(printed.entries[at].data)
    data[pick.draw(st.integers(0, len(data) - 1))] ^= pick.draw(st.integers(1, 255))
    entries = list(printed.entries)
    entries[at] = StoredEntry(at, bytes(data), entries[at].hash)
    assert [problem.seq for problem in Example(printed.payloads, tuple(entries)).verified().problems] == [at]


def test_the_rolling_hash_of_the_example_is_the_one_that_the_document_describes() -> None:
    printed = example()
    messages = [digest for digest, data in printed.payloads.items() if data.startswith(b'{"role"')]
    rolling = "0" * 64
    for digest in messages:
        rolling = digest_of(f"{rolling}\n{digest}".encode()).removeprefix("sha256:")
    assert f'"messages":"{rolling}"'.encode() in printed.entries[-1].data


# -- the tables of fields --------------------------------------------------------------------------------------------


def keys(kind: type) -> list[str]:
    return [slot.key for slot in slots_of(kind)]


def with_defaults(text: str) -> set[str]:
    """The names in the first column whose meaning names a default."""
    return set(re.findall(r"^\| `(\w+)` \|.*default: ", text, re.MULTILINE))


def optional(kind: type) -> set[str]:
    return {slot.key for slot in slots_of(kind) if slot.default is not MISSING}


@pytest.mark.parametrize(("heading", "kind"), [("### The header", Header), ("### Every other entry", Entry)])
def test_the_fields_of_entries_are_all_listed(heading: str, kind: type) -> None:
    assert listed(section(heading)) == ["kind", *keys(kind)]
    assert with_defaults(section(heading)) == optional(kind)


def test_the_fields_of_the_end_are_all_listed() -> None:
    assert listed(section("### The end")) == keys(End)
    assert with_defaults(section("### The end")) == optional(End)


def test_the_fields_of_decisions_are_all_listed() -> None:
    text = section("### Decisions")
    assert sorted(listed(text)) == sorted(keys(RecordedDecision))
    of_choices = {"row", "to", "ignored", "refused"}
    assert with_defaults(text) | of_choices == optional(RecordedDecision)
    assert all(f"`{name}`" in text for name in keys(GivenCommand))


def test_the_fields_of_pinned_tables_are_all_named() -> None:
    text = section("## Pinned tables")
    shapes: tuple[type[PinnedTable | PinnedIgnore], ...] = (PinnedTable, PinnedRow, PinnedIgnore)
    names = [field.alias or name for shape in shapes for name, field in shape.model_fields.items()]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_the_fields_that_name_payloads_are_all_listed() -> None:
    (line,) = re.findall(r"^(?:`\w+`, )+`\w+`$", section("## Payloads"), re.MULTILINE)
    assert re.findall(r"\w+", line) == sorted(digest_fields())


EVENTS = [(name, event) for name, table in TABLES.items() for event in table.events]
COMMANDS = [
    (kind.__module__.split(".")[1], kind)
    for kind in Command.__subclasses__()
    if is_dataclass(kind) and kind.__module__.startswith("statewright_states.")
]


@pytest.mark.parametrize("kind", dict.fromkeys(kind for _, kind in (*EVENTS, *COMMANDS)), ids=lambda kind: kind.__name__)
def test_no_text_stands_in_a_field_of_a_name_that_payloads_have(kind: type) -> None:
    """What a model or a person says must not pass for a digest."""
    for slot in all_slots(kind):
        if slot.key in digest_fields() and slot.kept is None:
            assert slot.hint is int, f"{kind.__name__}.{slot.key} is no digest, and has the name of one"


def shown(slot: Slot) -> str:
    default = encoder(type(slot.default))(slot.default) if is_dataclass(slot.default) else slot.default
    return f"`{slot.key}`" if default is MISSING else f"`{slot.key}` = `{encode(default).decode()}`"


def row_of(first: str, kind: type) -> str:
    return f"| {first} | {', '.join(map(shown, slots_of(kind))) or 'none'} |"


def test_every_event_and_every_command_is_listed_with_its_fields_and_defaults_and_nothing_else() -> None:
    rows = re.findall(r"^\| \w+ \| `.*\|$", section("## Events and commands"), re.MULTILINE)
    assert set(rows) == {row_of(f"{machine} | `{kind.__name__}`", kind) for machine, kind in (*EVENTS, *COMMANDS)}
    assert len(rows) == len(set(rows))


def test_every_object_within_is_listed_with_its_fields_and_defaults() -> None:
    within = {part for _, kind in (*EVENTS, *COMMANDS) for part in objects_in(kind)}
    rows = re.findall(r"^\| `\w+` \|.*\|$", section("### Objects within"), re.MULTILINE)
    assert rows == [row_of(f"`{kind.__name__}`", kind) for kind in sorted(within, key=lambda kind: kind.__name__)]


def objects_in(kind: type) -> Iterator[type]:
    for slot in all_slots(kind):
        yield from (part for part in (slot.hint, *get_args(slot.hint)) if isinstance(part, type) and is_dataclass(part))


# -- the file --------------------------------------------------------------------------------------------------------


def columns(connection: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """For each table its columns: name, type, whether it may be null, its place in the key."""
    tables = ("runs", "entries", "blobs", "posted")
    return {table: connection.execute(f"PRAGMA table_info({table})").fetchall() for table in tables}


def test_the_printed_layout_is_the_layout_of_the_file(tmp_path: Path) -> None:
    record_file(tmp_path / "runs.db")
    (printed,) = re.findall(r"```sql\n(.*?)```", DOCUMENT, re.DOTALL)
    with closing(sqlite3.connect(":memory:")) as made, closing(sqlite3.connect(tmp_path / "runs.db")) as written:
        made.executescript(printed)
        assert columns(made) == columns(written)
        assert all(columns(made).values())


def test_the_file_is_known_by_the_printed_numbers(tmp_path: Path) -> None:
    record_file(tmp_path / "runs.db")
    assert int.from_bytes((tmp_path / "runs.db").read_bytes()[68:72], "big") == APPLICATION_ID
    assert f"`0x{APPLICATION_ID:X}`" in DOCUMENT
    assert f"`user_version` is {SCHEMA_VERSION}" in DOCUMENT
    assert f"the version of this format: {FORMAT} |" in DOCUMENT
    assert f"At most {MAX_PROBLEMS} problems" in DOCUMENT


def test_every_durability_is_described_with_what_sqlite_is_told() -> None:
    for durability, synchronous in SYNCHRONOUS.items():
        assert re.search(rf"^\| `{durability}` \|.*`synchronous = {synchronous}` \|$", DOCUMENT, re.MULTILINE)
