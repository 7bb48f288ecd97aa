"""``approve`` and ``reject``: a person decides about a tool call that waits, from any process."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.text import Text

from statewright.agent.loop import AgentLoop
from statewright.cli.exits import Exit
from statewright.cli.options import NO_JOURNAL, JournalOptions, RunName, actor_named, again
from statewright.cli.runs import resolve_run
from statewright.journal.reading import read_header
from statewright.presentation.layout import command_text, print_folded
from statewright.presentation.output import one_line, remarks, typed
from statewright.presentation.recorded import asking_in
from statewright.runtime.decisions import progress
from statewright.views.approvals import ApprovalDecision
from statewright_states.errors import InternalError
from statewright_states.words.messages import LLMResponse
from statewright_states.words.ports import ModelRequest, ReplyObserver

CallId = Annotated[str, Parameter(help="The call's id, as `statewright show` names it.")]
Actor = Annotated[str | None, Parameter(name="--as", help="Who decides (default: the login name).")]
AT_ONCE = "# a run that is live goes on by itself"


class _NoModel:
    """Stands where a loop has its model: deciding asks none."""

    model = "none"

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        raise InternalError("a decision asked a model", where="statewright approve")

    async def aclose(self) -> None:
        """Nothing to release."""


def approve(
    run: RunName,
    call: CallId,
    /,
    *,
    actor: Actor = None,
    meaning: Literal["approved", "reviewed"] = "approved",
    comment: str = "",
    digest: str | None = None,
    journal: JournalOptions = NO_JOURNAL,
) -> Exit:
    """Allow a tool call that waits for a person. A run that is live goes on by itself, any other when it is resumed.

    The decision is recorded with who, when, its meaning, and the digest of exactly this call. Where several have to
    approve, the call waits for the rest.

    Parameters
    ----------
    meaning
        approved allows the call (default); reviewed says that somebody looked, and leaves it waiting.
    comment
        Recorded with the decision.
    digest
        The digest of the call that was looked at, or its beginning: any other call of this id is left alone.
    """
    decision = ApprovalDecision(True, actor_named(actor), meaning, comment)
    return asyncio.run(_decide(journal, run, call, digest, decision))


def reject(
    run: RunName,
    call: CallId,
    /,
    *,
    actor: Actor = None,
    comment: str = "",
    digest: str | None = None,
    end_run: bool = False,
    journal: JournalOptions = NO_JOURNAL,
) -> Exit:
    """Forbid a tool call that waits for a person; the model is told so. One rejection is enough, whoever approved before.

    Parameters
    ----------
    comment
        Recorded with the decision, and told to the model.
    digest
        As for `approve`.
    end_run
        Reject the run with the call.
    """
    decision = ApprovalDecision(False, actor_named(actor), "rejected", comment, end_run)
    return asyncio.run(_decide(journal, run, call, digest, decision))


async def leave_decision_of(options: JournalOptions, run_id: str, call: str, approve: bool, actor: str, comment: str) -> str:
    """Leave a person's decision about a call for a run, from a face that goes on; what became of it, in a line."""
    decision = ApprovalDecision(approve, actor, "approved" if approve else "rejected", comment)
    async with AgentLoop(_NoModel(), journal=options.store()) as loop:
        asking = await asking_in(loop.journal, run_id, call)
        sign_off = await loop.decide(asking, call, approve, actor=actor, meaning=decision.meaning, comment=comment)
    waits = f"; the call still waits: {progress(sign_off)}" if approve and sign_off.missing else ""
    return one_line(f"recorded: {decision.meaning} by {actor}{waits}")


async def _decide(options: JournalOptions, named: str, call: str, digest: str | None, decision: ApprovalDecision) -> Exit:
    async with AgentLoop(_NoModel(), journal=options.store()) as loop:
        run_id = await resolve_run(loop.journal, named)
        sign_off = await loop.decide(
            await asking_in(loop.journal, run_id, call),
            call,
            decision.approve,
            actor=decision.actor,
            meaning=decision.meaning,
            comment=decision.comment,
            ends_run=decision.ends_run,
            digest=digest,
        )
        equipment = read_header(run_id, await loop.journal.entries(run_id)).equipment
    console = remarks()
    console.print(Text(f"recorded: {decision.meaning} by {one_line(decision.actor)}"))
    if decision.meaning == "reviewed" or (decision.approve and sign_off.missing):
        print_folded(console, Text(f"  the call still waits: {one_line(progress(sign_off))}"), 2)
    else:
        command = f"resume {typed(run_id)}{again(equipment)}{options.again()}"
        console.print(command_text(console, command, "then", AT_ONCE))
    return Exit.SUCCESS
