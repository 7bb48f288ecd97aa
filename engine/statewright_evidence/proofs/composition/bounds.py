"""Bounds over whole ways: how many requests a run may put on the wire, and the longest way through everything that may happen.

Counting along every way would multiply the states. The longest way through the graph that was explored is the same number:
steps that change nothing aside, it has no circle, which is claimed and checked on the way.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from statewright_evidence.proofs.composition.scope import Scope
from statewright_evidence.proofs.composition.situation import State
from statewright_evidence.proofs.explorer import Exploration
from statewright_evidence.proofs.graph import NOWHERE, Graph, escape
from statewright_evidence.proofs.properties import Finding, Violation
from statewright_states.errors import Fault
from statewright_states.frozen import dataclass
from statewright_states.run.facts import EvaluationMode, OnLimit, RunSettings


def worst_case(settings: RunSettings, max_attempts: int, fallbacks: int, *, overflow: bool = True) -> int:
    """The most requests that a run may put on the wire, worked out from its settings.

    ::

        requests  = calls * max_attempts * (1 + fallbacks), at most max_model_calls
        calls     = attempts * max_steps * (1 + before + after) + last words
        attempts  = 1 + max_evaluation_retries (full evaluation), else 1
        before    = 1 summary before a step, where there is a window or a bound on exchanges
        after     = 2 where a request may be too long: a summary, and the step once more
        last words = two judgements for each attempt (one that nobody can read, and one more), or one closing call

    Without a window nothing can be too long before the first step. A request that is lost with its process is sent again
    and not counted: each death adds at most one.
    """
    if settings.max_steps == 0:
        return 0
    tries = attempts(settings)
    steps = tries * settings.max_steps
    calls = steps * (3 if overflow else 1)
    if settings.window_tokens:
        calls += steps
    elif settings.summarize_after_exchanges:
        calls += steps - tries
    calls += 2 * tries if settings.evaluation is not EvaluationMode.OFF else int(settings.on_limit is OnLimit.CLOSE)
    requests = calls * max_attempts * (1 + fallbacks)
    return requests if settings.max_model_calls is None else min(requests, settings.max_model_calls)


def attempts(settings: RunSettings) -> int:
    """The most attempts at the task: the first, and a correction for each retry that a full evaluation allows."""
    return 1 + (settings.max_evaluation_retries if settings.evaluation is EvaluationMode.FULL else 0)


def allowed_in(scope: Scope) -> int:
    """The worst case in the surroundings of a scope."""
    return worst_case(scope.settings, scope.max_attempts, scope.fallbacks, overflow=Fault.OVERFLOW in scope.faults)


@dataclass(frozen=True, slots=True)
class Most:
    """The most of something along any way, and a way with that many. ``circle``: no longest way, for the steps go round."""

    count: int
    path: tuple[str, ...]
    end: int
    circle: tuple[str, ...] = ()


def most(graph: Graph, of: Mapping[str, int] | None = None) -> Most:
    """The most of what steps bear by their label (without ``of``: of the steps themselves) along any way through the graph.

    Steps that change nothing and bear nothing are left out; one that bears something is a circle of its own.
    """
    weight = [1 if of is None else of.get(label, 0) for label in graph.labels]
    if of is not None and (idle := _idle(graph, weight)) is not None:
        return idle
    left = array("i", (sum(graph.target[step] != state for step in graph.out(state)) for state in range(graph.states)))
    best, onward = array("i", bytes(4 * graph.states)), array("i", [NOWHERE]) * graph.states
    ready = [state for state in range(graph.states) if not left[state]]
    for state in ready:  # grows while it is walked
        for step in graph.out(state):
            count = best[graph.target[step]] + weight[graph.label[step]]
            if graph.target[step] != state and count > best[state]:
                best[state], onward[state] = count, step
        for source in (graph.source[step] for step in graph.into(state)):
            left[source] -= source != state
            if source != state and not left[source]:
                ready.append(source)
    if len(ready) == graph.states:
        end, path, _ = escape(graph, 0, lambda step: onward[graph.source[step]] == step)
        return Most(best[0], path, end)
    into_circle = next(state for state in range(graph.states) if left[state])
    end, _, circle = escape(
        graph, into_circle, lambda step: graph.target[step] != graph.source[step] and left[graph.target[step]] > 0
    )
    return Most(0, graph.path(end)[1], end, circle)


def _idle(graph: Graph, weight: Sequence[int]) -> Most | None:
    """A step that bears something and leads back to where it starts."""
    for step, state in enumerate(graph.source):
        if graph.target[step] == state and weight[graph.label[step]] > 0:
            return Most(0, graph.path(state)[1], state, (graph.labels[graph.label[step]],))
    return None


WHOLE_CLAIMS: Mapping[str, str] = {
    "nothing-goes-round": "Whatever happens, what interrupts, comes late or is said twice included: only so many steps change "
    "anything.",
    "requests-bounded": "No more requests are put on the wire than the worst case that is worked out from the settings.",
    "tool-calls-bounded": "No more tool calls begin than the settings allow.",
}
"""The claims about all ways at once, by name."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What was allowed and what was seen in one scope."""

    requests: int
    requests_allowed: int
    tools: int
    tools_allowed: int
    longest: int
    """Steps that change something, along the longest way."""


def tools_allowed_in(scope: Scope) -> int:
    """The most tool calls that may begin: all those of every reply, as far as their budget goes."""
    settings = scope.settings
    asked = attempts(settings) * settings.max_steps * max(len(reply.calls) for reply in scope.replies)
    return asked if settings.max_tool_calls is None else min(asked, settings.max_tool_calls)


def measure(
    explored: Exploration[State], scope: Scope, requests: Mapping[str, int], starts: Mapping[str, int]
) -> tuple[Bounds, tuple[Finding, ...]]:
    """What was seen at most, and whether it keeps within what is allowed."""
    graph = explored.graph
    longest, sent, begun = most(graph), most(graph, requests), most(graph, starts)
    bounds = Bounds(sent.count, allowed_in(scope), begun.count, tools_allowed_in(scope), longest.count)
    judged = ((longest, None), (sent, bounds.requests_allowed), (begun, bounds.tools_allowed))
    return bounds, tuple(
        _finding(explored, name, text, seen, allowed)
        for (name, text), (seen, allowed) in zip(WHOLE_CLAIMS.items(), judged, strict=True)
    )


def _finding(explored: Exploration[Any], name: str, text: str, found: Most, allowed: int | None) -> Finding:
    checked, show = explored.graph.steps, explored.model.show
    if found.circle:
        what = "it goes round in a circle"
    elif allowed is not None and found.count > allowed:
        what = f"{found.count}, and {allowed} are allowed"
    else:
        return Finding(name, text, checked)
    start, end = show(explored.states[0]), show(explored.states[found.end])
    return Finding(name, text, checked, Violation(what, start, found.path, end, found.circle))
