"""Asking the guards of a point, one after another, and what becomes of their answers."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Iterable
from typing import Any, Generic, Protocol, TypeVar, cast

from statewright.hooks.declaration import OBSERVED, Block, Hook, HookCard, HookPoint
from statewright_states.errors import ConfigurationError
from statewright_states.frozen import dataclass, replace
from statewright_states.words.vocabulary import HookDecision, HookOutcome


class Subject(Protocol):
    """What a guard is shown, and what becomes of it."""

    def replaced(self, decision: object) -> Any:
        """With what a guard answered; None when that is no answer here."""
        ...


S = TypeVar("S", bound=Subject)


@dataclass(frozen=True, slots=True)
class Decided(Generic[S]):
    """What the guards of a point made of it. ``objection`` is why it may not happen; None when it may."""

    subject: S
    decisions: tuple[HookDecision, ...] = ()
    objection: str | None = None


class Hooks:
    """The hooks of a loop, sorted. Raises ConfigurationError for what is no hook, and for two of one name and point."""

    def __init__(self, hooks: Iterable[Hook] = ()) -> None:
        given = tuple(hooks)
        for one in cast("tuple[object, ...]", given):
            if not isinstance(one, Hook):
                raise ConfigurationError(
                    f"{one!r:.80} is not a hook", where="hooks", cure="declare it: @hook('before_tool_call') above the function"
                )
        self._by_point = {
            point: tuple(sorted((one for one in given if one.point is point), key=lambda one: -one.priority))
            for point in HookPoint
        }
        for point, here in self._by_point.items():
            names = [one.name for one in here]
            if twice := next((named for named in names if names.count(named) > 1), None):
                cure = "give one of them another name: @hook(..., name=)"
                raise ConfigurationError(f"two hooks of {point} are called {twice!r}", where="hooks", cure=cure)
        self.observing = any(self._by_point[point] for point in OBSERVED)
        """Whether anybody wants to be told of what happens within a run."""

    @property
    def cards(self) -> tuple[HookCard, ...]:
        """What a run's header keeps of them, in the order in which they are asked."""
        return tuple(one.card for here in self._by_point.values() for one in here)

    def at(self, point: HookPoint) -> tuple[Hook, ...]:
        """The hooks of this point, in order."""
        return self._by_point[point]

    async def decide(self, point: HookPoint, subject: S) -> Decided[S]:
        """Ask the guards of a point, one after another."""
        decided = Decided(subject)
        for one in self._by_point[point]:
            try:
                answer = one.function(decided.subject)
                if inspect.isawaitable(answer):
                    answer = await _in_time(one, answer)
            except TimeoutError:
                decided = _failed(decided, one, f"it took longer than {one.timeout_s:g} s")
            except (Exception, SystemExit) as error:
                decided = _failed(decided, one, f"{type(error).__name__}: {error}")
            else:
                decided = _answered(decided, one, answer)
            if decided.objection is not None:
                break
        return decided

    def decide_now(self, point: HookPoint, subject: S) -> Decided[S]:
        """Ask the guards of a point that cannot wait."""
        decided = Decided(subject)
        for one in self._by_point[point]:
            try:
                answer = one.function(decided.subject)
            except (Exception, SystemExit) as error:
                decided = _failed(decided, one, f"{type(error).__name__}: {error}")
            else:
                decided = _answered(decided, one, answer)
            if decided.objection is not None:
                break
        return decided


async def _in_time(one: Hook, answer: Awaitable[Any]) -> Any:
    """What the guard answers. Raises TimeoutError after its time, whether it ends when it is cancelled or not."""

    async def awaited() -> Any:
        return await answer

    task = asyncio.create_task(awaited(), name=f"the hook {one.name}")
    try:
        done, _ = await asyncio.wait([task], timeout=one.timeout_s)
    finally:
        task.cancel()
    if not done:
        task.add_done_callback(lambda late: late.cancelled() or late.exception())  # what it still raises is nobody's news
        raise TimeoutError
    return task.result()


def _answered(decided: Decided[S], one: Hook, answer: object) -> Decided[S]:
    if answer is None:
        return _with(decided, one, HookOutcome.ALLOWED)
    if isinstance(answer, Block):
        reason = str(answer.reason)
        blocked = _with(decided, one, HookOutcome.BLOCKED, reason)
        return replace(blocked, objection=reason or f"{one.name} does not allow it")
    replaced = decided.subject.replaced(answer)
    if inspect.iscoroutine(answer):
        answer.close()
    if replaced is None:
        return _failed(decided, one, f"it answered {type(answer).__name__}, which is no answer to {one.point}")
    return replace(_with(decided, one, HookOutcome.REPLACED), subject=replaced)


def _failed(decided: Decided[S], one: Hook, error: str) -> Decided[S]:
    if one.optional:
        return _with(decided, one, HookOutcome.PASSED_OVER, error)
    return replace(_with(decided, one, HookOutcome.FAILED, error), objection=f"the hook {one.name} failed ({error})")


def _with(decided: Decided[S], one: Hook, outcome: HookOutcome, reason: str = "") -> Decided[S]:
    return replace(decided, decisions=(*decided.decisions, HookDecision(one.point.value, one.name, outcome, reason)))
