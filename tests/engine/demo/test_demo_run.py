from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest

from demo_run import DATA, PACKAGE, DemoRun, table
from statewright import Status, StopReason
from statewright_states.run.table import RUN

READS = ("tool-1.1", "tool-1.2", "tool-1.3")
POSTING = "tool-3.1"
PLANTED = ("FEE-0625", "PAY-1041", "PAY-1043")


def test_the_demo_ends_in_success_and_its_answer_was_judged_good(demo: DemoRun) -> None:
    assert (demo.exit_code, demo.stderr) == (0, "")
    assert (demo.state.status, demo.state.stop_reason, demo.state.verified) == (Status.SUCCESS, StopReason.COMPLETED, True)


def test_every_reply_of_the_script_is_used(demo: DemoRun) -> None:
    script = json.loads((PACKAGE / "script.json").read_text("utf-8"))
    assert demo.state.model_calls == len(script["replies"])


# -- what it shows ---------------------------------------------------------------------------------------------------


def test_three_files_are_read_at_the_same_time(demo: DemoRun) -> None:
    names = [entry["data"]["request"]["name"] for entry in demo.events("ToolRequested") if entry["instance"] in READS]
    begun = [entry for entry in demo.entries if entry.get("instance") in READS and entry.get("to") == "running"]
    ended = [entry for entry in demo.events("ToolReturned") if entry["instance"] in READS]
    assert names == ["read_ledger", "read_bank_statement", "read_posting_rules"]
    assert len(begun) == len(ended) == 3
    assert max(entry["at_us"] for entry in begun) < min(entry["at_us"] for entry in ended)


def test_an_answer_that_was_cut_off_is_continued_and_joined(demo: DemoRun) -> None:
    cut, rest = (step.response for step in demo.state.steps[-2:])
    assert "RUN-18" in demo.rows("run")
    assert (cut.finish_reason, rest.finish_reason) == ("length", "stop")
    assert demo.state.final_output == f"{cut.content}{rest.content}"


def test_the_posting_waits_for_a_named_actor_who_allows_exactly_this_call(demo: DemoRun) -> None:
    (approval,) = demo.events("ApprovalGiven")
    (assessed,) = [entry for entry in demo.events("ToolAssessed") if entry["instance"] == POSTING]
    (begun,) = [entry for entry in demo.entries if entry.get("instance") == POSTING and entry.get("to") == "running"]
    assert {"RUN-11", "RUN-32"} <= set(demo.rows("run"))
    assert (approval["instance"], approval["data"]["actor"]) == (POSTING, "demo-controller")
    assert (approval["data"]["approve"], approval["data"]["meaning"]) == (True, "approved")
    assert approval["data"]["arguments"] == assessed["data"]["arguments"]
    assert assessed["seq"] < approval["seq"] < begun["seq"]


def test_the_answer_is_judged_twice_and_corrected_once(demo: DemoRun) -> None:
    refused, passed = (entry["data"] for entry in demo.events("VerdictReached"))
    assert (refused["completed"], passed["completed"]) == (False, True)
    assert any("594.00" in issue for issue in refused["issues"])
    assert [demo.rows("run").count(row) for row in ("RUN-49", "RUN-48")] == [1, 1]


# -- what it did -----------------------------------------------------------------------------------------------------


def test_the_ledger_has_exactly_one_posting_more(demo: DemoRun) -> None:
    shipped, kept = table(DATA / "ledger.csv"), table(demo.books / "ledger.csv")
    assert kept[:-1] == shipped
    assert kept[-1] == {
        "entry": "L-0614",
        "date": "2025-06-30",
        "reference": "FEE-0625",
        "text": "Account fee, second quarter",
        "amount": "-12.50",
    }


def test_the_second_attempt_sees_the_posting_and_does_not_post_again(demo: DemoRun) -> None:
    results = [result for step in demo.state.steps for result in step.tool_results]
    posted = [result for result in results if result.tool_name == "post_adjustment"]
    before, after = (result.result for result in results if result.tool_name == "read_ledger")
    assert [result.outcome for result in posted] == ["returned"]
    assert "FEE-0625" not in before
    assert "FEE-0625" in after


@pytest.mark.parametrize("reference", PLANTED)
def test_the_report_and_the_answer_name_every_planted_difference(demo: DemoRun, reference: str) -> None:
    differences = (demo.books / "report.md").read_text("utf-8").partition("## Balances")[0]
    assert reference in differences
    assert reference in (demo.state.final_output or "")


def test_the_report_and_the_answer_name_no_other_reference(demo: DemoRun) -> None:
    text = (demo.books / "report.md").read_text("utf-8") + (demo.state.final_output or "")
    assert set(re.findall(r"(?:INV|PAY|FEE)-\d+", text)) == set(PLANTED)


def test_the_balances_of_the_report_are_those_of_the_books_and_close(demo: DemoRun) -> None:
    lines = (demo.books / "report.md").read_text("utf-8").partition("## Balances")[2].split("\n- ")[1:]
    ledger, *open_corrections, bank = (Decimal(line.rpartition(":")[2].strip()) for line in lines)
    opening = Decimal(json.loads((DATA / "posting_rules.json").read_text("utf-8"))["opening_balance"])
    assert ledger == opening + sum(Decimal(row["amount"]) for row in table(demo.books / "ledger.csv"))
    assert bank == Decimal(table(DATA / "bank_statement.csv")[-1]["balance"])
    assert ledger + sum(open_corrections) == bank


# -- its record ------------------------------------------------------------------------------------------------------


def test_the_record_verifies(demo: DemoRun) -> None:
    assert demo.verification.problems == ()
    assert (demo.verification.ok, demo.verification.ended, demo.verification.status) == (True, True, "success")


def test_the_replay_comes_to_the_same_run(demo: DemoRun) -> None:
    assert list(demo.state.path) == demo.rows("run")
    assert demo.entries[-1]["kind"] == "end"


def test_the_journal_lies_outside_the_folder_that_the_tools_work_in(demo: DemoRun) -> None:
    assert sorted(path.name for path in demo.books.iterdir()) == [
        "bank_statement.csv",
        "ledger.csv",
        "posting_rules.json",
        "report.md",
    ]


# -- what is on the screen -------------------------------------------------------------------------------------------


def test_the_screen_ends_with_the_path_and_the_reason_of_each_row(demo: DemoRun) -> None:
    reasons = {row.id: row.why for row in RUN.rows}
    account = demo.stdout.partition("The path")[2]
    shown = re.findall(r"^  (RUN-\d+) +(.*?)(?: \((\d+) times\))?$", account, re.MULTILINE)
    assert [row for row, _, times in shown for _ in range(int(times or 1))] == demo.rows("run")
    assert all(reasons[row] == why for row, why, _ in shown)


def test_the_screen_shows_actor_outcome_report_verification_and_what_to_type_next(demo: DemoRun) -> None:
    run_id = demo.state.run_id
    report = (demo.books / "report.md").read_text("utf-8")
    places = [
        demo.stdout.index(words)
        for words in (
            "demo-controller is asked: post_adjustment",
            "approved by demo-controller",
            "The path",
            "The outcome",
            "The report",
            "The record",
            "verified ",
            "replayed ",
            "What to type next",
            f"show {run_id}",
            f"why {run_id}",
            f"verify {run_id}",
            "diagram run --format svg",
            'run "What is 17 plus 25?"',
        )
    ]
    assert places == sorted(places)
    assert all(line in demo.stdout for line in report.splitlines())


def test_output_that_is_piped_is_plain(demo: DemoRun) -> None:
    assert "\x1b" not in demo.stdout
