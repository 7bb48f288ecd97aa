"""``approve`` and ``reject``: a person decides about a tool call that waits, from any process."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.text import Text

from statewright.approvals import ApprovalDecision
from statewright.cli.exits import Exit
from statewright.cli.options import NO_JOURNAL, JournalOptions, actor_named
from statewright.cli.output import printable, remarks
from statewright.cli.runs import parts_of, resolve_run
from statewright.loop import AgentLoop
from statewright_states.errors import InternalError
from statewright_states.messages import LLMResponse
from statewright_states.ports import ModelRequest, ReplyObserver

Actor = Annotated[str | None, Parameter(name="--as")]


class _NoModel:
    """Stands where a loop has its model: deciding asks none."""

    model = "none"

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        raise InternalError("a decision asked a model", where="statewright approve")

    async def aclose(self) -> None:
        """Nothing to release."""


def approve(
    run: str,
    call: str,
    /,
    *,
    actor: Actor = None,
    meaning: Literal["approved", "reviewed"] = "approved",
    comment: str = "",
    journal: JournalOptions = NO_JOURNAL,
) -> Exit:
    """Allow a tool call that waits for a person; the run goes on when it is resumed.

    The decision is recorded with who, when, its meaning, and the digest of exactly this call.

    Parameters
    ----------
    run
        The run's id, the beginning or the end of it, or `last`.
    call
        The call's id, as `statewright show` names it.
    actor
        Who decides (default: the login name).
    meaning
        approved allows the call (default); reviewed says that somebody looked, and leaves it waiting.
    comment
        Recorded with the decision.
    """
    decision = ApprovalDecision(True, actor_named(actor), meaning, comment)
    return asyncio.run(_decide(journal, run, call, decision))


def reject(
    run: str,
    call: str,
    /,
    *,
    actor: Actor = None,
    comment: str = "",
    end_run: bool = False,
    journal: JournalOptions = NO_JOURNAL,
) -> Exit:
    """Forbid a tool call that waits for a person; the model is told so when the run is resumed.

    Parameters
    ----------
    run
        The run's id, the beginning or the end of it, or `last`.
    call
        The call's id, as `statewright show` names it.
    actor
        Who decides (default: the login name).
    comment
        Recorded with the decision, and told to the model.
    end_run
        Reject the run with the call.
    """
    decision = ApprovalDecision(False, actor_named(actor), "rejected", comment, end_run)
    return asyncio.run(_decide(journal, run, call, decision))


async def _decide(options: JournalOptions, named: str, call: str, decision: ApprovalDecision) -> Exit:
    async with AgentLoop(_NoModel(), journal=options.store()) as loop:
        run_id = await resolve_run(loop.journal, named)
        going_on = [run_id, *await parts_of(loop.journal, run_id)][-1]
        await loop.decide(
            going_on,
            call,
            decision.approve,
            actor=decision.actor,
            meaning=decision.meaning,
            comment=decision.comment,
            ends_run=decision.ends_run,
        )
    console = remarks()
    console.print(Text(f"recorded: {decision.meaning} by {printable(decision.actor)}"))
    if decision.meaning == "reviewed":
        console.print("  the call still waits for somebody to approve or reject it")
    console.print(Text.assemble(("  then    ", "dim"), f"statewright resume {run_id}{options.again()}"))
    return Exit.SUCCESS
