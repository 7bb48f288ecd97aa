"""Asking a person: what is asked, what can be answered, and who asks. The terminal's approver lives in the command line."""

from __future__ import annotations

from typing import Protocol

from statewright_states.frozen import dataclass
from statewright_states.words.approval import UNSIGNED, SignOff
from statewright_states.words.tool_effects import ToolEffect


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A question to a person about one tool call. ``digest`` names exactly what is decided about.

    ``outcome_lost`` asks something else: the call had begun when the process died; may the run go on?
    """

    run_id: str
    tool: str
    call_id: str
    name: str
    arguments: str
    effect: ToolEffect
    digest: str
    outcome_lost: bool = False
    sign_off: SignOff = UNSIGNED
    """What the call's approval takes, and who has reviewed and approved it so far."""
    remark: str = ""
    """What whoever decides should know besides, such as that the tool declares no effect."""


@dataclass(frozen=True, slots=True)
class ApprovalDecision:
    """A person's answer; whatever is neither a review nor a clear yes rejects. ``ends_run`` rejects the run with the call."""

    approve: bool
    actor: str
    meaning: str = "approved"
    comment: str = ""
    ends_run: bool = False


class Approver(Protocol):
    """Whoever can ask a person."""

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """The decision; None when there is nobody to ask now, and the run has to wait."""
