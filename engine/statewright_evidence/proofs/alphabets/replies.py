"""The replies that a model may give: one of every kind for each reason there is for it, with what they use up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from statewright_states.run.events import ReplyReceived
from statewright_states.run.facts import CutOff, Finish, RunSettings
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import ToolRequest

SAME_CALLS, OTHER_CALLS = "the same calls", "other calls"


def _call(number: int, *, person: bool = False, parallel: bool = True) -> ToolRequest:
    return ToolRequest(f"tool-{number}", "id", "tool", "arguments", ToolEffect.READ, person, parallel)


CALLS = (
    (_call(1),),
    (_call(1, person=True),),
    (_call(1), _call(2)),
    (_call(1), _call(2, parallel=False)),
    (_call(1), _call(2, person=True)),
    (_call(1, person=True), _call(2, person=True)),
)
BESIDE = (CALLS[0], CALLS[4])
"""Tool calls beside an ending that keeps them from running: none of them is told from the others by what they are."""


class Spent(NamedTuple):
    """What a model call used: requests, tokens, millionths of a dollar."""

    attempts: int = 0
    tokens: int = 0
    cost_microusd: int = 0


def spendings(settings: RunSettings) -> tuple[Spent, ...]:
    """Nothing that matters, and for each budget what leaves it with room for one more, or for none.

    A budget is only compared with what is used up of it (requests also with one more), so that whatever leaves room for two
    or more is the same to the table as nothing. Budgets that are used up at the same moment end a run as one does.
    """
    spendings = [Spent()]
    if settings.max_model_calls is not None:
        spendings += [Spent(attempts=count) for count in range(1, settings.max_model_calls + 1)]
    if settings.max_total_tokens is not None:
        spendings.append(Spent(tokens=max(settings.max_total_tokens, 1)))
    if settings.max_cost_microusd is not None:
        spendings.append(Spent(cost_microusd=max(settings.max_cost_microusd, 1)))
    return tuple(spendings)


def reply(finish: Finish, spent: Spent, calls: tuple[ToolRequest, ...] = (), **more: Any) -> ReplyReceived:
    """A reply that ended so and used so much; ``more`` are fields of the event."""
    details: dict[str, Any] = {"has_text": False, "calls_digest": "", "message": "", "context_tokens": 0} | more
    return ReplyReceived(
        finish, calls=calls, attempts=spent.attempts, tokens=spent.tokens, cost_microusd=spent.cost_microusd, **details
    )


def replies(spent: Spent, same_again: bool) -> Iterator[ReplyReceived]:
    """A reply of every kind, for each reason there is for a kind."""
    yield reply(Finish.STOP, spent, has_text=True)
    yield reply(Finish.STOP, spent)
    yield reply(Finish.STOP, spent, has_text=True, silent=True)
    yield from (reply(finish, spent, has_text=True) for finish in Finish if finish is not Finish.STOP)
    yield reply(Finish.STOP, spent, has_text=True, cut_off=CutOff.AT_CAP)
    for calls in CALLS:
        for digest in (SAME_CALLS, OTHER_CALLS) if same_again else (OTHER_CALLS,):
            yield reply(Finish.TOOL_CALLS, spent, calls, calls_digest=digest)
    yield reply(Finish.STOP, spent, CALLS[0], calls_digest=OTHER_CALLS)
    for calls in BESIDE:
        yield from (reply(finish, spent, calls) for finish in (Finish.LENGTH, Finish.BLOCKED, Finish.OTHER))
        yield from (reply(Finish.TOOL_CALLS, spent, calls, cut_off=cut) for cut in (CutOff.AT_CAP, CutOff.IN_ARGUMENTS))
