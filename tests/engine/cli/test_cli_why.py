"""``why``: which row decided, on which answers, and what each other row would have needed; from the record alone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import Messages, Place, asks_for, call, end, model_server, until
from statewright import AgentLoop, SQLiteJournal, connect
from statewright.core.described_machines import DescribedMachine, of_table, of_version
from statewright.core.explanation import Explanation, explain_decision
from statewright.journal.entry import End, Entry, Header, RecordedDecision
from statewright_states.errors import JournalDamaged
from statewright_states.run.events import ReplyReceived
from statewright_states.run.facts import RunState
from statewright_states.run.table import RUN
from statewright_states.versions import versions

TOOLS = ("--tools", "tools:tools")


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Place:
    """A folder with a run that added two numbers."""
    place = Place(tmp_path_factory.mktemp("why"))
    (place.folder / "tools.py").write_text(Path(__file__).with_name("command_line.py").read_text().split("'''")[1])
    model = place.script(call("add", a=17, b=25), {"content": "It is 42."})
    assert place.run("run", "add", "--model", model, *TOOLS, "--run-id", "mine").code == 0
    return place


def test_the_row_that_ended_a_run_is_explained_with_its_answers_and_with_what_every_other_row_needed(added: Place) -> None:
    said = " ".join(added.run("why", "mine").out.split())
    for text in (
        "event ReplyReceived at run",
        "message: It is 42.",
        "row RUN-08, to success: the model says it is done",
        "serves R-REPLY-2: A reply with text",
        "FinishRun reason completed",
        "because kind: What kind of reply is this? final evaluation: Is a final answer to be judged? no",
        "RUN-12, to acting: the model asked for tools that may run beside each other",
        "needs kind: tools (was final)",
    ):
        assert text in said
    others = {other["id"]: other for other in added.json("why", "mine")["others"]}
    cell = RUN.cells[RunState.GENERATING, ReplyReceived]
    assert others.keys() == {*cell.ids} - {"RUN-08"}
    assert all(other["unmet"] for other in others.values()), "exactly one row fires: each other one lacks an answer"
    assert others["RUN-09"]["unmet"] == [{"question": "evaluation", "needed": ["yes"], "was": "no"}]


def test_a_decision_is_named_by_the_number_that_show_prints(added: Place) -> None:
    shown = added.run("show", "mine").out
    returned = next(line for line in shown.splitlines() if " TOOL-20 " in line)
    found = added.json("why", "mine", returned.split()[0])
    assert (found["id"], found["instance"], found["event"]) == ("TOOL-20", "tool-1.1", "ToolReturned")
    outside = added.run("why", "mine", "99")
    assert outside.code == 2
    assert re.search(r"no decision 99.*numbered from 1 to \d+, as `statewright show` prints them", outside.err, re.DOTALL)


def test_the_first_decision_names_payloads_that_are_no_messages_and_is_explained_too(added: Place) -> None:
    said = added.run("why", "mine", "1")
    assert (said.code, said.err) == (0, "")
    assert "row        RUN-01, to queued: the admission is on record before anything happens" in said.out


def posts_once(messages: Messages) -> dict[str, object]:
    last = messages[-1]
    return {"content": "done"} if last["role"] == "tool" else asks_for("post", "call_7", amount=5)


def test_an_event_that_changed_nothing_is_explained_too(place: Place) -> None:
    (place.folder / "agent.toml").write_text("[approval]\nrequired = 2")
    with model_server(posts_once) as server:
        place.run("run", "x", *server.options, *TOOLS, "--config", "agent.toml", "--run-id", "mine", "--as", "Zoe")
        *_, approved = [place.run("approve", "mine", "call_7", "--as", name) for name in ("Ann", "Ann", "Bob")]
        (typed,) = [line.split("statewright ")[1].split("  ")[0] for line in approved.err.splitlines() if " resume " in line]
        assert "--tools tools:tools" in typed
        assert place.run(*typed.split()).code == 0, "what is printed after an approval can be typed as it stands"
    numbers = [line.split()[0] for line in place.run("show", "mine").out.splitlines() if "ignored (" in line]
    assert numbers
    said = " ".join(place.run("why", "mine", numbers[0]).out.split())
    assert "event ApprovalGiven at tool-1.1" in said
    assert "actor: Ann" in said
    assert "nothing changed" in said
    assert "TOOL-45" in said


# -- what is pinned, and what is not declared ------------------------------------------------------------------------

NO = "sha256:" + "0" * 64
HEADER = Header(1, "r", 0, "statewright", "m", "run", {}, NO, NO, NO, NO, NO)


def explained(decision: RecordedDecision, machine: DescribedMachine) -> Explanation:
    end = End("success", "completed", NO, "0" * 64, 0, 0, 0, 0, 0, 0)
    return explain_decision("r", Entry(1, 5, (decision,), end=end), decision, {"run": machine})


def decision(**fields: Any) -> RecordedDecision:
    return RecordedDecision(7, "run", "run", **fields)


def test_an_event_that_is_not_declared_says_what_is(added: Place) -> None:
    refusal = "run: ReplyReceived is not declared in queued; declared there: TurnCame"
    found = explained(decision(event="ReplyReceived", source="queued", refused=refusal), of_table(RUN))
    assert (found.outcome, found.id, found.why, found.others) == ("refused", None, refusal, ())


def test_a_run_is_explained_by_the_version_that_it_is_pinned_to_and_not_by_todays_table() -> None:
    released, here = of_version(versions()["run"][0]), of_table(RUN)
    asked = {question for row in released.form.rows for question in row.when if "VerdictReached" in row.event}
    taken = next(row for row in released.form.rows if row.event == "VerdictReached" and row.to == "success")
    answers = {name: (taken.when.get(name) or released.form.questions[name])[0] for name in asked}
    recorded = decision(event="VerdictReached", source=taken.sources[0], answers=answers, row=taken.id, to="success")
    old, new = explained(recorded, released), explained(recorded, here)
    assert old.decided_by.startswith("run@1, which the run is pinned to")
    assert new.decided_by == f"{versions()['run'][-1].name}, as it is here"
    listed = {row.id for row in released.form.rows if row.event == "VerdictReached" and recorded.source in row.sources}
    assert {other.id for other in old.others} == listed - {taken.id}
    assert {other.id for other in new.others} - {other.id for other in old.others} >= {"RUN-160", "RUN-161"}
    assert old.why == released.words[taken.id].why
    assert next(question for question in old.asked if question.decisive).text


def test_a_machine_that_the_run_is_not_pinned_to_is_damage_and_no_crash() -> None:
    with pytest.raises(JournalDamaged, match="pinned to no machine 'run'"):
        refused = decision(event="X", source="y", refused="z")
        explain_decision("r", Entry(1, 5, (refused,)), refused, {})


# -- runs and show: who drives a run ---------------------------------------------------------------------------------


def test_a_live_run_and_a_killed_one_are_told_apart_with_the_process_that_drove_them(place: Place) -> None:
    with model_server(lambda _: {"content": "late"}) as server:
        server.gate.clear()
        live, killed = (place.start("run", "x", *server.options, "--run-id", name) for name in ("live", "killed"))
        until(lambda: len(server.requests) == 2, "both ask the model")
        killed.kill()
        end(killed)
        listed = {run["run_id"]: run for run in place.json("runs")}
        assert {name: run["status"] for name, run in listed.items()} == {"live": "running", "killed": "killed"}
        assert f":pid {live.pid} " in listed["live"]["owner"]
        assert f":pid {killed.pid} " in listed["killed"]["owner"]
        shown = place.run("show", "live").out
        assert f"driven by {listed['live']['owner']}" in shown
        assert "resume" not in shown, "another process cannot take it up now"
        shown = place.run("show", "killed").out
        assert f"was driven by {listed['killed']['owner']}" in shown
        assert "statewright resume killed --base-url" in shown
        assert [run["run_id"] for run in place.json("runs", "--status", "killed")] == ["killed"]
        server.gate.set()
        assert end(live).code == 0
    assert {run["run_id"]: run["owner"] for run in place.json("runs", "--status", "success")} == {"live": None}


def test_a_run_that_its_process_left_is_interrupted(place: Place) -> None:
    (place.folder / ".statewright").mkdir()

    async def leave(base_url: str, asked: Callable[[], object]) -> None:
        async with AgentLoop(
            connect("openai:stub", base_url=base_url), journal=SQLiteJournal(place.folder / ".statewright" / "runs.db")
        ) as loop:
            running = asyncio.create_task(loop.run("x", run_id="left"))
            await asyncio.to_thread(until, asked, "it asks the model")
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    with model_server(lambda _: {"content": "late"}) as server:
        server.gate.clear()
        asyncio.run(leave(server.options[-1], lambda: server.requests))
    (listed,) = place.json("runs", "--status", "interrupted")
    assert (listed["run_id"], listed["owner"]) == ("left", None)
    assert "interrupted  not ended" in place.run("show", "left").out


def test_runs_are_chosen_by_agent_session_status_and_time(place: Place) -> None:
    (place.folder / "agents.toml").write_text("[agents.clerk]\nmax_steps = 3")
    model = place.script({"content": "done"})
    assert place.run("run", "x", "--model", model, "--config", "agents.toml", "--agent", "clerk", "--run-id", "a").code == 0
    assert place.run("run", "x", "--model", model, "--session", "s", "--run-id", "b").code == 0
    failing = place.script({"error": {"type": "RequestRejected", "message": "no"}})
    assert place.run("run", "x", "--model", failing, "--run-id", "c").code == 1

    def chosen(*words: str) -> list[str]:
        return [run["run_id"] for run in place.json("runs", *words)]

    assert chosen("--agent", "clerk") == ["a"]
    assert chosen("--session", "s") == ["b"]
    assert chosen("--status", "failed") == ["c"]
    assert chosen("--status", "success", "--limit", "1") == ["b"]
    assert chosen("--since", "1h") == ["a", "b", "c"]
    assert chosen("--until", "1h") == chosen("--since", "2999-01-01") == []
    assert chosen("--until", "2999-01-01T10:00") == ["a", "b", "c"]
    assert place.run("show", "a").out.startswith("a  agent clerk  scripted:script.json")
    wrong = place.run("runs", "--since", "yesterday")
    assert (wrong.code, "'yesterday' is no time" in wrong.err) == (2, True)


def test_show_gives_whole_texts_and_hashes_on_demand(added: Place) -> None:
    plain, hashed = added.run("show", "mine").out, added.run("show", "mine", "--hashes").out
    hashes = re.findall(r"entry +\d+ ([0-9a-f]{64})\n +after ([0-9a-f]{64})", hashed)
    assert hashes[0][1] == "0" * 64
    assert [before for _, before in hashes[1:]] == [own for own, _ in hashes[:-1]]
    assert f"head  entry {len(hashes) - 1}  {hashes[-1][0]}" in plain
    assert re.search(r'\n {14}\{"a": ?17, ?"b": ?25\}\n', added.run("show", "mine", "--full").out)
    assert "It is 42." not in plain
    assert "It is 42." in added.run("show", "mine", "--full").out
