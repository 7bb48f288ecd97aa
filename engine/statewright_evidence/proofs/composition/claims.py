"""What is claimed of run, calls and tool calls together: the properties, each with a name and a sentence."""

from __future__ import annotations

from statewright_evidence.proofs.composition import limits, watch
from statewright_evidence.proofs.composition.model import COUNTED_ON
from statewright_evidence.proofs.composition.situation import State
from statewright_evidence.proofs.properties import Always, EachStep, Inevitable, Kind, Property, Step

SEEN = {
    watch.NOTHING_REFUSED: "No event is refused: whatever comes, in whatever order, late or twice, is declared where it comes.",
    watch.LATE_CHANGES_NOTHING: "What comes late, for an earlier request, about another version of a call or without a "
    "question changes nothing.",
    watch.ENDS_AT_ONCE: "A cancellation, the run deadline, a defect of the engine and a stall end the run in the same step.",
    watch.APPROVAL_DOMINATES: "No tool call that policy wants a person to allow begins before enough persons who may do so "
    "have allowed exactly it, and none that one of them rejected.",
    watch.NEVER_TWICE: "No tool call begins twice, unless its tool is declared read or idempotent.",
    watch.SETTLES_ONCE: "The run is told at most once that a tool call has settled, or that its end is lost.",
    watch.NOTHING_AFTER_STOP: "After a stop was asked for no request is put on the wire and no tool call begins.",
    watch.ORDER_KEPT: "Calls of a reply that may not run at once begin and settle in the order in which the model asked, each "
    "after the one before it.",
    watch.NOTHING_FOR_THE_ENDED: "Nothing is begun for a call or a tool call that has ended.",
    watch.BUDGETS_HOLD: "No request is put on the wire once the budget of tokens or of money is spent.",
    watch.LOST_STAYS_LOST: "A run that is told that the end of a tool call is lost holds it for lost, or ends; it takes it for "
    "settled when a person has said so.",
    watch.SUMMARY_IS_ONE: "Messages are replaced by a summary only where a call for one came back with one.",
    limits.LIMITS_HOLD: "Steps, continuations, corrections, tool calls, attempts, fallbacks and requests of one call stay "
    "within their limits.",
    limits.PARALLEL_BOUNDED: "No more tool calls run at once than the configuration allows, and one at a time where one of a "
    "reply wants a person or may not run beside others.",
    limits.PERSON_FIRST: "While a call of a reply waits for a person before any has begun, none of the reply runs.",
    limits.ALL_SETTLED: "When the run goes on to the next model call, every tool call of the last reply has ended; when the "
    "run has ended, so have all calls and tool calls.",
    limits.ONE_MESSAGE: "Every tool call that has ended has its message for the model.",
    limits.REASON_GIVEN: "A run has a stop reason when it has ended, and not before.",
}
"""The claims that are judged while something happens (``watch``) and where it leads to (``limits``)."""


def _is_wrong(name: str, text: str) -> Always[State]:
    def broken(state: State) -> str | None:
        return next((wrong.what for wrong in state.wrong if wrong.claim == name), None)

    return Always(name, text, broken)


def _hangs(state: State) -> str | None:
    if state.over or state.waking or any(entry.activity in COUNTED_ON for entry in state.pending):
        return None
    return f"the run is {state.core.run.state}, and nothing is under way that could go on"


def _leaves_an_end(state: State, step: Step[State]) -> str | None:
    before, then = state.core, step.to.core
    if before.run.ended and then.run is not before.run:
        return f"the run had ended in {before.run.state}"
    after = dict(then.others)
    for name, placed in before.others:
        if placed.ended and after.get(name, placed) is not placed:
            return f"{name} had ended in {placed.state}"
    return None


CLAIMS: tuple[Property[State], ...] = (
    *(_is_wrong(name, text) for name, text in SEEN.items()),
    Always("no-deadlock", "Until the run has ended, something is under way or somebody is asked.", _hangs),
    EachStep("ends-are-final", "Nothing leaves a final state: a run, a call and a tool call end once.", _leaves_an_end),
    Inevitable(
        "run-ends",
        "From everywhere the run ends, if requests, tools and waits come to their end and persons who are asked decide; no "
        "deadline is needed for it.",
        lambda state: state.over,
        lambda state: True,
        frozenset((Kind.DUE, Kind.TIMER, Kind.PERSON)),
    ),
    Inevitable(
        "stop-ends",
        "After a stop the run ends as soon as what is launched is over: it waits for no person and for no timer.",
        lambda state: state.over,
        lambda state: not state.over and state.core.run.facts.stop and not state.waking,
        frozenset((Kind.DUE,)),
    ),
)
