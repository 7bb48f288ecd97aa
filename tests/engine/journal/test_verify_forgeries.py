"""A forger who recomputes every hash is still found: the pinned table knows what could have happened."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flat_records import flat
from recorded_runs import RUN_ID, Entries, Forgery, forged, journal_of, payloads_of, record, verify_forged
from statewright.journal import MemoryJournal
from statewright.journal.entry import RecordedDecision
from statewright.journal.pinned import read_table
from statewright.journal.verify import Verification, verify
from statewright_states.frozen import replace
from statewright_states.run.table import RUN
from statewright_states.words.messages import digest_of


def put(seq: int, /, **fields: object) -> Forgery:
    return lambda entries: entries[seq].update(fields)


def drop(seq: int, field: str) -> Forgery:
    return lambda entries: entries[seq].pop(field)


def answer(seq: int, question: str, given: object) -> Forgery:
    return lambda entries: entries[seq]["answers"].update({question: given})


def refuse(seq: int) -> Forgery:
    def forge(entries: Entries) -> None:
        for field in ("row", "to", "commands"):
            entries[seq].pop(field, None)
        entries[seq]["refused"] = "because"

    return forge


def ignore(seq: int, identity: str) -> Forgery:
    def forge(entries: Entries) -> None:
        refuse(seq)(entries)
        del entries[seq]["refused"]
        entries[seq]["ignored"] = identity

    return forge


def rename_a_call(entries: Entries) -> None:
    for entry in entries:
        if entry.get("instance") == "call-2":
            entry["instance"] = "call-1"


def exchange(seq: int, command: str) -> Forgery:
    return lambda entries: entries[seq]["commands"][0].update(command=command)


def twice(seq: int) -> Forgery:
    def forge(entries: Entries) -> None:
        (given,) = entries[seq]["commands"]
        entries[seq]["commands"].append(given | {"id": f"{seq}.1"})

    return forge


def swap(commands: list[dict[str, object]]) -> None:
    """Two commands in each other's place, each with the id of its new one."""
    one, other = commands
    commands[:] = [other | {"id": one["id"]}, one | {"id": other["id"]}]


def another_reason(entries: Entries) -> None:
    entries[15]["commands"][0]["data"]["reason"] = entries[16]["stop_reason"] = "interrupted"


FORGERIES: list[tuple[Forgery, int, str]] = [
    # the row, the event, the target, the answers
    (put(7, row="RUN-08"), 7, "it records RUN-08; for ReplyReceived in generating with these answers the table says RUN-12"),
    (put(7, row="RUN-999"), 7, "it records RUN-999"),
    (put(7, to="success"), 7, "RUN-12 leads to acting, not to success"),
    (put(4, to="streaming"), 4, "CALL-01 leads to sending, not to streaming"),
    (put(7, event="LaneGranted"), 7, "the table asks nothing"),
    (answer(7, "needs_person", True), 7, "the table says RUN-11"),
    (answer(7, "needs_person", "maybe"), 7, "has no answer 'maybe'"),
    (answer(7, "needs_person", 1), 7, "its field 'decisions.2.answers.needs_person'"),
    (answer(7, "mood", True), 7, "the table asks"),
    (lambda entries: entries[7]["answers"].pop("needs_person"), 7, "the table asks"),
    (refuse(7), 7, "it records a refusal; for ReplyReceived in generating with these answers the table says RUN-12"),
    (ignore(5, "CALL-90"), 5, "it records CALL-90; for ReplyBegan in sending with these answers the table says CALL-02"),
    # where the machine was
    (put(7, **{"from": "preparing"}), 7, "it finds run in preparing, but that was in generating"),
    (put(4, **{"from": "streaming"}), 4, "it finds call-1 in streaming, but that was in sending"),
    (rename_a_call, 12, "it finds call-1 in sending, but that was in replied"),
    (put(8, instance="call-1"), 8, "call-1 was an instance of the machine call before"),
    (put(8, instance="run"), 8, "run cannot be an instance of the machine tool"),
    (put(8, machine="plan"), 8, "the header pins no table for the machine plan"),
    # causes, commands, times
    (put(7, cause="6.1"), 7, "its cause is the command 6.1, which no decision before it gave"),
    (put(7, cause="7.0"), 7, "its cause is the command 7.0"),
    (put(7, cause="somebody"), 7, "its field 'decisions.2.cause'"),
    (lambda entries: entries[7]["commands"][0].update(id="6.0"), 7, "has the id 6.0 instead of 7.0"),
    (
        put(5, commands=[{"id": "5.0", "command": "SendRequest", "data": {}}]),
        5,
        "CALL-02 gives no commands, but the record lists 1",
    ),
    # commands that the row's effects do not give
    (exchange(11, "AskAgain"), 11, "RUN-40 gives one CallModel; the record lists AskAgain"),
    (exchange(7, "StopTool"), 7, "RUN-12 gives any number of RequestTool or ReleaseTool; the record lists StopTool"),
    (put(11, commands=[]), 11, "RUN-40 gives one CallModel; the record lists no commands"),
    (twice(11), 11, "RUN-40 gives one CallModel; the record lists CallModel, CallModel"),
    (twice(10), 10, "TOOL-20 gives one ReportSettled; the record lists ReportSettled, ReportSettled"),
    (
        lambda entries: swap(entries[12]["commands"]),
        12,
        "CALL-01 gives one WatchStepDeadline, then one SendRequest; the record lists SendRequest, WatchStepDeadline",
    ),
    (
        lambda entries: entries[6]["commands"][0]["data"].update(outcome="failed"),
        6,
        "CALL-03 gives one ReportCall, outcome replied; the record has ReportCall with other values",
    ),
    (another_reason, 15, "RUN-08 gives one FinishRun, reason completed; the record has FinishRun with other values"),
    # the shape of decisions
    (put(7, note="all is well"), 7, "its field 'decisions.2.note' is not known to this version"),
    (put(7, ignored="RUN-90"), 7, "exactly one of the fields"),
    (drop(7, "row"), 7, "exactly one of the fields"),
    (drop(7, "to"), 7, "must have the field 'to' if a row was taken"),
    (put(7, seq=9), 7, "it calls itself decision 9, and is decision 7"),
    (lambda shapes: shapes.pop(8), 8, "it calls itself decision 9, and is decision 8"),
    (lambda shapes: shapes.insert(8, shapes[7]), 7, "it calls itself decision 7, and is decision 8"),
    (lambda shapes: shapes.insert(8, shapes.pop(7)), 7, "it calls itself decision 8, and is decision 7"),
    # the header
    (put(0, run_id="run-2"), 0, "it is the header of another run, run-2"),
    (put(0, format=2), 0, "it has the journal format 2, and this version knows formats from 1 to 1"),
    (put(0, format="1"), 0, "it has the journal format '1'"),
    (drop(0, "format"), 0, "it has the journal format None"),
    (put(0, task="What is 2 + 3?"), 0, "its field 'task'"),
    (put(0, task=digest_of(b"never stored")), 0, f"its payload {digest_of(b'never stored')} is missing"),
    (put(0, mood="good"), 0, "its field 'mood' is not known to this version"),
    (lambda shapes: shapes[0]["machines"].pop("run"), 0, "it pins no table for the machine run"),
    (lambda shapes: shapes[0]["machines"].update(run=shapes[0]["machines"]["call"]), 0, "it is the table of 'call'"),
    (lambda shapes: shapes[0]["machines"].update(run=shapes[0]["config"]), 0, "the pinned table of run cannot be read"),
    # the end
    (put(16, status="partial"), 15, "it says that the run ended as partial, but the run is in success"),
    (put(16, stop_reason="interrupted"), 15, "it gives the stop reason interrupted, but the run was finished for completed"),
    (put(16, steps=-1), 15, "its field 'end.steps' is not as it should be"),
    (put(16, output="5"), 15, "its field 'end.output' is not as it should be"),
    (lambda shapes: shapes.pop(16), 15, "its end is missing: the run is in success, which is final"),
]

ENTRY_OF = (0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4)
"""For each decision of the recorded run (0 is the header) the entry that holds it."""


@pytest.mark.parametrize(("forge", "seq", "words"), FORGERIES, ids=[words for _, _, words in FORGERIES])
def test_a_forger_who_recomputes_every_hash_is_found_by_what_the_entry_says(forge: Forgery, seq: int, words: str) -> None:
    found = verify_forged(forge)
    assert not found.ok
    first = found.problems[0]
    assert words in first.what
    assert first.seq == ENTRY_OF[seq]
    assert f"run {RUN_ID}, entry {ENTRY_OF[seq]}" in first.where
    assert first.decision is None or f", decision {first.decision} (" in first.where


def test_the_recorded_run_has_its_decisions_in_these_entries() -> None:
    async def scenario() -> None:
        await record(journal := MemoryJournal())
        shapes = flat(await journal.entries(RUN_ID))
        assert (0, *(shape["entry"] for shape in shapes[1:-1])) == ENTRY_OF

    asyncio.run(scenario())


def facts(seq: int, instance: str, value: object) -> Forgery:
    return lambda entries: entries[seq]["facts"].update({instance: value})


def after_the_end(entries: Entries) -> None:
    decision = entries[4]["decisions"][0] | {"seq": 16}
    entries.append({"kind": "decisions", "seq": 5, "at_us": entries[4]["at_us"], "decisions": [decision]})


ENTRY_FORGERIES: list[tuple[Forgery, int, str]] = [
    (put(2, kind="note"), 2, "it is of no known kind: 'note'"),
    (drop(2, "kind"), 2, "it is of no known kind: None"),
    (put(2, seq=3), 2, "it calls itself entry 3"),
    (put(2, note="all is well"), 2, "its field 'note' is not known to this version"),
    (put(2, format=9), 2, "it has the journal format 9"),
    (put(2, decisions=[]), 2, "it holds no decision"),
    (drop(2, "decisions"), 2, "its field 'decisions' is missing"),
    (drop(2, "facts"), 2, "it gives the facts of nothing, but rows were taken by call-1, run, tool-1.1"),
    (facts(2, "run", "none"), 2, "its field 'facts.run' is not as it should be: 64 lower-case hexadecimal digits"),
    (facts(2, "tool-9.9", "0" * 64), 2, "but rows were taken by call-1, run, tool-1.1"),
    (lambda entries: entries[2]["facts"].pop("run"), 2, "it gives the facts of call-1, tool-1.1, but rows"),
    (lambda entries: entries[3].update(at_us=entries[2]["at_us"] - 5), 3, "its time lies 5 µs before"),
    (lambda entries: entries[2]["decisions"][0].update(at_us=entries[1]["at_us"] - 5), 2, "its time lies 5 µs before"),
    (lambda entries: entries[2]["decisions"][0].update(at_us=entries[2]["at_us"] + 5), 2, "its time lies 5 µs before"),
    (
        lambda entries: entries[2].update(end=entries[4]["end"]),
        2,
        "the run has ended, but run is in acting, which is not final",
    ),
    (after_the_end, 5, "it comes after the end of the run, entry 4"),
    (lambda entries: entries.__setitem__(2, [1, 2]), 2, "it is no JSON object"),  # type: ignore[call-overload]
    (lambda entries: entries.__setitem__(2, entries[0]), 2, "a header stands within the run"),
    (lambda entries: entries.pop(0), 0, "the run has no header: its first entry is another"),
    (lambda entries: entries.pop(2), 2, "it calls itself entry 3"),
    (lambda entries: entries.insert(2, entries[2]), 3, "it calls itself entry 2"),
    (lambda entries: entries.insert(2, entries.pop(3)), 2, "it calls itself entry 3"),
]


@pytest.mark.parametrize(("forge", "seq", "words"), ENTRY_FORGERIES, ids=[words for _, _, words in ENTRY_FORGERIES])
def test_a_forger_of_whole_entries_is_found_by_what_the_entry_says(forge: Forgery, seq: int, words: str) -> None:
    found = verify_forged(forge, whole_entries=True)
    assert not found.ok
    assert words in found.problems[0].what
    assert found.problems[0].seq == seq


@pytest.mark.parametrize("seq", [0, 2])
def test_a_key_that_is_declared_optional_may_be_passed_over_and_no_other(seq: int) -> None:
    def more(entries: Entries) -> None:
        entries[seq].update(optional=["weather"], weather={"sun": True})

    assert verify_forged(more, whole_entries=True).ok

    def too_much(entries: Entries) -> None:
        more(entries)
        entries[seq].update(mood="good")

    found = verify_forged(too_much, whole_entries=True)
    assert "its field 'mood' is not known" in found.problems[0].what


def test_a_table_that_was_pinned_before_effects_said_what_they_give_is_read_and_judges_the_rest() -> None:
    form = json.loads(RUN.canonical)
    decision = RecordedDecision(2, "run", "run", "LaneGranted", "queued", row="RUN-02", to="preparing")
    assert read_table("run", json.dumps(form).encode()).objection(decision) == (
        "RUN-02 gives one WatchRunDeadline, then one BuildContext; the record lists no commands"
    )
    for added in ("effects", "ends", "unreported"):
        del form[added]
    before = read_table("run", json.dumps(form).encode())
    assert before.objection(decision) is None
    assert before.objection(replace(decision, to="acting")) == "RUN-02 leads to preparing, not to acting"


def test_an_effect_of_which_the_pinned_table_says_nothing_is_found() -> None:
    form = json.loads(RUN.canonical)
    del form["effects"]["finish(completed)"]
    data = json.dumps(form).encode()
    found = verify_forged(lambda entries: entries[0]["machines"].update(run=digest_of(data)), {digest_of(data): data})
    assert found.problems[0].what == "the table does not say what the effect finish(completed) of RUN-08 gives"


def test_where_names_the_instance_the_event_and_the_row() -> None:
    assert verify_forged(put(7, to="success")).problems[0].where == (
        f"run {RUN_ID}, entry 2, decision 7 (run: ReplyReceived, RUN-12)"
    )


def test_an_end_while_a_tool_still_runs_is_found() -> None:
    def forge(entries: Entries) -> None:
        entries[10].update(cause=None)
        refuse(10)(entries)
        entries[10].update(event="ToolSkimmed", answers={})

    found = verify_forged(forge)
    said = [(problem.seq, problem.decision) for problem in found.problems]
    assert said == [(3, 11), (4, None)]
    assert "tool-1.1 is in running, which is not final" in found.problems[1].what


def pinned(change: Callable[[dict[str, object]], object]) -> tuple[Forgery, dict[str, bytes]]:
    """A forgery that pins another run table."""
    form = json.loads(RUN.canonical)
    change(form)
    data = json.dumps(form).encode()
    return lambda entries: entries[0]["machines"].update(run=digest_of(data)), {digest_of(data): data}


def test_the_table_that_counts_is_the_pinned_one_not_the_one_of_this_version() -> None:
    def other_rule(form: dict[str, object]) -> None:
        rows: list[dict[str, object]] = form["rows"]  # type: ignore[assignment]
        next(row for row in rows if row["id"] == "RUN-12").update(to="compacting")

    forge, blobs = pinned(other_rule)
    found = verify_forged(forge, blobs=blobs)
    assert "RUN-12 leads to compacting, not to acting" in found.problems[0].what


def test_no_row_leaves_a_state_that_the_pinned_table_calls_final() -> None:
    forge, blobs = pinned(lambda form: form.update(final=["generating", "success"]))
    found = verify_forged(forge, blobs=blobs)
    missing, left = found.problems[:2]
    assert (missing.seq, missing.what[:19]) == (1, "its end is missing:")
    assert (left.decision, left.what) == (7, "RUN-12 leaves generating, which is a final state")


def test_a_forger_who_recomputes_one_hash_is_found_twice_by_the_table_and_by_the_next_hash() -> None:
    async def scenario() -> Verification:
        entries = list(await (journal := await forged(put(7, to="success"))).entries(RUN_ID))
        honest = MemoryJournal()
        await record(honest)
        rest = (await honest.entries(RUN_ID))[3:]
        return await verify(await journal_of([*entries[:3], *rest], await payloads_of(journal)), RUN_ID)

    assert [problem.seq for problem in asyncio.run(scenario()).problems] == [2, 3]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=150)
@given(st.data(), st.booleans())
def test_fields_that_hold_anything_are_a_problem_and_never_an_exception(pick: st.DataObject, whole_entries: bool) -> None:
    def forge(entries: Entries) -> None:
        entry = entries[pick.draw(st.integers(0, 4 if whole_entries else 15))]
        names = sorted(set(entry) - (set() if whole_entries else {"kind", "entry", "at_us"}))
        entry[pick.draw(st.sampled_from(names))] = pick.draw(JSON)

    found = verify_forged(forge, whole_entries=whole_entries)
    assert found.ok == (not found.problems)
