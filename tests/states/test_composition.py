"""Run, calls and tools together: whatever happens, the run ends, nothing is refused, each tool call settles once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import pytest

from outcomes import PERSONS, TIMERS
from statewright_evidence.proofs.composition.outside import Activity
from statewright_states.frozen import replace
from statewright_states.run.events import OutcomeStated
from statewright_states.run.facts import EvaluationMode, OnLimit, RunSettings, RunState
from statewright_states.tool.events import ApprovalGiven
from statewright_states.tool.facts import Approval, ToolState
from statewright_states.words.approval import ApprovalRule
from statewright_states.words.vocabulary import StopReason
from world import World, settled_as, unsettled

LIVES = 2_500
MAX_ATTEMPTS, FALLBACKS = 2, 1
PER_CALL = MAX_ATTEMPTS * (FALLBACKS + 1)


RULES = (
    None,
    None,
    ApprovalRule(required=2),
    ApprovalRule(required=2, approvers=("Ann", "Bob", "Carl", "Dora"), requester="ANN", review_required=True),
)


def some_settings(chance: Random) -> RunSettings:
    """Small limits, so that each of them is met."""
    return RunSettings(
        max_steps=chance.choice((0, 1, 2, 3)),
        on_limit=chance.choice(tuple(OnLimit)),
        max_continuations=chance.choice((0, 1, 2)),
        max_identical_calls=chance.choice((0, 1, 2, 3)),
        parallel_tools=chance.random() < 0.7,
        max_parallel_tools=chance.choice((0, 1, 2, 4)),
        evaluation=chance.choice(tuple(EvaluationMode)),
        max_evaluation_retries=chance.choice((0, 1, 2)),
        summarize_after_exchanges=chance.choice((0, 1, 2)),
        window_tokens=chance.choice((0, 0, 2, 3)),
        max_model_calls=chance.choice((None, None, None, 3, 5)),
        max_tool_calls=chance.choice((None, None, 2, 4)),
        max_total_tokens=chance.choice((None, None, 6)),
        max_cost_microusd=chance.choice((None, None, 3)),
        approval=chance.choice(RULES),
    )


def settings_with_tools(chance: Random) -> RunSettings:
    """Limits under which tools begin in most lives."""
    return replace(some_settings(chance), max_steps=3, max_tool_calls=None, max_identical_calls=0, window_tokens=0)


def worlds(settings: Callable[[Random], RunSettings]) -> Iterator[World]:
    for seed in range(LIVES):
        chance = Random(seed)
        yield World(chance, settings(chance), max_attempts=MAX_ATTEMPTS, fallbacks=FALLBACKS)


def holds_in_every_life(live: Callable[[World], None], settings: Callable[[Random], RunSettings] = some_settings) -> None:
    """Run ``live`` in many worlds; fails with the shortest life in which it does not hold."""
    failures: list[tuple[int, str]] = []
    for world in worlds(settings):
        try:
            live(world)
        except AssertionError as failure:
            failures.append((len(world.trace), str(failure)))
    if failures:
        pytest.fail(f"{len(failures)} of {LIVES} lives; the shortest:\n{min(failures)[1]}")


def test_every_run_ends_and_everything_in_it_settles_once() -> None:
    def live(world: World) -> None:
        world.anything_happens(world.chance.randrange(40))
        world.calms_down()
        assert not unsettled(world), world.told(unsettled(world))

    holds_in_every_life(live)


def test_no_limit_is_passed() -> None:
    def live(world: World) -> None:
        world.anything_happens(world.chance.randrange(40))
        world.calms_down()
        facts, limits = world.facts, world.facts.settings
        assert facts.attempt_steps <= limits.max_steps, world.told("steps")
        assert facts.model_calls <= world.requests + len(world.counted), world.told("more requests counted than made")
        if limits.max_model_calls is not None:
            assert world.requests <= limits.max_model_calls, world.told("model calls")
        if facts.stop_reason is StopReason.BUDGET_EXCEEDED:
            assert facts.budget is not None, world.told("a budget ended the run, and none is named")
        if limits.max_tool_calls is not None:
            assert facts.tool_calls <= limits.max_tool_calls, world.told("tool calls")
        for call in world.calls.values():
            assert call.facts.attempts <= PER_CALL, world.told(f"attempts of {call.name}")

    holds_in_every_life(live)


def test_every_request_is_counted_by_the_run_or_by_the_call_that_it_gave_up() -> None:
    def live(world: World) -> None:
        world.anything_happens(world.chance.randrange(40))
        world.calms_down()
        given_up = world.calls[f"call-{world.facts.calls}"].facts.attempts if world.facts.in_call else 0
        assert world.facts.model_calls + given_up == world.requests + len(world.counted), world.told("requests")

    holds_in_every_life(live)


def test_a_stop_waits_for_no_person() -> None:
    def live(world: World) -> None:
        world.anything_happens(world.chance.randrange(30))
        if not world.run.ended:
            world.stops()
        world.calms_down(silent=(*TIMERS, *PERSONS))
        assert not unsettled(world), world.told(unsettled(world))

    holds_in_every_life(live)


def test_a_cancellation_ends_at_once_and_leaves_nothing_open() -> None:
    def live(world: World) -> None:
        world.anything_happens(world.chance.randrange(30))
        if not world.run.ended:
            world.is_cancelled()
        assert world.run.ended, world.told(world.run.state)
        assert not unsettled(world), world.told(unsettled(world))
        world.calms_down()

    holds_in_every_life(live)


def test_after_any_number_of_deaths_the_run_still_ends() -> None:
    def live(world: World) -> None:
        for _ in range(world.chance.randrange(1, 6)):
            world.anything_happens(world.chance.randrange(8))
            world.dies()
        world.calms_down()
        assert not unsettled(world), world.told(unsettled(world))

    holds_in_every_life(live)


def test_a_death_sends_a_request_again_without_counting_it_twice() -> None:
    def live(world: World) -> None:
        while not world.run.ended and not any(entry.activity is Activity.REQUEST for entry in world.pending):
            world.happens(world.pending[0])
        before = world.facts
        world.dies()
        assert world.facts == before, world.told("a death alone changed the facts")
        world.calms_down()
        assert world.facts.model_calls <= world.requests + len(world.counted), world.told("requests")

    holds_in_every_life(live)


def a_tool_waits(world: World) -> bool:
    return any(call.waits for call in world.facts.tools)


def comes_to(world: World, wanted: Callable[[World], bool]) -> None:
    """Let what is going on outside come to its end, one after another, until ``wanted`` holds or nothing is left."""
    while not wanted(world) and (ordinary := [entry for entry in world.pending if entry.activity not in TIMERS]):
        world.happens(world.chance.choice(ordinary))


ABOUT_CHILDREN = (
    *("RUN-70", "RUN-102", "RUN-103", "RUN-175", "RUN-176", "RUN-177", "RUN-178", "RUN-179", "RUN-181"),
    *("TOOL-28", "TOOL-50", "TOOL-95"),
)


def test_whatever_comes_while_a_tool_waits_for_a_run_of_its_own_all_settles_once_and_all_is_counted_once() -> None:
    taken = Counter[str]()

    def live(world: World) -> None:
        comes_to(world, a_tool_waits)
        world.anything_happens(world.chance.randrange(20))
        world.calms_down()
        assert not unsettled(world), world.told(unsettled(world))
        given_up = world.calls[f"call-{world.facts.calls}"].facts.attempts if world.facts.in_call else 0
        assert world.facts.model_calls + given_up == world.requests + len(world.counted), world.told("requests")
        taken.update(world.taken)

    holds_in_every_life(live, settings_with_tools)
    assert not [row for row in ABOUT_CHILDREN if not taken[row]], f"no life comes there; taken were {taken}"


# -- single lives, told --------------------------------------------------------------------------------------------------


def first_world(wanted: Callable[[World], bool], limits: RunSettings | None = None) -> World:
    """The first world that, left alone, comes to a point where ``wanted`` holds."""
    for seed in range(5_000):
        world = World(Random(seed), limits or RunSettings())
        for _ in range(40):
            if wanted(world):
                return world
            ordinary = [entry for entry in world.pending if entry.activity not in TIMERS]
            if world.run.ended or not ordinary:
                break
            world.happens(ordinary[0])
    raise AssertionError("no such world")


def waiting_while_acting(world: World) -> bool:
    waiting = any(tool.state is ToolState.AWAITING_APPROVAL and tool.facts.released for tool in world.tools.values())
    return world.run.state is RunState.ACTING and waiting


def test_a_stop_skips_a_released_call_that_still_waits_for_a_person() -> None:
    world = first_world(waiting_while_acting)
    world.stops()
    world.calms_down(silent=(*TIMERS, *PERSONS))
    assert world.run.state is RunState.PARTIAL
    assert world.facts.stop_reason is StopReason.INTERRUPTED
    assert settled_as(world, ToolState.SKIPPED)


def decided_and_waiting(world: World) -> bool:
    waiting = [tool for tool in world.tools.values() if tool.state is ToolState.AWAITING_APPROVAL]
    return world.run.state is RunState.ACTING and any(tool.facts.approval is not Approval.OPEN for tool in waiting)


def test_a_second_decision_changes_nothing() -> None:
    world = first_world(decided_and_waiting)
    (tool, *_) = [tool for tool in world.tools.values() if tool.state is ToolState.AWAITING_APPROVAL]
    before = tool.facts
    for approve in (True, False):
        world.tell(tool, ApprovalGiven(approve, "another", "approved" if approve else "rejected", "", before.arguments))
        assert tool.facts == before


def lost(world: World) -> bool:
    running = [tool for tool in world.tools.values() if tool.state is ToolState.RUNNING]
    waiting = [call for call in world.facts.tools if call.phase == "waiting"]
    return bool(waiting) and any(tool.facts.effect == "irreversible" for tool in running)


def test_a_person_who_ends_the_run_over_a_lost_outcome_leaves_nothing_open() -> None:
    world = first_world(lost, RunSettings(max_parallel_tools=1))
    world.dies()
    (question,) = [entry for entry in world.pending if entry.activity is Activity.OUTCOME]
    world.tell(world.run, OutcomeStated(question.subject, False, "somebody", "it was posted"))
    assert world.facts.stop_reason is StopReason.TOOL_OUTCOME_UNKNOWN
    assert not unsettled(world)
