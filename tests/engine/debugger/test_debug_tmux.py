"""The installed program in tmux, at 80 x 24, driven by keys as a person would: what stands on the screen is what is judged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

DEADLINE_S = 30.0
TOOLS = '''
from statewright import tool

@tool(effect="irreversible")
def post(amount: int) -> str:
    """Post an amount."""
    return f"posted {amount}"

tools = [post]
'''
CALL = {"content": None, "tool_calls": [{"id": "c1", "name": "post", "arguments": {"amount": 3}}]}


class Tmux:
    """A terminal of 80 x 24 with a shell in a folder."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("STATEWRIGHT_", "TMUX", "NO_COLOR"))}
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
        self._environment = kept | {"TERM": "xterm-256color", "PATH": path, "PS1": "$ ", "ENV": ""}
        self._folder = folder
        self._do("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh")

    def _do(self, *words: str) -> str:
        line = ["tmux", "-S", self._socket, *words]
        return subprocess.run(
            line, cwd=self._folder, env=self._environment, capture_output=True, text=True, timeout=DEADLINE_S, check=True
        ).stdout

    def keys(self, *keys: str) -> None:
        """Press keys."""
        self._do("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type a text and return."""
        self._do("send-keys", "-l", text)
        self._do("send-keys", "Enter")

    @property
    def screen(self) -> str:
        """What is seen."""
        return self._do("capture-pane", "-p")

    def wait_for(self, *texts: str) -> str:
        """Wait until all of these are seen."""
        give_up_s = time.monotonic() + DEADLINE_S
        while not all(text in (seen := self.screen) for text in texts):
            assert time.monotonic() < give_up_s, f"{texts} never came; the screen:\n{seen}"
            time.sleep(0.05)
        return seen

    def end(self) -> None:
        """End the server with everything in it."""
        self._do("kill-server")


@contextmanager
def shell(folder: Path) -> Iterator[Tmux]:
    """A shell, ended whatever happens."""
    tmux = Tmux(folder)
    try:
        yield tmux
    finally:
        tmux.end()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "script.json").write_text(json.dumps({"replies": [CALL, {"content": "done"}]}))
    return tmp_path


def test_a_session_by_keys_start_step_back_break_why_not_approve_inject_fork_quit(folder: Path) -> None:
    with shell(folder) as tmux:
        tmux.type("statewright run --debug --model scripted:script.json --tools tools:tools --journal j.db --as Ada 'post it'")
        tmux.wait_for("entry 0 of 0", "next run.RunAdmitted at run")
        tmux.keys("n")
        tmux.wait_for("entry 1 of 1", "run: generating", "next call.ReplyBegan at call-1")
        tmux.keys("p")
        tmux.wait_for("entry 0 of 1")
        tmux.keys("b")
        tmux.wait_for("break [state=")
        tmux.type("state=awaiting_approval")
        tmux.wait_for("set: state=awaiting_approval")
        tmux.keys("c")
        tmux.wait_for("stopped: state=awaiting_approval", "why not", "needs")
        tmux.keys("c")
        tmux.wait_for("the run waits for a person")
        tmux.keys("a")
        tmux.wait_for("approve [CALL [COMMENT]]")
        tmux.keys("Enter")
        tmux.wait_for("recorded: approved by Ada")
        tmux.keys("n")
        tmux.wait_for("run: acting")
        tmux.keys("i")
        tmux.wait_for("inject timeout")
        tmux.type("stop")
        tmux.wait_for("injected: run.StopRequested at run waits")
        tmux.keys("f")
        tmux.wait_for("fork [ENTRY]")
        tmux.keys("Enter")
        tmux.wait_for("forked: run-")
        tmux.keys("q")
        tmux.wait_for("go on", "resume run-")
        tmux.type("clear; statewright verify --all --journal j.db; echo code $?")
        assert tmux.wait_for("code 0").count("verified") == 2


def test_why_a_run_ended_partial_is_on_the_screen_after_two_keys(folder: Path) -> None:
    with shell(folder) as tmux:
        run = "statewright run --model scripted:script.json --tools tools:tools --max-steps 1 --confirm yolo --quiet 'post it'"
        tmux.type(f"{run}; clear; statewright debug; echo back $?")
        tmux.wait_for("entry 0 of")
        tmux.keys("e")
        tmux.wait_for("the run: partial, max_steps", "to partial: the step limit", "why not")
        tmux.keys("q")
        tmux.wait_for("back 0")
