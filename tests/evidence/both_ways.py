"""Traceability both ways: requirement ↔ row ↔ diagram edge ↔ test ↔ run, and what hangs in the air, as Markdown and CSV.

Rows name their requirements; the drawings carry each row under its id; test modules say which rows they reach
(``tests/house/traceability.py``); and the journals of a test run say which rows each test's runs really took.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from claims import all_tests
from statewright_evidence.section import Outcome, Section
from statewright_states.requirements import REQUIREMENTS, TABLES, rows_by_requirement, stated_in
from traceability import Evidence, evidence

ROOT = Path(__file__).resolve().parents[2]
DIAGRAMS = ROOT / "diagrams"
SHOWN_RUNS = 3
"""How many of the runs that took a row are named; how many there are stands beside them."""

SHOWN_BY: Mapping[str, tuple[str, ...]] = {
    "R-BUDG-2": (
        "test_the_cost_of_a_run_is_the_sum_of_its_attempts_each_rounded_up",
        "test_a_bound_on_cost_without_a_price_is_an_error_before_any_run",
        "test_a_fallback_needs_a_price_too",
    ),
    "R-REPLY-9": (
        "test_text_with_all_its_tokens_used_is_continued_though_it_says_stop",
        "test_a_last_call_whose_arguments_end_in_the_middle_is_cut_off_with_all_before_it",
    ),
    "R-TRANS-1": (
        "test_results_stand_in_the_order_of_the_request_whatever_order_they_came_in",
        "test_each_call_has_one_result_however_it_ended",
        "test_the_final_message_of_the_model_is_in_the_transcript",
    ),
    "R-TRANS-3": (
        "test_a_history_with_orphans_is_sent_repaired_and_the_repair_is_on_record",
        "test_a_history_with_orphans_is_repaired_the_same_way_each_time",
    ),
    "R-STOP-3": (
        "test_the_first_signal_finishes_what_is_launched",
        "test_the_second_ctrl_c_ends_at_once_and_the_run_can_be_resumed",
    ),
    "R-TIME-4": (
        "test_a_service_that_is_silent_for_too_long_fails_its_attempt_and_is_asked_again",
        "test_a_stream_that_stalls_in_the_middle_fails_its_attempt",
    ),
    "R-RETRY-5": (
        "test_the_waits_are_one_two_and_four_seconds_give_or_take_a_quarter",
        "test_a_wait_that_the_service_asks_for_is_obeyed",
        "test_a_wait_is_never_longer_than_the_cap",
    ),
    "R-RETRY-6": (
        "test_a_request_that_met_a_closed_connection_is_sent_once_more_and_the_record_of_its_attempt_says_so",
        "test_the_second_closed_connection_fails_the_attempt_and_the_next_one_may_send_once_more_again",
    ),
    "R-TOOL-5": (
        "test_beyond_sixteen_thousand_characters_a_result_is_cut_and_the_bound_holds",
        "test_the_whole_result_stays_on_record",
    ),
    "R-EVAL-4": ("test_words_that_are_no_clear_verdict_do_not_pass", "test_a_verdict_that_was_cut_off_does_not_pass"),
    "R-HOOK-2": ("test_every_decision_is_on_record_with_its_reason", "test_a_replay_calls_no_hook"),
    "R-HOOK-3": (
        "test_the_highest_priority_is_asked_first_and_equal_ones_in_the_order_given",
        "test_a_change_goes_on_to_the_next_guard",
        "test_an_observer_cannot_change_or_fail_a_run",
    ),
    "R-CHILD-1": (
        "test_a_tool_runs_another_agent_which_is_recorded_beside_its_run_and_names_the_command_that_began_the_tool",
        "test_several_children_of_a_call_are_numbered_in_the_order_in_which_the_tool_asks",
        "test_whenever_the_process_dies_each_child_is_begun_once_and_counted_once",
    ),
    "R-PLAN-6": (
        "test_the_planner_is_shown_the_tools_that_read_and_the_builder_all_of_them",
        "test_only_the_build_is_streamed",
        "test_a_planner_that_could_change_something_is_an_error_before_any_request",
    ),
}
"""The tests of the requirements that no row serves: somebody else in the engine does."""


@dataclass(frozen=True, slots=True)
class Thread:
    """One row (or ignore) with all that it hangs together with. ``reason``: why no run can take it."""

    id: str
    table: str
    requirements: tuple[str, ...]
    edge: str | None
    tests: tuple[str, ...]
    runs: tuple[str, ...]
    reason: str | None


def threads(declared: Evidence, observed: Mapping[str, Sequence[str]]) -> tuple[Thread, ...]:
    """Every row and ignore. ``observed``: from each test to the rows that its runs took, as their journals say."""
    runs: dict[str, list[str]] = {}
    for test, rows in sorted(observed.items()):
        for row in rows:
            runs.setdefault(row, []).append(test)
    return tuple(
        Thread(
            id=stated.id,
            table=table.name,
            requirements=stated.req,
            edge=f"diagrams/{table.name}.svg#{stated.id}" if stated.id in edges(table.name) else None,
            tests=tuple(declared.tests.get(stated.id, ())),
            runs=tuple(runs.get(stated.id, ())),
            reason=declared.reasons.get(stated.id),
        )
        for table in TABLES
        for stated in stated_in(table)
    )


def edges(table: str) -> frozenset[str]:
    """The ids of the rows that a table's drawing carries."""
    drawn = (DIAGRAMS / f"{table}.svg").read_text(encoding="utf-8")
    return frozenset(re.findall(r'\bid="([A-Z_]+-\d+)"', drawn))


def orphans(found: Sequence[Thread]) -> Iterator[str]:
    """Everything that has no other end."""
    known = {thread.id for thread in found}
    for identity, requirement in REQUIREMENTS.items():
        if identity not in rows_by_requirement():
            yield from _served_elsewhere(identity, requirement.elsewhere)
    for thread in found:
        yield from (
            f"{thread.id} serves {name}, which is no requirement" for name in thread.requirements if name not in REQUIREMENTS
        )
        if thread.edge is None:
            yield f"{thread.id} is not drawn"
        if not thread.tests and not thread.reason:
            yield f"{thread.id} has no test, and no reason why no run can take it"
        if thread.tests and not thread.runs:
            yield f"{thread.id} has tests, and no run of the test run took it"
    for table in TABLES:
        yield from (f"{name} is drawn in {table.name}.svg and is no row" for name in sorted(edges(table.name) - known))


def _served_elsewhere(identity: str, by: str) -> Iterator[str]:
    tests = SHOWN_BY.get(identity, ())
    if not by:
        yield f"{identity} is served by no row, and nobody else is named"
    if not tests:
        yield f"{identity} is served by no row, and no test shows it"
    yield from (f"{identity} is shown by `{name}`, which is no test" for name in tests if name not in all_tests())


def section(observed: Mapping[str, Sequence[str]]) -> Section:
    """The section; ``observed`` comes from the journals of a test run."""
    began_s = perf_counter()
    found = threads(evidence(), observed)
    hanging = list(orphans(found))
    rows = len(found)
    tested = sum(bool(thread.tests) for thread in found)
    summary = (
        f"{len(REQUIREMENTS)} requirements, {rows} rows and ignores, {tested} of them reached by runs of tests, "
        f"{rows - tested} out of any run's reach with the reason; {len(hanging)} orphans."
    )
    files = {
        "by-requirement.md": _by_requirement(found, hanging),
        "by-row.md": _by_row(found),
        "by-test.md": _by_test(found),
        "traceability.csv": _csv(found),
        "runs.csv": _runs_csv(found),
    }
    outcome = Outcome.BROKEN if hanging else Outcome.HOLDS
    results = {"no orphans": not hanging}
    return Section("traceability", "Traceability", outcome, summary, files, perf_counter() - began_s, results)


def _by_requirement(found: Sequence[Thread], hanging: Sequence[str]) -> str:
    serving = {identity: [thread for thread in found if identity in thread.requirements] for identity in REQUIREMENTS}
    lines = [
        "# From requirements to tests",
        "",
        "The other directions: [by row](by-row.md), [by test](by-test.md). For machines: `traceability.csv` (requirement,",
        "table, row, edge, test) and `runs.csv` (row, how many tests' runs took it, the first of them).",
        "",
        "## Orphans",
        "",
        *([f"* {fault}" for fault in hanging] or ["None."]),
        "",
        "## Requirements",
        "",
        "| requirement | text | rows | tests |",
        "|---|---|---|---|",
    ]
    for identity, requirement in REQUIREMENTS.items():
        rows = ", ".join(f"[{thread.id}](by-row.md#{thread.id})" for thread in serving[identity]) or requirement.elsewhere
        tests = sorted({test for thread in serving[identity] for test in thread.tests} | set(SHOWN_BY.get(identity, ())))
        lines.append(f'| <a id="{identity}"></a>{identity} | {requirement.text} | {rows} | {_several(tests)} |')
    return "\n".join(lines) + "\n"


def _by_row(found: Sequence[Thread]) -> str:
    lines = [
        "# From rows to requirements, edges, tests and runs",
        "",
        "Runs: what the journals of the test run say. A row that no run can take has the reason in place of tests.",
        "",
        "| row | serves | drawn | tests that reach it | runs that took it |",
        "|---|---|---|---|---|",
    ]
    for thread in found:
        serves = ", ".join(f"[{name}](by-requirement.md#{name})" for name in thread.requirements)
        edge = f"[{thread.table}](../{thread.edge})" if thread.edge else "**no**"
        tests = _several(thread.tests) or f"none: {thread.reason}"
        runs = f"{len(thread.runs)}" + "".join(f"<br>`{_quiet(run)}`" for run in thread.runs[:SHOWN_RUNS])
        lines.append(f'| <a id="{thread.id}"></a>{thread.id} | {serves} | {edge} | {tests} | {runs} |')
    return "\n".join(lines) + "\n"


def _by_test(found: Sequence[Thread]) -> str:
    rows: dict[str, list[Thread]] = {}
    for thread in found:
        for test in thread.tests:
            rows.setdefault(test, []).append(thread)
    lines = ["# From tests to rows and requirements", "", "| test | rows | requirements |", "|---|---|---|"]
    for test, reached in sorted(rows.items()):
        names = ", ".join(f"[{thread.id}](by-row.md#{thread.id})" for thread in reached)
        serves = ", ".join(sorted({name for thread in reached for name in thread.requirements}))
        lines.append(f"| `{_quiet(test)}` | {names} | {serves} |")
    return "\n".join(lines) + "\n"


def _several(tests: Iterable[str]) -> str:
    return "<br>".join(f"`{_quiet(test)}`" for test in tests)


def _quiet(name: str) -> str:
    """A test's name as a cell of a table may hold it."""
    return name.replace("|", "&#124;").replace("`", "'")


def _csv(found: Sequence[Thread]) -> str:
    lines = [
        (requirement, thread.table, thread.id, thread.edge or "", test)
        for thread in found
        for requirement in thread.requirements
        for test in thread.tests or ("",)
    ]
    elsewhere = [(name, "", "", "", test) for name, tests in SHOWN_BY.items() for test in tests]
    return _written(("requirement", "table", "row", "edge", "test"), [*lines, *elsewhere])


def _runs_csv(found: Sequence[Thread]) -> str:
    lines = [(thread.id, str(len(thread.runs)), *(*thread.runs, "", "", "")[:SHOWN_RUNS]) for thread in found]
    return _written(("row", "tests", *(f"test {number + 1}" for number in range(SHOWN_RUNS))), lines)


def _written(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(lines)
    return text.getvalue()
