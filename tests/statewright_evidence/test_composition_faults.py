"""Each claim about run, calls and tool calls together can fail: a fault is planted in a table or in a link, and found."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import pytest

from statewright.core import translation
from statewright.core.links import LINKS
from statewright.core.surroundings import Surroundings
from statewright.core.translation import Addressed, Translation
from statewright_evidence.proofs.composition.claims import CLAIMS
from statewright_evidence.proofs.composition.report import prove_scope, section, shown
from statewright_evidence.proofs.composition.scope import FINAL, SMALL, Said, Scope
from statewright_evidence.proofs.composition.scopes import ANN, CUT, POST, READ, SCOPES, UNDECLARED, calls
from statewright_evidence.proofs.composition.situation import Tables
from statewright_evidence.proofs.properties import Finding
from statewright_evidence.section import Outcome
from statewright_states.call.commands import ReportCall
from statewright_states.call.table import CALL
from statewright_states.errors import Fault
from statewright_states.form.row import SAME, Command, Effect, Row, effect
from statewright_states.form.table import Table
from statewright_states.frozen import replace as replaced
from statewright_states.run.commands import RequestTool, SkipTool, StopTool
from statewright_states.run.effects import launch_together
from statewright_states.run.events import CallDecided, ReplyReceived, SummaryFailed, SummaryReady, ToolSettled
from statewright_states.run.facts import RunFacts, RunState
from statewright_states.run.table import RUN
from statewright_states.tool.commands import AssessTool, ReportOutcomeUnknown, ReportSettled
from statewright_states.tool.events import NobodyToAsk, ToolAssessed, ToolCancelled, ToolFailed, ToolRequested, ToolReturned
from statewright_states.tool.facts import ToolFacts, ToolState
from statewright_states.tool.table import TOOL, report_settled, start
from statewright_states.words.approval import ApprovalRule
from statewright_states.words.vocabulary import StopRequested

REAL = Tables()

# -- surgery ---------------------------------------------------------------------------------------------------------


def rebuilt(table: Table[Any], rows: list[Row], **changes: Any) -> Table[Any]:
    given: dict[str, Any] = {"ignores": table.ignores, "fold": table.fold, **changes}
    final = [state for state in table.states if state in table.final]
    return Table(table.name, type(table.initial), facts=table.new_facts, initial=table.initial, final=final, rows=rows, **given)  # type: ignore[arg-type]


def without(table: Table[Any], *gone: str) -> Table[Any]:
    rows = [row for row in table.rows if row.id not in gone]
    return rebuilt(table, rows, ignores=[ignore for ignore in table.ignores if ignore.id not in gone])


def changed(table: Table[Any], identity: str, **changes: Any) -> Table[Any]:
    return rebuilt(table, [replace(row, **changes) if row.id == identity else row for row in table.rows])


def unasked(table: Table[Any], questions: tuple[str, ...], rows: tuple[str, ...], gone: tuple[str, ...]) -> Table[Any]:
    """The table whose rows do not ask these questions, and without the rows for the answers that were excluded."""

    def stripped(row: Row) -> Row:
        return replace(row, when=tuple(condition for condition in row.when if condition.question.name not in questions))

    left = [ignore for ignore in table.ignores if ignore.id not in gone]
    return rebuilt(table, [stripped(row) if row.id in rows else row for row in table.rows if row.id not in gone], ignores=left)


def swapped(table: Table[Any], one: str, other: str) -> Table[Any]:
    """The table in which two rows have each other's guard."""
    guard = {row.id: row.when for row in table.rows}
    guard[one], guard[other] = guard[other], guard[one]
    return rebuilt(table, [replace(row, when=guard[row.id]) for row in table.rows])


def do_without(table: Table[Any], identity: str, effect: str) -> Table[Any]:
    row = next(row for row in table.rows if row.id == identity)
    return changed(table, identity, do=tuple(done for done in row.do if done.name != effect))


def folding(table: Table[Any], fold: Callable[[Any, Any, Any], Any]) -> Table[Any]:
    return rebuilt(table, list(table.rows), fold=fold)


def bypassed() -> Table[Any]:
    """A call that a person should allow runs at once. A row that is never taken keeps the state reachable, as tables must."""
    rows = [replace(row, to=ToolState.RUNNING, do=(start,)) if row.id == "TOOL-04" else row for row in TOOL.rows]
    kept = Row("TOOL-X", ToolState.REQUESTED, NobodyToAsk, ToolState.AWAITING_APPROVAL, req=("R-APPR-1",), why="planted")
    return rebuilt(TOOL, [*rows, kept])


def an_exit_from_success() -> Table[Any]:
    """No table with such a row can be built: it is smuggled in."""
    broken = copy(RUN)
    cell = RUN.cells[RunState.SUCCESS, StopRequested]
    row = Row("RUN-X", RunState.SUCCESS, StopRequested, RunState.PARTIAL, req=("R-STOP-1",), why="planted")
    broken.cells = {**RUN.cells, (RunState.SUCCESS, StopRequested): replace(cell, rows=(row,), ignores=())}
    return broken


@effect
def launch_all(facts: RunFacts, event: ReplyReceived) -> tuple[RequestTool, ...]:
    """All calls of a reply at once, whatever the configuration says."""
    return tuple(RequestTool(call, released=True) for call in event.calls)


@effect
def assess_again(facts: ToolFacts, event: ToolFailed) -> AssessTool:
    return AssessTool(facts.tool)


def forgetting_the_result(facts: ToolFacts, event: Any, commands: Any) -> ToolFacts:
    after = TOOL.fold(facts, event, commands)
    return replace(after, message=None) if isinstance(event, ToolReturned) else after


# -- surgery on links ------------------------------------------------------------------------------------------------


def linked(command: type[Command], event: Translation) -> Tables:
    """The tables with one other link: this command becomes another event, or goes elsewhere."""
    return Tables(links=tuple(replaced(link, event=event) if link.command is command else link for link in LINKS))


def decided(command: ReportSettled, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    return "run", CallDecided(command.tool, ends_run=False)


def to_the_first(command: SkipTool, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    instance, event = translation.tool_skipped(command, facts, surroundings)
    return f"{instance.partition('.')[0]}.1", event


def always_ready(report: ReportCall, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    instance, event = translation.call_reported(report, facts, surroundings)
    if isinstance(event, SummaryFailed):
        event = SummaryReady(
            "message", 1, event.context_tokens, event.attempts, event.tokens, event.cost_microusd, event.dropped
        )
    return instance, event


def settled(command: ReportOutcomeUnknown, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    return "run", ToolSettled(command.tool, surroundings.context_tokens())


def cancelled(command: StopTool, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    return command.request.tool, ToolCancelled("message", command.request)


def without_the_rule(command: RequestTool, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    return command.request.tool, ToolRequested(command.request, command.released)


# -- what is planted -------------------------------------------------------------------------------------------------

ONE = Scope("one", "One call that reads.", replies=(FINAL, calls(READ)))
TWO = Scope("two", "Two calls, one after another.", replace(SMALL, max_parallel_tools=1), replies=(calls(READ, READ),))
APPROVED = Scope("approved", "Calls that a person has to allow.", replies=(FINAL, calls(READ, POST)), said=ANN)
SIGNED = Scope(
    "signed",
    "A call that two have to allow.",
    replace(SMALL, max_steps=1, approval=ApprovalRule(2)),
    replies=(FINAL, calls(POST)),
    said=(*ANN, Said("Bob", "approved")),
)
LOST = Scope("lost", "A call that may not run twice, and a death.", replies=(calls(UNDECLARED),), said=ANN, deaths=1)
TRIED = Scope("tried", "Two attempts.", replace(SMALL, max_steps=1), max_attempts=2, faults=(Fault.TRANSIENT,))
SPENT = Scope("spent", "A budget of one token.", replace(SMALL, max_total_tokens=1), replies=(FINAL, calls(READ)))
COUNTED = Scope("counted", "A budget of one tool call.", replace(SMALL, max_tool_calls=1), replies=(FINAL, calls(READ)))
CUT_OFF = Scope("cut-off", "Two calls that were cut off.", replies=(FINAL, CUT))
ASSESSED = Scope("assessed", "Policy is asked outside.", replies=(calls(READ),), at_once=False)
POLICY = next(scope for scope in SCOPES if scope.name == "policy")

UNBOUND = unasked(CALL, ("attempts_left", "requests_left"), ("CALL-04",), ("CALL-05", "CALL-06", "CALL-40", "CALL-41"))
UNBUDGETED = unasked(RUN, ("budget_left",), ("RUN-37", "RUN-38", "RUN-39", "RUN-40"), ("RUN-36",))
UNCOUNTED = unasked(RUN, ("tools_affordable",), ("RUN-11", "RUN-12", "RUN-164"), ("RUN-63",))
UNCORRECTED = unasked(RUN, ("retries_left",), ("RUN-49", "RUN-50"), ("RUN-51",))
FLIPPED = swapped(TOOL, "TOOL-34", "TOOL-35")
TWICE: tuple[Effect, ...] = (report_settled, report_settled)


@dataclass(frozen=True, slots=True)
class Planted:
    """A fault: where it is planted, in which scope it shows, the claim that it breaks, and what its witness speaks of."""

    fault: str
    claim: str
    scope: Scope
    tables: Tables
    witness: str


PLANTED = (
    Planted("a lost event", "nothing-refused", ONE, Tables(tool=without(TOOL, "TOOL-92")), "late for tool-1.1: ToolReturned"),
    Planted(
        "an earlier reply that is taken for the current one",
        "late-changes-nothing",
        ONE,
        Tables(call=unasked(CALL, ("current",), (), ("CALL-91",))),
        "late for call-1: AttemptReplied → call-1 CALL-03",
    ),
    Planted("a missing stop row", "nothing-refused", ONE, Tables(run=without(RUN, "RUN-57")), "a stop is asked for"),
    Planted("a cancellation that is noted", "ends-at-once", ONE, Tables(run=changed(RUN, "RUN-59", to=SAME, do=())), "RUN-59"),
    Planted("an approval bypass", "approval-dominates", APPROVED, Tables(tool=bypassed()), "TOOL-04"),
    Planted(
        "one approval for two",
        "approval-dominates",
        SIGNED,
        Tables(tool=changed(TOOL, "TOOL-27", to=ToolState.RUNNING, do=(start,))),
        "1 of 2 approvals",
    ),
    Planted(
        "a rejected call that runs",
        "approval-dominates",
        APPROVED,
        Tables(tool=changed(TOOL, "TOOL-15", to=ToolState.RUNNING, do=(start,))),
        "rejected",
    ),
    Planted("a second run of what may not run twice", "never-twice", LOST, Tables(tool=FLIPPED), "TOOL-34"),
    Planted("a result that settles twice", "settles-once", ONE, Tables(tool=changed(TOOL, "TOOL-20", do=TWICE)), "TOOL-20"),
    Planted(
        "a stop that the call does not hear of",
        "nothing-begins-after-a-stop",
        TRIED,
        Tables(run=changed(RUN, "RUN-57", do=())),
        "a stop is asked for",
    ),
    Planted(
        "all calls at once",
        "order-kept",
        TWO,
        Tables(run=changed(RUN, "RUN-164", do=(launch_all,))),
        "tool-1.2 begins, and tool-1.1",
    ),
    Planted(
        "a start after the end",
        "nothing-begins-for-what-has-ended",
        ONE,
        Tables(tool=changed(TOOL, "TOOL-22", do=(start,))),
        "TOOL-22",
    ),
    Planted("a step beyond the budget", "budgets-hold", SPENT, Tables(run=UNBUDGETED), "1 of 1 tokens are spent"),
    Planted("a retry without bound", "limits-hold", TRIED, Tables(call=UNBOUND), "attempts of call-1 on one model: 3"),
    Planted(
        "a correction without bound",
        "limits-hold",
        next(scope for scope in SCOPES if scope.name == "evaluation"),
        Tables(run=UNCORRECTED),
        "RUN-49",
    ),
    Planted(
        "more at once than allowed",
        "parallel-bounded",
        next(scope for scope in SCOPES if scope.name == "parallel-tools"),
        Tables(run=changed(RUN, "RUN-12", do=(launch_all,))),
        "tool-1.3 run at once, and 2 may",
    ),
    Planted(
        "a call that runs before the decision",
        "person-first",
        APPROVED,
        Tables(run=changed(RUN, "RUN-11", do=(launch_together,))),
        "RUN-11",
    ),
    Planted("a cancelled call that stays", "all-settled", ONE, Tables(tool=changed(TOOL, "TOOL-25", to=SAME)), "TOOL-25"),
    Planted(
        "a result without a message", "one-message-each", TWO, Tables(tool=folding(TOOL, forgetting_the_result)), "TOOL-20"
    ),
    Planted(
        "an end without a reason", "reason-given", ONE, Tables(run=do_without(RUN, "RUN-59", "finish(cancelled)")), "RUN-59"
    ),
    Planted(
        "a question that nobody is asked", "no-deadlock", APPROVED, Tables(tool=changed(TOOL, "TOOL-04", do=())), "TOOL-04"
    ),
    Planted("a wait that is never begun", "run-ends", TRIED, Tables(call=changed(CALL, "CALL-04", do=())), "CALL-04"),
    Planted(
        "a tool that is run again for ever",
        "run-ends",
        ONE,
        Tables(tool=changed(TOOL, "TOOL-21", to=SAME, do=(start,))),
        "TOOL-21",
    ),
    Planted(
        "a stop that waits for a person",
        "stop-ends",
        replace(POLICY, nobody=None),
        Tables(run=do_without(RUN, "RUN-58", "stop_tools")),
        "a stop is asked for",
    ),
    Planted("a final with an exit", "ends-are-final", ONE, Tables(run=an_exit_from_success()), "RUN-X"),
    Planted(
        "a tool that is assessed and run again",
        "nothing-goes-round",
        ASSESSED,
        Tables(tool=changed(TOOL, "TOOL-21", to=ToolState.REQUESTED, do=(assess_again,))),
        "TOOL-21",
    ),
    Planted("a request beyond the worst case", "requests-bounded", TRIED, Tables(call=UNBOUND), "CALL-04"),
    Planted("a tool call beyond the budget", "tool-calls-bounded", COUNTED, Tables(run=UNCOUNTED), "RUN-12"),
    Planted(
        "a settled call that the run is told was decided",
        "nothing-refused",
        ONE,
        linked(ReportSettled, decided),
        "CallDecided is not declared in acting",
    ),
    Planted("a skip that goes to another call", "nothing-refused", CUT_OFF, linked(SkipTool, to_the_first), "TOOL-23 refused"),
    Planted(
        "a failed summary that is reported as ready",
        "summary-is-one",
        next(scope for scope in SCOPES if scope.name == "compaction"),
        linked(ReportCall, always_ready),
        "is answered: no summary",
    ),
    Planted(
        "a lost end that is reported as settled",
        "lost-stays-lost",
        LOST,
        linked(ReportOutcomeUnknown, settled),
        "a new process tells tool-1.1",
    ),
    Planted("a stop that cancels", "no-deadlock", ONE, linked(StopTool, cancelled), "a stop is asked for"),
    Planted(
        "a request without the rule of approval",
        "approval-dominates",
        SIGNED,
        linked(RequestTool, without_the_rule),
        "1 of 2 approvals",
    ),
)


def broken(planted: Planted) -> dict[str, Finding]:
    proof = prove_scope(planted.scope, planted.tables, max_states=20_000)
    return {finding.name: finding for finding in proof.exploration.findings if not finding.holds}


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.fault)
def test_a_planted_fault_is_found_and_its_witness_says_where(planted: Planted) -> None:
    found = broken(planted)
    assert planted.claim in found
    violation = found[planted.claim].violation
    assert violation is not None
    assert planted.witness in shown(violation)


@pytest.mark.parametrize("scope", list(dict.fromkeys(planted.scope for planted in PLANTED)), ids=lambda scope: scope.name)
def test_without_the_fault_everything_holds_there(scope: Scope) -> None:
    assert [finding for finding in prove_scope(scope).exploration.findings if not finding.holds] == []


def test_each_claim_is_broken_by_some_fault() -> None:
    claimed = {claim.name for claim in CLAIMS} | {"nothing-goes-round", "requests-bounded", "tool-calls-bounded"}
    assert claimed == {planted.claim for planted in PLANTED}


def test_a_witness_is_a_numbered_story() -> None:
    (planted,) = (planted for planted in PLANTED if planted.fault == "an approval bypass")
    violation = broken(planted)["approval-dominates"].violation
    assert violation is not None
    assert shown(violation) == (
        "1. the run is admitted → run RUN-01 RUN-02 RUN-03; call-1 CALL-01\n"
        "2. call-1 (generation) is answered: calls read, post → call-1 CALL-03; run RUN-11; tool-1.1 TOOL-01; "
        "tool-1.2 TOOL-01; tool-1.1 TOOL-03; tool-1.2 TOOL-04; run RUN-31\n"
        "   There: run awaiting_approval; tool-1.1 requested; tool-1.2 running; outside: run timer, tool tool-1.2\n"
        "   Wrong: tool-1.2 (post) begins, and 0 of 1 approvals are on record"
    )


def test_a_drift_of_a_link_is_a_numbered_story_too() -> None:
    (planted,) = (planted for planted in PLANTED if planted.fault == "a settled call that the run is told was decided")
    violation = broken(planted)["nothing-refused"].violation
    assert violation is not None
    assert shown(violation).startswith(
        "1. the run is admitted → run RUN-01 RUN-02 RUN-03; call-1 CALL-01\n"
        "2. call-1 (generation) is answered: calls read → call-1 CALL-03; run RUN-12; tool-1.1 TOOL-01 TOOL-02\n"
        "3. tool-1.1 returns → tool-1.1 TOOL-20; run refused\n"
        "   There: run acting; tool-1.1 returned; outside: run timer\n"
        "   Wrong: run: CallDecided is not declared in acting"
    )


def test_the_section_says_that_a_claim_is_broken() -> None:
    (planted,) = (planted for planted in PLANTED if planted.fault == "an approval bypass")
    found = section([planted.scope], planted.tables)
    assert found.outcome is Outcome.BROKEN
    assert "not all hold" in found.summary
    assert "0 of 1 approvals are on record" in found.files["composition.md"]


def test_the_real_tables_are_what_is_explored_when_none_are_given() -> None:
    assert (REAL.run, REAL.call, REAL.tool, REAL.links) == (RUN, CALL, TOOL, LINKS)
    assert ToolAssessed in REAL.tool.events
