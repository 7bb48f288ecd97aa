"""Statewright: an agent loop in which nothing changes status except by a declared transition.

::

    from statewright import AgentLoop, AgentConfig, SQLiteJournal, ToolRegistry, connect, tool

A name is imported when it is first asked for, so that a program pays for what it uses alone: the command line's first
answer comes in a third of the time. Type checkers read ``__init__.pyi``, which says the same as imports.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

_NAMES: Mapping[str, tuple[str, ...]] = {
    "statewright.agent.agent_files": ("Agent", "Agents"),
    "statewright.views.approvals": ("ApprovalDecision", "ApprovalRequest", "Approver"),
    "statewright.agent.assemble": ("ScriptedProvider", "connect"),
    "statewright.config.settings": (
        "AgentConfig",
        "ApprovalConfig",
        "BudgetConfig",
        "ContextConfig",
        "EvaluationConfig",
        "ModelPrice",
        "PromptConfig",
        "RetryConfig",
    ),
    "statewright.context.builder": ("ContextBuilder", "ContextManager"),
    "statewright.context.judge": ("EvalResult", "SelfEvaluator"),
    "statewright_evidence.proofs.proof": ("Proof",),
    "statewright.core.edits": ("EditedDecision", "EditedReply", "EditedResult"),
    "statewright.core.fork": ("fork",),
    "statewright.journal.entry": ("Interference", "Tampering"),
    "statewright.journal": ("Durability", "MemoryJournal", "SQLiteJournal"),
    "statewright.journal.verify": ("Problem", "Verification", "verify"),
    "statewright.hooks": (
        "AgentStart",
        "Block",
        "Compaction",
        "Hook",
        "HookPoint",
        "ModelCall",
        "ModelReply",
        "ReplaceArguments",
        "ReplaceContext",
        "ReplaceText",
        "RunEnd",
        "SessionPoint",
        "ToolOutcome",
        "ToolText",
        "ToolUse",
        "hook",
    ),
    "statewright.agent.handle": ("RunEvents", "RunHandle"),
    "statewright.agent.stepper": ("HeldEvent", "Stepper"),
    "statewright.agent.loop": ("AgentLoop",),
    "statewright.agent.plan_build": ("MixedModeRunner",),
    "statewright.views.plan_build_state": ("MixedState",),
    "statewright.runtime.injection": ("Injection",),
    "statewright.runtime.observers": ("EventPayload", "RunEvent"),
    "statewright.agent.profiles": ("PROFILES", "Profile"),
    "statewright.core.replay": ("Replayed", "replay"),
    "statewright.core.run_timeline": ("RunTimeline",),
    "statewright.core.moment": ("CommandUnderWay", "FactChange", "InstanceNow", "Moment", "MomentChange", "StateChange"),
    "statewright.core.explanation": ("AnsweredQuestion", "Explanation", "OtherRow", "UnmetCondition"),
    "statewright.runtime.shutdown": ("GracefulShutdown",),
    "statewright.runtime.under_way": ("UnderWay",),
    "statewright.views.state": (
        "AgentState",
        "ChildRun",
        "LoopPhase",
        "PendingApproval",
        "StepResult",
        "ToolCallResult",
        "TurnResult",
    ),
    "statewright.views.tool_progress": ("ToolProgress",),
    "statewright.tools": ("ExecutionEngine", "Tool", "ToolContext", "ToolRegistry", "load_tools", "tool"),
    "statewright_states.words.approval": ("ApprovalRule", "SignOff", "Standing", "Statement"),
    "statewright_states.words.tool_effects": ("ConfirmMode", "ToolEffect"),
    "statewright_states.errors": (
        "CallerError",
        "ConfigurationError",
        "DeclarationError",
        "JournalError",
        "ProviderError",
        "RunExists",
        "RunNotFound",
        "StatewrightError",
    ),
    "statewright_states.words.messages": ("LLMResponse", "Message", "StreamChunk", "ToolSchema", "Usage"),
    "statewright_states.words.parts": (
        "Citation",
        "FilePart",
        "ImagePart",
        "OpaquePart",
        "ProviderState",
        "ReasoningPart",
        "TextPart",
        "ToolCall",
    ),
    "statewright_states.words.ports": ("Journal", "ModelRequest", "Provider", "ReplyObserver", "TokenEstimator"),
    "statewright_states.form.table": ("Table",),
    "statewright_states.run.facts": ("CutOff", "EvaluationMode", "OnLimit"),
    "statewright_states.words.vocabulary": ("Status", "StopReason"),
    "statewright.version": ("__version__",),
}
"""The public names, by the module that each stands in."""

_HOMES: Mapping[str, str] = {name: module for module, names in _NAMES.items() for name in names}

__all__ = list(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]  (its list is that of the stub)


def __getattr__(name: str) -> object:
    """A public name, asked for the first time (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
