"""Single decisions of the run table, in places that random walks and whole runs seldom come to, or never."""

from __future__ import annotations

from itertools import product

import pytest

from statewright_states.form.row import Event
from statewright_states.form.table import Taken
from statewright_states.run.commands import (
    AskOutcome,
    CancelTool,
    DropOldExchanges,
    FinishRun,
    PauseRunDeadline,
    ReplaceOldExchanges,
    SkipTool,
    StopTool,
    WatchRunDeadline,
)
from statewright_states.run.events import CallWaits, SummaryReady, ToolOutcomeUnknown
from statewright_states.run.facts import CallPhase, OpenCall, RunFacts, RunSettings, RunState
from statewright_states.run.table import RUN
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import Resumed, StopReason, StopRequested, ToolRequest

SUMMARY = SummaryReady("summary", exchanges=1, context_tokens=3, attempts=1, tokens=1, cost_microusd=1, dropped=2)


@pytest.mark.parametrize(("stop", "window_tokens", "max_model_calls"), [*product((False, True), (0, 1), (None, 1))])
def test_a_summary_that_has_come_is_used_however_the_run_goes_on(
    stop: bool, window_tokens: int, max_model_calls: int | None
) -> None:
    settings = RunSettings(window_tokens=window_tokens, max_model_calls=max_model_calls)
    facts = RunFacts(settings, calls=1, in_call=True, stop=stop, exchanges=4)
    decision = RUN.decide(RunState.COMPACTING, facts, SUMMARY)
    assert isinstance(decision, Taken)
    assert decision.commands[:2] == (ReplaceOldExchanges("summary", 3), DropOldExchanges(2, 1, 3)), decision.row.id


def request(number: int) -> ToolRequest:
    return ToolRequest(f"tool-{number}", f"c{number}", "post", "", ToolEffect.IRREVERSIBLE, person=False, parallel=True)


def test_an_outcome_that_is_lost_while_the_run_stops_ends_it_and_gives_up_what_else_runs() -> None:
    requests = (request(1), request(2))
    facts = RunFacts(stop=True, tools=tuple(OpenCall(each, CallPhase.LAUNCHED) for each in requests))
    decision = RUN.decide(RunState.ACTING, facts, ToolOutcomeUnknown("tool-1", 3))
    assert isinstance(decision, Taken)
    assert decision.to is RunState.PARTIAL
    assert decision.commands == (CancelTool(requests[1]), FinishRun(StopReason.TOOL_OUTCOME_UNKNOWN))


# -- a tool that waits for runs of its own, and these for persons -----------------------------------------------------


def acting(event: Event, *, beside: CallPhase, waits: bool = True) -> Taken[RunFacts]:
    """What is decided of an event in a run of 10 s that has worked for 4, with a tool that waits and a call beside it."""
    tools = (OpenCall(request(1), CallPhase.LAUNCHED, waits), OpenCall(request(2), beside))
    settings = RunSettings(run_timeout_us=10_000_000)
    decision = RUN.decide(RunState.ACTING, RunFacts(settings, paused=waits, worked_us=4_000_000, tools=tools), event)
    assert isinstance(decision, Taken)
    assert decision.to is RunState.ACTING
    return decision


@pytest.mark.parametrize(
    "beside", [CallPhase.WAITING, CallPhase.ASKED, CallPhase.DECIDED, CallPhase.UNKNOWN, CallPhase.SETTLED]
)
def test_the_time_of_a_run_stands_still_when_its_last_tool_at_work_begins_to_wait(beside: CallPhase) -> None:
    decision = acting(CallWaits("tool-1", True), beside=beside, waits=False)
    assert decision.commands == (PauseRunDeadline(),), decision.row.id


@pytest.mark.parametrize("beside", [CallPhase.WAITING, CallPhase.ASKED, CallPhase.DECIDED])
def test_a_stop_reaches_a_tool_that_waits_skips_what_has_not_begun_and_starts_the_time_again(beside: CallPhase) -> None:
    decision = acting(StopRequested(), beside=beside)
    expected = (WatchRunDeadline(6_000_000), SkipTool(request(2), "stopped"), StopTool(request(1)))
    assert decision.commands == expected, decision.row.id
    assert not any(call.waits for call in decision.facts.tools)


def test_a_run_taken_up_while_a_tool_waited_has_the_rest_of_its_time_and_asks_again_what_became_of_a_lost_call() -> None:
    decision = acting(Resumed(2), beside=CallPhase.UNKNOWN)
    assert decision.commands == (WatchRunDeadline(6_000_000), AskOutcome("tool-2")), decision.row.id
    assert not any(call.waits for call in decision.facts.tools)
