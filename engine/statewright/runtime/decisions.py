"""Decisions of persons on their way to a run: left in the journal by other processes, read back, and turned into events.

A message that cannot be read becomes an event too: it is recorded, and the run goes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from statewright.core.edits import rejection_message
from statewright.core.execution import RunExecution, pending_approvals
from statewright.core.replay import replay
from statewright.journal.entry import Delivery, decode, encode
from statewright.views.approvals import ApprovalDecision
from statewright.views.state import PendingApproval
from statewright_states.errors import CallerError, JournalBusy
from statewright_states.form.row import Event
from statewright_states.run.events import MessageUnreadable, OutcomeStated
from statewright_states.tool.events import ApprovalGiven
from statewright_states.tool.facts import Approval, ToolFacts
from statewright_states.words.approval import SignOff, Standing, Statement, actor_key, statement_of
from statewright_states.words.ports import Journal, PostedMessage, SeenOf

MOST_LOOKS = 100
"""How often a run is looked at before a decision is given up, because the run went on each time."""

Routed = tuple[str, str, Event]
"""A machine, its instance, and the event for it."""


class PostedDecision(BaseModel):
    """A decision as it is stored in the journal until the run takes it. ``digest`` names the call that was decided about."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    kind: Literal["decision"] = "decision"
    tool: str
    digest: str
    outcome_lost: bool
    approve: bool
    actor: str
    meaning: str
    comment: str
    ends_run: bool
    decided_at_us: int = 0

    @property
    def decision(self) -> ApprovalDecision:
        """What the person said."""
        return ApprovalDecision(self.approve, self.actor, self.meaning, self.comment, self.ends_run)


def posted_decision(pending: PendingApproval, decision: ApprovalDecision, at_us: int) -> bytes:
    """The message that leaves a decision about this question for the run."""
    about = {"tool": pending.tool, "digest": pending.digest, "outcome_lost": pending.outcome_lost}
    said = {name: getattr(decision, name) for name in decision.__slots__}
    return encode({"kind": "decision", **about, **said, "decided_at_us": at_us})


def read_decision(data: bytes) -> PostedDecision:
    """The decision that a message holds; raises ValueError that says what is wrong with it."""
    try:
        posted = PostedDecision.model_validate(decode(data))
        check_decision(posted.decision)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(str(step) for step in first['loc']) or 'the message'}: {first['msg']}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except CallerError as error:
        raise ValueError(error.what) from None
    return posted


def event_of(execution: RunExecution, data: bytes) -> Routed:
    """The event of a message for this run: a decision about one of its calls, or ``MessageUnreadable``."""
    try:
        posted = read_decision(data)
        if posted.tool not in execution.instances or not execution.projection.asked_for(posted.tool):
            raise ValueError(f"this run has no call {posted.tool!r}")
    except ValueError as error:
        return "run", "run", MessageUnreadable(str(error), execution.payloads.put(data))
    if posted.outcome_lost:
        return "run", "run", outcome_stated(posted.tool, posted.decision, posted.decided_at_us)
    return "tool", posted.tool, approval_given(execution, posted.tool, posted.digest, posted.decision, posted.decided_at_us)


def approval_given(execution: RunExecution, tool: str, digest: str, decision: ApprovalDecision, at_us: int) -> ApprovalGiven:
    """The event of a person's statement about a call; a rejection brings the message for the model."""
    message = None
    if statement_of(decision.approve, decision.meaning) is Statement.REJECTED:
        message = rejection_message(execution, tool, decision.actor, decision.comment)
    said = (decision.approve, decision.actor, decision.meaning, decision.comment)
    return ApprovalGiven(*said, digest, decision.ends_run, message, at_us)


def outcome_stated(tool: str, decision: ApprovalDecision, at_us: int) -> OutcomeStated:
    """The event of a person's statement about a lost outcome."""
    return OutcomeStated(tool, decision.approve, decision.actor, decision.comment, at_us)


# -- before a decision is handed in ----------------------------------------------------------------------------------


def check_decision(decision: ApprovalDecision) -> None:
    """Raises CallerError for a decision that says nothing, or two things at once."""
    if not actor_key(decision.actor):
        raise CallerError("a decision needs an actor", where="actor", cure="name the person who decides")
    meanings = (Statement.APPROVED, Statement.REVIEWED) if decision.approve else (Statement.REJECTED,)
    if decision.meaning not in meanings:
        raise CallerError(
            f"{'an approval' if decision.approve else 'a rejection'} cannot mean {decision.meaning!r}",
            where="meaning",
            cure=f"use {' or '.join(meanings)}",
        )


async def leave_decision(
    journal: Journal, run_id: str, call: str, digest: str | None, decision: ApprovalDecision, at_us: int
) -> PendingApproval:
    """Leave a decision about an open question for the run; gives the question as it stood then.

    It is left only if nothing has happened to the run since it was looked at; else it is looked at again. Raises CallerError
    where no such question is open (any more), JournalBusy where the run never stands still for long enough.
    """
    for _ in range(MOST_LOOKS):
        recorded = await replay(journal, run_id)
        messages = await journal.posted(run_id)
        foresee(recorded.execution, messages)
        pending = open_question(recorded.execution, call, digest)
        seen = SeenOf(recorded.entries - 1, messages[-1].id if messages else 0)
        if await journal.post(run_id, posted_decision(pending, decision, at_us), seen=seen):
            return pending
    raise JournalBusy(
        "something happens to the run each time before the decision can be left",
        where=f"run {run_id} in {journal.location}",
        cure="nothing is recorded; try again",
    )


def foresee(execution: RunExecution, messages: Iterable[PostedMessage]) -> None:
    """Apply these messages to a replayed execution, to see what they will change; nothing is recorded."""
    for number, message in enumerate(messages):
        execution.apply(number, Delivery(*event_of(execution, message.data)))


def open_question(execution: RunExecution, call: str, digest: str | None) -> PendingApproval:
    """The open question about a call, named by its id or by its name in the journal; raises CallerError without one.

    ``digest`` is the beginning of the digest of the call that was looked at: another call of that name is another one.
    """
    where = f"run {execution.inputs.run_id}"
    found = [pending for pending in pending_approvals(execution) if call in (pending.tool, pending.call_id)]
    if not found:
        cure = _decided(execution, call) or "`statewright show` lists the open ones"
        raise CallerError(f"no question about the call {call!r} is open", where=where, cure=cure)
    if len(found) > 1:
        names = ", ".join(pending.tool for pending in found)
        raise CallerError(f"{len(found)} open calls are called {call!r}", where=where, cure=f"use one of: {names}")
    (pending,) = found
    if digest is not None and not (digest and pending.digest.startswith(digest)):
        raise CallerError(
            f"the call {call!r} is not the one that was looked at: its digest is {pending.digest}",
            where=where,
            cure="look at it again with `statewright show`; a changed call needs a decision of its own",
        )
    return pending


def require_counted(pending: PendingApproval, decision: ApprovalDecision) -> None:
    """Raises CallerError, with who has signed and what is needed, for a statement that the run will not count."""
    statement, sign_off = statement_of(decision.approve, decision.meaning), pending.sign_off
    standing = (sign_off.rule.hears if pending.outcome_lost else sign_off.standing)(decision.actor, statement)
    if standing is not Standing.COUNTS:
        raise CallerError(
            f"{decision.actor} {OBJECTIONS[standing]}",
            where=f"the call {pending.call_id!r}",
            cure=f"the attempt is left for the record; {progress(sign_off)}",
        )


OBJECTIONS = {
    Standing.OUTSIDER: "is not one of those who may decide",
    Standing.REQUESTER: "asked for this run, and somebody else has to allow its calls",
    Standing.AGAIN: "has said so already, and the same actor cannot be two",
    Standing.REVIEWER: "has reviewed this call, and somebody else has to approve it",
    Standing.UNREVIEWED: "cannot approve what nobody has reviewed",
}
"""Why a statement is not counted, after the name of whoever made it."""


def progress(sign_off: SignOff) -> str:
    """Who has signed, and what is still needed: ``1 of 2 approvals (Ada); 1 more needed, of Ada, Bob, Carl``."""
    rule = sign_off.rule
    given = f" ({', '.join(sign_off.approved_by)})" if sign_off.approved_by else ""
    said = [f"{len(sign_off.approved_by)} of {rule.required} approval{'' if rule.required == 1 else 's'}{given}"]
    if rule.review_required or sign_off.reviewed_by:
        said.append(f"reviewed by {', '.join(sign_off.reviewed_by)}" if sign_off.reviewed_by else "a review is needed first")
    if sign_off.missing:
        whom = f", of {', '.join(rule.approvers)}" if rule.approvers is not None else ""
        but = f", not by {rule.requester}" if rule.requester is not None else ""
        said.append(f"{sign_off.missing} more needed{whom}{but}")
    return "; ".join(said)


def _decided(execution: RunExecution, call: str) -> str | None:
    """How a call was decided, by whom and when, in words; None for one that nobody has decided about."""
    for tool, subject in execution.instances.items():
        facts = subject.facts
        if isinstance(facts, ToolFacts) and call in (tool, facts.call_id):
            last = execution.projection.decided.get(tool)
            if isinstance(last, OutcomeStated):
                return f"{last.actor} let the run {'go on' if last.go_on else 'end'} already{_at(last.decided_at_us)}"
            if facts.approval is not Approval.OPEN:
                actors = facts.sign_off.approved_by if facts.approval is Approval.APPROVED else (last.actor,) if last else ()
                by = f" by {', '.join(actors)}" if actors else ""
                return f"it is {facts.approval}{by} already{_at(last.decided_at_us if last else 0)}"
    return None


def _at(time_us: int) -> str:
    """The time of a decision, where it is known: ``, at 2026-01-31 09:00:00+00:00``."""
    return f", at {datetime.fromtimestamp(time_us // 1_000_000, UTC).isoformat(sep=' ')}" if time_us else ""
