"""The evidence folder: pages that open from the disk, digests of every file, the same bytes each time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from folder import dead_links, verdict, write_folder
from pages import page
from statewright_evidence.section import Outcome, Section

PROOF = Section(
    "proofs",
    "Proofs",
    Outcome.HOLDS,
    "Two properties hold.",
    {"proofs.md": "# Proofs\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"},
    1.0,
)
SPIN = Section(
    "spin", "Second opinion", Outcome.NOT_CHECKED, "spin is missing.", {"spin.md": "# S\n\n[p](../proofs/proofs.md#x)\n"}, 2
)


def test_a_reader_begins_at_a_page_that_says_what_came_of_each_section(tmp_path: Path) -> None:
    write_folder(tmp_path / "evidence", [PROOF, SPIN])
    first = (tmp_path / "evidence" / "index.html").read_text(encoding="utf-8")
    assert "Two properties hold." in first
    assert '<a href="proofs/proofs.html">Proofs</a>' in first
    assert "<strong>not checked</strong>" in first


def test_each_document_has_a_page_beside_it_whose_links_lead_to_pages(tmp_path: Path) -> None:
    write_folder(tmp_path / "evidence", [PROOF, SPIN])
    assert '<a href="../proofs/proofs.html#x">' in (tmp_path / "evidence" / "spin" / "spin.html").read_text(encoding="utf-8")
    assert "<td>1</td>" in (tmp_path / "evidence" / "proofs" / "proofs.html").read_text(encoding="utf-8")


def test_only_the_times_differ_from_one_making_to_the_next(tmp_path: Path) -> None:
    slower = Section(PROOF.name, PROOF.title, PROOF.outcome, PROOF.summary, PROOF.files, 9.0)
    write_folder(tmp_path / "one", [PROOF])
    write_folder(tmp_path / "two", [slower])
    differing = {
        path.relative_to(tmp_path / "one")
        for path in (tmp_path / "one").rglob("*")
        if path.is_file() and path.read_bytes() != (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()
    }
    assert differing == {Path("times.json")}


def test_the_digests_are_those_of_the_files(tmp_path: Path) -> None:
    write_folder(tmp_path, [PROOF, SPIN])
    subprocess.run(["sha256sum", "--check", "--quiet", "digests.txt"], cwd=tmp_path, check=True)


def test_what_stood_there_before_is_gone(tmp_path: Path) -> None:
    write_folder(tmp_path, [PROOF, SPIN])
    write_folder(tmp_path, [PROOF])
    assert not (tmp_path / "spin").exists()


def test_a_link_that_leads_nowhere_and_a_picture_from_elsewhere_are_found(tmp_path: Path) -> None:
    bad = "# Bad\n\n[gone](nothing.md) ![far](https://example.org/a.png) [there](bad.md#x) [outside](https://example.org)\n"
    write_folder(tmp_path, [Section("bad", "Bad", Outcome.HOLDS, "", {"bad.md": bad}, 0)])
    assert dead_links(tmp_path) == ["bad/bad.html -> nothing.html", "bad/bad.html loads https://example.org/a.png"]


@pytest.mark.parametrize("outcome, code", [(Outcome.HOLDS, 0), (Outcome.BROKEN, 1), (Outcome.NOT_CHECKED, 0)])
def test_only_what_is_broken_is_a_failure(outcome: Outcome, code: int) -> None:
    assert verdict([Section("a", "A", outcome, "", {}, 0)]) == code


def test_a_page_needs_neither_script_nor_network() -> None:
    made = page("# Title & more\n\n`code`\n", "../index.html")
    assert "<script" not in made
    assert "http" not in made
    assert "<title>Title &amp; more</title>" in made
