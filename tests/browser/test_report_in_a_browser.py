"""The reports as Chromium shows them, from a file, with the network off: they ask for nothing, and nothing hostile acts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headless import Page, Scheme, browser
from reported_runs import journal_path
from statewright.cli import main

RUNS = ("busy", "big", "edited", "resumed", "boss", "order-1", "planned", "waiting")
WINDOWS = [(1440, 900, "light"), (1440, 900, "dark"), (420, 800, "light"), (420, 800, "dark")]
RULES_OF_AXE = "{resultTypes: ['violations', 'incomplete']}"
SHOWN_ROWS = "[...document.querySelectorAll('#runs tbody tr')].filter(row => !row.hidden)"
CHOOSE = """(() => {{
  const field = document.getElementById('filters').elements.{}; field.value = '{}';
  field.dispatchEvent(new Event('input', {{bubbles: true}}));
}})()"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the reports of all runs."""
    folder = tmp_path_factory.mktemp("pages")
    assert main(["report", "--all", "--html", str(folder), "--journal", str(journal_path())]) == 0
    return folder


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser") / "profile") as page:
        yield page


@pytest.fixture(scope="module")
def axe() -> str:
    return Path(os.environ["AXE_CORE"]).read_text()


def shown(chromium: Page, path: Path, width: int = 1440, height: int = 900, scheme: Scheme = "light") -> Page:
    chromium.console.clear()
    chromium.look(width, height, scheme)
    chromium.open(path)
    return chromium


@pytest.mark.parametrize("run_id", [*RUNS, "index"])
def test_a_page_asks_for_nothing_and_has_nothing_to_complain_about(run_id: str, pages: Path, chromium: Page) -> None:
    path = pages / f"{run_id}.html"
    page = shown(chromium, path)
    assert page.requests == [path.as_uri()]
    assert page.console == []


@pytest.mark.parametrize("run_id", [*RUNS, "index"])
def test_every_link_leads_somewhere(run_id: str, pages: Path, chromium: Page) -> None:
    page = shown(chromium, pages / f"{run_id}.html")
    addresses: list[str] = page.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    assert addresses
    inside = "[...document.querySelectorAll('a')].map(a => decodeURIComponent(a.getAttribute('href')))"
    lost = page.evaluate(f"{inside}.filter(to => to.startsWith('#') && !document.getElementById(to.slice(1)))")
    assert lost == []
    assert {address for address in addresses if not address.startswith("#")} <= {path.name for path in pages.iterdir()}


def test_a_number_on_the_path_opens_its_decision(pages: Path, chromium: Page) -> None:
    page = shown(chromium, pages / "busy.html")
    assert page.evaluate("document.getElementById('decision/1').closest('details').open") is False
    page.evaluate("document.querySelector('a.badge').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("location.hash") == "#decision/1"
    assert page.evaluate("document.getElementById('decision/1').closest('details').open") is True
    assert page.evaluate("document.getElementById('decision/1').getBoundingClientRect().top < innerHeight")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_the_run_took_is_lit_and_the_rest_is_dim(scheme: Scheme, pages: Path, chromium: Page) -> None:
    page = shown(chromium, pages / "busy.html", scheme=scheme)

    def opacity(identity: str) -> float:
        return float(page.evaluate(f"getComputedStyle(document.getElementById('{identity}')).opacity"))

    for lit in ("run-accepted", "run-generating", "run-success", "run-generating-to-acting", "RUN-01", "RUN-08"):
        assert opacity(lit) == 1, lit
    for dim in ("run-closing", "run-failed", "run-closing-to-partial", "RUN-124"):
        assert opacity(dim) < 0.6, dim


@pytest.mark.parametrize(("width", "height", "scheme"), WINDOWS)
@pytest.mark.parametrize("run_id", ["busy", "edited", "resumed", "waiting", "planned", "index"])
def test_axe_finds_nothing(run_id: str, width: int, height: int, scheme: Scheme, pages: Path, chromium: Page, axe: str) -> None:
    page = shown(chromium, pages / f"{run_id}.html", width, height, scheme)
    page.evaluate("document.querySelectorAll('details').forEach((each, at) => { each.open = at % 7 === 0 })")
    page.evaluate(f"{axe};0")
    found: dict[str, Any] = page.evaluate(f"axe.run(document, {RULES_OF_AXE})")
    told = [(each["id"], each["help"], each["nodes"][0]["html"][:300]) for each in found["violations"]]
    assert told == []
    assert page.evaluate("axe.run(document, {runOnly: ['color-contrast']}).then(found => found.passes.length)") == 1


def test_dark_is_dark_and_light_is_light(pages: Path, chromium: Page) -> None:
    assert shown(chromium, pages / "busy.html").evaluate(BACKGROUND) == "rgb(255, 255, 255)"
    assert shown(chromium, pages / "busy.html", scheme="dark").evaluate(BACKGROUND) == "rgb(11, 17, 32)"


@pytest.mark.parametrize("width", [420, 800, 1440, 2400])
@pytest.mark.parametrize("run_id", ["busy", "big", "index"])
def test_no_page_is_wider_than_its_window(run_id: str, width: int, pages: Path, chromium: Page) -> None:
    page = shown(chromium, pages / f"{run_id}.html", width)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_hostile_result_does_nothing(pages: Path, chromium: Page) -> None:
    page = shown(chromium, pages / "busy.html")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert page.evaluate("document.title").startswith("Pay the bill.")
    assert page.evaluate("document.querySelectorAll('script, img, iframe, [onerror], [style]').length") == 0
    text: str = page.evaluate("document.body.innerText")
    assert "<script>document.title='taken'</script><img src=x onerror=alert(1)>" in text
    assert "\\x1b[2J\\x1b]0;taken\\x07\\u202eevil\\u202c</pre></details>" in text
    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert page.console == []
    assert len(page.requests) == 1


def test_even_a_script_in_the_page_would_not_run(pages: Path, chromium: Page, tmp_path: Path) -> None:
    """The policy stands behind the escaping: what would get through all the same is not carried out."""
    path = tmp_path / "injected.html"
    whole = (pages / "busy.html").read_text()
    path.write_text(
        whole.replace("</main>", "<script>document.title='taken'</script><img src='x.png' onerror='alert(1)'></main>")
    )
    page = shown(chromium, path)
    assert page.evaluate("document.title").startswith("Pay the bill.")
    assert any("Content Security Policy" in line for line in page.console)
    assert page.requests[:1] == [path.as_uri()]
    assert not [line for line in page.console if line.startswith("dialog")]


def test_a_result_of_five_megabytes_makes_a_small_page(pages: Path, chromium: Page) -> None:
    page = shown(chromium, pages / "big.html")
    assert (pages / "big.html").stat().st_size < 1_000_000
    assert page.evaluate("document.getElementsByTagName('*').length") < 10_000


# -- the keyboard, the filters, paper --------------------------------------------------------------------------------


def test_the_keyboard_comes_first_to_a_link_over_everything_and_can_open_what_is_folded(pages: Path, chromium: Page) -> None:
    page = shown(chromium, pages / "busy.html")
    page.press("Tab", 9)
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left >= 0"), "it is seen when it has the focus"
    page.evaluate("document.querySelector('.decisions summary').focus()")
    page.press("Enter", 13)
    page.send("Input.dispatchKeyEvent", type="char", text="\r")
    page.evaluate("new Promise(done => requestAnimationFrame(done))")
    assert page.evaluate("document.querySelector('.decisions details').open") is True


def test_the_index_filters_by_outcome_and_by_text(pages: Path, chromium: Page) -> None:
    page = shown(chromium, pages / "index.html")
    rows = f"{SHOWN_ROWS}.map(row => row.querySelector('a').textContent)"
    assert len(page.evaluate(rows)) == 16
    page.evaluate(CHOOSE.format("outcome", "partial"))
    assert page.evaluate(rows) == ["big"]
    assert page.evaluate("document.getElementById('shown').textContent") == "1 of 16 runs are shown"
    page.evaluate(CHOOSE.format("outcome", ""))
    page.evaluate(CHOOSE.format("text", "BILL"))
    assert page.evaluate(rows) == ["busy"]
    assert page.console == []


def test_without_a_script_the_index_is_whole_and_offers_no_filter(pages: Path, chromium: Page) -> None:
    chromium.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page = shown(chromium, pages / "index.html")
        assert page.evaluate("document.querySelectorAll('#runs tbody tr').length") == 16
        assert page.evaluate("getComputedStyle(document.getElementById('filters')).display") == "none"
    finally:
        chromium.send("Emulation.setScriptExecutionDisabled", value=False)


def test_it_prints_on_pages_of_a4_with_everything_that_is_not_folded(pages: Path, chromium: Page, tmp_path: Path) -> None:
    page = shown(chromium, pages / "busy.html", scheme="dark")
    (tmp_path / "busy.pdf").write_bytes(page.printed())
    told = subprocess.run(
        ["pdftotext", "-layout", "busy.pdf", "-"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    size = subprocess.run(["pdfinfo", "busy.pdf"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    words = " ".join(told.split())
    for expected in (
        "The run succeeded after 4 steps",
        "Who decided what",
        "approved",
        "generating",
        "Who waited for what",
        "verified",
    ):
        assert expected in words
    assert words.count("Questions and answers of each decision") == 1, "what leads through the page on a screen is not printed"
    assert "A4" in size
    pages_printed = int(next(line.split()[-1] for line in size.splitlines() if line.startswith("Pages")))
    assert 3 <= pages_printed <= 20
