"""Sign-off of a tool call: who may decide about it, what each statement counts for, and when enough have signed.

Actors are compared by ``actor_key``, never letter by letter: if two spellings of one name were two actors, one person
could sign twice. Taking two people for one costs another signature; taking one for two costs the control.
"""

from __future__ import annotations

import unicodedata
from enum import StrEnum

from statewright_states.frozen import dataclass, replace

INVISIBLE = frozenset(("Cc", "Cf"))
"""Unicode categories of characters that show nothing: controls, and marks such as a zero-width space."""
FILLERS = (
    *(range(only, only + 1) for only in (0x34F, 0x2065, 0x2800, 0x3164, 0xFFA0)),
    *(range(0x115F, 0x1161), range(0x17B4, 0x17B6), range(0x180B, 0x1810)),
    *(range(0xFE00, 0xFE10), range(0xFFF0, 0xFFF9), range(0xE0000, 0xE1000)),
)
"""Characters of other categories that show nothing either: those that Unicode calls default ignorable, and a blank."""


class Statement(StrEnum):
    """What a person says about a call."""

    REVIEWED = "reviewed"
    """Somebody looked; nothing is allowed by that."""
    APPROVED = "approved"
    REJECTED = "rejected"


class Standing(StrEnum):
    """What a person's statement counts for, under the rule and after what was said before."""

    COUNTS = "counts"
    OUTSIDER = "outsider"
    """The person is not one of those who may decide, or is nobody."""
    REQUESTER = "requester"
    """The person asked for the run, and another pair of eyes is wanted."""
    AGAIN = "again"
    """The person has said so already: the same actor cannot be two."""
    REVIEWER = "reviewer"
    """The person has reviewed the call, and reviewing and approving are two persons' work."""
    UNREVIEWED = "unreviewed"
    """Nobody has reviewed the call yet, and a review comes first."""


class WithoutAPerson(StrEnum):
    """What becomes of a call that needs a person where nobody can be asked."""

    WAIT = "wait"
    """It waits for somebody who decides from elsewhere."""
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """What a call needs before it may run. The rule of a run never changes while it lives."""

    required: int = 1
    """How many different persons have to approve."""
    approvers: tuple[str, ...] | None = None
    """Those who may decide; None: anybody."""
    requester: str | None = None
    """Whoever asked for the run and therefore may only reject; None where that is no matter."""
    review_required: bool = False
    """Whether somebody has to review the call before others may approve it."""

    def hears(self, actor: str, statement: Statement) -> Standing:
        """Whether this person has the right to say this: COUNTS, OUTSIDER or REQUESTER."""
        if not actor_key(actor) or (self.approvers is not None and not among(actor, self.approvers)):
            return Standing.OUTSIDER
        asked_for_it = self.requester is not None and same_actor(self.requester, actor)
        return Standing.REQUESTER if asked_for_it and statement is not Statement.REJECTED else Standing.COUNTS


@dataclass(frozen=True, slots=True)
class SignOff:
    """Where the sign-off of one call stands: its rule, and who has said what so far, in that order, as they were named."""

    rule: ApprovalRule = ApprovalRule()
    reviewed_by: tuple[str, ...] = ()
    approved_by: tuple[str, ...] = ()

    def standing(self, actor: str, statement: Statement) -> Standing:
        """What this statement of this person would count for now. A rejection needs nothing but the right to decide."""
        right = self.rule.hears(actor, statement)
        if right is not Standing.COUNTS or statement is Statement.REJECTED:
            return right
        approved, reviewed = among(actor, self.approved_by), among(actor, self.reviewed_by)
        if approved or (reviewed and statement is Statement.REVIEWED):
            return Standing.AGAIN
        if statement is Statement.APPROVED and self.rule.review_required:
            return Standing.REVIEWER if reviewed else Standing.COUNTS if self.reviewed_by else Standing.UNREVIEWED
        return Standing.COUNTS

    def after(self, actor: str, statement: Statement) -> SignOff:
        """The sign-off with this statement counted, if it counts. A rejection leaves nothing to be counted."""
        if statement is Statement.REJECTED or self.standing(actor, statement) is not Standing.COUNTS:
            return self
        if statement is Statement.REVIEWED:
            return replace(self, reviewed_by=(*self.reviewed_by, actor))
        return replace(self, approved_by=(*self.approved_by, actor))

    @property
    def missing(self) -> int:
        """How many approvals are still needed."""
        return max(self.rule.required - len(self.approved_by), 0)


UNSIGNED = SignOff()
"""The sign-off of a call that one person may allow, whoever it is, before anybody has said anything."""


def statement_of(approve: bool, meaning: str) -> Statement:
    """What a decision says. Whatever is neither a review nor a clear yes is a no."""
    if meaning == Statement.REVIEWED:
        return Statement.REVIEWED
    return Statement.APPROVED if approve and meaning == Statement.APPROVED else Statement.REJECTED


def actor_key(name: str) -> str:
    """What a name is compared by: without case, compatibility forms, invisible characters and needless space.

    Unicode's NFKC with case folding. Letters of other scripts that look alike stay different: a name is a claim, and
    only a list of approvers says whose claims count. An empty key is nobody.
    """
    visible = "".join(letter for letter in name if letter.isspace() or not _shows_nothing(letter))
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible.casefold()).casefold())
    return " ".join(folded.split())


def same_actor(one: str, other: str) -> bool:
    """Whether two names are one actor's."""
    return actor_key(one) == actor_key(other)


def among(actor: str, actors: tuple[str, ...]) -> bool:
    """Whether the actor is one of these."""
    return actor_key(actor) in {actor_key(name) for name in actors}


def _shows_nothing(letter: str) -> bool:
    return unicodedata.category(letter) in INVISIBLE or any(ord(letter) in fillers for fillers in FILLERS)
