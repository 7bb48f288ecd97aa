"""A boss with two sub-agents, one of which asks a person: python examples/boss.py (no key, no server).

The models are scripted. For a real one, write connect("openai:gpt-5-mini") in the place of each script.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from statewright import AgentLoop, LLMResponse, MemoryJournal, ScriptedProvider, ToolCall, ToolContext, tool


@dataclass
class Books:
    """What all agents of this program share: it is handed to the run, and never recorded."""

    paid: list[str] = field(default_factory=list[str])


def asks(name: str, arguments: str) -> LLMResponse:
    """A scripted reply that calls a tool."""
    return LLMResponse(tool_calls=(ToolCall("call-1", name, arguments),), finish_reason="tool_calls")


@tool(effect="irreversible")
def pay(invoice: str, context: ToolContext[Books]) -> str:
    """Pay an invoice. A person is asked first."""
    context.deps.paid.append(invoice)
    return f"paid {invoice}, key {context.idempotency_key}"


READER = AgentLoop(ScriptedProvider([LLMResponse("Invoice 17 is due.")]))
CLERK = AgentLoop(ScriptedProvider([asks("pay", '{"invoice": "17"}'), LLMResponse("It is paid.")]), [pay])


@tool(effect="read", timeout_s=0)
async def research(question: str, context: ToolContext[Books]) -> str:
    """Have a reader find something out."""
    context.progress("reading")
    return (await context.run(READER, question)).final_output or ""


@tool(effect="idempotent", timeout_s=0)
async def settle(invoice: str, context: ToolContext[Books]) -> str:
    """Have a clerk pay an invoice. The tool runs again after a wait, and finds its clerk's run as far as that has come."""
    return (await context.run(CLERK, f"Pay invoice {invoice}.")).final_output or ""


async def main() -> None:
    """Run the boss until its clerk waits for a person, decide, and go on."""
    script = [
        asks("research", '{"question": "What is due?"}'),
        asks("settle", '{"invoice": "17"}'),
        LLMResponse("All settled."),
    ]
    books = Books()
    async with AgentLoop(ScriptedProvider(script), [research, settle], journal=MemoryJournal()) as boss:
        state = await boss.run("See to what is due.", run_id="boss", deps=books)
        for pending in state.pending:
            print(f"{pending.run_id} asks: may {pending.name} {pending.arguments} run?")
            await boss.decide(pending.run_id, pending.call_id, True, actor="you", digest=pending.digest)
        state = await boss.resume(state.run_id, deps=books)
    for child in state.children:
        print(f"{child.run_id} {child.status}")
    print(f"{state.status}: {state.final_output} Paid: {', '.join(books.paid)}. {state.model_calls} requests in all.")


if __name__ == "__main__":
    asyncio.run(main())
