"""Several people, each at a terminal of their own, sign off one call of a run that goes on in another process."""

from __future__ import annotations

from command_line import Messages, ModelServer, Place, asks_for, end, model_server, on_a_terminal

TOOLS = ("--tools", "tools:tools", "--config", "agent.toml")
PROMPT = "  > "


def posts_once(messages: Messages) -> dict[str, object]:
    """Asks for one posting, then says what the tool said."""
    last = messages[-1]
    return {"content": f"said: {last['content']}"} if last["role"] == "tool" else asks_for("post", "call_7", amount=5)


def configured(place: Place, *settings: str) -> None:
    (place.folder / "agent.toml").write_text("\n".join(("[approval]", *settings)))


def resumed(place: Place, server: ModelServer) -> tuple[int, str]:
    done = place.run("resume", "mine", *server.options[2:], *TOOLS[:2])
    return done.code, done.out


def test_a_run_at_a_terminal_goes_on_when_somebody_else_signs_elsewhere(place: Place) -> None:
    configured(place, "required = 2")
    with model_server(posts_once) as server:
        words = ("run", "post it", *server.options, *TOOLS, "--run-id", "mine", "--as", "Ann")
        with on_a_terminal(place, *words) as terminal:
            terminal.wait_for(PROMPT)
            assert "0 of 2 approvals; 2 more needed" in terminal.plain
            seen = len(terminal.plain)
            terminal.type("y\n")
            terminal.wait_for("1 of 2 approvals (Ann); 1 more needed; Ann has said so already", since=seen)
            terminal.wait_for(PROMPT, since=terminal.plain.index("has said so already"))
            approved = place.run("approve", "mine", "call_7", "--as", "Bob", "--comment", "go on")
            done = terminal.end()
    assert (approved.code, done.code) == (0, 0)
    assert "a run that is live goes on by itself" in approved.err
    assert "approved by Bob: go on" in done.err
    assert place.lines("posted.txt") == ["5"]
    assert place.run("verify", "mine").code == 0


def test_the_first_signature_survives_a_kill_and_the_same_person_cannot_give_the_second(place: Place) -> None:
    configured(place, "required = 2", "four_eyes = true")
    with model_server(posts_once) as server:
        words = ("run", "post it", *server.options, *TOOLS, "--run-id", "mine", "--as", "Zoe")
        with on_a_terminal(place, *words) as terminal:
            terminal.wait_for(PROMPT)
            assert "Zoe asked for this run, and somebody else has to allow its calls" in terminal.plain
            first = place.run("approve", "mine", "call_7", "--as", "Ann")
            terminal.wait_for("1 of 2 approvals (Ann)")
            assert not [line for line in terminal.plain.splitlines() if ">" in line and "approved by Ann" in line]
            terminal.process.kill()
            terminal.process.wait()
        assert "the call still waits: 1 of 2 approvals (Ann); 1 more needed, not by Zoe" in first.err
        again, outside = (place.run("approve", "mine", "call_7", "--as", name) for name in ("ann ", "Zoe"))
        assert (again.code, outside.code) == (2, 2)
        assert "has said so already" in again.err
        assert "asked for this run" in outside.err
        assert "left for the run, and not taken yet: tool-1.1 approved by Zoe" in place.run("show", "mine").out
        waiting = place.run("resume", "mine", *server.options[2:], *TOOLS[:2])
        assert (waiting.code, "1 of 2 approvals (Ann)" in waiting.err) == (4, True)
        both = [place.start("approve", "mine", "call_7", "--as", name) for name in ("Bob", "Carl")]
        assert 0 in [end(process).code for process in both]
        assert resumed(place, server) == (0, "said: posted\n")
    assert place.lines("posted.txt") == ["5"]
    shown = place.run("show", "mine").out
    assert "TOOL-45" in shown
    assert "TOOL-46" in shown
    assert place.run("verify", "mine").code == 0


def test_a_reviewer_at_the_terminal_leaves_the_approval_to_somebody_else(place: Place) -> None:
    configured(place, "review_required = true")
    with model_server(posts_once) as server:
        words = ("run", "post it", *server.options, *TOOLS, "--run-id", "mine", "--as", "Ann")
        with on_a_terminal(place, *words) as terminal:
            terminal.wait_for(PROMPT)
            assert "yes, run it" not in terminal.plain
            terminal.type("r seen the bill\n")
            terminal.wait_for("reviewed by Ann; 1 more needed; Ann has reviewed this call")
            place.run("approve", "mine", "call_7", "--as", "Bob")
            assert terminal.end().code == 0
    assert place.lines("posted.txt") == ["5"]


def test_a_digest_says_which_call_was_looked_at(place: Place) -> None:
    configured(place, 'approvers = ["Ann"]')
    with model_server(posts_once) as server:
        waiting = place.run("run", "post it", *server.options, *TOOLS, "--run-id", "mine")
        assert waiting.code == 4
        assert "0 of 1 approval; 1 more needed, of Ann" in waiting.err
        (typed,) = [line.split("statewright ")[1].split() for line in waiting.err.splitlines() if " approve " in line]
        wrong = place.run(*typed[:-1], "0123", "--as", "Ann")
        assert (wrong.code, "not the one that was looked at" in wrong.err) == (2, True)
        assert place.run(*typed, "--as", "Ann").code == 0
        assert resumed(place, server) == (0, "said: posted\n")
