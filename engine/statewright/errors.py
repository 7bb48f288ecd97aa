"""Every error that Statewright raises to its callers. The tree, with who is at fault, stands in ``statewright_states.errors``.

::

    from statewright.errors import JournalBusy, RunExists

What a model or a tool does wrong is no exception but an outcome: ``AgentState.status`` and ``AgentState.error``.
"""

from __future__ import annotations

from statewright_states.errors import (
    AttemptTimedOut,
    AuthenticationFailed,
    CallerError,
    CodeChanged,
    ConfigurationError,
    ConnectionFailed,
    ContextOverflow,
    DeclarationError,
    Fault,
    Fenced,
    HistoryError,
    InternalError,
    JournalBusy,
    JournalDamaged,
    JournalError,
    JournalUnavailable,
    LoopClosed,
    MalformedReply,
    ModelNotFound,
    NotAJournal,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    ReplayDiverged,
    RequestRejected,
    RunExists,
    RunNotFound,
    ServerFailed,
    StatewrightError,
    StatusAssignmentError,
    StreamCutShort,
    ToolDeclarationError,
    TooManyStates,
    WorkspaceRefusal,
)

__all__ = [
    "AttemptTimedOut",
    "AuthenticationFailed",
    "CallerError",
    "CodeChanged",
    "ConfigurationError",
    "ConnectionFailed",
    "ContextOverflow",
    "DeclarationError",
    "Fault",
    "Fenced",
    "HistoryError",
    "InternalError",
    "JournalBusy",
    "JournalDamaged",
    "JournalError",
    "JournalUnavailable",
    "LoopClosed",
    "MalformedReply",
    "ModelNotFound",
    "NotAJournal",
    "ProviderError",
    "QuotaExhausted",
    "RateLimited",
    "ReplayDiverged",
    "RequestRejected",
    "RunExists",
    "RunNotFound",
    "ServerFailed",
    "StatewrightError",
    "StatusAssignmentError",
    "StreamCutShort",
    "TooManyStates",
    "ToolDeclarationError",
    "WorkspaceRefusal",
]
