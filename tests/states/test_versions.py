"""Released versions are read as they were written, and one that has changed is no version."""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from statewright_states.errors import ConfigurationError
from statewright_states.requirements import TABLES, stated_in
from statewright_states.versions import FOLDER, LIST, Version, version_with, versions


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return shutil.copytree(FOLDER, tmp_path / "versions")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_newest_version_is_the_table_as_it_is(table: object) -> None:
    (same,) = (each for each in TABLES if each is table)
    newest = versions()[same.name][-1]
    assert (newest.form(), newest.fingerprint) == (same.canonical, same.fingerprint)
    assert (newest.code_parts(), newest.code) == (same.code, same.code_digest)
    assert set(newest.words()) == {stated.id for stated in stated_in(same)}
    assert version_with(same.fingerprint) == newest
    assert newest.name == f"{same.name}@{newest.number}"


def test_the_file_of_a_version_hashes_to_its_fingerprint() -> None:
    for version in (version for known in versions().values() for version in known):
        assert sha256(version.form_path.read_bytes()).hexdigest() == version.fingerprint


def test_no_version_has_a_fingerprint_that_is_none() -> None:
    assert version_with("0" * 64) is None


def first(folder: Path) -> Version:
    return versions(folder)["run"][0]


def test_a_canonical_form_that_was_changed_is_refused(copied: Path) -> None:
    path = copied / "run.1.json"
    path.write_bytes(path.read_bytes().replace(b'"to":"success"', b'"to":"partial"', 1))
    with pytest.raises(ConfigurationError, match=r"canonical form of run@1 has changed") as refused:
        first(copied).form()
    assert refused.value.where == str(path)
    assert "never changes" in refused.value.cure


def test_a_file_that_is_gone_is_named(copied: Path) -> None:
    (copied / "run.1.json").unlink()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        first(copied).form()


@pytest.mark.parametrize("content", ["no JSON", '{"RUN-01": {"req": []}}', "[]"])
def test_reasons_that_are_none_are_refused(copied: Path, content: str) -> None:
    (copied / "run.1.words.json").write_text(content)
    with pytest.raises(ConfigurationError, match="reasons of run@1 cannot be read"):
        first(copied).words()


@pytest.mark.parametrize("content", ["no TOML", "[[run]]\nversion = 1\n", "run = 1\n"])
def test_a_list_that_is_none_is_refused(copied: Path, content: str) -> None:
    (copied / LIST).write_text(content)
    with pytest.raises(ConfigurationError, match="list of versions cannot be read"):
        versions(copied)
