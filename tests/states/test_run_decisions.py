"""Single decisions of the run table, in places that random walks and whole runs seldom come to, or never."""

from __future__ import annotations

from itertools import product

import pytest

from statewright_states.form.table import Taken
from statewright_states.run.commands import CancelTool, DropOldExchanges, FinishRun, ReplaceOldExchanges
from statewright_states.run.events import SummaryReady, ToolOutcomeUnknown
from statewright_states.run.facts import CallPhase, OpenCall, RunFacts, RunSettings, RunState
from statewright_states.run.table import RUN
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import StopReason, ToolRequest

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


def test_an_outcome_that_is_lost_while_the_run_stops_ends_it_and_gives_up_what_else_runs() -> None:
    requests = [
        ToolRequest(f"tool-{n}", f"c{n}", "post", "", ToolEffect.IRREVERSIBLE, person=False, parallel=True) for n in (1, 2)
    ]
    facts = RunFacts(stop=True, tools=tuple(OpenCall(request, CallPhase.LAUNCHED) for request in requests))
    decision = RUN.decide(RunState.ACTING, facts, ToolOutcomeUnknown("tool-1", 3))
    assert isinstance(decision, Taken)
    assert decision.to is RunState.PARTIAL
    assert decision.commands == (CancelTool(requests[1]), FinishRun(StopReason.TOOL_OUTCOME_UNKNOWN))
