"""What of a state may be forgotten, so that there are few of them, and why nothing is lost by it.

* A counter that no question compares decides nothing: steps, numbers of calls, sizes, and every sum without a limit are set
  back. One that is compared with a limit is held just above it: beyond the limit every answer is the same.
* A machine that has ended never changes: its table has no way out of a final state, and what comes late is ignored there, which
  is looked up in the table when it ends (``Decisions``). So it is forgotten once the run refers to it no longer: a call when
  the run does not wait for it, a tool call when the run has left its reply behind and holds it for settled. Final states that
  are ignored for in the same way count as one.
* Requests on the wire are told apart by one thing: whether they are the current one.

A test walks through the composition with and without forgetting and finds the same steps everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from functools import cache
from typing import Any

from statewright_evidence.proofs.composition.decisions import Decisions
from statewright_evidence.proofs.composition.situation import Call, Core, Placed, Pool, Tables, ToolCallState
from statewright_states.form.row import Event
from statewright_states.form.table import Table
from statewright_states.run.facts import CallPhase, OpenCall, RunFacts, RunState
from statewright_states.tool.facts import ToolFacts

AT_WORK = (RunState.AWAITING_APPROVAL, RunState.ACTING)
"""The states in which the run deals with the calls of a reply; in any other it has left them behind."""


class Normal:
    """Makes states alike that nothing can tell apart."""

    def __init__(self, pool: Pool, decisions: Decisions, tables: Tables) -> None:
        self._pool = pool
        self._harmless = decisions.harmless
        self._ends = _alike(tables.tool)
        self._run = cache(self._run_in_normal_form)
        self.call = cache(self._call)
        self.tool = cache(self._tool)

    def core(self, run: Placed, calls: tuple[Call, ...], tools: tuple[ToolCallState, ...]) -> Core:
        """All machines together, in their normal form."""
        facts: RunFacts = run.facts
        awaited = f"call-{facts.calls}" if facts.in_call and not run.ended else ""
        left = tuple(self.call(call) for call in calls if call.name == awaited or not self._harmless(call.placed))
        over = tuple(tool.name for tool in tools if self._harmless(tool.placed))
        normal, kept = self._run(run, over, max((_number(call.name) for call in left), default=0))
        there = tuple(self.tool(tool) for tool in tools if tool.name in kept or tool.name not in over)
        return self._pool.core(normal, left, there)

    def _run_in_normal_form(self, run: Placed, over: tuple[str, ...], calls: int) -> tuple[Placed, frozenset[str]]:
        """The run, and the tool calls that it still refers to. ``over``: those that have ended for good."""
        facts: RunFacts = run.facts
        referred = tuple(call for call in facts.tools if not _left_behind(run, call, over))
        normal = self._pool.placed(run.table, run.state, _run_facts(facts, run.ended, referred, calls))
        return normal, frozenset(call.request.tool for call in referred)

    def _call(self, call: Call) -> Call:
        placed, facts = call.placed, call.placed.facts
        normal = replace(facts, step=0, send=min(facts.send, 1), shown=False)
        return Call(call.name, self._pool.placed(placed.table, placed.state, normal))

    def _tool(self, tool: ToolCallState) -> ToolCallState:
        placed, facts = tool.placed, tool.placed.facts
        if not self._harmless(placed):
            normal = replace(facts, starts=0, call_id="", name="")
            return tool._replace(placed=self._pool.placed(placed.table, placed.state, normal))
        bare = ToolFacts(tool=facts.tool, message=facts.message)
        settled = self._pool.placed(placed.table, self._ends[placed.state], bare)
        return tool._replace(placed=settled, seen=tool.seen._replace(asked="", reviewed_by=(), approved_by=(), rejected=False))


def _left_behind(run: Placed, call: OpenCall, over: tuple[str, ...]) -> bool:
    if call.request.tool not in over:
        return False
    return run.ended or (not run.at(*AT_WORK) and call.phase is CallPhase.SETTLED)


def _number(name: str) -> int:
    return int(name.removeprefix("call-"))


def _alike(table: Table[Any]) -> dict[StrEnum, StrEnum]:
    """For each final state the first that ignores the same events; itself where a question is asked there."""
    ends: dict[StrEnum, StrEnum] = {}
    first: dict[tuple[type[Event], ...], StrEnum] = {}
    for state in (state for state in table.states if state in table.final):
        cells = {event: cell for (at, event), cell in table.cells.items() if at == state}
        plain = all(not cell.questions and not cell.rows for cell in cells.values())
        key = tuple(sorted(cells, key=lambda event: event.__name__))
        ends[state] = first.setdefault(key, state) if plain else state
    return ends


def _run_facts(facts: RunFacts, ended: bool, tools: tuple[OpenCall, ...], calls: int) -> RunFacts:
    limits = facts.settings
    if ended:
        return RunFacts(settings=limits, tools=tools, stop_reason=facts.stop_reason)
    repeats = limits.max_identical_calls
    return replace(
        facts,
        step=0,
        calls=calls,
        tools=tools,
        children=tuple(child for child in facts.children if any(child == f"of {call.request.tool}" for call in tools)),
        exchanges=_held(facts.exchanges, limits.summarize_after_exchanges or None),
        context_tokens=0,
        worked_us=0,
        repeated=_held(facts.repeated, repeats or None),
        last_calls=facts.last_calls if repeats else "",
        silent=False,
        model_calls=_held(facts.model_calls, limits.max_model_calls),
        tool_calls=_held(facts.tool_calls, limits.max_tool_calls),
        tokens=_held(facts.tokens, limits.max_total_tokens),
        cost_microusd=_held(facts.cost_microusd, limits.max_cost_microusd),
        verdict=None,
        budget=None,
    )


def _held(count: int, limit: int | None) -> int:
    return 0 if limit is None else min(count, limit + 1)
