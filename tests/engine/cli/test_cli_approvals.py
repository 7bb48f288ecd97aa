"""Approvals without a terminal: the run waits, a person decides from any process, and the run goes on when it is resumed."""

from __future__ import annotations

import pytest

from command_line import Messages, ModelServer, Place, asks_for, model_server

TOOLS = ("--tools", "tools:tools")


def posts_once(messages: Messages) -> dict[str, object]:
    """Asks for one posting, then says what the tool said."""
    last = messages[-1]
    return {"content": f"said: {last['content']}"} if last["role"] == "tool" else asks_for("post", "call_7", amount=5)


def waiting_run(place: Place, server: ModelServer) -> None:
    done = place.run("run", "post it", *server.options, *TOOLS, "--run-id", "mine")
    assert (done.code, done.out) == (4, "")
    assert "statewright approve mine call_7" in done.err
    assert "statewright reject mine call_7" in done.err
    assert "statewright resume mine --base-url" in done.err
    assert place.json("runs")[0]["status"] == "waiting"
    assert place.lines("posted.txt") == []


def test_an_approved_call_runs_once_and_the_record_says_who_allowed_it(place: Place) -> None:
    with model_server(posts_once) as server:
        waiting_run(place, server)
        approved = place.run("approve", "mine", "call_7", "--as", "Ada", "--comment", "seen the paper")
        assert (approved.code, approved.out) == (0, "")
        assert "statewright resume mine" in approved.err
        resumed = place.run("resume", "mine", *server.options[2:], *TOOLS, STATEWRIGHT_MODEL="openai:not-the-one-it-began-with")
    assert (resumed.code, resumed.out) == (0, "said: posted\n")
    assert "openai:stub" in resumed.err
    assert place.lines("posted.txt") == ["5"]
    assert "approved by Ada: seen the paper" in place.run("show", "mine").out
    assert place.run("verify", "mine").code == 0
    assert place.run("replay", "mine").code == 0


def test_a_review_is_recorded_and_allows_nothing(place: Place) -> None:
    with model_server(posts_once) as server:
        waiting_run(place, server)
        assert place.run("approve", "mine", "call_7", "--as", "Bob", "--meaning", "reviewed").code == 0
        assert place.run("resume", "mine", *server.options[2:], *TOOLS).code == 4
        assert place.lines("posted.txt") == []
        assert place.run("approve", "mine", "call_7", "--as", "Ada").code == 0
        assert place.run("resume", "mine", *server.options[2:], *TOOLS).code == 0
    assert place.lines("posted.txt") == ["5"]
    shown = place.run("show", "mine").out
    assert shown.index("reviewed by Bob") < shown.index("approved by Ada")


def test_a_rejected_call_does_not_run_and_the_model_is_told(place: Place) -> None:
    with model_server(posts_once) as server:
        waiting_run(place, server)
        assert place.run("reject", "mine", "call_7", "--as", "Ada", "--comment", "too much").code == 0
        resumed = place.run("resume", "mine", *server.options[2:], *TOOLS)
    assert resumed.code == 0
    assert "Ada" in resumed.out
    assert "too much" in resumed.out
    assert place.lines("posted.txt") == []


def test_a_rejection_can_end_the_run(place: Place) -> None:
    with model_server(posts_once) as server:
        waiting_run(place, server)
        assert place.run("reject", "mine", "call_7", "--end-run").code == 0
        resumed = place.run("resume", "mine", *server.options[2:], *TOOLS)
    assert resumed.code == 3
    assert "approval_denied" in resumed.err
    assert len(server.requests) == 1


def test_a_waiting_run_that_is_resumed_without_a_decision_goes_on_waiting(place: Place) -> None:
    with model_server(posts_once) as server:
        waiting_run(place, server)
        assert place.run("resume", "mine", *server.options[2:], *TOOLS).code == 4
        assert "statewright approve mine call_7" in place.run("show", "mine").out
    assert len(server.requests) == 1


def test_the_tools_of_a_run_must_be_given_again(place: Place) -> None:
    with model_server(posts_once) as server:
        waiting_run(place, server)
        done = place.run("resume", "mine", *server.options[2:])
    assert done.code == 2
    assert "post" in done.err
    assert "--tools" in done.err


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_decision_about_nothing_is_refused(place: Place, verb: str) -> None:
    with model_server(posts_once) as server:
        waiting_run(place, server)
    done = place.run(verb, "mine", "call_9")
    assert done.code == 2
    assert "call_9" in done.err
    assert place.run(verb, "other", "call_7").code == 2
