"""The work that is measured, done twice: by a bare loop on httpx and json, and by the engine. And how it is measured.

Both read pages with the same tool until the model has an answer. CPU is that of this process with all its threads
(``time.process_time``). Rounds alternate (A B A B ...) and ratios are taken within a round, so that whatever else the
machine does meets both alike.
"""

from __future__ import annotations

import asyncio
import gc
import json
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median
from typing import Any

import httpx
from cyclopts import App, Parameter

from statewright import (
    AgentConfig,
    AgentLoop,
    AgentState,
    ContextConfig,
    LLMResponse,
    ToolCall,
    ToolRegistry,
    Usage,
    connect,
    tool,
)
from statewright_states.words.ports import Journal, ModelRequest, ReplyObserver

SYSTEM = "You reconcile ledgers. Read every page with the tool, one at a time, then say whether the books are in balance."
TASK = "Are the books of 2026 in balance?"
LINE = '2026-03-14;4711;"Müller & Söhne";invoice {page}-{line};1 234,50 €\n'
"""One line of a page: quotes, line breaks and text beyond ASCII, as tool results have them."""

DONE = LLMResponse(content="All pages are read; the books are in balance.", usage=Usage(1000, 24), model="stub")


class Pages:
    """The tool's data: pages of about ``size`` bytes, each different. ``read_at_s`` holds the CPU time of each reading."""

    def __init__(self, size: int, count: int) -> None:
        self._texts = [_page(number, size) for number in range(count + 1)]
        self.read_at_s: list[float] = []

    def read(self, page: int) -> str:
        self.read_at_s.append(time.process_time())
        return self._texts[page]


def _page(number: int, size: int) -> str:
    lines: list[str] = []
    written = 0
    while written < size:
        lines.append(LINE.format(page=number, line=len(lines)))
        written += len(lines[-1].encode())
    return "".join(lines).encode()[:size].decode(errors="ignore")


def registry(pages: Pages) -> ToolRegistry:
    """The one tool of both loops."""

    @tool(effect="read")
    async def read_page(page: int) -> str:
        """Read one page of the ledger.

        Args:
            page: its number, from 1
        """
        return pages.read(page)

    return ToolRegistry([read_page])


class BareLoop:
    """What a person writes in ten minutes: post the messages, run the tools, append, repeat. Nothing is recorded."""

    def __init__(self, base_url: str, tools: ToolRegistry, client: httpx.AsyncClient | None = None) -> None:
        # No certificates are loaded, for plain HTTP has no use for them; the engine's own client does the same.
        self._client = client or httpx.AsyncClient(trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        self._url = f"{base_url}/chat/completions"
        self._functions: Mapping[str, Callable[..., Awaitable[str]]] = {tool.name: tool.function for tool in tools}
        self._schemas = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": json.loads(tool.schema.parameters_json),
                },
            }
            for tool in tools
        ]

    async def run(self) -> int:
        """One task; gives the prompt tokens that the server counted."""
        messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]
        tokens = 0
        while True:
            body = {"model": "stub", "messages": messages, "tools": self._schemas}
            response = await self._client.post(self._url, json=body, timeout=120)  # httpx: json.dumps, compact, UTF-8
            response.raise_for_status()
            reply = json.loads(response.content)
            tokens += reply["usage"]["prompt_tokens"]
            message = reply["choices"][0]["message"]
            messages.append(message)
            if not message.get("tool_calls"):
                return tokens
            results = await asyncio.gather(*(self._called(call["function"]) for call in message["tool_calls"]))
            for call, result in zip(message["tool_calls"], results, strict=True):
                messages.append({"role": "tool", "content": result, "tool_call_id": call["id"]})

    async def stream(self) -> str:
        """One reply in pieces; gives its text."""
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]
        body = {"model": "stub", "messages": messages, "tools": self._schemas, "stream": True}
        text: list[str] = []
        async with self._client.stream("POST", self._url, json=body, timeout=120) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    choices = json.loads(line[6:])["choices"]
                    text.append(choices[0]["delta"].get("content") or "")
        return "".join(text)

    async def _called(self, function: Mapping[str, str]) -> str:
        return await self._functions[function["name"]](**json.loads(function["arguments"]))

    async def aclose(self) -> None:
        await self._client.aclose()


class InProcessModel:
    """A model without HTTP: asks for ``steps`` pages, then answers. What is left is the engine's own cost."""

    model = "in-process"

    def __init__(self, steps: int) -> None:
        self._steps = steps

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        await asyncio.sleep(0)  # a real model is never there at once
        done = (len(request.messages) - 2) // 2
        if done == self._steps:
            return DONE
        calls = (ToolCall(f"call_{done + 1:024d}", "read_page", f'{{"page":{done + 1}}}'),)
        return LLMResponse(tool_calls=calls, finish_reason="tool_calls", usage=Usage(1000, 24), model="stub")

    async def aclose(self) -> None:
        """Nothing to release."""


def engine_loop(provider: object, tools: ToolRegistry, steps: int, journal: Journal | None) -> AgentLoop:
    """The engine set up for the same work: no summaries and no window, for the bare loop has none either."""
    config = AgentConfig(
        system_prompt=SYSTEM,
        max_steps=steps + 1,
        max_identical_calls=0,
        max_parallel_tools=8,
        run_timeout_s=0,
        context=ContextConfig(summarize_after_steps=0, max_context_tokens=0),
    )
    return AgentLoop(provider, tools, config, journal=journal)  # type: ignore[arg-type]


def http_loop(base_url: str, tools: ToolRegistry, steps: int, journal: Journal | None) -> AgentLoop:
    """The engine on the stub."""
    return engine_loop(connect("openai:stub", base_url=base_url, api_key="stub"), tools, steps, journal)


async def finished(loop: AgentLoop, steps: int, *, stream: bool = False) -> AgentState:
    """One task of the engine; anything but the expected end would measure something else."""
    state = await loop.run(TASK, stream=stream)
    if (state.status, len(state.steps)) != ("success", steps + 1):
        raise RuntimeError(f"{state.status}, {state.stop_reason} after {len(state.steps)} steps: {state.error}")
    return state


# -- measuring -------------------------------------------------------------------------------------------------------

Work = Callable[[], Awaitable[object]]


async def cpu_s(work: Work) -> float:
    """CPU seconds of this process for one piece of work."""
    gc.collect()
    begun = time.process_time()
    await work()
    return time.process_time() - begun


async def interleaved(works: Sequence[Work], rounds: int) -> list[list[float]]:
    """CPU seconds of each work in each round, after one round of warming up: ``times[work][round]``."""
    for work in works:
        await work()
    measured = [[await cpu_s(work) for work in works] for _ in range(rounds)]
    return [list(times) for times in zip(*measured, strict=True)]


def ratio(ours: Sequence[float], base: Sequence[float]) -> tuple[float, float]:
    """The median of the ratios within rounds, and the ratio of the best times."""
    return median(a / b for a, b in zip(ours, base, strict=True)), min(ours) / min(base)


def start(main: Callable[..., object], about: str | None) -> None:
    """Run a benchmark from the command line; what it can be given are its options."""
    app = App(help=about, default_parameter=Parameter(consume_multiple=True, negative=()))
    app.default(main)
    app()


def print_markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The rows under their heads, as a table of Markdown."""
    for row in (heads, ["---"] * len(heads), *rows):
        print(f"| {' | '.join(row)} |")
    print()


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The rows under their heads, the first column to the left and numbers to the right."""
    first, *others = (max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True))
    line = ["-" * width for width in (first, *others)]
    for name, *numbers in (heads, line, *rows):
        cells = (number.rjust(width) for number, width in zip(numbers, others, strict=True))
        print("  ".join((name.ljust(first), *cells)).rstrip())
    print()
