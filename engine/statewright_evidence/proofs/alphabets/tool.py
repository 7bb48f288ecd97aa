"""What may come to a tool table: every assessment, every statement of six names under three rules, a death at any time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from functools import cache

from statewright_evidence.proofs.composition.late import ASKED_BELOW
from statewright_evidence.proofs.properties import Kind
from statewright_states.form.row import Event
from statewright_states.tool.events import (
    ApprovalGiven,
    NobodyToAsk,
    ToolAssessed,
    ToolCancelled,
    ToolDeadline,
    ToolFailed,
    ToolReleased,
    ToolRepeated,
    ToolRequested,
    ToolResumed,
    ToolReturned,
    ToolSkipped,
    ToolStopped,
    ToolWaits,
)
from statewright_states.tool.facts import Assessment, ToolFacts, ToolState
from statewright_states.tool.table import TOOL
from statewright_states.words.approval import ApprovalRule, SignOff, WithoutAPerson, actor_key
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import ToolRequest

S = ToolState
BOUNDS = (
    "each declared effect of a tool; waiting or denied where nobody can be asked; released at once or later; no rule, two "
    "approvals of anybody, two approvals of four named persons other than the requester after a review; approvals by ann (the "
    "requester), ANN (the same person), bob, carl, dora and eve (an outsider), rejections and reviews by three of them, about "
    "these arguments and about others; runs of its own that wait for persons; a stop, the end of the run, a deadline, a "
    "resumption and late results at any time"
)
THESE, OTHERS = "arguments", "other arguments"
RULES = (
    ApprovalRule(required=2),
    ApprovalRule(required=2, approvers=("ann", "bob", "carl", "dora"), requester="ann", review_required=True),
)
ACTORS = ("ann", "ANN", "bob", "carl", "dora", "eve")
NOT_BEGUN, ASKING = (S.REQUESTED,), (S.AWAITING_APPROVAL,)
MESSAGE = "message"


def request(effect: ToolEffect) -> ToolRequest:
    """A request for a call of a tool with this effect."""
    return ToolRequest("tool-1", "id", "tool", THESE, effect, person=False, parallel=True)


REQUESTS = {effect: request(effect) for effect in ToolEffect}
REQUESTED = (
    *(ToolRequested(asked, released) for asked in REQUESTS.values() for released in (True, False)),
    *(ToolRequested(REQUESTS[ToolEffect.READ], released, rule) for released in (True, False) for rule in RULES),
    *(ToolRequested(REQUESTS[ToolEffect.READ], released, None, WithoutAPerson.DENY) for released in (True, False)),
)
"""The effect and the rule are asked about in different states: each effect without a rule, each rule with one effect."""
REFUSALS = (Assessment.FAULTY, Assessment.DENIED)
ASSESSED = tuple(ToolAssessed(found, THESE, MESSAGE if found in REFUSALS else None) for found in Assessment)
"""Pending too: an assessment that says nothing, which may only come a bounded number of times."""
SAID = (
    *(ApprovalGiven(True, actor, "approved", "", THESE) for actor in ACTORS),
    *(ApprovalGiven(False, actor, "rejected", "", THESE, message=MESSAGE) for actor in ("ann", "bob", "eve")),
    *(ApprovalGiven(True, actor, "reviewed", "", THESE) for actor in ("ANN", "bob", "eve")),
    ApprovalGiven(False, "bob", "rejected", "", THESE, ends_run=True, message=MESSAGE),
)
SAID_ASIDE = tuple(said for said in SAID if said.actor == "bob" and not said.ends_run)
"""Where nobody is asked: statements are ignored there without a question, whoever makes them."""
SAID_OF_OTHERS = tuple(replace(said, arguments=OTHERS) for said in SAID_ASIDE)
NOBODY = NobodyToAsk(MESSAGE)
RAN = (ToolReturned("result", MESSAGE), ToolFailed("error", MESSAGE))
DEADLINE = ToolDeadline(MESSAGE)
WAITS = (ToolWaits(ASKED_BELOW), ToolWaits(()))
RESUMED = ToolResumed(2, MESSAGE)
GIVEN_UP = {asked: (ToolSkipped("stopped", MESSAGE, asked), ToolCancelled(MESSAGE, asked)) for asked in REQUESTS.values()}


def alphabet(state: StrEnum, facts: ToolFacts) -> Iterator[tuple[Event, Kind]]:
    """Every event that may come: a request first, or the news that the run does not want the call at all."""
    if state in TOOL.final:
        yield from _maybe(*RAN, *WAITS, DEADLINE, *ASSESSED, *SAID_ASIDE, NOBODY)
    elif not facts.tool:
        asked = REQUESTS[ToolEffect.READ]
        yield from ((event, Kind.DUE) for event in REQUESTED)
        yield from _maybe(*GIVEN_UP[asked], ToolRepeated("tool-0", MESSAGE, asked))
    else:
        yield from _open(state, facts)


def _open(state: StrEnum, facts: ToolFacts) -> Iterator[tuple[Event, Kind]]:
    skipped, cancelled = GIVEN_UP[REQUESTS[facts.effect]]
    if state in NOT_BEGUN:
        if facts.assessment is Assessment.PENDING:
            yield from ((event, Kind.MAYBE if event.assessment is Assessment.PENDING else Kind.DUE) for event in ASSESSED)
        yield from _maybe(*SAID_ASIDE, skipped)
    elif state in ASKING:
        yield from ((event, Kind.PERSON) for event in (*SAID, *SAID_OF_OTHERS))
        yield from _maybe(NOBODY, skipped)
    else:
        yield from ((event, Kind.DUE) for event in RAN)
        yield DEADLINE, Kind.TIMER
        yield from _maybe(*SAID_ASIDE, *WAITS, NOBODY)
    if not facts.released:
        yield ToolReleased(), Kind.DUE
    else:
        yield from _maybe(ToolStopped(MESSAGE))
    yield from _maybe(cancelled, RESUMED)


def _maybe(*events: Event) -> Iterable[tuple[Event, Kind]]:
    return ((event, Kind.MAYBE) for event in events)


def abstraction(state: StrEnum, facts: ToolFacts) -> ToolFacts:
    """Count starts up to two, name each signatory once and in order, and forget what a call was once it has settled.

    ``starts`` is asked by no question; the claim that a call starts twice only where that is harmless asks whether it is more
    than one. Of those who signed it is asked who is among them, and how many they are: names are compared by their keys, in
    whatever order they came. In a final state every event is ignored without a question.
    """
    if state in TOOL.final:
        return ToolFacts(tool=facts.tool, message=facts.message)
    signed = facts.signed
    if signed is not None and (signed.reviewed_by or signed.approved_by):
        signed = SignOff(signed.rule, _in_order(signed.reviewed_by), _in_order(signed.approved_by))
    if facts.starts <= 2 and signed == facts.signed:
        return facts
    return replace(facts, starts=min(facts.starts, 2), signed=signed)


@cache
def _in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(map(actor_key, names)))
