"""Hooks: functions of the caller that may look at, change or block what a run is about to do. And who is told of what.

::

    @hook("before_tool_call", priority=10)
    def no_large_payments(call: ToolUse) -> Block | None:
        if call.name == "pay" and call.arguments["amount"] > 1000:
            return Block("payments over 1000 are made by hand")
        return None

* **Guards** decide before something happens: ``None`` lets it pass, ``Block`` is final, a replacement is handed on to the
  next guard. The highest priority comes first; equal ones in the order in which they were given.
* A guard that raises, takes too long or returns anything else means *no*, unless it is declared ``optional``: then it is
  passed over. Every decision of a guard is part of the entry of the event that it led to.
* **Observers** are told afterwards. What they return or raise changes nothing.
* A replay calls no hook: the recorded decisions are what happened.

The points are those of contract 19; reference document 003 names most of them.
"""

from __future__ import annotations

from statewright.hooks.asking import Decided, Hooks
from statewright.hooks.declaration import (
    OBSERVED,
    AgentStart,
    Block,
    Compaction,
    Hook,
    HookCard,
    HookPoint,
    ModelCall,
    ModelReply,
    ReplaceArguments,
    ReplaceContext,
    ReplaceText,
    RunEnd,
    SessionPoint,
    ToolOutcome,
    ToolText,
    ToolUse,
    hook,
)

__all__ = [
    "OBSERVED",
    "AgentStart",
    "Block",
    "Compaction",
    "Decided",
    "Hook",
    "HookCard",
    "HookPoint",
    "Hooks",
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
]
