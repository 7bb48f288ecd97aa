"""What is true of the time line of every run: at each entry it shows what the run itself had then."""

from __future__ import annotations

from statewright import RunTimeline
from statewright.core.moment import Moment
from statewright.journal.entry import digest, facts_shape
from statewright_states.words.ports import Journal

AWAITED_IN = {"sending": "SendRequest", "streaming": "SendRequest", "backing_off": "BackOff"}
"""What a call waits for in each of its states."""


async def check_timeline(journal: Journal, run_id: str) -> RunTimeline:
    """Hold the time line of a run to its record. Raises AssertionError."""
    timeline = await RunTimeline.open(journal, run_id)
    assert (timeline.problem, timeline.facts_problem) == (None, "")
    await timeline.read_to(timeline.last)
    for number in range(1, timeline.last + 1):
        moment, entry = timeline.at(number), timeline.entry(number)
        assert moment.known
        for decision in entry.decisions:
            assert timeline.entry_of(decision.seq) == number
        held = {each.name: digest(facts_shape(each.facts)) for each in moment.instances}
        assert {name: held.get(name) for name in entry.facts} == entry.facts, f"other facts after entry {number}"
        states = {decision.instance: decision.target for decision in entry.decisions}
        assert {name: each.state for name in states if (each := moment.instance(name))} == states
        _waits_for_what_it_commanded(moment)
    return timeline


def _waits_for_what_it_commanded(moment: Moment) -> None:
    under_way = [(command.instance, command.command) for command in moment.under_way]
    for each in moment.instances:
        commands = [command for instance, command in under_way if instance == each.name]
        if each.ended:
            assert commands == [], f"{each.name} has ended, and {commands} are under way"
        elif each.machine == "call":
            assert [name for name in commands if name != "WatchStepDeadline"] == [AWAITED_IN[each.state]]
    assert all(command.age_us >= 0 for command in moment.under_way)
