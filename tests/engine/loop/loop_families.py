"""Families of runs: a boss whose tools run other agents, on models that answer by what they are shown."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from flat_records import shapes_of
from loop_invariants import Rows, check_run, rows_of
from loop_rehearsals import Answer, Rehearsed, in_turn
from loop_scenarios import RUN_ID, asks, call, says
from statewright import (
    AgentConfig,
    AgentLoop,
    AgentState,
    BudgetConfig,
    LLMResponse,
    ModelPrice,
    Tool,
    ToolContext,
    replay,
    tool,
)
from statewright.journal.reading import read_header
from statewright.testing.virtual_time import VirtualClock
from statewright_states.frozen import replace
from statewright_states.words.messages import Message, Usage
from statewright_states.words.ports import Journal

PRICES = {"rehearsed:1": ModelPrice(input_usd=1, output_usd=2)}
SPENT = Usage(input_tokens=100, output_tokens=10)
"""What each reply uses; by these prices it costs 120 millionths of a dollar."""


def spending(*replies: LLMResponse) -> Answer:
    """Replies in turn, each of which uses something."""
    return in_turn(*(replace(reply, usage=SPENT) for reply in replies))


def reading(messages: list[Message]) -> LLMResponse:
    """A reader: looks once, then answers with what it was asked."""
    task = next(str(message.content) for message in messages if message.role == "user")
    return spending(asks(call("look")), says(f"{task}: read"))(messages)


def paying(messages: list[Message]) -> LLMResponse:
    """A payer: pays, which a person has to allow, then says that it has."""
    return spending(asks(call("pay", what="rent")), says("paid"))(messages)


@dataclass
class Family:
    """A boss and the agents that its tools run, on one journal. ``log`` says what tools did."""

    journal: Journal
    answer: Answer
    config: AgentConfig = field(default_factory=lambda: AgentConfig(budget=BudgetConfig(prices=PRICES)))
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    child_options: dict[str, Any] = field(default_factory=dict[str, Any])
    reader_config: AgentConfig = field(default_factory=lambda: AgentConfig(budget=BudgetConfig(prices=PRICES)))
    log: list[str] = field(default_factory=list[str])
    look_s: float = 0.25
    patient: bool = True
    """Whether the boss's tools have no time limit of their own."""

    def agent(self, answer: Answer, *tools: Tool) -> AgentLoop:
        """An agent below the boss: it has no journal of its own that anybody looks at."""
        return AgentLoop(Rehearsed(answer), tools, self.reader_config, clock=VirtualClock(), **self.child_options)

    @property
    def reader(self) -> AgentLoop:
        @tool(effect="read")
        async def look() -> str:
            """Look."""
            self.log.append("look")
            await asyncio.sleep(self.look_s)
            return "seen"

        return self.agent(reading, look)

    @property
    def payer(self) -> AgentLoop:
        @tool(effect="irreversible")
        async def pay(what: str) -> str:
            """Pay."""
            self.log.append(f"pay {what}")
            return "done"

        return self.agent(paying, pay)

    def tools(self) -> list[Tool]:
        timeout_s = 0 if self.patient else 3

        @tool(effect="read", timeout_s=timeout_s)
        async def research(question: str, context: ToolContext[None]) -> str:
            """Have somebody read."""
            self.log.append(f"research {context.idempotency_key}")
            state = await context.run(self.reader, question)
            return f"{state.status}: {state.final_output}"

        @tool(effect="read", timeout_s=timeout_s)
        async def compare(context: ToolContext[None]) -> str:
            """Have two read at the same time, then a third."""
            both = await asyncio.gather(context.run(self.reader, "left"), context.run(self.reader, "right"))
            last = await context.run(self.reader, "both")
            return ", ".join(str(state.final_output) for state in (*both, last))

        @tool(effect="idempotent", timeout_s=timeout_s)
        async def settle(context: ToolContext[None]) -> str:
            """Have somebody pay."""
            state = await context.run(self.payer, "pay the rent")
            return f"{state.status}: {state.final_output}"

        @tool(effect="read", timeout_s=timeout_s)
        async def delegate(context: ToolContext[None]) -> str:
            """Have somebody who has somebody pay."""
            below = self.agent(spending(asks(call("settle")), says("delegated")), settle)
            state = await context.run(below, "see to it")
            return str(state.final_output)

        @tool(effect="read")
        async def look_up() -> str:
            """Take a while."""
            await asyncio.sleep(5)
            return "looked up"

        return [research, compare, settle, delegate, look_up]

    def boss(self, journal: Journal | None = None) -> AgentLoop:
        """The boss, as each process makes it anew."""
        recorded = self.journal if journal is None else journal
        return AgentLoop(
            Rehearsed(self.answer), self.tools(), self.config, journal=recorded, clock=VirtualClock(), **self.options
        )

    async def run(self, journal: Journal | None = None) -> AgentState:
        state = await self.boss(journal).run("the task", run_id=RUN_ID)
        await self.check(state)
        return state

    async def resume(self, journal: Journal | None = None) -> AgentState:
        state = await self.boss(journal).resume(RUN_ID)
        await self.check(state)
        return state

    async def check(self, state: AgentState) -> None:
        """Hold the run, and every run below it, to what is always true; and the sums to those of the records."""
        await check_run(self.journal, state)
        states = {run_id: (await replay(self.journal, run_id)).state() for run_id in await self.journal.run_ids()}
        for below in states.values():
            if below.status != "running" or below.waiting:
                await check_run(self.journal, below)
        if state.status != "running":
            assert all(below.status != "running" for below in states.values()), "a run is left behind"
        await self.check_sums(states)

    async def check_sums(self, states: dict[str, AgentState]) -> None:
        """What a run used is what its own model calls used, and what the ended runs right below it used, each once."""
        for run_id, state in states.items():
            children = [child for child in states if await self.parent(child) == run_id and states[child].status != "running"]
            told = [child.run_id for child in state.children if child.status != "running"]
            if state.status != "running":
                assert sorted(told) == sorted(children), f"{run_id} counts {told}, and {children} are on record"
            used = sum((states[child].usage for child in told), await self.own_usage(run_id))
            assert state.usage == used, f"{run_id} used {state.usage}, and the records say {used}"
            assert state.cost_microusd == used.input_tokens + 2 * used.output_tokens

    async def own_usage(self, run_id: str) -> Usage:
        """What the replies on a run's own record used."""
        replied = [one["data"] for one in await shapes_of(self.journal, run_id) if one.get("event") == "AttemptReplied"]
        return sum((Usage(one["input_tokens"], one["output_tokens"]) for one in replied), Usage())

    async def parent(self, run_id: str) -> str:
        """The run that a tool of which began this one; empty where none did."""
        header = read_header(run_id, await self.journal.entries(run_id))
        return (header.parent or "").rpartition("/")[0]

    async def rows(self, run_id: str = RUN_ID) -> Rows:
        return await rows_of(self.journal, run_id)
