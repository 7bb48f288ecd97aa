"""Every format says everything that the table says, and says it in the same bytes each time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd import HARD, Lamp, everything, lamp
from statewright_evidence.drawing import FORMATS, drawing, markdown, mermaid
from statewright_evidence.drawing.style import PALETTE
from statewright_states.call.table import CALL
from statewright_states.errors import ConfigurationError
from statewright_states.form.question import show_answer
from statewright_states.form.row import Ignore, Row
from statewright_states.form.table import Table
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL

TABLES: tuple[Table[Any], ...] = (RUN, CALL, TOOL, PLAN_BUILD)
every_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
every_format = pytest.mark.parametrize("format_name", FORMATS)


@pytest.fixture(scope="module")
def drawn() -> dict[tuple[str, str], str]:
    return {(table.name, name): drawing(table, name) for table in TABLES for name in FORMATS}


@every_table
@every_format
def test_every_row_and_every_ignore_stands_in_every_format(
    table: Table[Any], format_name: str, drawn: dict[tuple[str, str], str]
) -> None:
    text = drawn[table.name, format_name]
    missing = [each.id for each in everything(table) if not re.search(rf"(?<![A-Z]){each.id}(?!\d)", text)]
    assert missing == []


@every_table
@every_format
def test_every_state_stands_in_every_format(table: Table[Any], format_name: str, drawn: dict[tuple[str, str], str]) -> None:
    assert [state for state in table.states if state not in drawn[table.name, format_name]] == []


@pytest.mark.parametrize("seed", ("1", "2"))
def test_another_process_gives_the_same_bytes(seed: str, drawn: dict[tuple[str, str], str]) -> None:
    program = (
        "import json, sys; from statewright_evidence.drawing import FORMATS, drawing;"
        "from statewright_states.call.table import CALL;"
        "json.dump({name: drawing(CALL, name) for name in FORMATS}, sys.stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, env=os.environ | {"PYTHONHASHSEED": seed}
    )
    assert json.loads(done.stdout) == {name: drawn["call", name] for name in FORMATS}


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError) as refused:
        drawing(RUN, "png")
    assert "'png'" in refused.value.what
    assert refused.value.cure == "use one of: mermaid, dot, svg, markdown, scxml, xstate"


# -- Mermaid ---------------------------------------------------------------------------------------------------------


@every_table
def test_mermaid_has_one_edge_for_two_states_and_the_happy_path_comes_first(table: Table[Any]) -> None:
    edges = [line.split(" : ") for line in mermaid(table).splitlines() if "-->" in line and "[*]" not in line]
    assert len({between for between, _ in edges}) == len(edges)
    moving = [row.id for row in table.rows if row.id in table.happy and row.to in table.states]
    assert all(any(identity in label for _, label in edges[: len(moving)]) for identity in moving)


@pytest.mark.parametrize("table", (*TABLES, lamp()), ids=lambda table: table.name)
def test_no_mermaid_label_holds_a_character_that_would_end_it(table: Table[Any]) -> None:
    for line in mermaid(table).splitlines():
        _, arrow, label = line.partition(" : ")
        if arrow:
            assert not set(re.sub(r"#\d+;|<br/>", "", label)) & set("#:;\"'<>{}[]()|\\`%"), line


def test_a_state_with_a_reserved_name_gets_another_in_mermaid() -> None:
    assert 'state "end" as card_' in mermaid(lamp())


# -- Markdown --------------------------------------------------------------------------------------------------------


def chapters(table: Table[Any]) -> dict[str, str]:
    """The decision tables of each state: a chapter may be about several."""
    decisions = markdown(table).partition("## Decision tables")[2].partition("## Fingerprint")[0]
    found = re.findall(r"^### ([^\n]+)\n\n(.*?)(?=^### |\Z)", decisions, flags=re.MULTILINE | re.DOTALL)
    return {state: text for states, text in found for state in states.split(", ")}


@every_table
def test_markdown_lists_each_row_and_each_ignore_in_each_of_its_states(table: Table[Any]) -> None:
    found = chapters(table)
    for declared in everything(table):
        for state in declared.sources:
            assert re.search(rf"^\| (<a [^>]*></a>|\[){declared.id}\W", found[state], flags=re.MULTILINE), declared.id


@every_table
def test_a_line_of_a_decision_table_has_the_answers_that_its_row_demands_under_their_questions(table: Table[Any]) -> None:
    for state, text in chapters(table).items():
        for head, body in re.findall(r"^(\| row \|.*)\n\|[-|]+\n((?:\|.*\n)+)", text, flags=re.MULTILINE):
            heads = [each.strip(" `") for each in head.strip("|").split("|")]
            for line in body.splitlines():
                cells = dict(zip(heads, (each.strip() for each in line.strip("|").split("|")), strict=True))
                declared = next((each for each in everything(table) if re.search(rf"{each.id}(?!\d)", cells["row"])), None)
                if declared is None:
                    assert cells["to"] == "*refused*"
                    continue
                demanded = {each.question.name: each.allowed for each in declared.when}
                asked = [head for head in heads if head not in ("row", "event", "to", "do", "requirement", "why")]
                assert set(demanded) <= set(asked)
                for question in asked:
                    allowed = demanded.get(question)
                    assert cells[question] == (" or ".join(map(show_answer, allowed)) if allowed else "·")
                target = declared.to if isinstance(declared, Row) else None
                assert cells["to"] == (
                    "*ignored*" if isinstance(declared, Ignore) else f"`{target}`" if target in table.states else "(same)"
                )
                assert state in declared.sources


@every_table
def test_what_is_refused_is_named_in_each_state(table: Table[Any]) -> None:
    for state, text in chapters(table).items():
        refused = set(re.findall(r"`(\w+)`", text.partition("Refused here, each other event: ")[2]))
        assert refused == {event.__name__ for event in table.events if (state, event) not in table.cells}


@every_table
def test_the_matrix_has_a_cell_for_each_state_and_event(table: Table[Any]) -> None:
    lines = markdown(table).partition("## Every state and every event")[2].partition("## Decision")[0].splitlines()
    body = [[each.strip() for each in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    assert [line[0].strip("`") for line in body] == [event.__name__ for event in table.events]
    for event, line in zip(table.events, body, strict=True):
        for state, shown in zip(table.states, line[1:], strict=True):
            cell = table.cells.get((state, event))
            assert re.findall(r"\(#([^)]+)\)", shown) == list(cell.ids if cell else ())
            assert cell or shown == "—"


def test_a_cell_that_ignores_some_answers_alone_says_that_the_others_are_refused() -> None:
    cell = chapters(RUN)["accepted"].partition("`OutcomeStated`")[2]
    assert "| — | otherwise | otherwise | *refused* |" in cell


@every_table
def test_markdown_tells_theory_questions_reasons_and_fingerprint(table: Table[Any]) -> None:
    text = markdown(table)
    assert "## Theory of operation" in text
    assert table.fingerprint in text
    for row in table.rows:
        assert row.why in text
        assert all(need in text and need for need in row.req)
        assert all(condition.question.text in text for condition in row.when)


@every_table
def test_every_link_in_markdown_leads_to_one_anchor(table: Table[Any]) -> None:
    text = markdown(table)
    anchors = re.findall(r'<a id="([^"]+)"', text)
    assert len(anchors) == len(set(anchors)) == len(table.rows) + len(table.ignores)
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= set(anchors)


@pytest.mark.parametrize("why", (HARD, "| one | more | column", "<script>alert(1)</script>", "a\nb"))
def test_a_reason_cannot_break_a_markdown_table(why: str) -> None:
    tables = [line for line in markdown(lamp(why=why)).splitlines() if "L-1" in line and line.startswith("| <a")]
    assert [line.count("|") for line in tables] == [7]
    assert "<script>" not in tables[0]


# -- any text --------------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(name=st.text(min_size=1, max_size=12), why=st.text(min_size=1, max_size=60))
def test_any_name_and_any_reason_can_be_drawn(name: str, why: str) -> None:
    table = lamp(name=name, why=why)
    for format_name in FORMATS:
        assert drawing(table, format_name) == drawing(table, format_name)


def test_a_table_without_a_happy_path_can_be_drawn() -> None:
    assert all(drawing(lamp(happy=()), name) for name in FORMATS)


def test_the_ends_that_one_wishes_for_are_marked_in_every_format() -> None:
    """Those that are declared; where none is, those that the happy path comes to."""
    table = lamp(good=(Lamp.FAILED,))
    green = PALETTE["success"][0]
    assert "  class failed success" in mermaid(table)
    assert f'color="{green}"' in next(line for line in drawing(table, "dot").splitlines() if 'id="lamp-failed"' in line)
    assert '<g id="lamp-failed" class="node state success"' in drawing(table, "svg")
    assert "| `failed` | final, good |" in markdown(table)
    assert '<final id="failed">\n    <!-- a good end -->' in drawing(table, "scxml")
    assert json.loads(drawing(table, "xstate"))["states"]["failed"]["tags"] == ["good"]
    assert "| `end` | final, good |" in markdown(lamp())
    assert "| `failed` | final |" in markdown(lamp())
