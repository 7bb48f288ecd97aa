"""What a report says of a run: why it ended, who allowed what, what was waited for, what was used, what is not whole."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from golden_runs import restored, scripts
from orders import ORDER
from reported_runs import BIG_CHARS, MADE, Structure, changed, entry_id, page_of, read_of
from statewright.report.html_page import html_page
from statewright.report.index_model import INDEX_PAGE, line_of, page_names, totals_of
from statewright.report.json_page import json_page
from statewright.report.markdown_page import markdown_page
from statewright.report.model import BoundedText, RunReport
from statewright.report.waits import sums
from statewright_states.errors import JournalDamaged
from statewright_states.frozen import replace

DAY_US = 86_400_000_000


def report_of(run_id: str, path: Path | None = None) -> RunReport:
    return read_of(run_id, path).report


@pytest.mark.parametrize(
    ("run_id", "word", "sentence"),
    [
        ("busy", "success", "The run succeeded after 4 steps and 24 h 00 min, because the model gave an answer"),
        ("big", "partial", "ended as partial after 3 steps and 0 ms, because the model had been called as often as"),
        ("waiting", "waiting", "has not ended after 0 ms, in the state awaiting_approval. It waits for a person."),
        ("killed", "interrupted", "in the state acting. It was left by its process, and can be resumed."),
        ("judged", "success", "A judge found the task completed."),
        (
            "planned",
            "success",
            "succeeded after 2 steps and 0 ms, because the run that builds has done it (row PLAN-08).",
        ),
        ("order-1", "shipped", "The run ended in the state shipped after 10 ms, by the row ORDER-05."),
    ],
)
def test_the_outcome_is_told_in_a_sentence(run_id: str, word: str, sentence: str) -> None:
    outcome = report_of(run_id).outcome
    assert outcome.word == word
    assert sentence in outcome.sentence


def test_who_allowed_what_when_and_with_which_meaning() -> None:
    [said] = report_of("busy").people
    assert (said.actor, said.meaning, said.comment) == ("Ada <b>Lovelace</b>", "approved", "fine & checked")
    assert said.about == "pay cents=4200"
    assert said.counted.startswith("counted, by TOOL-")
    assert said.said_us - report_of("busy").began_us > DAY_US
    [rejected] = report_of("resumed").people
    assert (rejected.actor, rejected.meaning, rejected.comment) == ("Ada", "rejected", "too much")


def test_an_open_question_is_told_with_the_command_that_answers_it() -> None:
    report = report_of("waiting")
    assert [(asked.tool, asked.call_id, asked.arguments.text) for asked in report.questions] == [
        ("send", "c1", '{"text": "x"}')
    ]
    assert "approve waiting c1 --journal runs.db" in Structure(page_of("waiting")).text


def test_what_was_waited_for_is_told_by_kind() -> None:
    report = report_of("busy")
    found = {each.kind: each for each in sums(report.waits, report.last_us)}
    assert set(found) == {"model", "tool", "person", "backoff"}
    assert found["person"].total_us == DAY_US
    assert found["tool"].count == 4
    assert found["tool"].total_us == 2_500_000, "two that ran side by side are counted once"
    assert found["model"].total_us == 4_000_000
    assert found["backoff"].longest.what == "step 1"


def test_a_run_that_nobody_drove_for_a_while_says_so() -> None:
    odd = report_of("resumed").out_of_order
    assert [each.text for each in odd.resumptions] == ["taken up again, under the lease of epoch 2"]
    assert (odd.interference, odd.refused) == ((), ())
    assert "taken up again" in Structure(page_of("resumed")).text


def test_a_run_that_was_interfered_with_says_so_at_once_and_in_a_place_of_its_own() -> None:
    report = report_of("edited")
    assert report.outcome.sentence.endswith("It was interfered with 1 time: what it did, it did not do by itself.")
    [mark] = report.out_of_order.interference
    assert (mark.what, mark.text) == ("AttemptReplied at call-1", "edited: reply, by Grace <i>Hopper</i>")
    [marked] = [each for each in report.decisions if "[edited: reply" in each.words]
    assert marked.number == mark.decision
    found = Structure(page_of("edited"))
    assert [each["class"] for each in found.all("a") if each["href"] == "#ordinary" and "class" in each] == ["bad"]
    assert "interfered with" in "".join(found.text_in["a"])
    assert all("interfered with 1 time" not in report_of(run_id).outcome.sentence for run_id in ("busy", "resumed", "judged"))


def test_refused_and_ignored_events_and_faults_have_a_place_of_their_own() -> None:
    [refused] = report_of("order-1").out_of_order.refused
    assert refused.what == "PickedUp at order"
    assert [each.text for each in report_of("resumed").out_of_order.ignored]
    failed, raised = report_of("busy").out_of_order.faults
    assert "the service is out of order" in failed.text
    assert "no such thing" in raised.text


def test_what_was_used_stands_beside_what_may_be_used() -> None:
    lines = {line.said_in: line for line in report_of("busy").budget}
    used = {name: (line.used, line.limit) for name, line in lines.items()}
    assert used["max_steps"] == ("4", "40")
    assert used["budget.max_model_calls"] == ("5", "12")
    assert used["budget.max_total_tokens"] == ("4,200", "20,000")
    assert used["budget.max_cost_usd"][1] == "1.000000 USD"
    assert used["run_timeout_s"][1] == "10 min 00 s"
    assert lines["run_timeout_s"].share is not None
    assert lines["run_timeout_s"].share < 0.02, "the day in which a person was waited for is not the run's"


def test_model_calls_are_told_with_their_attempts_and_tokens() -> None:
    calls = report_of("busy").calls
    assert [(call.purpose, call.step, call.attempts, call.outcome) for call in calls[:2]] == [
        ("generation", 1, 2, "replied"),
        ("generation", 2, 1, "replied"),
    ]
    assert {(call.input_tokens, call.cached_input_tokens, call.output_tokens) for call in calls} == {(1_000, 400, 50)}


def test_the_conversation_holds_everything_in_order_also_what_was_summarised() -> None:
    told = report_of("compacted").conversation
    assert [said.role for said in told][:3] == ["system", "user", "assistant"]
    texts = [part.text for said in told for part in said.parts if isinstance(part, BoundedText)]
    assert texts.count("You are exact.") == 1
    assert {"3", "5", "7"} <= set(texts), "every result, also those that a summary stands for"
    assert any(said.name.startswith("a summary") for said in told)


def test_tools_are_told_with_arguments_result_and_outcome() -> None:
    tools = {use.call_id: use for use in report_of("busy").tools}
    assert [(use.name, use.outcome, use.effect) for use in tools.values()] == [
        ("look", "returned", "read"),
        ("look", "returned", "read"),
        ("pay", "returned", "irreversible"),
        ("fail", "failed", "read"),
    ]
    assert (tools["c3"].arguments.text, tools["c3"].ran_us) == ('{"cents": 4200}', 500_000)
    assert tools["c3"].result == BoundedText("paid 4200")


def test_each_decision_says_its_questions_answers_and_why_no_other_row() -> None:
    report = report_of("big")
    last = next(each for each in report.decisions if each.number == report.outcome.decision)
    assert last.why is not None
    assert last.why.id == report.outcome.row
    assert any(asked.decisive for asked in last.why.asked)
    assert all(other.unmet for other in last.why.others)
    text = Structure(page_of("big")).text
    assert "May this attempt call the model once more?" in text
    assert "would need" in text


def test_a_very_long_result_is_cut_and_the_page_says_how_much_is_missing() -> None:
    report = report_of("big")
    [result] = [use.result for use in report.tools if use.name == "dump" and use.result is not None]
    assert result.left_out > BIG_CHARS - 20_000
    page = page_of("big")
    assert len(page) < 1_000_000
    assert f"{result.left_out:,} more characters are left out here" in page
    assert "show big --full --journal runs.db" in page


def test_runs_that_belong_together_name_each_other() -> None:
    assert {each.run_id for each in report_of("planned").related} == {"planned.plan", "planned.build"}
    assert [(each.run_id, each.standing) for each in report_of("planned.plan").related] == [("planned", "success")]
    assert [each.run_id for each in report_of("boss").related] == ["boss.tool-1.1.1"]
    assert report_of("boss.tool-1.1.1").part_of == "boss"


def test_the_record_is_verified_and_its_digests_are_told() -> None:
    report = report_of("busy")
    checked = report.checked
    assert (checked.ok, checked.made_us, checked.problems) == (True, MADE.made_us, ())
    values = [fact.value for fact in report.digests]
    assert checked.head_hash in values
    assert all(path.fingerprint in "".join(values) for path in report.paths)


# -- what is not whole -----------------------------------------------------------------------------------------------


def test_a_damaged_run_is_told_as_far_as_it_is_good(tmp_path: Path) -> None:
    path = changed(tmp_path, f"UPDATE entries SET data = replace(data, 'RUN', 'RUM') WHERE id = {entry_id('busy', 5)}")
    report, whole = report_of("busy", path), report_of("busy")
    assert not report.checked.ok
    assert report.decisions
    assert report.decisions == whole.decisions[: len(report.decisions)]
    assert max(each.entry for each in report.decisions) == 4
    assert "entry 5" in report.damage[0]
    assert report.outcome.word == "open"
    page = Structure(page_of("busy", path))
    assert "record NOT verified" in page.text
    assert "Not all of this run can be told." in page.text
    assert (page.wrong, page.open) == ([], [])


def test_a_message_that_is_missing_is_said_to_be(tmp_path: Path) -> None:
    path = changed(
        tmp_path, "DELETE FROM blobs WHERE CAST(data AS TEXT) LIKE '%paid 4200%' AND CAST(data AS TEXT) LIKE '%tool_call_id%'"
    )
    report = report_of("busy", path)
    assert any(said.role == "missing" for said in report.conversation)
    assert not report.checked.ok


def test_without_a_header_there_is_no_report(tmp_path: Path) -> None:
    path = changed(tmp_path, f"UPDATE entries SET data = '[]' WHERE id = {entry_id('busy', 0)}")
    with pytest.raises(JournalDamaged):
        read_of("busy", path)


def test_runs_of_older_versions_are_drawn_from_their_forms(tmp_path: Path) -> None:
    path = restored(scripts()[0], tmp_path)
    read = read_of("tools", path)
    assert set(read.tables) == {"run", "call", "tool"}
    found = Structure(html_page(read.report, read.tables))
    assert {"run-generating", "RUN-12"} <= set(found.ids)


def test_a_run_of_an_own_table_is_drawn_with_its_usual_path_where_the_table_is_given() -> None:
    given = read_of("order-1", asked=replace(MADE, table=ORDER))
    assert given.tables["order"] is ORDER
    assert read_of("order-1").tables["order"] is not ORDER


# -- other formats ---------------------------------------------------------------------------------------------------


def test_the_document_holds_every_field() -> None:
    report = report_of("busy")
    document = json.loads(json.dumps(json_page(report)))
    assert document["format"] == 1
    assert set(document) == {"format", *asdict(report)}
    assert document["outcome"]["row"] == report.outcome.row
    assert len(document["decisions"]) == len(report.decisions)


HEADINGS = [
    "The task", "The answer", "Who decided what", "Out of the ordinary", "The path", "Who waited for what", "The conversation",
    "Tools", "Budgets and costs", "Decisions", "The record",
]  # fmt: skip


def headings(text: str) -> list[str]:
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    assert not [token for token in tokens if token.type == "html_block"]
    inline = [child for token in tokens for child in token.children or ()]
    assert not [child for child in inline if child.type in ("html_inline", "link_open", "image")]
    return [after.content for token, after in pairwise(tokens) if token.tag == "h2" and token.nesting == 1]


@pytest.mark.parametrize("run_id", ["busy", "order-1", "planned", "waiting"])
def test_markdown_has_the_headings_of_the_report_and_nothing_of_a_run_becomes_markup(run_id: str) -> None:
    found = headings(markdown_page(report_of(run_id)))
    assert found == [each for each in HEADINGS if each != "The answer" or report_of(run_id).outcome.output is not None]


MARKUP = ("# x", "```", "~~~", "<b>", "| a |", "[x](y)", "\n", "---", "1. ", "\u202e")


@settings(max_examples=60)
@example(["```\n## taken\n"])
@given(st.lists(st.one_of(st.sampled_from(MARKUP), st.text(max_size=8))))
def test_no_text_becomes_markup_in_markdown(pieces: list[str]) -> None:
    text, report = "".join(pieces), report_of_busy()
    said = BoundedText(text)
    report = replace(
        report,
        title=text,
        task=said,
        facts=tuple(replace(fact, value=text) for fact in report.facts),
        people=tuple(replace(each, comment=text) for each in report.people),
        decisions=tuple(replace(each, words=text) for each in report.decisions[:3]),
    )
    assert headings(markdown_page(report)) == HEADINGS


@cache
def report_of_busy() -> RunReport:
    return report_of("busy")


# -- the index -------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(min_size=1, max_size=100), unique=True, max_size=20))
def test_every_run_has_a_page_of_its_own_that_any_file_system_can_hold(run_ids: list[str]) -> None:
    names = page_names(run_ids)
    assert len({name.lower() for name in names.values()}) == len(run_ids)
    assert INDEX_PAGE not in names.values()
    assert all(name.isascii() and "/" not in name and "\\" not in name and not name.startswith(".") for name in names.values())


def test_totals_count_a_run_once_that_belongs_to_another() -> None:
    lines = [line_of(report, f"{report.run_id}.html", report.part_of) for report in map(report_of, ("boss", "boss.tool-1.1.1"))]
    totals = totals_of(lines)
    assert (totals.runs, totals.outcomes, totals.stop_reasons) == (2, {"success": 2}, {"completed": 2})
    assert totals.tokens == lines[0].tokens
    assert lines[0].tokens > lines[1].tokens > 0
