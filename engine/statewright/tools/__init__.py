"""Tools: declaring functions, describing them to models, reading arguments, running them, and bounding results."""

from __future__ import annotations

from statewright.tools.arguments import BadArguments, parse_arguments
from statewright.tools.context import ToolContext
from statewright.tools.declaration import DeclaredTool, Tool, as_tool, tool
from statewright.tools.execution import ExecutionEngine, ResultNotShown, ToolRaised
from statewright.tools.loading import load_tools
from statewright.tools.registry import ToolRegistry
from statewright.tools.truncation import event_view, truncate_result

__all__ = [
    "BadArguments",
    "DeclaredTool",
    "ExecutionEngine",
    "ResultNotShown",
    "Tool",
    "ToolContext",
    "ToolRaised",
    "ToolRegistry",
    "as_tool",
    "event_view",
    "load_tools",
    "parse_arguments",
    "tool",
    "truncate_result",
]
