"""The page of a run: well formed, closed to everything foreign, every link leads somewhere, and the same each time."""

from __future__ import annotations

import re
from base64 import b64decode
from functools import cache
from hashlib import sha256
from html import escape
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reported_runs import Structure, journal_path, page_of, read_of
from statewright.report.html_index import html_index
from statewright.report.html_page import html_page
from statewright.report.html_text import rendered
from statewright.report.index_model import RunIndex, line_of, totals_of
from statewright.report.model import BoundedText, RunReport
from statewright_states.frozen import replace

RUNS = ("busy", "big", "resumed", "boss", "order-1", "planned", "waiting", "killed")
POLICY = re.compile(r"default-src 'none'; style-src 'sha256-([^']+)'; base-uri 'none'; form-action 'none'")
LANDMARKS = ("header", "nav", "main", "footer")
LEVELS = ("h1", "h2", "h3")
FRAGMENTS = (
    "<script>alert(1)</script>",
    "</pre></details></main>",
    '" onload="alert(1)',
    "<!-- ",
    "]]>",
    "<style>*{display:none}</style>",
    "[x](javascript:alert(1))",
    "![x](https://example.org/x.png)",
    "<https://example.org>",
    "[x]: https://example.org\n[x]",
    "| a | b |\n|--:|---|\n| <b> | 2 |",
    "# head\n",
    "```html\n<b>\n```\n",
    "&lt;b&gt;",
    "\x1b[2J",
    "\u202e",
    "\ud800",
    "\x00",
)
HOSTILE_TEXTS = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=12)), max_size=6).map("".join)
HARMLESS_ELEMENTS = {
    *("p", "div", "span", "strong", "em", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "br"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


@pytest.fixture(scope="module", params=RUNS)
def page(request: pytest.FixtureRequest) -> str:
    return page_of(request.param)


def test_every_element_is_closed_and_no_id_stands_twice(page: str) -> None:
    found = Structure(page)
    assert (found.wrong, found.open) == ([], [])
    assert len(found.ids) == len(set(found.ids))


def test_every_link_leads_to_something_in_the_page(page: str) -> None:
    found = Structure(page)
    targets = [each["href"] for each in found.all("a")]
    assert targets
    assert {target.removeprefix("#") for target in targets} <= set(found.ids), "a link leads nowhere"
    assert all(target.startswith("#") for target in targets), "a link leads out of the page"


def test_labels_name_elements_that_there_are(page: str) -> None:
    found = Structure(page)
    for name in ("aria-labelledby", "for", "aria-describedby"):
        labels = [attributes[name] for _, attributes in found.elements if name in attributes]
        assert {label for labelled in labels for label in labelled.split()} <= set(found.ids)


def test_landmarks_and_headings_are_in_order(page: str) -> None:
    names = [name for name, _ in Structure(page).elements]
    assert [names.count(landmark) for landmark in LANDMARKS] == [1, 1, 1, 1]
    levels = [LEVELS.index(name) for name in names if name in LEVELS]
    assert (levels[0], levels.count(0)) == (0, 1)
    assert all(after <= before + 1 for before, after in pairwise(levels)), "a level is left out"
    assert not {"h4", "h5", "h6"} & set(names)


def test_the_policy_admits_the_style_sheet_and_nothing_else(page: str) -> None:
    found = Structure(page)
    policy = next(each["content"] for each in found.all("meta") if each.get("http-equiv") == "Content-Security-Policy")
    admitted = POLICY.fullmatch(policy)
    assert admitted is not None, policy
    [style] = found.text_in["style"]
    assert b64decode(admitted[1]) == sha256(style.encode()).digest()


def test_there_is_no_script_no_style_in_an_attribute_and_nothing_to_load(page: str) -> None:
    found = Structure(page)
    assert not {"script", "img", "iframe", "object", "embed", "link", "base", "form", "video", "audio"} & {
        name for name, _ in found.elements
    }
    names = {name for _, attributes in found.elements for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("style", "src", "srcset", "action", "ping")}
    [style] = found.text_in["style"]
    assert "url(" not in style
    assert "@import" not in style


def test_the_parts_stand_in_the_order_in_which_they_are_read() -> None:
    found = Structure(page_of("busy"))
    sections = [each["id"] for each in found.all("section")]
    assert sections == ["people", "ordinary", "path", "time", "conversation", "tools", "spending", "decisions", "record"]
    words = "".join(found.text_in["p"])
    assert "The run succeeded after 4 steps and 24 h 00 min, because the model gave an answer" in words


@pytest.mark.parametrize("run_id", RUNS)
def test_the_same_journal_gives_the_same_page(run_id: str) -> None:
    assert page_of(run_id) == page_of(run_id, journal_path()), "read again"


def test_a_page_differs_by_its_date_alone() -> None:
    read = read_of("busy")
    later = replace(read.report, checked=replace(read.report.checked, made_us=read.report.checked.made_us + 86_400_000_000))
    one, other = html_page(read.report, read.tables), html_page(later, read.tables)
    assert one != other
    changed = [(a, b) for a, b in zip(one.splitlines(), other.splitlines(), strict=True) if a != b]
    assert len(changed) == 2, "the verification's date and the foot's"


# -- the path --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run_id", ["busy", "order-1", "planned", "compacted"])
def test_what_the_run_took_is_lit_and_each_number_leads_to_its_decision(run_id: str) -> None:
    read = read_of(run_id)
    found = Structure(html_page(read.report, read.tables))
    lit = {each["data-row"] for name, each in found.elements if name == "a" and "row taken" in each.get("class", "")}
    dim = {each["data-row"] for name, each in found.elements if name == "g" and each.get("class") == "row"}
    taken = {step.row for path in read.report.paths for step in path.steps}
    assert lit == taken
    assert dim
    badges = {each["href"] for each in found.all("a") if each.get("class") == "badge"}
    assert badges
    assert badges <= {f"#decision/{each.number}" for each in read.report.decisions}
    moved = [step for step in read.report.paths[0].steps if step.source != step.target]
    shown = {f"#decision/{step.number}" for step in moved[:3]}
    assert shown <= badges


def test_an_own_table_is_drawn_from_the_form_that_the_run_pins() -> None:
    found = Structure(page_of("order-1"))
    assert {"order-placed", "order-shipped", "ORDER-05"} <= set(found.ids)


# -- foreign text ----------------------------------------------------------------------------------------------------


def test_what_a_tool_says_is_text_and_nothing_else() -> None:
    page = page_of("busy")
    found = Structure(page)
    assert any("<script>" in tool.result.text for tool in read_of("busy").report.tools if tool.result is not None)
    assert "<script" not in page
    assert not set(page) & {"\x1b", "\x07", "\u202e", "\u202c"}
    assert "<script>document.title='taken'</script>" in found.text, "it is shown as what it is"
    assert "\\x1b[2J\\x1b]0;taken\\x07\\u202eevil\\u202c</pre></details>" in found.text
    assert "Ada <b>Lovelace</b>" in found.text
    assert "javascript:alert(1)" in found.text
    assert escape("fine & checked") in page


@settings(max_examples=30)
@given(HOSTILE_TEXTS)
def test_no_text_becomes_markup(text: str) -> None:
    hostile = html_page(_saying(text), {})
    found = Structure(hostile)
    assert (found.wrong, found.open) == ([], [])
    assert _skeleton(found) == _plain_skeleton()
    hostile.encode()


@cache
def _plain_skeleton() -> list[tuple[str, frozenset[str]]]:
    return _skeleton(Structure(html_page(_saying("x"), {})))


@settings(max_examples=150)
@example("| a | b |\n|--:|---|\n| <b> | 2 |")
@given(HOSTILE_TEXTS)
def test_markdown_is_set_with_a_few_elements_and_without_attributes_that_could_lead_anywhere(text: str) -> None:
    found = Structure(rendered(BoundedText(text, markdown=True), "more"))
    assert (found.wrong, found.open) == ([], [])
    assert {name for name, _ in found.elements} <= HARMLESS_ELEMENTS
    assert {name for _, attributes in found.elements for name in attributes} <= {"class", "start"}


def test_a_link_of_a_model_is_text_with_its_address() -> None:
    said = Structure(rendered(BoundedText("go [home](https://example.org/x) now", markdown=True), "more"))
    assert said.text.strip() == "go home (https://example.org/x) now"
    assert not said.all("a")


@cache
def _busy() -> RunReport:
    """With few of its decisions: all are set alike."""
    report = read_of("busy").report
    return replace(report, decisions=report.decisions[-5:])


def _saying(text: str) -> RunReport:
    """A report in which everything that is foreign says this."""
    report = _busy()
    said = BoundedText(text)
    outcome = replace(report.outcome, output=said, error=text)
    return replace(
        report,
        title=text,
        task=said,
        again=text,
        outcome=replace(outcome, reason=text, error=text or "x"),
        facts=tuple(replace(fact, value=text) for fact in report.facts),
        damage=(text,),
        people=tuple(replace(each, actor=text, comment=text, about=text, meaning=text) for each in report.people),
        tools=tuple(
            replace(each, name=text, call_id=text, arguments=said, result=said, note=f"n{text}") for each in report.tools
        ),
        conversation=tuple(replace(each, name="n" + text, parts=(said,), left_out="n" + text) for each in report.conversation),
        decisions=tuple(replace(each, words=text, instance=text, id="i" + text) for each in report.decisions),
        digests=tuple(replace(each, value=text) for each in report.digests),
    )


def _skeleton(found: Structure) -> list[tuple[str, frozenset[str]]]:
    return [(name, frozenset(attributes)) for name, attributes in found.elements]


# -- the index -------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(HOSTILE_TEXTS)
def test_nothing_becomes_markup_in_the_index_either(text: str) -> None:
    def page(said: str) -> Structure:
        line = line_of(replace(_busy(), title=said), "busy.html", said or "p")
        lines = (replace(line, run_id=said, agent="a" + said, word="w" + said, stop_reason="s" + said),)
        return Structure(html_index(RunIndex(said, 0, lines, totals_of(lines), (said,))))

    found = page(text)
    assert (found.wrong, found.open) == ([], [])
    assert _skeleton(found) == _skeleton(page("x"))
    assert len(found.all("script")) == 1
