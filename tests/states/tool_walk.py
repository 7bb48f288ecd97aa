"""What may happen to a tool call, and what must hold after each step of it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from random import Random

from statewright_states.form.row import Event
from statewright_states.form.table import Taken
from statewright_states.tool.commands import (
    AbandonTool,
    AssessTool,
    ReportOutcomeUnknown,
    ReportSettled,
    ReportWaiting,
    StartTool,
    StopChildRuns,
    WithdrawQuestion,
)
from statewright_states.tool.events import (
    ApprovalGiven,
    ChildQuestion,
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
from statewright_states.tool.facts import Approval, Assessment, ToolFacts, ToolState
from statewright_states.tool.table import TOOL
from statewright_states.words.approval import ApprovalRule, WithoutAPerson
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import ToolRequest
from walker import Walker, Witness

S = ToolState
NOBODY = NobodyToAsk("nobody is there")
RULES = (
    None,
    ApprovalRule(required=2),
    ApprovalRule(required=2, approvers=("Ann", "Bob", "Carl", "Dora"), requester="Ann", review_required=True),
)
WAITS = (ToolWaits((ChildQuestion("child", "tool-1.1", "id", "tool", "{}", "digest"),)), ToolWaits(()))
RAN: tuple[Event, ...] = (ToolReturned("result", "result"), ToolFailed("error", "error"), ToolDeadline("too late"))


def possible(state: StrEnum, facts: ToolFacts, chance: Random) -> Sequence[Event]:
    effect = chance.choice(tuple(ToolEffect))
    request = ToolRequest("tool-1", "id", "tool", "arguments", effect, chance.random() < 0.5, True)
    given_up = [ToolSkipped("stopped", "skipped", request), ToolCancelled("cancelled", request)]
    repeated = ToolRepeated("tool-0", "the earlier result", request)
    if state in TOOL.final:
        return [*RAN, *WAITS, *_assessed(), *_decisions("arguments", chance), NOBODY]
    if not facts.tool:
        unasked = chance.choice(tuple(WithoutAPerson))
        asked = [ToolRequested(request, released, rule, unasked) for released in (True, False) for rule in RULES]
        return [*asked, *given_up, repeated]
    stopped: list[Event] = [ToolStopped("stopped")] if facts.released else []
    released: list[Event] = [] if facts.released else [ToolReleased()]
    resumed = ToolResumed(2, "its outcome is unknown")
    match state:
        case S.REQUESTED if facts.assessment is Assessment.PENDING:
            return [*_assessed(), *_decisions(facts.arguments, chance), *stopped, *released, *given_up, resumed]
        case S.REQUESTED:
            return [*_decisions(facts.arguments, chance), *stopped, *released, *given_up, resumed]
        case S.AWAITING_APPROVAL:
            said = (*_decisions(facts.arguments, chance), *_decisions("other", chance), NOBODY)
            return [*said, *stopped, *released, *given_up, resumed]
        case _:
            return [*RAN, *WAITS, *_decisions(facts.arguments, chance), NOBODY, *stopped, given_up[1], resumed]


def _assessed() -> Sequence[Event]:
    refused = (Assessment.FAULTY, Assessment.DENIED)
    return [ToolAssessed(found, "arguments", "refused" if found in refused else None) for found in Assessment]


def _decisions(arguments: str, chance: Random) -> Sequence[Event]:
    said = ((True, "approved", None), (False, "rejected", "rejected"), (True, "reviewed", None))
    actors = ("ann", "ANN", "bob", "carl", "dora", "eve")
    return [
        ApprovalGiven(approve, chance.choice(actors), meaning, "", arguments, message=message)
        for approve, meaning, message in said
    ]


def holds(path: Sequence[Witness[ToolFacts]]) -> None:
    step = path[-1]
    assert isinstance(step.decision, Taken)
    facts, taken = step.decision.facts, step.decision
    commands = [command for earlier in path for command in _commands(earlier)]
    assert sum(isinstance(command, ReportSettled | ReportOutcomeUnknown) for command in commands) <= 1
    if taken.to in TOOL.final:
        assert facts.message is not None, f"{taken.row.id} leaves the call without its message"
        assert taken.to is end_of(step.event, facts), f"{taken.row.id} settles the call as {taken.to}"
    needs_person = taken.to is S.REQUESTED and facts.assessment is Assessment.PERSON
    assert not needs_person, f"{taken.row.id} leaves a call that needs a person where nobody is asked"
    given = {type(command) for command in taken.commands}
    if StartTool in given:
        _it_may_start(facts, taken)
    if taken.to is S.REQUESTED and facts.assessment is Assessment.PENDING and not isinstance(step.event, ToolReleased):
        assert AssessTool in given, f"after {taken.row.id} nobody assesses the call"
    if step.state is S.RUNNING and isinstance(step.event, ToolCancelled | ToolDeadline):
        assert AbandonTool in given, f"{taken.row.id} leaves a tool at work that nobody waits for"
    if step.state is S.RUNNING and isinstance(step.event, ToolStopped):
        assert StopChildRuns in given, f"{taken.row.id} keeps a stop from the runs of the tool"
    if isinstance(step.event, ToolWaits):
        reported = [command.waits for command in taken.commands if isinstance(command, ReportWaiting)]
        assert reported == [bool(step.event.questions)], f"{taken.row.id} does not say whether the call waits"
    if isinstance(step.event, ApprovalGiven):
        assert (WithdrawQuestion in given) == (facts.approval is not Approval.OPEN), f"{taken.row.id}: is it still a question?"


ENDS: dict[type[Event], ToolState] = {
    ToolReturned: S.RETURNED,
    ToolFailed: S.FAILED,
    ToolDeadline: S.TIMED_OUT,
    ToolSkipped: S.SKIPPED,
    ToolStopped: S.SKIPPED,
    ToolRepeated: S.REPEATED,
    ToolCancelled: S.CANCELLED,
    ToolResumed: S.OUTCOME_UNKNOWN,
    NobodyToAsk: S.DENIED,
}


def end_of(event: Event, facts: ToolFacts) -> ToolState:
    """How a call settles with this event: as what happened to it, else as what was found or said about it."""
    faulty = facts.assessment is Assessment.FAULTY
    return ENDS.get(type(event), S.FAILED if faulty else S.DENIED)


def _commands(step: Witness[ToolFacts]) -> Sequence[object]:
    return step.decision.commands if isinstance(step.decision, Taken) else ()


def _it_may_start(facts: ToolFacts, taken: Taken[ToolFacts]) -> None:
    allowed = facts.assessment is Assessment.CLEAR or (
        facts.assessment is Assessment.PERSON and facts.approval is Approval.APPROVED
    )
    assert allowed, f"{taken.row.id} starts a call that nobody allowed"
    rule, approved = facts.sign_off.rule, {name.casefold() for name in facts.sign_off.approved_by}
    if facts.assessment is Assessment.PERSON:
        assert len(approved) >= rule.required, f"{taken.row.id} starts a call that too few approved"
        assert not approved - {name.casefold() for name in rule.approvers or approved}, f"{taken.row.id} counts an outsider"
        assert rule.requester is None or rule.requester.casefold() not in approved, f"{taken.row.id} counts the requester"
        assert not rule.review_required or {*facts.sign_off.reviewed_by} - approved, f"{taken.row.id} starts it unreviewed"
    assert facts.released, f"{taken.row.id} starts a call before its turn"
    assert facts.starts == 1 or facts.effect in (ToolEffect.READ, ToolEffect.IDEMPOTENT), f"{taken.row.id} runs it twice"


def tool_walker() -> Walker[ToolFacts]:
    return Walker(TOOL, possible, holds)
