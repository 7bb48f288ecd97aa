"""The document of the journal format says what is: its example verifies, its tables are those of the code."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statewright.journal.shapes import CommandShape, EndShape, EventShape, HeaderShape, IgnoredShape, RefusedShape, TakenShape

from recorded_runs import journal_of, record_file
from statewright.journal.entry import DIGEST_FIELDS, FORMAT, TABLES
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


def test_the_hashes_of_the_example_are_those_that_the_printed_function_gives() -> None:
    (function,) = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    printed: dict[str, Any] = {}
    exec(function, printed)
    before = "0" * 64
    for entry in example().entries:
        before = printed["chain"](EXAMPLE_RUN, before, entry.data)
        assert before == entry.hash


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


def names(shape: type[HeaderShape | EndShape | EventShape | CommandShape | PinnedIgnore | PinnedTable]) -> list[str]:
    return [field.alias or name for name, field in shape.model_fields.items()]


@pytest.mark.parametrize(("heading", "shape"), [("### The header", HeaderShape), ("### The end", EndShape)])
def test_the_fields_of_the_header_and_the_end_are_all_listed(heading: str, shape: type[HeaderShape | EndShape]) -> None:
    assert listed(section(heading)) == names(shape)


def test_the_fields_of_events_are_all_listed() -> None:
    of_every_event = names(EventShape)
    of_decisions = [name for shape in (TakenShape, IgnoredShape, RefusedShape) for name in names(shape)[len(of_every_event) :]]
    assert listed(section("### Events")) == of_every_event + of_decisions
    assert all(f"`{name}`" in section("### Events") for name in names(CommandShape))


def test_the_fields_of_pinned_tables_are_all_named() -> None:
    text = section("## Pinned tables")
    missing = [name for shape in (PinnedTable, PinnedRow, PinnedIgnore) for name in names(shape) if f"`{name}`" not in text]
    assert missing == []


def test_the_fields_that_name_payloads_are_all_listed() -> None:
    (line,) = re.findall(r"^(?:`\w+`, )+`\w+`$", section("## Payloads"), re.MULTILINE)
    assert re.findall(r"\w+", line) == sorted(DIGEST_FIELDS)


def row_of(machine: str, kind: type[Any]) -> str:
    data = ", ".join(f"`{field.name}`" for field in fields(kind)) or "none"
    return f"| {machine} | `{kind.__name__}` | {data} |"


def test_every_event_and_every_command_is_listed_with_its_fields_and_nothing_else() -> None:
    events = {row_of(name, event) for name, table in TABLES.items() for event in table.events}
    kinds = [kind for kind in Command.__subclasses__() if is_dataclass(kind)]
    ours = [kind for kind in kinds if kind.__module__.startswith("statewright_states.")]
    commands = {row_of(kind.__module__.split(".")[1], kind) for kind in ours}
    rows = re.findall(r"^\| \w+ \| `.*\|$", section("## Events and commands"), re.MULTILINE)
    assert set(rows) == events | commands
    assert len(rows) == len(set(rows))


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
    assert f"| `format` | {FORMAT} |" in DOCUMENT
    assert f"At most {MAX_PROBLEMS} problems" in DOCUMENT


def test_every_durability_is_described_with_what_sqlite_is_told() -> None:
    for durability, synchronous in SYNCHRONOUS.items():
        assert re.search(rf"^\| `{durability}` \|.*`synchronous = {synchronous}` \|$", DOCUMENT, re.MULTILINE)
