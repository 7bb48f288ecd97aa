"""A forger who recomputes every hash is still found: the pinned table knows what could have happened."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorded_runs import RUN_ID, Entries, Forgery, forged, journal_of, payloads_of, record, verify_forged
from statewright.journal import MemoryJournal
from statewright.journal.pinned import read_table
from statewright.journal.shapes import TakenShape
from statewright.journal.verify import Verification, verify
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
        for field in ("row", "to", "commands", "facts"):
            del entries[seq][field]
        entries[seq]["refused"] = "because"

    return forge


def ignore(seq: int, identity: str) -> Forgery:
    def forge(entries: Entries) -> None:
        refuse(seq)(entries)
        del entries[seq]["refused"]
        entries[seq]["ignored"] = identity

    return forge


def after_the_end(entries: Entries) -> None:
    entries.append(entries[-1] | {"seq": len(entries)})


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
    (answer(7, "needs_person", 1), 7, "its field 'answers.needs_person"),
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
    (put(7, cause="6.1"), 7, "its cause is the command 6.1, which no entry before it gave"),
    (put(7, cause="7.0"), 7, "its cause is the command 7.0"),
    (put(7, cause="somebody"), 7, "its field 'cause'"),
    (lambda entries: entries[7]["commands"][0].update(id="6.0"), 7, "has the id 6.0 instead of 7.0"),
    (
        put(5, commands=[{"id": "5.0", "command": "SendRequest", "data": {}}]),
        5,
        "CALL-02 gives no commands, but the entry lists 1",
    ),
    (lambda entries: entries[9].update(at_us=entries[8]["at_us"] - 5), 9, "its time lies 5 µs before"),
    # commands that the row's effects do not give
    (exchange(11, "AskAgain"), 11, "RUN-40 gives one CallModel; the entry lists AskAgain"),
    (exchange(7, "StopTool"), 7, "RUN-12 gives any number of RequestTool or ReleaseTool; the entry lists StopTool"),
    (put(11, commands=[]), 11, "RUN-40 gives one CallModel; the entry lists no commands"),
    (twice(11), 11, "RUN-40 gives one CallModel; the entry lists CallModel, CallModel"),
    (twice(10), 10, "TOOL-20 gives one ReportSettled; the entry lists ReportSettled, ReportSettled"),
    (
        lambda entries: swap(entries[12]["commands"]),
        12,
        "CALL-01 gives one WatchStepDeadline, then one SendRequest; the entry lists SendRequest, WatchStepDeadline",
    ),
    (
        lambda entries: entries[6]["commands"][0]["data"].update(outcome="failed"),
        6,
        "CALL-03 gives one ReportCall, outcome replied; the entry has ReportCall with other values",
    ),
    (another_reason, 15, "RUN-08 gives one FinishRun, reason completed; the entry has FinishRun with other values"),
    # the shape of entries
    (drop(7, "facts"), 7, "its field 'facts' is not as it should be: Field required"),
    (put(7, facts="none"), 7, "its field 'facts'"),
    (put(7, note="all is well"), 7, "its field 'note'"),
    (put(7, ignored="RUN-90"), 7, "exactly one of the fields"),
    (put(7, kind="note"), 7, "it is of no known kind: 'note'"),
    (put(7, seq=8), 7, "it calls itself entry 8"),
    (lambda entries: entries.__setitem__(7, [1, 2]), 7, "it is no JSON object"),  # type: ignore[call-overload]
    (lambda entries: entries.__setitem__(7, entries[0]), 7, "a header stands within the run"),
    (lambda entries: entries.pop(0), 0, "the run has no header: its first entry is another"),
    # the header
    (put(0, run_id="run-2"), 0, "it is the header of another run, run-2"),
    (put(0, format=2), 0, "it has the journal format 2, and this version knows format 1"),
    (put(0, task="What is 2 + 3?"), 0, "its field 'task'"),
    (put(0, task=digest_of(b"never stored")), 0, f"its payload {digest_of(b'never stored')} is missing"),
    (lambda entries: entries[0]["machines"].pop("run"), 0, "it pins no table for the machine run"),
    (lambda entries: entries[0]["machines"].update(run=entries[0]["machines"]["call"]), 0, "it is the table of 'call'"),
    (lambda entries: entries[0]["machines"].update(run=entries[0]["config"]), 0, "the pinned table of run cannot be read"),
    # the end
    (put(16, status="partial"), 16, "it says that the run ended as partial, but the run is in success"),
    (put(16, stop_reason="interrupted"), 16, "it gives the stop reason interrupted, but the run was finished for completed"),
    (after_the_end, 17, "it comes after the end of the run, entry 16"),
    (lambda entries: entries.pop(10), 10, "it calls itself entry 11"),
]


@pytest.mark.parametrize(("forge", "seq", "words"), FORGERIES, ids=[words for _, _, words in FORGERIES])
def test_a_forger_who_recomputes_every_hash_is_found_by_what_the_entry_says(forge: Forgery, seq: int, words: str) -> None:
    found = verify_forged(forge)
    assert not found.ok
    assert words in found.problems[0].what
    assert found.problems[0].seq == seq
    assert f"run {RUN_ID}, entry {seq}" in found.problems[0].where


def test_an_end_for_a_reason_that_it_cannot_have_is_found_beside_the_command_that_gave_it() -> None:
    found = verify_forged(another_reason)
    assert [problem.seq for problem in found.problems] == [15, 16]
    assert found.problems[1].what == "no run ends as success for the reason interrupted"


def test_a_table_that_was_pinned_before_effects_said_what_they_give_is_read_and_judges_the_rest() -> None:
    form = json.loads(RUN.canonical)
    entry: dict[str, object] = {"kind": "event", "seq": 2, "at_us": 1, "machine": "run", "instance": "run", "cause": None}
    entry |= {"event": "LaneGranted", "data": {}, "answers": {}, "from": "queued", "row": "RUN-02", "to": "preparing"}
    shape = TakenShape.model_validate(entry | {"commands": [], "facts": "0" * 64})
    assert read_table("run", json.dumps(form).encode()).objection(shape) == (
        "RUN-02 gives one WatchRunDeadline, then one BuildContext; the entry lists no commands"
    )
    for added in ("effects", "ends", "unreported"):
        del form[added]
    before = read_table("run", json.dumps(form).encode())
    assert before.objection(shape) is None
    assert before.objection(shape.model_copy(update={"to": "acting"})) == "RUN-02 leads to preparing, not to acting"


def test_an_effect_of_which_the_pinned_table_says_nothing_is_found() -> None:
    form = json.loads(RUN.canonical)
    del form["effects"]["finish(completed)"]
    data = json.dumps(form).encode()
    found = verify_forged(lambda entries: entries[0]["machines"].update(run=digest_of(data)), {digest_of(data): data})
    assert found.problems[0].what == "the table does not say what the effect finish(completed) of RUN-08 gives"


def test_where_names_the_instance_the_event_and_the_row() -> None:
    assert verify_forged(put(7, to="success")).problems[0].where == f"run {RUN_ID}, entry 7 (run: ReplyReceived, RUN-12)"


def test_an_end_while_a_tool_still_runs_is_found() -> None:
    def forge(entries: Entries) -> None:
        entries[10].update(cause=None)
        refuse(10)(entries)
        entries[10].update(event="ToolSkimmed", answers={})

    found = verify_forged(forge)
    assert [problem.seq for problem in found.problems] == [11, 16]
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
    assert (found.problems[0].seq, found.problems[0].what) == (7, "RUN-12 leaves generating, which is a final state")


def test_a_forger_who_recomputes_one_hash_is_found_twice_by_the_table_and_by_the_next_hash() -> None:
    async def scenario() -> Verification:
        entries = list(await (journal := await forged(put(7, to="success"))).entries(RUN_ID))
        honest = MemoryJournal()
        await record(honest)
        rest = (await honest.entries(RUN_ID))[8:]
        return await verify(await journal_of([*entries[:8], *rest], await payloads_of(journal)), RUN_ID)

    assert [problem.seq for problem in asyncio.run(scenario()).problems] == [7, 8]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=100)
@given(st.data())
def test_fields_that_hold_anything_are_a_problem_and_never_an_exception(pick: st.DataObject) -> None:
    def forge(entries: Entries) -> None:
        entry = entries[pick.draw(st.integers(0, 16))]
        entry[pick.draw(st.sampled_from(sorted(entry)))] = pick.draw(JSON)

    found = verify_forged(forge)
    assert found.ok == (not found.problems)
