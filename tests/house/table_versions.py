"""Writes the next version of each table that has changed, or checks that none has changed without one.

    python tests/house/table_versions.py --summary "what changed"   write what is missing in statewright_states/versions
    python tests/house/table_versions.py --check                    write nothing; exit code 1 and the difference

A version is the table's canonical form and the list of the code that decides in it, byte for byte, what its rows were for,
and an entry in the list. Nothing that was written before is ever changed by it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from statewright.core.described_machines import of_table, of_version
from statewright_evidence.differences.code_difference import code_difference
from statewright_evidence.differences.difference import difference
from statewright_evidence.differences.difference_text import whole_text
from statewright_evidence.differences.touched import touched
from statewright_states.errors import StatewrightError
from statewright_states.form.table import Table
from statewright_states.requirements import TABLES, stated_in
from statewright_states.versions import FOLDER, LIST, Version, versions
from traceability import evidence

CURE = 'if that is meant: make version SUMMARY="what changed, in a line", and say it in the changelog; docs/versions.md'


def changed(folder: Path = FOLDER, tables: Sequence[Table[Any]] = TABLES) -> Iterator[tuple[Table[Any], Version | None]]:
    """The tables that are not what their newest version is, each with that version, if there is one."""
    known = versions(folder) if (folder / LIST).exists() else {}
    for table in tables:
        newest = known[table.name][-1] if known.get(table.name) else None
        if newest is None or (newest.fingerprint, newest.code) != (table.fingerprint, table.code_digest):
            yield table, newest


def faults(folder: Path = FOLDER, tables: Sequence[Table[Any]] = TABLES) -> Iterator[str]:
    """What is wrong: versions that are not what they were; else changes without a version, and ids that were used before."""
    listed = versions(folder)
    broken = [*_faults_of_files(folder, listed)]
    if broken:
        yield from broken
        return
    for table, newest in changed(folder, tables):
        if newest is None:
            yield f"the table {table.name} has no version\n  cure:  {CURE}"
            continue
        old, new = of_version(newest), of_table(table, f"{table.name} as it is declared now")
        found = difference(old.form, new.form)
        shown = whole_text(found, old, new, touched(found, old, new, evidence().tests))
        code = code_difference(old, new)
        other = f"; other code: {', '.join(part[2:] for part in code.lines())}" if not code.equal else ""
        yield f"{table.name} has changed since {newest.name}, and no version says so{other}\n{shown}\n  cure:  {CURE}"
    yield from _ids_used_again(listed, tables)


def _faults_of_files(folder: Path, listed: Mapping[str, Sequence[Version]]) -> Iterator[str]:
    for known in listed.values():
        for number, version in enumerate(known, 1):
            if version.number != number:
                yield f"{version.name} stands where version {number} should\n  cure:  restore {LIST}"
            if "\n" in version.summary or not version.summary.strip():
                yield f"the summary of {version.name} is not one line\n  cure:  write one line"
            try:
                version.form()
                version.words()
                version.code_parts()
            except StatewrightError as error:
                yield str(error)
    files = {path for known in listed.values() for version in known for path in version.paths}
    for path in sorted(set(folder.glob("*.json")) - files):
        yield f"{path.name} belongs to no version\n  cure:  remove it, or restore {LIST}"


def _ids_used_again(listed: Mapping[str, Sequence[Version]], tables: Sequence[Table[Any]]) -> Iterator[str]:
    """An id that a version removed must not name anything else later: it is the name in old journals."""
    for table in tables:
        forms = [of_version(version).form for version in listed.get(table.name, ())] + [of_table(table).form]
        history = [{stated.id for stated in (*form.rows, *form.ignores)} for form in forms]
        retired: set[str] = set()
        for before, after in pairwise(history):
            retired |= before - after
            for identity in sorted(retired & after):
                yield f"the id {identity} of {table.name} was retired and is used again\n  cure:  give the row a new id"


def write(summary: str, folder: Path = FOLDER, tables: Sequence[Table[Any]] = TABLES) -> list[Version]:
    """Write a version of each table that has changed; gives what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Version] = []
    for table, newest in list(changed(folder, tables)):
        number = newest.number + 1 if newest else 1
        version = Version(table.name, number, table.fingerprint, summary, folder, table.code_digest)
        version.form_path.write_bytes(table.canonical)
        version.code_path.write_bytes(table.code_form)
        version.words_path.write_text(_words(table), encoding="utf-8")
        with (folder / LIST).open("a", encoding="utf-8") as file:
            file.write(_entry(version))
        written.append(version)
    return written


def _words(table: Table[Any]) -> str:
    """The words of a table as JSON, a line for each row."""
    words = {stated.id: {"req": list(stated.req), "why": stated.why} for stated in stated_in(table)}
    lines = (f"{json.dumps(identity)}: {json.dumps(said, ensure_ascii=False)}" for identity, said in words.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _entry(version: Version) -> str:
    said = json.dumps(version.summary, ensure_ascii=False)  # a string of JSON is one of TOML
    pinned = f'fingerprint = "{version.fingerprint}"\ncode = "{version.code}"'
    return f"\n[[{version.table}]]\nversion = {version.number}\n{pinned}\nsummary = {said}\n"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a table has changed without a version")
    parser.add_argument("--summary", default="", help="what changed, in one line")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the versions are (default: in the package)")
    chosen = parser.parse_args(arguments)
    try:
        return _check(chosen.folder) if chosen.check else _write(chosen.summary.strip(), chosen.folder)
    except StatewrightError as error:
        print(error, file=sys.stderr)
        return 1


def _check(folder: Path) -> int:
    problems = list(faults(folder))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _write(summary: str, folder: Path) -> int:
    if not summary or "\n" in summary:
        print('a version says in one line what changed\n  cure:  make version SUMMARY="..."', file=sys.stderr)
        return 2
    written = write(summary, folder)
    for version in written:
        print(f"wrote {version.name}: review {version.form_path.name}, and say in the changelog what changed")
    if not written:
        print("no table has changed since its newest version")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
