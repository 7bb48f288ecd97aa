"""A process that runs an agent with two tool calls in order, says when the first began, and what came of the run.

With the argument ``again`` it interrupts itself once more while the first signal is being told.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from statewright import AgentLoop, GracefulShutdown, LLMResponse, ToolCall, tool
from statewright_providers.scripted import ScriptedProvider


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@tool(effect="read", parallel=False)
async def wait() -> str:
    """Take a while."""
    say("began")
    await asyncio.sleep(1)
    say("tool done")
    return "waited"


def interrupt_again() -> None:
    os.kill(os.getpid(), signal.SIGINT)


calls = (ToolCall("a", "wait", "{}"), ToolCall("b", "wait", "{}"))
shutdown = GracefulShutdown(interrupt_again if "again" in sys.argv else None)
loop = AgentLoop(ScriptedProvider([LLMResponse(tool_calls=calls)]), [wait], shutdown=shutdown)
state = loop.run_sync("task")
say(f"{state.status} {state.stop_reason} {','.join(result.outcome for result in state.steps[0].tool_results)}")
