"""The command line writes pages, prints Markdown and JSON, and says by its exit code whether a record is whole."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reported_runs import Structure, changed, entry_id, journal_path
from statewright.cli import main


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return Path(shutil.copy(journal_path(), tmp_path / "runs.db"))


def told(capfd: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = main(list(map(str, words)))
    out, err = capfd.readouterr()
    return code, out, err


def test_a_page_is_written_and_said_where(journal: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "busy.html"
    code, out, err = told(capfd, "report", "busy", "--html", page, "--journal", journal)
    assert (code, out, err) == (0, "", f"wrote {page}\n")
    found = Structure(page.read_text())
    assert found.text_in["h1"][0].startswith("Pay the bill.")
    assert f"report busy --html FILE --journal {journal}" in found.text


def test_markdown_is_printed_where_no_page_is_asked_for(journal: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capfd, "report", "planned", "--journal", journal)
    assert code == 0
    assert out.startswith("# Build it.\n\n**success**: The task succeeded after 2 steps")
    assert out.endswith("\n")


def test_a_document_can_be_printed_beside_a_page(journal: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capfd, "report", "busy", "--html", tmp_path / "p.html", "--format", "json", "--journal", journal)
    document = json.loads(out)
    assert (code, document["run_id"], document["checked"]["ok"]) == (0, "busy", True)
    assert (tmp_path / "p.html").exists()


def test_all_runs_have_a_page_and_the_index_leads_to_each(
    journal: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pages" / "deep"
    code, out, err = told(capfd, "report", "--all", "--html", folder, "--format", "md", "--journal", journal)
    assert code == 0
    assert "| waiting | waiting |" in out
    assert "the pages of 16 runs" in err
    index = Structure((folder / "index.html").read_text())
    pages = {each["href"] for each in index.all("a")}
    assert pages == {path.name for path in folder.iterdir()} - {"index.html"}
    assert len(pages) == 16
    for page in pages:
        found = Structure((folder / page).read_text())
        led = {each["href"] for each in found.all("a") if not each["href"].startswith("#")}
        assert "index.html" in led
        assert led <= {path.name for path in folder.iterdir()}, "a link leads nowhere"
    assert {"planned.plan.html", "planned.build.html"} <= _links(folder / "planned.html")
    assert "planned.html" in _links(folder / "planned.plan.html")
    assert "boss.tool-1.1.1.html" in _links(folder / "boss.html")


def _links(page: Path) -> set[str]:
    return {each["href"] for each in Structure(page.read_text()).all("a")}


def test_the_index_has_totals_and_what_its_filters_choose_from(journal: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capfd, "report", "--all", "--format", "json", "--journal", journal)
    index = json.loads(out)
    assert (code, index["totals"]["runs"], index["totals"]["waiting"]) == (0, 16, 1)
    assert index["totals"]["outcomes"]["success"] == 11
    assert index["totals"]["stop_reasons"]["max_steps"] == 1
    assert index["totals"]["interfered"] == 1
    assert sum(index["totals"]["outcomes"].values()) == 16


def test_a_damaged_journal_is_reported_with_what_is_good_and_the_exit_code_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    header = f"UPDATE entries SET data = '[]' WHERE id = {entry_id('judged', 0)}"
    entry = f"UPDATE entries SET data = replace(data, 'RUN', 'RUM') WHERE id = {entry_id('busy', 5)}"
    path = changed(tmp_path, header, entry)
    code, out, _ = told(capfd, "report", "busy", "--html", tmp_path / "busy.html", "--journal", path)
    assert code == 5
    assert "record NOT verified" in Structure((tmp_path / "busy.html").read_text()).text
    code, out, err = told(capfd, "report", "judged", "--html", tmp_path / "judged.html", "--journal", path)
    assert (code, out) == (5, "")
    assert "Traceback" not in err
    code, out, _ = told(capfd, "report", "--all", "--html", tmp_path / "all", "--format", "json", "--journal", path)
    lines = {line["run_id"]: line for line in json.loads(out)["lines"]}
    assert code == 5
    assert (len(lines), lines["judged"]["word"], lines["busy"]["verified"]) == (16, "damaged", False)
    stub = Structure((tmp_path / "all" / "judged.html").read_text())
    assert "Nothing can be told of this run" in stub.text
    assert (stub.wrong, stub.open) == ([], [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "either a run or all of them can be reported"),
        (("busy", "--all"), "either a run or all of them can be reported"),
        (("nobody",), "there is no run 'nobody'"),
        (("busy", "--html", "none/such/page.html"), "the page cannot be written"),
        (("--all", "--html", "runs.db/pages"), "the folder cannot be made"),
    ],
)
def test_bad_input_is_told_with_its_cure(
    words: tuple[str, ...], said: str, journal: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(journal.parent)
    code, out, err = told(capfd, "report", *words, "--journal", "runs.db")
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())
    assert "cure:" in err
