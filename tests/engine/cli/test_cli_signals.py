"""Signals: the first one finishes what is under way, the second one ends at once; no traceback, and the record stays sound."""

from __future__ import annotations

import random
import shlex
import signal
import time

import pytest

from command_line import ANSI, Place, call, end, model_server, on_a_terminal, until

SLOW = call("slow", seconds=1.0)
TOOLS = ("--tools", "tools:tools")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_finishes_what_is_launched(place: Place, number: signal.Signals) -> None:
    process = place.start("run", "x", "--model", place.script(SLOW, {"content": "never asked"}), *TOOLS)
    until(lambda: place.lines("slow.txt"), "the tool has begun")
    process.send_signal(number)
    done = end(process)
    assert (done.code, done.out) == (3, "")
    assert "interrupted" in done.err
    assert "Ctrl-C again ends at once" in done.err
    assert place.lines("slow.txt") == ["began", "ended"]
    assert place.run("verify", "last").code == 0


def test_the_second_ctrl_c_ends_at_once_and_the_run_can_be_resumed(place: Place) -> None:
    with model_server(lambda messages: {"content": "late, but here"}) as server:
        server.gate.clear()
        process = place.start("run", "x", *server.options)
        until(lambda: server.requests, "the model is asked")
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        while "RUN-57" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        done = end(process)
        assert (done.code, done.out) == (130, ""), "it does not wait for the model, which has not answered"
        assert "  go on   statewright resume run-" in done.err
        assert place.run("verify", "last").code == 0
        server.gate.set()
        resumed = place.run("resume", "last", *server.options[2:])
    assert resumed.code in (0, 3), "the stop that was asked for is on record"
    assert place.run("verify", "last").code == 0


def test_the_footer_says_that_the_run_is_stopping(place: Place) -> None:
    with on_a_terminal(place, "run", "x", "--model", place.script(SLOW, {"content": "no"}), *TOOLS) as terminal:
        terminal.wait_for("running slow")
        terminal.type("\x03")
        terminal.wait_for("Ctrl-C again ends at once")
        done = terminal.end()
    assert done.code == 3
    assert place.lines("slow.txt") == ["began", "ended"]


def test_after_the_second_ctrl_c_the_screen_is_clean_and_what_it_says_can_be_typed(place: Place) -> None:
    with on_a_terminal(place, "run", "x", "--model", place.script(SLOW, {"content": "no"}), *TOOLS, COLUMNS="80") as terminal:
        terminal.wait_for("running slow")
        terminal.type("\x03")
        terminal.wait_for("Ctrl-C again ends at once")
        terminal.type("\x03")
        assert terminal.end().code == 130
    footer, _, left = terminal.screen.rpartition("ended at once; what is on record stays, and can be gone on with:")
    assert "\x1b[2K" in footer[footer.rindex("Ctrl-C again ends at once") :], "the footer is taken away"
    assert "\x1b[2K" not in left
    assert not any(spinner in left for spinner in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
    command = shlex.split(ANSI.sub("", left).replace("\r\n", "\n").replace("\\\n", "").strip())
    assert command[:4] == ["go", "on", "statewright", "resume"]
    resumed = place.run(*command[3:])
    assert (resumed.code, place.lines("slow.txt")) == (4, ["began"])
    (line,) = [line for line in resumed.err.splitlines() if " outcome_unknown " in line]
    assert " slow  seconds=1.0 " in line, "what began before has its name and its arguments"


@pytest.mark.parametrize("command", [("show", "last"), ("verify", "last"), ("run", "x")])
def test_ctrl_c_at_any_moment_gives_no_traceback_and_leaves_a_sound_record(place: Place, command: tuple[str, ...]) -> None:
    model = place.script(*[call("add", f"call_{at}", a=at, b=1) for at in range(20)], {"content": "done"})
    assert place.run("run", "x", "--model", model, *TOOLS, "--quiet").code == 0
    words = (*command, "--model", model, *TOOLS, "--max-steps", "60") if command[0] == "run" else command
    process = place.start(*words, environment={"PYTHONPROFILEIMPORTTIME": "1"})
    assert process.stderr is not None
    for line in process.stderr:  # the interpreter still imports; from here on it is ours to answer for
        if line.rstrip().endswith("| statewright.cli"):
            break
    time.sleep(random.uniform(0, 0.3))
    process.send_signal(signal.SIGINT)
    assert end(process).code in (0, 3, 130, -signal.SIGINT)
    assert place.run("verify", "--all").code == 0
