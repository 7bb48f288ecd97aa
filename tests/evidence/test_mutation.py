"""The mutation run, on a fixed few: who notices what, what nobody could notice, and what never counts."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

import pytest

from mutant_hunt import FILES, NOT_COUNTED, ROOT, Hunted, Tell, in_children, places
from mutant_survivors import REASONS
from mutation import WINS, broken_rule, decides_alike, every_mutation, hunted, proven_wrong
from mutation_report import PROOF, RULE, TEST, Judged, Run, csv_text, markdown
from surgery import Mutation

NAMED: Mapping[str, Mutation] = {mutation.name: mutation for mutation in every_mutation()}


def test_the_rules_of_the_format_are_the_first_to_notice() -> None:
    assert broken_rule(NAMED["RUN-65 dropped"]) == "no-gap"
    assert broken_rule(NAMED["RUN-12 when needs_person: yes instead of no"]) == "no-overlap"
    assert broken_rule(NAMED["RUN-01 to failed instead of queued"]) == "ends-are-told-once"
    assert broken_rule(NAMED["RUN-01 to preparing instead of queued"]) == "states-are-reachable"
    assert broken_rule(NAMED["RUN-40 without call_model"]) is None


def test_tests_notice_what_the_rules_let_through() -> None:
    mutants = ["PLAN-02 without start_build", "PLAN-22 without stop_build", "PLAN-90 dropped"]
    found = hunted([NAMED[name] for name in mutants], ["tests/engine/loop/test_plan_build_rows.py"])
    test = "tests/engine/loop/test_plan_build_rows.py::test_the_task_takes_its_rows_and_ends_once"
    assert found == [
        Hunted(mutants[0], f"{test}[planned and built]", True, 1),
        Hunted(mutants[1], f"{test}[a stop while it is built]", True, 1),
        Hunted(mutants[2], None, True, 0),
    ]


def test_proofs_notice_mutants_too_and_the_table_is_as_it_was_afterwards() -> None:
    names = ("RUN-40 without call_model", "RUN-12 without launch_together")
    before = [NAMED[name] for name in names]
    claims = proven_wrong(before)
    assert claims == ["composition:basic-evaluation: no-deadlock"] * 2
    assert [mutation for mutation in every_mutation() if mutation.name in names] == before[::-1]


def test_a_process_that_does_not_come_to_its_end_says_so() -> None:
    def dies(tell: Tell) -> None:
        tell("begun")
        os.kill(os.getpid(), signal.SIGKILL)

    def ends(tell: Tell) -> None:
        tell("done")

    def raises(tell: Tell) -> None:
        raise SystemExit(3)

    assert sorted(in_children([dies, ends])) == [(0, ["begun"], False), (1, ["done"], True)]
    with pytest.raises(RuntimeError, match="work 0 raised"):
        list(in_children([raises]))


def test_a_mutant_differs_where_its_row_is_taken_or_where_its_cell_is_asked() -> None:
    assert places(NAMED["RUN-12 without launch_together"]) == {"RUN-12 in generating"}
    assert places(NAMED["RUN-56 dropped in queued"]) == {"RUN-56 in queued"}
    assert places(NAMED["CALL-91 dropped"]) == {"AttemptReplied in sending", "AttemptReplied in streaming"}
    assert places(NAMED["RUN-72 when awaited: yes or no instead of yes"]) == {"OutcomeStated in acting"}


def test_a_guard_that_differs_only_where_an_ignore_wins_is_no_mutant() -> None:
    assert decides_alike(NAMED["RUN-72 when awaited: yes or no instead of yes"])
    assert not decides_alike(NAMED["RUN-12 when needs_person: yes instead of no"])
    assert not decides_alike(NAMED["RUN-12 dropped"])
    built = [name for name, mutation in NAMED.items() if decides_alike(mutation) and broken_rule(mutation) is None]
    assert "RUN-72 when awaited: yes or no instead of yes" in built


def test_reasons_name_mutants_that_exist_and_say_something() -> None:
    assert REASONS.keys() <= NAMED.keys()
    assert all(len(reason) > 20 for reason in REASONS.values())


def test_what_trips_over_any_change_does_not_hunt() -> None:
    assert all((ROOT / path).exists() for path in FILES)
    assert not [path for path in FILES if "house" in path or "drawing" in path or "test_table" in path]
    assert all(any(name in file.read_text() for file in (ROOT / "tests").rglob("test_*.py")) for name in NOT_COUNTED)


RUN = Run(
    (
        Judged(NAMED["RUN-65 dropped"], RULE, "no-gap"),
        Judged(NAMED["RUN-40 without call_model"], TEST, "tests/test_a.py::test_a[x]"),
        Judged(NAMED["TOOL-21 without report_settled"], TEST, "tests/test_a.py::test_a[y]", ended=False),
        Judged(NAMED["TOOL-20 without report_settled"], PROOF, "parallel-tools: no-deadlock"),
        Judged(NAMED["RUN-72 when awaited: yes or no instead of yes"], reason=WINS),
        Judged(NAMED["RUN-12 without launch_together"]),
    ),
    proven=1,
    sampled=2,
)


def test_the_page_shows_the_score_the_killers_and_the_survivors() -> None:
    page = markdown(RUN, stale=["RUN-01 dropped"])
    assert "6 mutants, 66.7 % killed." in page
    assert "let 5 of them be built; of these 60.0 % are killed: 2 by tests, 1 by proofs where no test noticed." in page
    assert "| effect removed | 4 | 0 | 2 | 1 | 1 | 75.0 % | 75.0 % |" in page
    assert "| 2 | test | `tests/test_a.py::test_a` |" in page
    assert "1 mutants were killed because a test did not come to its end." in page
    assert f"| RUN-72 when awaited: yes or no instead of yes | {WINS} |" in page
    assert "| RUN-12 without launch_together | **no reason is known: a test is missing** |" in page
    assert "Killed, although a reason is kept for it: RUN-01 dropped." in page


def test_each_mutant_has_its_line_for_machines() -> None:
    lines = csv_text(RUN).splitlines()
    assert len(lines) == 1 + len(RUN.judged)
    assert lines[3] == (
        "tool,TOOL-21,effect removed,TOOL-21 without report_settled,test,tests/test_a.py::test_a[y],does not end,"
    )
