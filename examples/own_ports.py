"""Ports of one's own: a model behind no network, and a clock that is ahead of the machine's. No base class is needed.

python examples/own_ports.py
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime

from statewright import AgentLoop, LLMResponse, ToolCall, tool
from statewright_states.words.ports import ModelRequest, ReplyObserver, Timer

DAY_S = 86_400


@tool(effect="read")
def shout(text: str) -> str:
    """Say a text loudly."""
    return text.upper()


class Echo:
    """A `Provider`: it asks for one tool call with the last words of the user, and answers with its result."""

    model = "own:echo"

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        """One attempt; whatever raises here has to be a ProviderError."""
        observer.began()
        last = request.messages[-1]
        if last.role == "tool":
            return LLMResponse(f"They said: {last.content}")
        call = ToolCall("call-1", "shout", json.dumps({"text": last.content}))
        return LLMResponse(tool_calls=(call,), finish_reason="tool_calls")

    async def aclose(self) -> None:
        """Nothing to release."""


class Tomorrow:
    """A `Clock`: wall time for the record, monotonic time and timers for deadlines."""

    def now_us(self) -> int:
        """Microseconds since 1970, a day ahead."""
        return int((datetime.now(UTC).timestamp() + DAY_S) * 1_000_000)

    def monotonic_s(self) -> float:
        """Seconds that never go back."""
        return asyncio.get_running_loop().time()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """A pending call that can be called off."""
        return asyncio.get_running_loop().call_later(delay_s, callback)


async def main() -> None:
    async with AgentLoop(Echo(), [shout], clock=Tomorrow()) as loop:
        state = await loop.run("good morning")
    print(state.status, state.final_output)
    ahead_s = state.started_at_us / 1_000_000 - datetime.now(UTC).timestamp()
    print("recorded a day ahead:", ahead_s > DAY_S - 60)


asyncio.run(main())
