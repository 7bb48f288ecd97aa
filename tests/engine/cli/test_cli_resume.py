"""Killed in the middle and resumed: the run ends, nothing runs twice, the record is sound; two processes never share a run."""

from __future__ import annotations

import threading

from command_line import DEADLINE_S, Messages, Place, asks_for, end, model_server, until

TOOLS = ("--tools", "tools:tools")


def adds_then_waits_long(messages: Messages) -> dict[str, object]:
    """Two calls one after another, of which the second runs long, and the answer."""
    results = [message for message in messages if message["role"] == "tool"]
    if not results:
        return asks_for("slow", "call_1", seconds=0)
    return asks_for("slow", "call_2", seconds=30) if len(results) == 1 else {"content": f"told: {results[-1]['content']}"}


def test_killed_while_the_model_is_asked_it_asks_again_and_no_tool_runs_twice(place: Place) -> None:
    go_on = threading.Event()

    def answer(messages: Messages) -> dict[str, object]:
        if messages[-1]["role"] == "user":
            return asks_for("slow", "call_1", seconds=0)
        go_on.wait(DEADLINE_S)
        return {"content": "done"}

    with model_server(answer) as server:
        process = place.start("run", "x", *server.options, *TOOLS)
        until(lambda: len(server.requests) == 2, "the model is asked for the second time")
        process.kill()
        end(process)
        go_on.set()
        resumed = place.run("resume", "last", *server.options[2:], *TOOLS)
    assert (resumed.code, resumed.out) == (0, "done\n")
    assert len(server.requests) == 3
    assert server.requests[2] == server.requests[1]
    assert place.lines("slow.txt") == ["began", "ended"]
    assert place.run("verify", "last").code == 0


def test_killed_while_a_tool_ran_that_may_not_run_twice_a_person_is_asked(place: Place) -> None:
    with model_server(adds_then_waits_long) as server:
        process = place.start("run", "x", *server.options, *TOOLS)
        until(lambda: place.lines("slow.txt") == ["began", "ended", "began"], "the second call has begun")
        process.kill()
        end(process)
        waiting = place.run("resume", "last", *server.options[2:], *TOOLS)
        assert (waiting.code, waiting.out) == (4, "")
        assert "its outcome is lost" in waiting.err
        assert place.run("approve", "last", "call_2", "--as", "Ada", "--comment", "it was done").code == 0
        resumed = place.run("resume", "last", *server.options[2:], *TOOLS)
    assert resumed.code == 0
    assert resumed.out.startswith("told: Outcome unknown")
    assert place.lines("slow.txt") == ["began", "ended", "began"], "nothing ran twice"
    assert place.run("verify", "last").code == 0
    assert place.run("replay", "last").code == 0


def test_a_run_that_another_process_writes_is_refused_and_its_owner_is_named(place: Place) -> None:
    with model_server(lambda messages: {"content": "done"}) as server:
        server.gate.clear()
        process = place.start("run", "x", *server.options)
        until(lambda: server.requests, "the model is asked")
        second = place.run("resume", "last", *server.options[2:])
        assert (second.code, second.out) == (2, "")
        assert f"pid {process.pid}" in second.err
        assert "cure:" in second.err
        server.gate.set()
        first = end(process)
    assert (first.code, first.out) == (0, "done\n")
    assert len(server.requests) == 1
    assert place.run("verify", "last").code == 0


def test_a_run_that_has_ended_is_shown_as_it_ended(place: Place) -> None:
    with model_server(lambda messages: {"content": "done"}) as server:
        assert place.run("run", "x", *server.options).code == 0
        again = place.run("resume", "last")
    assert (again.code, again.out) == (0, "done\n")
    assert len(server.requests) == 1
