"""Every error that Statewright raises, split first by who is at fault.

::

    StatewrightError
    ├── CallerError                    the caller's input, configuration or declaration
    │   ├── ConfigurationError         an option, file, environment variable or argument is wrong
    │   │   └── TooManyStates          a machine that is to be proven has more states than were allowed
    │   ├── DeclarationError           a table breaks a rule of its format (raised at import)
    │   ├── StatusAssignmentError      somebody tried to set a status outside a declared transition
    │   ├── ToolDeclarationError       a function cannot become a tool
    │   ├── HistoryError               the message history handed in is not usable
    │   └── LoopClosed                 the loop was closed while a run went on, which can be taken up again
    ├── ProviderError                  the model's service, or the way to it
    │   ├── ConnectionFailed           no connection, or it broke (transient)
    │   ├── AttemptTimedOut            one attempt took too long (transient)
    │   ├── RateLimited                too many requests; carries retry_after_s (transient)
    │   ├── ServerFailed               5xx, overload, 408 or 409 (transient)
    │   ├── StreamCutShort             the stream ended without its end marker (transient)
    │   ├── AuthenticationFailed       the key is missing, wrong or not allowed (unavailable)
    │   ├── QuotaExhausted             the account cannot pay for more (unavailable)
    │   ├── ModelNotFound              no such model at this endpoint (unavailable)
    │   ├── ContextOverflow            the request is longer than the model's window (overflow)
    │   ├── RequestRejected            the service refuses this request as it is (rejected)
    │   └── MalformedReply             the reply is not what the protocol promises (transient)
    ├── JournalError                   the record of a run
    │   ├── JournalUnavailable         cannot be opened, read or written (missing, disk full, no right)
    │   │   └── NoJournalYet           nothing is there to be read; the first run that is written creates it
    │   ├── NotAJournal                the file is something else
    │   ├── RunNotFound                the journal holds no such run
    │   ├── RunExists                  the journal already holds a run of this id
    │   ├── JournalBusy                another process writes this run; names the owner
    │   ├── Fenced                     this process lost the run to another one
    │   ├── JournalDamaged             a stored entry, blob or link of the chain is not what it was
    │   ├── ReplayDiverged             the recorded events no longer give the recorded entries
    │   └── CodeChanged                the run is pinned to other deciding code than is here
    ├── WorkspaceRefusal               a tool of the workspace does not do what the model asked
    └── InternalError                  us: a defect of Statewright

Each message says what happened, where (machine, row or state, event, file, option) and the cure.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Fault(StrEnum):
    """What a failed model attempt means for what may be done next (asked by the ``call`` table)."""

    TRANSIENT = "transient"
    """The same request may succeed later: retry."""
    UNAVAILABLE = "unavailable"
    """This model will not answer, another one may: no retry, but a fallback."""
    OVERFLOW = "overflow"
    """The request is too long for the model: compact, then ask again."""
    REJECTED = "rejected"
    """The request is wrong: neither a retry nor another model cures it."""
    BLOCKED = "blocked"
    """A guard of the caller does not let the request out."""


class StatewrightError(Exception):
    """The root of the tree; ``str()`` gives what happened, where, and the cure, each on a line of its own."""

    def __init__(self, what: str, *, where: str = "", cure: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.cure = cure

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.cure:
            lines.append(f"  cure:  {self.cure}")
        return "\n".join(lines)


# -- the caller ------------------------------------------------------------------------------------------------------


class CallerError(StatewrightError):
    """The caller's input, configuration or declaration is at fault."""


class ConfigurationError(CallerError):
    """An option, a file, an environment variable or an argument is wrong."""


class TooManyStates(ConfigurationError):
    """A machine that is to be proven has more states than were allowed."""


class DeclarationError(CallerError):
    """A table breaks a rule of its format; names the rule, the row or state, and the cure."""

    def __init__(self, rule: str, what: str, *, where: str, cure: str) -> None:
        super().__init__(f"{rule}: {what}", where=where, cure=cure)
        self.rule = rule


class StatusAssignmentError(CallerError):
    """Somebody tried to set a status outside a declared transition."""


class ToolDeclarationError(CallerError):
    """A function cannot become a tool: no type hints, a reserved name, a duplicate."""


class HistoryError(CallerError):
    """The message history handed in is not usable."""


class LoopClosed(CallerError):
    """The loop was closed while the run went on; it is on record as far as it came, and can be taken up again."""


# -- the provider ----------------------------------------------------------------------------------------------------


class ProviderError(StatewrightError):
    """The model's service, or the way to it, is at fault.

    ``status_code`` is the HTTP status where one came, ``retry_after_s`` the service's own wish (seconds) where it
    stated one. ``fault`` decides what the ``call`` table does next; it is fixed per class.
    """

    fault: Fault = Fault.TRANSIENT

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        cure: str = "",
        status_code: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(what, where=where, cure=cure)
        self.status_code = status_code
        self.retry_after_s = retry_after_s


class ConnectionFailed(ProviderError):
    """No connection could be made, or it broke before the reply was complete."""


class AttemptTimedOut(ProviderError):
    """One attempt took longer than its timeout, or the stream stood still too long."""


class RateLimited(ProviderError):
    """The service asks to slow down (429 without a quota message)."""


class ServerFailed(ProviderError):
    """The service failed or is overloaded (5xx, 408, 409, or an error inside the stream)."""


class StreamCutShort(ProviderError):
    """The stream ended without its end marker: never a short success."""


class MalformedReply(ProviderError):
    """The reply is not what the protocol promises (not JSON, no choice, wrong types)."""


class AuthenticationFailed(ProviderError):
    """The key is missing, wrong, or not allowed to use this model (401, 403)."""

    fault = Fault.UNAVAILABLE


class QuotaExhausted(ProviderError):
    """The account cannot pay for more (402, or 429 with a quota code)."""

    fault = Fault.UNAVAILABLE


class ModelNotFound(ProviderError):
    """There is no such model, or no such path, at this endpoint (404)."""

    fault = Fault.UNAVAILABLE


class ContextOverflow(ProviderError):
    """The request is longer than the model's context window."""

    fault = Fault.OVERFLOW


class RequestRejected(ProviderError):
    """The service refuses this request as it is (400, 422 and the like)."""

    fault = Fault.REJECTED


# -- the journal -----------------------------------------------------------------------------------------------------


class JournalError(StatewrightError):
    """The record of a run is at fault, or the place where it is kept."""


class JournalUnavailable(JournalError):
    """The journal cannot be opened, read or written: missing, full disk, no right."""


class NoJournalYet(JournalUnavailable):
    """Nothing is there to be read; the first run that is written there creates it."""


class NotAJournal(JournalError):
    """The file exists and is not a Statewright journal, or of a format this version does not know."""


class RunNotFound(JournalError):
    """The journal holds no run of this id."""


class RunExists(JournalError):
    """The journal already holds a run of this id."""


class JournalBusy(JournalError):
    """Another process writes this run; ``owner`` names it."""

    def __init__(self, what: str, *, where: str = "", cure: str = "", owner: str = "") -> None:
        super().__init__(what, where=where, cure=cure)
        self.owner = owner


class Fenced(JournalError):
    """This process lost the run: another one took over with a higher epoch."""


class JournalDamaged(JournalError):
    """A stored entry, blob or link of the chain is not what it was; ``seq`` names the first bad entry."""

    def __init__(self, what: str, *, where: str = "", cure: str = "", seq: int | None = None) -> None:
        super().__init__(what, where=where, cure=cure)
        self.seq = seq


class ReplayDiverged(JournalError):
    """The recorded events no longer give the recorded entries; ``seq`` is the first that differs."""

    def __init__(self, what: str, *, where: str = "", cure: str = "", seq: int | None = None) -> None:
        super().__init__(what, where=where, cure=cure)
        self.seq = seq


class CodeChanged(JournalError):
    """The run is pinned to other deciding code than is here; ``changes`` names the parts that differ, by table."""

    def __init__(self, what: str, *, where: str = "", cure: str = "", changes: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(what, where=where, cure=cure)
        self.changes = changes


# -- the workspace ---------------------------------------------------------------------------------------------------


class WorkspaceRefusal(StatewrightError):
    """A tool of the workspace does not do what it was asked. What the model reads is the text of this error."""


# -- us --------------------------------------------------------------------------------------------------------------


class InternalError(StatewrightError):
    """A defect of Statewright itself; the message asks for a report."""

    def __init__(self, what: str, *, where: str = "", cure: str = "") -> None:
        super().__init__(what, where=where, cure=cure or "this is a defect of Statewright: please report it with the journal")
