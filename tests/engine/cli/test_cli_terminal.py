"""A person at a terminal: the live timeline, the text as it arrives, the question before a call, Ctrl-C."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from command_line import Messages, Place, asks_for, call, model_server, on_a_terminal

TOOLS = ("--tools", "tools:tools")
POSTS: tuple[dict[str, Any], ...] = (call("post", amount=5), {"content": "It is posted."})
PROMPT = "  > "


def test_the_timeline_is_live_and_the_answer_comes_once_on_stdout(place: Place) -> None:
    with model_server(lambda messages: {"content": "a long answer in many words"}) as server:
        server.piece_s = 0.15
        with on_a_terminal(place, "run", "x", *server.options, stdout=subprocess.PIPE) as terminal:
            terminal.wait_for("generating · step 1")
            terminal.wait_for("│ a long")
            done = terminal.end()
    assert (done.code, done.out) == (0, "a long answer in many words\n")
    assert "RUN-03" in done.err
    assert "success" in done.err
    assert "\x1b[" in terminal.screen


def test_no_color_keeps_the_timeline_free_of_colours(place: Place) -> None:
    with on_a_terminal(place, "run", "x", "--model", place.script(POSTS[1]), NO_COLOR="1") as terminal:
        assert terminal.end().code == 0
    assert "\x1b[32m" not in terminal.screen
    assert "\x1b[36m" not in terminal.screen


def test_the_cursor_is_never_left_hidden(place: Place) -> None:
    with on_a_terminal(place, "run", "x", "--model", place.script({"content": "late", "delay_s": 20})) as terminal:
        terminal.wait_for("generating · step 1")
        assert terminal.screen.rfind("\x1b[?25h") > terminal.screen.rfind("\x1b[?25l")


def test_the_question_shows_exactly_what_would_run_and_a_yes_runs_it(place: Place) -> None:
    with on_a_terminal(place, "run", "x", "--model", place.script(*POSTS), *TOOLS, "--as", "Ada") as terminal:
        terminal.wait_for(PROMPT)
        for text in ("post", "irreversible", '"amount": 5', "digest", "call_1"):
            assert text in terminal.plain
        assert place.lines("posted.txt") == []
        terminal.type("y seen it\n")
        done = terminal.end()
    assert done.code == 0
    assert "approved by Ada: seen it" in done.err
    assert done.err.count("It is posted.") == 1
    assert place.lines("posted.txt") == ["5"]


@pytest.mark.parametrize(("keys", "code", "said"), [("n too much\n", 0, "rejected by"), ("q\n", 3, "approval_denied")])
def test_a_no_runs_nothing_and_q_ends_the_run(place: Place, keys: str, code: int, said: str) -> None:
    with on_a_terminal(place, "run", "x", "--model", place.script(*POSTS), *TOOLS) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type(keys)
        done = terminal.end()
    assert done.code == code
    assert said in done.err
    assert place.lines("posted.txt") == []


def test_anything_else_is_asked_again_and_what_was_typed_before_the_question_does_not_count(place: Place) -> None:
    slow_to_ask = POSTS[0] | {"delay_s": 1}
    with on_a_terminal(place, "run", "x", "--model", place.script(slow_to_ask, POSTS[1]), *TOOLS) as terminal:
        terminal.wait_for("generating")
        terminal.type("y\n")
        terminal.wait_for(PROMPT)
        assert place.lines("posted.txt") == []
        seen = len(terminal.plain)
        terminal.type("yes please\n")
        terminal.wait_for(PROMPT, since=seen)
        terminal.type("y\n")
        assert terminal.end().code == 0
    assert place.lines("posted.txt") == ["5"]


def test_two_questions_are_asked_one_after_the_other(place: Place) -> None:
    both = {"tool_calls": [{"id": f"call_{amount}", "name": "post", "arguments": {"amount": amount}} for amount in (1, 2)]}
    with on_a_terminal(place, "run", "x", "--model", place.script(both, POSTS[1]), *TOOLS) as terminal:
        terminal.wait_for(PROMPT)
        assert "call_2, tool-1.2" not in terminal.plain
        terminal.type("y\n")
        terminal.wait_for("call_2, tool-1.2")
        terminal.wait_for(PROMPT, since=terminal.plain.index("call_2, tool-1.2"))
        terminal.type("n\n")
        assert terminal.end().code == 0
    assert place.lines("posted.txt") == ["1"]


def test_an_end_of_input_leaves_the_question_open(place: Place) -> None:
    with on_a_terminal(place, "run", "x", "--model", place.script(*POSTS), *TOOLS) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("\x04")
        done = terminal.end()
    assert done.code == 4
    assert "statewright approve" in done.err


def test_ctrl_c_at_the_question_ends_the_run_as_interrupted(place: Place) -> None:
    with on_a_terminal(place, "run", "x", "--model", place.script(*POSTS), *TOOLS) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("\x03")
        done = terminal.end()
    assert done.code == 3
    assert "interrupted" in done.err
    assert place.lines("posted.txt") == []
    assert place.run("verify", "last").code == 0


def test_what_a_model_says_cannot_steer_the_terminal(place: Place) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202edesrever"
    asks = {"content": evil, **asks_for("post", evil, amount=1)}

    def answer(messages: Messages) -> dict[str, Any]:
        return asks if messages[-1]["role"] == "user" else {"content": evil}

    with model_server(answer) as server, on_a_terminal(place, "run", "x", *server.options, *TOOLS) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("y\n")
        assert terminal.end().code == 0
    for sequence in ("\x1b]0;", "\x1b[2J", "\x07", "\u202e"):
        assert sequence not in terminal.screen
    assert "\\x1b]0;owned" in terminal.plain
