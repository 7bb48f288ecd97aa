"""The tool machine. Drawn in diagrams/tool.svg (generated).

Theory of operation. One tool call. It is requested, assessed (name resolved, arguments parsed, policy asked), where
policy wants it allowed by a person, and runs when the run releases it: its turn comes from outside, because order and
parallelism belong to the run. Whatever happens, it settles exactly once, and its final state says how; each settlement
has exactly one tool message for the model. A call that is in order but not released waits; so does one that was
refused, so that messages and results keep the order in which the model asked.

A tool may begin runs of its own, its child runs. While only persons can carry these on, the call waits: its tool is given up,
and runs again when the run is taken up; it then finds its child runs as they stand.

A call that was running when the process died is run again only if its tool is declared ``read`` or ``idempotent``. Any
other becomes ``outcome_unknown``: never silently twice, never silently lost.

**What is not in this table**: which tool a name means, whether policy allows the call, how long it may take and whether it is
a dry run (``statewright.runtime.effects.tool_calls``); whether its arguments parse (``statewright.tools.arguments``); which calls
need a person (``statewright_states.words.tool_effects``) and what a statement counts for (``statewright_states.words.approval``);
what a message from another process means (``statewright.runtime.decisions``); guards (``statewright.hooks.asking``); how the tool
is run (``statewright.tools.execution``); what the model sees of a result (``statewright.tools.truncation``); the words it is told
(``statewright.config.prompts``); which run of its own a tool begins or finds (``statewright.runtime.effects.child_runs``); order,
parallelism and repeated calls (``statewright_states.run.table``).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from statewright_states.form.question import one_of, yes_no
from statewright_states.form.row import SAME, Command, Event, Given, Ignore, Row, effect, gives
from statewright_states.form.table import Table
from statewright_states.frozen import replace
from statewright_states.tool.commands import (
    AbandonTool,
    AskPerson,
    AssessTool,
    ReportAsked,
    ReportDecided,
    ReportOutcomeUnknown,
    ReportSettled,
    ReportWaiting,
    StartTool,
    StopChildRuns,
    WithdrawQuestion,
)
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
from statewright_states.tool.facts import Approval, Assessment, ToolFacts, ToolState
from statewright_states.words.approval import SignOff, Standing, Statement, WithoutAPerson, statement_of
from statewright_states.words.tool_effects import ToolEffect

# -- questions -------------------------------------------------------------------------------------------------------


@one_of(Assessment)
def assessment(facts: ToolFacts, event: Event) -> Assessment:
    """Is the call in order?"""
    return event.assessment if isinstance(event, ToolAssessed) else facts.assessment


@yes_no
def released(facts: ToolFacts, event: Event) -> bool:
    """Has its turn come?"""
    return facts.released


@one_of(Approval)
def approval(facts: ToolFacts, event: Event) -> Approval:
    """What has been decided about this very call, this statement counted?"""
    return _decided(facts, event) if isinstance(event, ApprovalGiven) else facts.approval


@one_of(Standing)
def standing(facts: ToolFacts, event: ApprovalGiven) -> Standing:
    """What does this person's statement count for?"""
    return facts.sign_off.standing(event.actor, _statement(event))


@yes_no
def same_call(facts: ToolFacts, event: ApprovalGiven) -> bool:
    """Was the decision made about exactly these arguments?"""
    return event.arguments == facts.arguments


@yes_no
def may_run_twice(facts: ToolFacts, event: Event) -> bool:
    """Is the tool declared read or idempotent, so that running it again is harmless?"""
    return facts.effect in (ToolEffect.READ, ToolEffect.IDEMPOTENT)


@yes_no
def decided_before(facts: ToolFacts, event: ApprovalGiven | NobodyToAsk) -> bool:
    """Is this call decided already?"""
    return facts.approval is not Approval.OPEN


@one_of(WithoutAPerson)
def without_a_person(facts: ToolFacts, event: NobodyToAsk) -> WithoutAPerson:
    """What is a call to do about which nobody can be asked?"""
    return facts.without_a_person


def _statement(event: ApprovalGiven) -> Statement:
    return statement_of(event.approve, event.meaning)


def _decided(facts: ToolFacts, event: ApprovalGiven) -> Approval:
    """One rejection rejects; enough approvals by different persons approve."""
    statement = _statement(event)
    if statement is Statement.REJECTED:
        return Approval.REJECTED
    return Approval.OPEN if facts.sign_off.after(event.actor, statement).missing else Approval.APPROVED


# -- effects ---------------------------------------------------------------------------------------------------------


@effect
def assess(facts: ToolFacts, event: ToolRequested | ToolAssessed | ToolResumed) -> AssessTool:
    return AssessTool(event.request.tool if isinstance(event, ToolRequested) else facts.tool)


@effect
def ask_person(facts: ToolFacts, event: Event) -> AskPerson:
    return AskPerson(facts.tool, event.arguments if isinstance(event, ToolAssessed) else facts.arguments)


@effect
def report_asked(facts: ToolFacts, event: Event) -> ReportAsked:
    return ReportAsked(facts.tool)


@effect
def withdraw_question(facts: ToolFacts, event: Event) -> WithdrawQuestion:
    return WithdrawQuestion(facts.tool)


@effect
def start(facts: ToolFacts, event: Event) -> StartTool:
    return StartTool(facts.tool, facts.starts + 1)


@effect
def abandon(facts: ToolFacts, event: Event) -> AbandonTool:
    return AbandonTool(facts.tool)


@effect
def report_decided(facts: ToolFacts, event: Event) -> ReportDecided:
    return ReportDecided(facts.tool, isinstance(event, ApprovalGiven) and event.ends_run and not event.approve)


@effect
def report_waiting(facts: ToolFacts, event: ToolWaits) -> ReportWaiting:
    return ReportWaiting(facts.tool, bool(event.questions))


@effect
def stop_child_runs(facts: ToolFacts, event: Event) -> StopChildRuns:
    return StopChildRuns(facts.tool)


@effect
def report_settled(facts: ToolFacts, event: Event) -> ReportSettled:
    return ReportSettled(facts.tool)


@effect
def report_repeated(facts: ToolFacts, event: ToolRepeated) -> ReportSettled:
    return ReportSettled(event.request.tool)


@effect
def report_outcome_unknown(facts: ToolFacts, event: Event) -> ReportOutcomeUnknown:
    return ReportOutcomeUnknown(facts.tool)


# -- data ------------------------------------------------------------------------------------------------------------


def fold(facts: ToolFacts, event: Event, commands: tuple[Command, ...]) -> ToolFacts:
    """The facts after an event and the commands it led to."""
    match event:
        case ToolRequested():
            facts = _requested(event)
        case ToolAssessed():
            facts = replace(facts, assessment=event.assessment, arguments=event.arguments, message=event.message)
        case ToolReleased():
            facts = replace(facts, released=True)
        case ApprovalGiven() if event.arguments == facts.arguments:
            signed = facts.sign_off.after(event.actor, _statement(event))
            facts = replace(facts, approval=_decided(facts, event), signed=signed, message=event.message)
        case NobodyToAsk() if facts.without_a_person is WithoutAPerson.DENY:
            facts = replace(facts, approval=Approval.REJECTED, message=event.message)
        case ToolStopped() if any(isinstance(command, ReportSettled) for command in commands):
            facts = replace(facts, message=event.message)
        case ToolSkipped() | ToolRepeated() | ToolCancelled():
            known = facts if facts.tool else replace(facts, tool=event.request.tool, call_id=event.request.call_id)
            facts = replace(known, name=event.request.name, message=event.message)
        case ToolReturned() | ToolFailed() | ToolDeadline():
            facts = replace(facts, message=event.message)
        case ToolResumed() if any(isinstance(command, ReportOutcomeUnknown) for command in commands):
            facts = replace(facts, message=event.message)
        case _:
            pass
    if any(isinstance(command, StartTool) for command in commands):
        facts = replace(facts, starts=facts.starts + 1)
    return facts


def _requested(event: ToolRequested) -> ToolFacts:
    request = event.request
    signed = SignOff(event.rule) if event.rule else None
    return ToolFacts(
        tool=request.tool,
        call_id=request.call_id,
        name=request.name,
        effect=request.effect,
        released=event.released,
        signed=signed,
        without_a_person=event.without_a_person,
    )


# -- the table -------------------------------------------------------------------------------------------------------

S = ToolState
OUTSIDER, REQUESTER, AGAIN, REVIEWER, UNREVIEWED = [counted for counted in Standing if counted is not Standing.COUNTS]
WAITING = (S.REQUESTED, S.AWAITING_APPROVAL)
OPEN = (*WAITING, S.RUNNING)
SETTLED = (S.RETURNED, S.FAILED, S.TIMED_OUT, S.DENIED, S.SKIPPED, S.REPEATED, S.CANCELLED)
ENDS: Mapping[StrEnum, Given] = {
    **dict.fromkeys(SETTLED, gives(ReportSettled)),
    S.OUTCOME_UNKNOWN: gives(ReportOutcomeUnknown),
}
"""What the run is told of an end."""
FINAL = tuple(ENDS)
PENDING, CLEAR, PERSON, FAULTY, DENIED = Assessment
WAIT, DENY = WithoutAPerson
APPROVED, REJECTED, UNDECIDED = Approval.APPROVED, Approval.REJECTED, Approval.OPEN

# fmt: off
TOOL: Table[ToolFacts] = Table(
    "tool", ToolState, facts=ToolFacts, initial=S.REQUESTED, final=ENDS, fold=fold,
    unreported=(ToolSkipped, ToolCancelled),  # the run has given the call up, and counts it as settled
    happy=("TOOL-01", "TOOL-02", "TOOL-20"), good=(S.RETURNED,),
    rows=(
        # -- is it in order? -----------------------------------------------------------------------------------------
        Row("TOOL-01", S.REQUESTED, ToolRequested, SAME,                do=(assess,),
            req=("R-TOOL-1",), why="every call the model asked for has a machine of its own before anything is done about it"),
        Row("TOOL-02", S.REQUESTED, ToolAssessed,  S.RUNNING,           when=(assessment.is_(CLEAR), released.yes), do=(start,),
            req=("R-TOOL-1",), why="in order, and its turn has come"),
        Row("TOOL-03", S.REQUESTED, ToolAssessed,  SAME,                when=(assessment.is_(CLEAR), released.no), do=(report_decided,),
            req=("R-TOOL-2",), why="in order, but others of this reply still wait for a person"),
        Row("TOOL-04", S.REQUESTED, ToolAssessed,  S.AWAITING_APPROVAL, when=(assessment.is_(PERSON),), do=(ask_person, report_asked),
            req=("R-APPR-1",), why="policy wants a person to allow exactly this call"),
        Row("TOOL-05", S.REQUESTED, ToolAssessed,  S.FAILED,            when=(assessment.is_(FAULTY), released.yes), do=(report_settled,),
            req=("R-TOOL-3",), why="the model is told what is wrong with the call; nothing runs"),
        Row("TOOL-06", S.REQUESTED, ToolAssessed,  S.DENIED,            when=(assessment.is_(DENIED), released.yes), do=(report_settled,),
            req=("R-TOOL-4",), why="authorisation fails closed"),
        Row("TOOL-07", S.REQUESTED, ToolAssessed,  SAME,                when=(assessment.is_(FAULTY, DENIED), released.no), do=(report_decided,),
            req=("R-TOOL-2",), why="refused; settled when its turn comes, so that results keep their order"),
        Row("TOOL-08", S.REQUESTED, ToolAssessed,  SAME,                when=(assessment.is_(PENDING),), do=(assess,),
            req=("R-TOOL-4",), why="an assessment that assesses nothing is no permission: assess"),
        # -- its turn comes ------------------------------------------------------------------------------------------
        Row("TOOL-10", S.REQUESTED, ToolReleased,  S.RUNNING,           when=(assessment.is_(CLEAR),), do=(start,),
            req=("R-TOOL-2",), why="in order, and its turn has come"),
        Row("TOOL-11", S.REQUESTED, ToolReleased,  S.FAILED,            when=(assessment.is_(FAULTY),), do=(report_settled,),
            req=("R-TOOL-3",), why="it was found faulty earlier; now it settles"),
        Row("TOOL-12", S.REQUESTED, ToolReleased,  S.DENIED,            when=(assessment.is_(DENIED),), do=(report_settled,),
            req=("R-TOOL-4",), why="it was denied earlier; now it settles"),
        Row("TOOL-13", S.REQUESTED, ToolReleased,  SAME,                when=(assessment.is_(PENDING, PERSON),),
            req=("R-TOOL-2",), why="not assessed yet: it runs as soon as it is found to be in order"),
        Row("TOOL-14", S.AWAITING_APPROVAL, ToolReleased, S.RUNNING,    when=(approval.is_(APPROVED),), do=(start,),
            req=("R-APPR-1",), why="a person allowed exactly this call"),
        Row("TOOL-15", S.AWAITING_APPROVAL, ToolReleased, S.DENIED,     when=(approval.is_(REJECTED),), do=(report_settled,),
            req=("R-APPR-2",), why="a person rejected it; the model is told so"),
        Row("TOOL-16", S.AWAITING_APPROVAL, ToolReleased, SAME,         when=(approval.is_(UNDECIDED),),
            req=("R-APPR-1",), why="its turn has come, but nobody has allowed it"),
        # -- a person decides ----------------------------------------------------------------------------------------
        Row("TOOL-17", S.AWAITING_APPROVAL, ApprovalGiven, S.RUNNING,   when=(same_call.yes, approval.is_(APPROVED), released.yes), do=(withdraw_question, start),
            req=("R-APPR-1",), why="allowed, and its turn had come"),
        Row("TOOL-18", S.AWAITING_APPROVAL, ApprovalGiven, S.DENIED,    when=(same_call.yes, approval.is_(REJECTED), released.yes), do=(withdraw_question, report_settled),
            req=("R-APPR-2",), why="rejected, and its turn had come"),
        Row("TOOL-19", S.AWAITING_APPROVAL, ApprovalGiven, SAME,        when=(same_call.yes, approval.is_(APPROVED, REJECTED), released.no), do=(withdraw_question, report_decided),
            req=("R-APPR-1", "R-APPR-2"), why="decided; it acts on it when its turn comes"),
        Row("TOOL-27", S.AWAITING_APPROVAL, ApprovalGiven, SAME,        when=(same_call.yes, approval.is_(UNDECIDED)), do=(ask_person,),
            req=("R-APPR-5", "R-APPR-7"), why="a review, or one approval of several: it is counted, and the question stays open"),
        Row("TOOL-40", S.AWAITING_APPROVAL, NobodyToAsk, SAME,          when=(without_a_person.is_(DENY), released.no), do=(report_decided,),
            req=("R-APPR-8",), why="nobody can be asked, and the run is not to wait: denied; it settles when its turn comes"),
        Row("TOOL-41", S.AWAITING_APPROVAL, NobodyToAsk, S.DENIED,      when=(without_a_person.is_(DENY), released.yes), do=(report_settled,),
            req=("R-APPR-8",), why="nobody can be asked, and the run is not to wait: denied, and its turn had come"),
        Row("TOOL-70", S.AWAITING_APPROVAL, NobodyToAsk, SAME,          when=(without_a_person.is_(WAIT),),
            req=("R-APPR-8",), why="nobody can be asked here: the question stays open for somebody who decides from elsewhere"),
        # -- it ran --------------------------------------------------------------------------------------------------
        Row("TOOL-20", S.RUNNING,   ToolReturned,  S.RETURNED,          do=(report_settled,),
            req=("R-TOOL-1",), why="the full result is stored, the model is shown at most its bound"),
        Row("TOOL-21", S.RUNNING,   ToolFailed,    S.FAILED,            do=(report_settled,),
            req=("R-TOOL-3",), why="an exception is a result that the model sees"),
        Row("TOOL-22", S.RUNNING,   ToolDeadline,  S.TIMED_OUT,         do=(abandon, report_settled),
            req=("R-TIME-3",), why="waiting is bounded; a thread cannot be killed, so it is abandoned"),
        Row("TOOL-50", S.RUNNING,   ToolWaits,     SAME,                do=(report_waiting,),
            req=("R-CHILD-2",), why="whether only persons can carry on the runs that it has begun: while that is so the call waits with them, and holds nothing"),
        # -- the run does not want it --------------------------------------------------------------------------------
        Row("TOOL-23", WAITING,     ToolSkipped,   S.SKIPPED,
            req=("R-STOP-1", "R-TRANS-2"), why="not begun, and not to be begun; it still gets its one tool message"),
        Row("TOOL-60", S.REQUESTED, ToolRepeated,  S.REPEATED,          do=(report_repeated,),
            req=("R-REPLY-6", "R-TRANS-2"), why="made too often in a row: its earlier result is its result, with a note"),
        Row("TOOL-26", WAITING,     ToolStopped,   S.SKIPPED,           do=(report_settled,),
            req=("R-STOP-1", "R-TRANS-2"), why="its turn had come, but it has not begun: a stop waits for no assessment and no person"),
        Row("TOOL-28", S.RUNNING,   ToolStopped,   SAME,                do=(stop_child_runs,),
            req=("R-STOP-1", "R-CHILD-4"), why="what is running is finished; runs that it has begun begin nothing new"),
        Row("TOOL-24", WAITING,     ToolCancelled, S.CANCELLED,
            req=("R-STOP-2", "R-TRANS-2"), why="the run ends at once"),
        Row("TOOL-25", S.RUNNING,   ToolCancelled, S.CANCELLED,         do=(abandon,),
            req=("R-STOP-2", "R-TRANS-2"), why="the run ends at once; what the tool still does is late"),
        # -- taken up again from the journal -------------------------------------------------------------------------
        Row("TOOL-30", S.REQUESTED, ToolResumed,   SAME,                when=(assessment.is_(PENDING),), do=(assess,),
            req=("R-REC-1",), why="assessing again changes nothing"),
        Row("TOOL-31", S.REQUESTED, ToolResumed,   SAME,                when=(assessment.is_not(PENDING),),
            req=("R-REC-1",), why="its assessment is on record; it waits for its turn"),
        Row("TOOL-32", S.AWAITING_APPROVAL, ToolResumed, SAME,          when=(approval.is_(UNDECIDED),), do=(ask_person,),
            req=("R-REC-1", "R-APPR-4"), why="the question survives the process: ask again"),
        Row("TOOL-33", S.AWAITING_APPROVAL, ToolResumed, SAME,          when=(approval.is_(APPROVED, REJECTED),),
            req=("R-REC-1",), why="the decision is on record; it waits for its turn"),
        Row("TOOL-34", S.RUNNING,   ToolResumed,   SAME,                when=(may_run_twice.yes,), do=(start,),
            req=("R-REC-2",), why="its result was lost with the process, and running it again is harmless"),
        Row("TOOL-35", S.RUNNING,   ToolResumed,   S.OUTCOME_UNKNOWN,   when=(may_run_twice.no,), do=(report_outcome_unknown,),
            req=("R-REC-3",), why="it may have happened: never silently twice, never silently lost"),
    ),
    ignores=(
        Ignore("TOOL-87", S.RUNNING,           ApprovalGiven, req=("R-LATE-1",), why="decided already, and begun"),
        Ignore("TOOL-88", S.AWAITING_APPROVAL, ApprovalGiven, when=(same_call.yes, decided_before.yes), req=("R-APPR-3",), why="decided already; a decision is not changed"),
        Ignore("TOOL-89", S.AWAITING_APPROVAL, ApprovalGiven, when=(same_call.no,), req=("R-APPR-3",), why="a decision about another version of this call"),
        Ignore("TOOL-44", S.AWAITING_APPROVAL, ApprovalGiven, when=(same_call.yes, decided_before.no, standing.is_(OUTSIDER)), req=("R-APPR-6",), why="not one of those who may decide: on record, and counted for nothing"),
        Ignore("TOOL-45", S.AWAITING_APPROVAL, ApprovalGiven, when=(same_call.yes, decided_before.no, standing.is_(REQUESTER)), req=("R-APPR-6",), why="four eyes: whoever asked for the run may reject a call of it, and not allow one"),
        Ignore("TOOL-46", S.AWAITING_APPROVAL, ApprovalGiven, when=(same_call.yes, decided_before.no, standing.is_(AGAIN)), req=("R-APPR-6",), why="said by this person before: the same actor cannot be two"),
        Ignore("TOOL-47", S.AWAITING_APPROVAL, ApprovalGiven, when=(same_call.yes, decided_before.no, standing.is_(REVIEWER)), req=("R-APPR-7",), why="this person reviewed it: reviewing and approving are two persons' work"),
        Ignore("TOOL-48", S.AWAITING_APPROVAL, ApprovalGiven, when=(same_call.yes, decided_before.no, standing.is_(UNREVIEWED)), req=("R-APPR-7",), why="not reviewed yet: a review comes first"),
        Ignore("TOOL-49", S.REQUESTED, ApprovalGiven, req=("R-APPR-3",), why="nobody is being asked about it: a decision needs a question"),
        Ignore("TOOL-42", S.AWAITING_APPROVAL, NobodyToAsk, when=(decided_before.yes,), req=("R-LATE-1",), why="decided meanwhile, from elsewhere"),
        Ignore("TOOL-43", (S.RUNNING, *FINAL), NobodyToAsk, req=("R-LATE-1",), why="decided meanwhile, and begun or settled"),
        Ignore("TOOL-90", FINAL, ToolAssessed,  req=("R-LATE-1",), why="the call has settled"),
        Ignore("TOOL-91", FINAL, ApprovalGiven, req=("R-LATE-1",), why="the call has settled; the decision came too late"),
        Ignore("TOOL-92", FINAL, ToolReturned,  req=("R-LATE-1",), why="the call has settled; the result came too late"),
        Ignore("TOOL-93", FINAL, ToolFailed,    req=("R-LATE-1",), why="the call has settled; the failure came too late"),
        Ignore("TOOL-95", FINAL, ToolWaits,     req=("R-LATE-1",), why="the call has settled; nothing waits for it"),
        Ignore("TOOL-94", FINAL, ToolDeadline,  req=("R-LATE-1",), why="the call has settled in time"),
    ),
)
# fmt: on
