"""Claims about where machines stand: limits, order, and what must be settled when. Judged once per situation."""

from __future__ import annotations

from collections.abc import Iterator

from statewright_evidence.proofs.composition.normal import AT_WORK
from statewright_evidence.proofs.composition.scope import Scope
from statewright_evidence.proofs.composition.situation import Core, ToolCallState, Wrong
from statewright_states.call.facts import CallFacts
from statewright_states.run.facts import CallPhase, RunFacts, RunState
from statewright_states.tool.facts import ToolFacts, ToolState

LIMITS_HOLD = "limits-hold"
PARALLEL_BOUNDED = "parallel-bounded"
ALL_SETTLED = "all-settled"
ONE_MESSAGE = "one-message-each"
PERSON_FIRST = "person-first"
REASON_GIVEN = "reason-given"


def wrong_in(scope: Scope, core: Core) -> tuple[Wrong, ...]:
    """What is wrong with this situation."""
    return tuple(_judge(scope, core))


def _judge(scope: Scope, core: Core) -> Iterator[Wrong]:
    yield from _run_limits(core.run.facts)
    for call in core.calls:
        yield from _call_limits(scope, call.name, call.placed.facts)
    yield from _tools(core)
    if core.run.ended or not core.run.at(*AT_WORK):
        yield from _settled(core)
    if core.run.ended != (core.run.facts.stop_reason is not None):
        yield Wrong(REASON_GIVEN, f"run {core.run.state} has the reason {core.run.facts.stop_reason}")


def _call_limits(scope: Scope, name: str, facts: CallFacts) -> Iterator[Wrong]:
    yield from _passed(f"attempts of {name} on one model", facts.attempt, scope.max_attempts)
    yield from _passed(f"fallbacks of {name}", facts.model_index, scope.fallbacks)
    yield from _passed(f"requests of {name}", facts.attempts, facts.max_requests)


def _passed(what: str, count: int, limit: int) -> Iterator[Wrong]:
    if count > limit:
        yield Wrong(LIMITS_HOLD, f"{what}: {count}, and {limit} are allowed")


def _run_limits(facts: RunFacts) -> Iterator[Wrong]:
    limits = facts.settings
    yield from _passed("steps of an attempt", facts.attempt_steps, limits.max_steps)
    yield from _passed("continuations", facts.continuations, limits.max_continuations)
    yield from _passed("attempts at the task", facts.attempt, 1 + limits.max_evaluation_retries)
    if limits.max_tool_calls is not None:
        yield from _passed("tool calls", facts.tool_calls, limits.max_tool_calls)


def _tools(core: Core) -> Iterator[Wrong]:
    width = width_of(core.run.facts)
    running = [tool.name for tool in core.tools if tool.placed.at(ToolState.RUNNING)]
    if len(running) > width:
        yield Wrong(PARALLEL_BOUNDED, f"{', '.join(running)} run at once, and {width} may")
    if running and core.run.at(RunState.AWAITING_APPROVAL):
        yield Wrong(PERSON_FIRST, f"{running[0]} runs while calls of its reply wait for a person")
    for tool in core.tools:
        yield from _message(tool)


def width_of(facts: RunFacts) -> int:
    """How many calls of a reply may run at once, as the configuration says it."""
    settings, requests = facts.settings, [call.request for call in facts.tools]
    if not settings.parallel_tools or any(request.person or not request.parallel for request in requests):
        return 1
    return settings.max_parallel_tools or len(requests)


def _message(tool: ToolCallState) -> Iterator[Wrong]:
    facts: ToolFacts = tool.placed.facts
    if tool.placed.ended and facts.message is None:
        yield Wrong(ONE_MESSAGE, f"{tool.name} has settled without a message for the model")


def _settled(core: Core) -> Iterator[Wrong]:
    """The run deals with tools no longer: each call that it knows has ended, and it holds each for settled, or has ended."""
    over = {tool.name for tool in core.tools if tool.placed.ended}
    left = [f"{name} is {placed.state}" for name, placed in core.others if not placed.ended and _lasts(core, name)]
    known = [call for call in core.run.facts.tools if not (core.run.ended or call.phase is CallPhase.SETTLED)]
    known += [call for call in core.run.facts.tools if call.request.tool not in over and call not in known]
    left += [f"the run holds {call.request.tool} for {call.phase}" for call in known]
    if left:
        yield Wrong(ALL_SETTLED, f"the run is {core.run.state}, and {', '.join(left)}")


def _lasts(core: Core, name: str) -> bool:
    """Whether this, which has not ended, should have: all tool calls, and calls too once the run has ended."""
    return core.run.ended or any(tool.name == name for tool in core.tools)
