"""States of the tool machine, and the facts that it remembers."""

from __future__ import annotations

from enum import StrEnum

from statewright_states.frozen import dataclass
from statewright_states.words.approval import UNSIGNED, SignOff, WithoutAPerson
from statewright_states.words.messages import MessageDigest
from statewright_states.words.tool_effects import ToolEffect


class ToolState(StrEnum):
    """States of one tool call."""

    REQUESTED = "requested"
    AWAITING_APPROVAL = "awaiting_approval"
    RUNNING = "running"
    RETURNED = "returned"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    DENIED = "denied"
    SKIPPED = "skipped"
    REPEATED = "repeated"
    CANCELLED = "cancelled"
    OUTCOME_UNKNOWN = "outcome_unknown"


class Assessment(StrEnum):
    """What came of resolving, parsing and authorising a call."""

    PENDING = "pending"
    """Not assessed yet."""
    CLEAR = "clear"
    """It may run."""
    PERSON = "person"
    """It may run when a person allows it."""
    FAULTY = "faulty"
    """No such tool, or arguments that do not parse or do not fit."""
    DENIED = "denied"
    """The policy says no, or failed to say yes."""


class Approval(StrEnum):
    """Where the approval of a call stands."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What the tool machine remembers. ``message`` is the digest of its one tool message, once that is known."""

    tool: str = ""
    call_id: str = ""
    name: str = ""
    effect: ToolEffect = ToolEffect.UNDECLARED
    released: bool = False
    assessment: Assessment = Assessment.PENDING
    approval: Approval = Approval.OPEN
    signed: SignOff | None = None
    """Where its sign-off stands; None: one person may allow it, whoever it is, and nobody has said anything yet."""
    without_a_person: WithoutAPerson = WithoutAPerson.WAIT
    arguments: str = ""
    message: MessageDigest | None = None
    starts: int = 0

    @property
    def sign_off(self) -> SignOff:
        """Where its sign-off stands."""
        return self.signed or UNSIGNED
