"""What becomes one entry: all that has arrived when the run takes a turn, and all that follows from it inside.

Nothing is done outside for an entry before it is on record, and never for what has been called off within the same turn.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from flat_records import shapes_of
from loop_invariants import check_run
from loop_journals import DawdlingJournal
from loop_scenarios import RUN_ID, Outcome, asks, call, play, playing, says
from loop_tools import Bench
from statewright import AgentConfig, AgentLoop, MemoryJournal
from statewright.journal.entry import decode
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers import ScriptedProvider
from statewright_states.words.ports import Batch, Journal, Lease


def entries(outcome: Outcome) -> list[list[str]]:
    """The events of each entry, in order."""
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    numbers = sorted({shape["entry"] for shape in shapes[1:]})
    return [[shape["event"] for shape in shapes[1:] if shape["entry"] == at and shape["kind"] != "end"] for at in numbers]


def test_a_step_is_two_entries_what_the_model_said_and_what_the_tool_gave() -> None:
    outcome = play([asks(call("look")), asks(call("look")), says("done")], Bench().tools)
    assert entries(outcome) == [
        ["RunAdmitted", "LaneGranted", "ContextBuilt", "CallRequested"],
        ["ReplyBegan", "AttemptReplied", "ReplyReceived", "ToolRequested", "ToolAssessed"],
        ["ToolReturned", "ToolSettled", "CallRequested"],
        ["ReplyBegan", "AttemptReplied", "ReplyReceived", "ToolRequested", "ToolAssessed"],
        ["ToolReturned", "ToolSettled", "CallRequested"],
        ["ReplyBegan", "AttemptReplied", "ReplyReceived"],
    ]


def test_results_that_arrive_together_are_one_entry_in_the_order_in_which_they_came() -> None:
    three = [call("look", at=str(number), seconds=10) for number in range(3)]
    outcome = play([asks(*three), says("done")], Bench().tools)
    (together,) = [events for events in entries(outcome) if "ToolReturned" in events]
    assert together == [*["ToolReturned", "ToolSettled"] * 3, "CallRequested"]


def test_results_that_arrive_apart_are_entries_of_their_own() -> None:
    outcome = play([asks(call("look", seconds=1), call("look", at="b", seconds=2)), says("done")], Bench().tools)
    assert Counter("ToolReturned" in events for events in entries(outcome))[True] == 2


def test_a_streamed_run_takes_the_rows_of_an_unstreamed_one_and_a_reply_that_began_has_its_own_time() -> None:
    def told(stream: bool) -> list[tuple[Any, Any]]:
        outcome = play([asks(call("look")), says("done")], Bench().tools, stream=stream)
        return [(shape["event"], shape.get("row")) for shape in run_virtual(shapes_of(outcome.journal, RUN_ID))[1:-1]]

    assert told(stream=True) == told(stream=False)


class WatchingJournal(DawdlingJournal):
    """Takes its time for each append, and notes what had been begun until then and what was on record as commanded."""

    def __init__(self, inner: Journal, bench: Bench, model: ScriptedProvider) -> None:
        super().__init__(inner, append_s=5)
        self._bench = bench
        self._model = model
        self._commanded = Counter[str]()
        self.seen: list[tuple[tuple[int, int], tuple[int, int]]] = []

    async def append(self, lease: Lease, batch: Batch) -> None:
        await super().append(lease, batch)
        begun = sum("done" not in entry for entry in self._bench.log), len(self._model.requests)
        self.seen.append((begun, (self._commanded["StartTool"], self._commanded["SendRequest"])))
        for entry in batch.entries:
            for decision in decode(entry.data)["decisions"]:
                self._commanded.update(command["command"] for command in decision.get("commands", ()))


def test_nothing_begins_outside_while_the_entry_that_commands_it_is_being_written() -> None:
    bench = Bench()
    model = ScriptedProvider([asks(call("look"), call("look", at="b", seconds=2)), asks(call("look", at="c")), says("done")])

    async def scene() -> WatchingJournal:
        journal = WatchingJournal(MemoryJournal(clock=VirtualClock()), bench, model)
        await playing(model, bench.tools, journal=journal)
        return journal

    seen = run_virtual(scene()).seen
    assert len(seen) == 7
    assert [begun for begun, _ in seen] == [commanded for _, commanded in seen]


@pytest.mark.parametrize("what", ["stop", "cancel"])
def test_an_order_that_comes_together_with_a_result_is_decided_behind_it_in_one_entry(what: str) -> None:
    """The first tool's result and the order arrive while an earlier entry is being written, which takes its time."""
    bench = Bench()

    async def scene() -> Outcome:
        journal = DawdlingJournal(MemoryJournal(clock=VirtualClock()), append_s=5)

        async def order(loop: AgentLoop, run_id: str) -> None:
            await {"stop": loop.stop, "cancel": loop.cancel}[what](run_id)

        script = [
            asks(*(call("look", at=name, seconds=seconds) for name, seconds in {"a": 1, "b": 3, "c": 20, "d": 20}.items())),
            says("done"),
        ]
        outcome = await playing(script, bench.tools, AgentConfig(max_parallel_tools=2), journal=journal, at=[(13.5, order)])
        await check_run(outcome.journal, outcome.state)
        return outcome

    outcome = run_virtual(scene())
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    ordered = next(shape["entry"] for shape in shapes if shape.get("event") in ("StopRequested", "CancelRequested"))
    assert ordered in {shape["entry"] for shape in shapes if shape.get("event") == "ToolReturned"}
    begun = [shape["instance"] for shape in shapes if shape.get("to") == "running" != shape.get("from")]
    assert begun == ["tool-1.1", "tool-1.2", "tool-1.3", "tool-1.4"], "the last one by the result that came with the order"
    assert ("look d" in bench.log) == (what == "stop"), "what was launched is finished; what was called off never begins"
    assert outcome.reason == {"stop": "interrupted", "cancel": "cancelled"}[what]
