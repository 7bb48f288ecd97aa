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
    "statewright.agents": ("Agent", "Agents"),
    "statewright.approvals": ("ApprovalDecision", "ApprovalRequest", "Approver"),
    "statewright.assemble": ("connect",),
    "statewright.config": (
        "AgentConfig",
        "ApprovalConfig",
        "BudgetConfig",
        "ContextConfig",
        "EvaluationConfig",
        "ModelPrice",
        "PromptConfig",
        "RetryConfig",
    ),
    "statewright.context": ("ContextBuilder", "ContextManager"),
    "statewright.evaluate": ("EvalResult", "SelfEvaluator"),
    "statewright.evidence.proof": ("Proof",),
    "statewright.forking": ("fork",),
    "statewright.journal": ("Durability", "MemoryJournal", "SQLiteJournal"),
    "statewright.journal.verify": ("Problem", "Verification", "verify"),
    "statewright.loop": ("AgentLoop",),
    "statewright.mixed": ("MixedModeRunner",),
    "statewright.mixed_state": ("MixedState",),
    "statewright.observers": ("RunEvent",),
    "statewright.profiles": ("PROFILES", "Profile"),
    "statewright.replaying": ("Replayed", "replay"),
    "statewright.shutdown": ("GracefulShutdown",),
    "statewright.state": ("AgentState", "LoopPhase", "PendingApproval", "StepResult", "ToolCallResult", "TurnResult"),
    "statewright.tools": ("ExecutionEngine", "Tool", "ToolRegistry", "load_tools", "tool"),
    "statewright_states.approval": ("ApprovalRule", "SignOff", "Standing", "Statement"),
    "statewright_states.effects": ("ConfirmMode", "ToolEffect"),
    "statewright_states.errors": (
        "CallerError",
        "ConfigurationError",
        "DeclarationError",
        "JournalError",
        "ProviderError",
        "StatewrightError",
    ),
    "statewright_states.messages": ("LLMResponse", "Message", "StreamChunk", "ToolCall", "ToolSchema", "Usage"),
    "statewright_states.ports": ("TokenEstimator",),
    "statewright_states.run.facts": ("CutOff", "EvaluationMode", "OnLimit"),
    "statewright_states.vocabulary": ("Status", "StopReason"),
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
