"""Copies of the built-in tables with one fault each, one for every claim, and how each is explored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from statewright_evidence.proofs.alphabets.settings import plain
from statewright_evidence.proofs.claims import run as run_claims
from statewright_evidence.proofs.claims.plan_build import COUNTERS
from statewright_evidence.proofs.proof import Proof
from statewright_evidence.proofs.prove import Proofs, prove
from statewright_evidence.proofs.targets import PROOFS, of_proof
from statewright_states.call import table as calls
from statewright_states.form.row import SAME, Command, Event, effect
from statewright_states.form.table import Table
from statewright_states.plan_build import table as plans
from statewright_states.run import effects as run_effects
from statewright_states.run.commands import CallModel, RequestTool
from statewright_states.run.facts import EvaluationMode, RunFacts, RunSettings
from statewright_states.run.table import OUT_OF_REACH, RUN, R
from statewright_states.run.table import S as RunS
from statewright_states.tool import table as tools
from statewright_states.words.vocabulary import Purpose, StopRequested

ONE_STEP = plain()
MAX_STATES = 5_000
"""A fault may make a table endless."""
Rows = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Fault:
    """What is changed in a table: rows by id, rows left out, the fold. ``settings`` are those of the run to explore."""

    rows: Rows = field(default_factory=dict[str, Mapping[str, Any]])
    without: tuple[str, ...] = ()
    fold: Callable[..., Any] | None = None
    settings: RunSettings = ONE_STEP


def broken(table: Table[Any], fault: Fault) -> Table[Any]:
    """The table with this fault in it; it is checked like any other when it is built."""
    return Table(
        table.name,
        type(table.initial),
        facts=table.new_facts,  # type: ignore[arg-type]
        initial=table.initial,
        final=tuple(table.final),
        fold=fault.fold or table.fold,
        rows=[replace(row, **fault.rows.get(row.id, {})) for row in table.rows if row.id not in fault.without],
        ignores=table.ignores,
    )


PROOF_OF: Mapping[str, Proof[Any]] = {proof.table.name: proof for proof in PROOFS}


def proven(name: str, claim: str, fault: Fault) -> Proofs:
    """What the claim finds in the table with the fault."""
    proof = run_claims.proof((fault.settings,)) if name == RUN.name else PROOF_OF[name]
    return prove(of_proof(replace(proof, table=broken(proof.table, fault))), [claim], max_states=MAX_STATES)


# -- faults ----------------------------------------------------------------------------------------------------------------


@effect
def ask_twice(facts: RunFacts, event: Event) -> tuple[CallModel, ...]:
    once = run_effects.call_of(facts, Purpose.EVALUATION)
    return once, once


@effect
def hand_over_again(facts: RunFacts, event: Event) -> RequestTool:
    return RequestTool(facts.tools[0].request, released=False)


def deaf_to_stops(facts: RunFacts, event: Any, commands: tuple[Command, ...]) -> RunFacts:
    return facts if isinstance(event, StopRequested) else RUN.fold(facts, event, commands)


def silent(facts: Any, event: Any, commands: tuple[Command, ...]) -> Any:
    return replace(tools.TOOL.fold(facts, event, commands), message=None)


def forgetful(facts: Any, event: Any, commands: tuple[Command, ...]) -> Any:
    return replace(plans.PLAN_BUILD.fold(facts, event, commands), steps=0)


NOTHING_USED: Mapping[str, Any] = dict.fromkeys(COUNTERS, 0)


def uncounted(facts: Any, event: Any, commands: tuple[Command, ...]) -> Any:
    """Without what would grow for ever in a task that does not end."""
    return replace(plans.PLAN_BUILD.fold(facts, event, commands), build=None, **NOTHING_USED)


E = run_effects
NEXT = {"to": SAME, "do": ()}
FAULTS: Mapping[tuple[str, str], Fault] = {
    ("run", "nothing-refused"): Fault(without=("RUN-129",)),
    ("run", "limits-kept"): Fault(
        {"RUN-18": {"do": (E.continue_text, E.continue_text, E.call_model)}}, settings=plain(max_continuations=1, max_steps=2)
    ),
    ("run", "model-calls-bounded"): Fault({"RUN-02": {"do": (E.build_context, ask_twice)}}, settings=plain(max_steps=0)),
    ("run", "budget-first"): Fault(
        {"RUN-05": {"to": RunS.GENERATING, "do": (E.call_model,)}}, settings=plain(max_model_calls=0)
    ),
    ("run", "tools-within-budget"): Fault(
        {"RUN-63": {"to": RunS.ACTING, "do": (E.launch_together,)}}, settings=plain(max_tool_calls=1)
    ),
    ("run", "persons-first"): Fault({"RUN-11": {"do": (E.launch_together,)}}),
    ("run", "stop-noted"): Fault(fold=deaf_to_stops),
    ("run", "stop-begins-nothing"): Fault({"RUN-10": {"to": RunS.ACTING, "do": (E.launch_together,)}}),
    ("run", "stop-ends"): Fault({"RUN-17": NEXT}),
    ("run", "cancel-ends"): Fault({"RUN-59": NEXT}),
    ("run", "deadline-ends"): Fault({"RUN-60": NEXT}),
    ("run", "defect-ends"): Fault({"RUN-75": NEXT}),
    ("run", "stall-ends"): Fault({"RUN-150": NEXT}),
    ("run", "time-stands-for-persons"): Fault({"RUN-171": {"do": ()}}),
    ("run", "one-reason"): Fault({"RUN-25": {"do": (OUT_OF_REACH,)}}),
    ("run", "calls-closed"): Fault({"RUN-25": {"do": (E.finish(R.INCOMPLETE),)}}),
    ("run", "calls-go-forward"): Fault({"RUN-41": {"do": (hand_over_again,)}}),
    ("run", "given-up-once"): Fault({"RUN-73": {"do": (E.cancel_tools, E.cancel_tools, E.finish(R.TOOL_OUTCOME_UNKNOWN))}}),
    ("run", "somebody-is-awaited"): Fault({"RUN-12": {"do": ()}}),
    ("run", "end-inevitable"): Fault({"RUN-161": NEXT}, settings=plain(evaluation=EvaluationMode.BASIC)),
    ("run", "end-needs-no-timer"): Fault({"RUN-40": {"do": (), "to": SAME}}, settings=plain(max_steps=2)),
    ("call", "attempts-bounded"): Fault({"CALL-06": {"to": calls.S.BACKING_OFF, "do": (calls.back_off,)}}),
    ("call", "requests-numbered"): Fault({"CALL-11": {"do": (calls.send, calls.send)}}),
    ("call", "stop-sends-nothing"): Fault({"CALL-10": {"to": calls.S.SENDING, "do": (calls.switch_model,)}}),
    ("call", "stop-ends"): Fault({"CALL-10": NEXT}),
    ("call", "cancel-ends"): Fault({"CALL-15": NEXT}),
    ("call", "deadline-ends"): Fault({"CALL-14": {"do": (calls.report_timeout,)}}),
    ("call", "reports-once"): Fault({"CALL-03": {"do": ()}}),
    ("tool", "approval-first"): Fault({"TOOL-16": {"to": tools.S.RUNNING, "do": (tools.start,)}}),
    ("tool", "turn-first"): Fault({"TOOL-03": {"to": tools.S.RUNNING, "do": (tools.start,)}}),
    ("tool", "runs-once"): Fault(
        {"TOOL-34": {"when": (tools.may_run_twice.no,)}, "TOOL-35": {"when": (tools.may_run_twice.yes,)}}
    ),
    ("tool", "settles-once"): Fault({"TOOL-20": {"do": (tools.report_settled, tools.report_settled)}}),
    ("tool", "reports-its-end"): Fault({"TOOL-20": {"do": ()}}),
    ("tool", "message-known"): Fault(fold=silent),
    ("tool", "cancel-ends"): Fault({"TOOL-25": NEXT}),
    ("plan_build", "sums-kept"): Fault(fold=forgetful),
    ("plan_build", "one-reason"): Fault({"PLAN-05": {"do": ()}}),
    ("plan_build", "plan-first"): Fault({"PLAN-04": {"to": plans.S.BUILDING, "do": (plans.start_build,)}}),
    ("plan_build", "plans-once"): Fault({"PLAN-31": {"do": (plans.start_plan,)}}),
    ("plan_build", "stop-begins-nothing"): Fault({"PLAN-06": {"to": plans.S.BUILDING, "do": (plans.start_build,)}}),
    ("plan_build", "stop-told"): Fault({"PLAN-22": {"do": ()}}),
    ("plan_build", "cancel-told"): Fault({"PLAN-25": {"do": ()}}),
    ("plan_build", "stop-ends"): Fault({"PLAN-09": NEXT}, fold=uncounted),
}
"""For each claim about a built-in table, a fault that breaks it. Claims about any table are broken on a table of a few rows."""
