"""Ten faults, planted one at a time in a copy of the tables, and what finds each.

    python tests/evidence/planted_faults.py             each fault, who found it, and the witness

A fault that breaks a rule of the format is found when the table is built, which is when its module is imported. The others
are tables like any other; exploring run, calls and tool calls together finds them, and shows a shortest way to where a claim
does not hold. ``SOURCE_EDITS`` plants the first kind in the source text, as a developer would by mistake.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from statewright_evidence.proofs.composition.claims import CLAIMS
from statewright_evidence.proofs.composition.model import CompositionModel
from statewright_evidence.proofs.composition.scopes import SCOPES
from statewright_evidence.proofs.composition.situation import Tables
from statewright_evidence.proofs.composition.watch import NOTHING_REFUSED
from statewright_evidence.proofs.explorer import explore
from statewright_evidence.proofs.properties import Violation
from statewright_evidence.section import Outcome, Section
from statewright_states.call.facts import CallState
from statewright_states.call.table import CALL, ON_THE_WIRE, back_off
from statewright_states.errors import DeclarationError
from statewright_states.form.row import SAME, Ignore, Row
from statewright_states.requirements import TABLES, stated_in
from statewright_states.run.facts import RunState
from statewright_states.run.ignores import LIVE
from statewright_states.run.questions import needs_person
from statewright_states.run.table import RUN
from statewright_states.tool.facts import ToolState
from statewright_states.tool.table import TOOL, report_settled, start, withdraw_question
from surgery import Stated, operated

STATED: Mapping[str, Stated] = {stated.id: stated for table in TABLES for stated in stated_in(table)}
AT_IMPORT = ""
"""In the place of a scope: no exploration is needed."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: what was done in words, the tables with it, and the scope of the exploration that finds it.

    ``plant`` raises DeclarationError where the rules of the format find it.
    """

    name: str
    what: str
    plant: Callable[[], Tables]
    scope: str = AT_IMPORT


@dataclass(frozen=True, slots=True)
class Found:
    """Who found a fault (a rule of the format, or a claim about all that may happen), and how it shows."""

    by: str
    what: str
    where: str
    witness: tuple[str, ...] = ()
    cure: str = ""


def row(identity: str) -> Row:
    """A row as it is declared."""
    declared = STATED[identity]
    assert isinstance(declared, Row)
    return declared


def _run(changes: Mapping[str, Row | Ignore | None]) -> Tables:
    return Tables(run=operated(RUN, changes))


def _call(changes: Mapping[str, Row | Ignore | None]) -> Tables:
    return Tables(call=operated(CALL, changes))


def _tool(changes: Mapping[str, Row | Ignore | None]) -> Tables:
    return Tables(tool=operated(TOOL, changes))


# -- the faults ------------------------------------------------------------------------------------------------------


def gap() -> Tables:
    return _run({"RUN-65": None})


def overlap() -> Tables:
    launch = row("RUN-12")
    return _run({"RUN-12": replace(launch, when=tuple(one for one in launch.when if one.question is not needs_person))})


def trap() -> Tables:
    kept = {"CALL-11": replace(row("CALL-11"), to=SAME), "CALL-12": replace(row("CALL-12"), to=SAME, do=())}
    narrowed = {identity: replace(row(identity), source=ON_THE_WIRE) for identity in ("CALL-14", "CALL-15")}
    return _call({**kept, **narrowed})


def final_with_an_exit() -> Tables:
    return _run({"RUN-60": replace(row("RUN-60"), source=(*LIVE, RunState.PARTIAL))})


def missing_stop_row() -> Tables:
    stops = row("RUN-56")
    return _run({"RUN-56": replace(stops, source=tuple(s for s in stops.sources if s is not RunState.AWAITING_APPROVAL))})


def approval_bypass() -> Tables:
    return _tool({"TOOL-27": replace(row("TOOL-27"), to=ToolState.RUNNING, do=(withdraw_question, start))})


def retry_without_a_bound() -> Tables:
    return _call({"CALL-06": replace(row("CALL-06"), to=CallState.BACKING_OFF, do=(back_off,))})


def settles_twice() -> Tables:
    return _tool({"TOOL-20": replace(row("TOOL-20"), do=(report_settled, report_settled))})


def lost_event() -> Tables:
    return _tool({"TOOL-03": replace(row("TOOL-03"), do=())})


def swapped_target() -> Tables:
    asks, launches = row("RUN-11"), row("RUN-12")
    return _run({"RUN-11": replace(asks, to=launches.to), "RUN-12": replace(launches, to=asks.to)})


FAULTS = (
    Fault("a gap", "RUN-65 is gone: no row says what follows when text is cut off and no budget is left", gap),
    Fault("an overlap", "RUN-12 no longer asks whether a person is needed, so it fires beside RUN-11", overlap),
    Fault("a trap state", "no row leads out of backing_off any more", trap),
    Fault("a final with an exit", "RUN-60, the run deadline, also starts in partial", final_with_an_exit),
    Fault("a missing stop row", "RUN-56 no longer starts in awaiting_approval", missing_stop_row, "approval"),
    Fault("an approval bypass", "TOOL-27 starts the call: a review, or the first of two approvals, is enough", approval_bypass,
          "approval"),
    Fault("a retry without a bound", "CALL-06 waits and tries again when every attempt is used up", retry_without_a_bound,
          "basic-evaluation"),
    Fault("a result that settles twice", "TOOL-20 reports its result twice", settles_twice),
    Fault("a lost event", "TOOL-03 tells nobody that the call is decided", lost_event, "approval"),
    Fault("a swapped target", "RUN-11 and RUN-12 have each other's targets", swapped_target, "approval"),
)  # fmt: skip


# -- finding them ----------------------------------------------------------------------------------------------------


def find(fault: Fault) -> Found | None:
    """Who finds this fault; None when nobody does."""
    try:
        tables = fault.plant()
    except DeclarationError as error:
        return Found(error.rule, error.what, error.where, cure=error.cure)
    return explored(tables, fault.scope) if fault.scope else None


def explored(tables: Tables, scope: str) -> Found | None:
    """The claim that is broken after the fewest steps in this scope, without deaths of the process.

    Where a refused event comes as early as anything else, the other claim says more.
    """
    chosen = next(one for one in SCOPES if one.name == scope)
    findings = explore(CompositionModel(replace(chosen, deaths=0), tables), CLAIMS).findings
    broken = [(finding.name, finding.violation) for finding in findings if finding.violation is not None]
    if not broken:
        return None
    name, violation = min(broken, key=lambda one: (len(_steps(one[1])), one[0] == NOTHING_REFUSED))
    return Found(name, violation.what, violation.where, _steps(violation))


def _steps(violation: Violation) -> tuple[str, ...]:
    return (*violation.path, *violation.circle)


# -- the same faults in the source text ------------------------------------------------------------------------------

SOURCE_EDITS: Mapping[str, tuple[str, Sequence[tuple[str, str]]]] = {
    "a gap": (
        "statewright_states/run/table.py",
        [('Row("RUN-65", S.GENERATING, ReplyReceived, S.PARTIAL, ', 'Row("RUN-65", S.PREPARING, ReplyReceived, S.PARTIAL, ')],
    ),
    "an overlap": ("statewright_states/run/table.py", [("needs_person.no, together.yes)", "together.yes)")]),
    "a trap state": (
        "statewright_states/call/table.py",
        [
            ("BackoffElapsed,  S.SENDING, ", "BackoffElapsed,  SAME, "),
            ("S.BACKING_OFF, StopRequested,   S.CANCELLED,   do=(report_stopped,),", "S.BACKING_OFF, StopRequested,   SAME,"),
            ('Row("CALL-14", LIVE, ', 'Row("CALL-14", ON_THE_WIRE, '),
            ('Row("CALL-15", LIVE, ', 'Row("CALL-15", ON_THE_WIRE, '),
        ],
    ),
    "a final with an exit": (
        "statewright_states/run/table.py",
        [('Row("RUN-60", LIVE, ', 'Row("RUN-60", (*LIVE, S.PARTIAL), ')],
    ),
    "a result that settles twice": (
        "statewright_states/tool/table.py",
        [("S.RETURNED,          do=(report_settled,)", "S.RETURNED,          do=(report_settled, report_settled)")],
    ),
}
"""By the name of the fault: a file below states/, and what a slip of the hand makes of its text."""


# -- by hand ---------------------------------------------------------------------------------------------------------


def told(fault: Fault, found: Found | None) -> str:
    """The fault and its witness, for people."""
    lines = [f"{fault.name}: {fault.what}"]
    if found is None:
        return "\n".join([*lines, "  NOT FOUND"])
    stage = "when the table is imported" if not fault.scope else f"by exploring run, calls and tools together ({fault.scope})"
    lines += [f"  found {stage}: {found.by}", f"  {found.what}"]
    lines += [f"    {number}. {step}" for number, step in enumerate(found.witness, 1)]
    lines += [f"  where: {found.where}"]
    return "\n".join([*lines, f"  cure:  {found.cure}"] if found.cure else lines)


def section() -> Section:
    """The faults as a section of the evidence."""
    began_s = perf_counter()
    found = {fault.name: find(fault) for fault in FAULTS}
    missed = [name for name, by in found.items() if by is None]
    parts = [f"## {fault.name.capitalize()}\n\n```\n{told(fault, found[fault.name])}\n```\n" for fault in FAULTS]
    head = "# Planted faults\n\nOne at a time, in a copy of the tables: what was done, who found it, and a shortest way.\n"
    return Section(
        name="planted",
        title="Planted faults",
        outcome=Outcome.BROKEN if missed else Outcome.HOLDS,
        summary=f"{len(FAULTS)} faults planted, {len(FAULTS) - len(missed)} found.",
        files={"planted.md": "\n".join([head, *parts])},
        seconds=perf_counter() - began_s,
        results={name: by is not None for name, by in found.items()},
    )


def main() -> int:
    """Plant each fault and tell who finds it; the exit code is the number of those that nobody finds."""
    found = [(fault, find(fault)) for fault in FAULTS]
    print("\n\n".join(told(fault, what) for fault, what in found))
    return sum(what is None for _, what in found)


if __name__ == "__main__":
    sys.exit(main())
