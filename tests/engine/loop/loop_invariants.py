"""What is true of every run, whatever happened in it. Read from the record, not from the engine's memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flat_records import shapes_of
from journal_collection import collect
from journal_steps import steps_as_proven
from loop_timelines import check_timeline
from statewright import AgentConfig, AgentState, Status, replay
from statewright.journal.entry import MACHINES, TABLES
from statewright.journal.reading import read_record
from statewright.journal.verify import verify
from statewright_states.tool.table import TOOL
from statewright_states.words.ports import Journal

Shape = Mapping[str, Any]
Talk = tuple[str, str, str, str]
"""A machine and its command (both empty where nobody commanded it), and the machine and the event that came of it."""
ONE_OF = 4
"""Of so many runs the time line of one is looked at, chosen by its last hash: it takes as long as all else that is checked."""
SETTLED = frozenset(state.value for state in TOOL.final)
FAILURES = ("llm_error", "context_full", "internal_error")
"""The reasons for which a run ends as failed; for any other it stands where it was left, or is done."""
ALL_ROWS = frozenset(identity for name in MACHINES["run"] for cell in TABLES[name].cells.values() for identity in cell.ids)
"""Every row and ignore of the machines that an agent's run is made of."""


@dataclass(frozen=True)
class Rows:
    """The rows and ignores of a record, in order, each with its machine's instance."""

    taken: tuple[tuple[str, str], ...]
    talk: frozenset[Talk] = field(default=frozenset(), compare=False)
    """Which commands led to which events."""

    def of(self, instance: str) -> tuple[str, ...]:
        """The rows that one instance took."""
        return tuple(row for name, row in self.taken if name == instance)

    def __contains__(self, row: object) -> bool:
        return any(taken == row for _, taken in self.taken)

    def count(self, row: str) -> int:
        return sum(taken == row for _, taken in self.taken)


async def rows_of(journal: Journal, run_id: str) -> Rows:
    """The rows of a record."""
    events = [shape for shape in await shapes_of(journal, run_id) if shape["kind"] == "decision"]
    taken = ((shape["instance"], shape.get("row") or shape.get("ignored") or "refused") for shape in events)
    return Rows(tuple(taken), talk_in(events))


def talk_in(events: Sequence[Shape]) -> frozenset[Talk]:
    """The talk of the machines: each event with the command that it names as the cause."""
    given = {command["id"]: (shape["machine"], command["command"]) for shape in events for command in shape.get("commands", ())}
    return frozenset((*given.get(shape["cause"], ("", "")), shape["machine"], shape["event"]) for shape in events)


async def check_run(journal: Journal, state: AgentState) -> None:
    """Hold a run that has ended, or waits, to everything that is always true. Raises AssertionError."""
    shapes = await shapes_of(journal, state.run_id)
    record = read_record(state.run_id, await journal.entries(state.run_id))
    collect(record)
    steps_as_proven(record)
    ended = state.status is not Status.RUNNING
    _one_end_and_it_is_last(shapes, ended)
    _nothing_was_refused(shapes)
    _each_call_settles_once(shapes, ended)
    assert ended or state.waiting, "the run neither ended nor waits for a person"
    if ended:
        well_formed(state.messages)
        _as_the_end_says(shapes[-1], state)
    _parallelism_is_bounded(shapes)
    _compactions_are_as_recorded(shapes)
    verification = await verify(journal, state.run_id)
    assert verification.ok, verification.problems
    replayed = await replay(journal, state.run_id)
    assert replayed.state() == state, f"the replay shows {replayed.state()}, the run {state}"
    assert replayed.ended == ended, "the replay ends elsewhere"
    if int(replayed.head.hash, 16) % ONE_OF == 0:
        await _the_time_line_shows_it(journal, state, ended)


async def _the_time_line_shows_it(journal: Journal, state: AgentState, ended: bool) -> None:
    timeline = await check_timeline(journal, state.run_id)
    shown = [message.to_dict() for message in timeline.at(timeline.last).messages]
    assert shown == (state.messages if ended else shown), "the time line ends with other messages"


def _one_end_and_it_is_last(shapes: Sequence[Shape], ended: bool) -> None:
    kinds = [shape["kind"] for shape in shapes]
    assert kinds == ["header", *["decision"] * (len(kinds) - 1 - ended), *["end"] * ended], f"the record holds {kinds}"


def _nothing_was_refused(shapes: Sequence[Shape]) -> None:
    refused = [f"{shape['seq']} {shape['instance']}: {shape['refused']}" for shape in shapes if "refused" in shape]
    assert not refused, f"refused: {refused}"


def _each_call_settles_once(shapes: Sequence[Shape], ended: bool) -> None:
    tools = {shape["instance"] for shape in shapes if shape.get("machine") == "tool"}
    settled = Counter(
        shape["instance"]
        for shape in shapes
        if shape.get("machine") == "tool" and shape.get("to") in SETTLED and shape["from"] not in SETTLED
    )
    assert max(settled.values(), default=1) == 1, f"settled more than once: {settled}"
    if ended:
        assert set(settled) == tools, f"not settled: {tools - set(settled)}"


def well_formed(messages: Sequence[Mapping[str, Any]]) -> None:
    """Each assistant message with calls is followed by exactly its tool messages, in the order of the request."""
    expected: list[str] = []
    for position, message in enumerate(messages):
        if expected:
            assert message["role"] == "tool", f"message {position}: the results of {expected} are missing"
            assert message["tool_call_id"] == expected.pop(0), f"message {position}: another call's result"
        else:
            assert message["role"] != "tool", f"message {position}: a result that nobody asked for"
            expected = [asked["id"] for asked in message.get("tool_calls", ())]
    assert expected == [], f"the results of {expected} are missing"


def _as_the_end_says(end: Shape, state: AgentState) -> None:
    said, seen = (end["status"], end["stop_reason"], end["model_calls"]), (state.status, state.stop_reason, state.model_calls)
    assert said == seen, f"the end says {said}, the state {seen}"
    expected = {"completed": Status.SUCCESS, **dict.fromkeys(FAILURES, Status.FAILED)}.get(end["stop_reason"], Status.PARTIAL)
    assert state.status is expected, f"the run ended as {state.status} because of {end['stop_reason']}"
    assert state.final_output is not None, "a run that ended has no output"


def _parallelism_is_bounded(shapes: Sequence[Shape]) -> None:
    """Counted in the record: calls that run at the same time, and the bound that the run was admitted with."""
    bound, running = 1, set[str]()
    for shape in shapes:
        if shape.get("event") == "RunAdmitted":
            bound = shape["data"]["settings"]["max_parallel_tools"]
        if shape.get("machine") == "tool" and shape.get("row"):
            (running.add if shape["to"] == "running" else running.discard)(shape["instance"])
            assert len(running) <= bound, f"decision {shape['seq']}: {len(running)} calls run at once, {bound} may"


def _compactions_are_as_recorded(shapes: Sequence[Shape]) -> None:
    """The next request shows what the last compaction left, and where it changed nothing, what was there before."""
    left: str | None = None
    for shape in shapes:
        data = shape.get("data", {})
        if "before" in data and "after" in data:
            commands = {command["command"] for command in shape.get("commands", ())}
            changed = commands & {"ReplaceOldExchanges", "DropOldExchanges"}
            left = data["after"] if changed else data["before"]
        elif shape.get("event") == "CallRequested" and left is not None:
            assert data["transcript"] == left, f"decision {shape['seq']}: another transcript than the compaction left"
            left = None


def worst_case_requests(config: AgentConfig) -> int:
    """The most requests that one run may send to models: each step compacted and asked twice, two verdicts, all retried."""
    attempts_at_the_task = 1 + (config.evaluation.max_retries if config.evaluation.mode == "full" else 0)
    steps = config.max_steps * attempts_at_the_task
    logical = 4 * steps + 2 * attempts_at_the_task + 1
    return logical * config.retry.max_attempts * (1 + len(config.retry.fallback_models))
