"""Commands: what is reported, what they do not see, and that nothing of them is left behind."""

from __future__ import annotations

import asyncio
import os
import select
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from statewright.workspace import WorkspaceRefusal
from statewright.workspace.commands import HEAD_BYTES, TAIL_BYTES, run_program
from workspace_folders import Bench, bench_in

DEADLINE_S = 20


@dataclass
class Line:
    """A named pipe that commands hold open: it tells when one has begun, and when the last of them is gone."""

    descriptor: int

    def begun(self) -> None:
        self._wait(select.POLLIN)
        assert os.read(self.descriptor, 100)

    def gone(self) -> bool:
        """Whether nobody holds it any more; what several of them wrote is read on the way."""
        self._wait(select.POLLHUP)
        while os.read(self.descriptor, 100):
            pass
        return True

    def gone_or_never_begun(self) -> bool:
        """Nobody holds the line, which a command may not have come to."""
        with suppress(BlockingIOError):
            while os.read(self.descriptor, 100):
                pass
            return True
        return self.gone()

    def _wait(self, event: int) -> None:
        poll = select.poll()
        poll.register(self.descriptor, event)
        assert poll.poll(DEADLINE_S * 1000), "waited in vain"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path, {"a.txt": "inside"})


@pytest.fixture
def line(bench: Bench) -> Iterator[Line]:
    os.mkfifo(bench.root / "line")
    descriptor = os.open(bench.root / "line", os.O_RDONLY | os.O_NONBLOCK)
    yield Line(descriptor)
    os.close(descriptor)


HOLDING = "exec 3>line; echo begun >&3; sleep 100 & "
"""A shell that holds the line with a child of its own, in the background."""


def test_a_command_runs_in_the_root_and_its_output_and_ending_are_told(bench: Bench) -> None:
    assert bench.command("cat", "a.txt") == "[exit code 0]\ninside"
    assert bench.command("sh", "-c", "echo out; echo err >&2; exit 3") == "[exit code 3]\nout\nerr"
    assert bench.command("true") == "[exit code 0]"
    assert bench.command("sh", "-c", "kill -9 $$") == "[ended by SIGKILL]"


def test_there_is_no_shell_between_the_words_and_the_program(bench: Bench) -> None:
    assert bench.command("echo", "$(id); rm -rf *", "&&", "'x'") == "[exit code 0]\n$(id); rm -rf * && 'x'"


def test_a_command_has_no_input_and_no_terminal(bench: Bench) -> None:
    assert bench.command("cat") == "[exit code 0]"
    assert "exit code 0" not in bench.command("sh", "-c", ": < /dev/tty")


def test_keys_in_the_environment_do_not_reach_a_command(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY", "LD_PRELOAD_SECRET"):
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("LANG", "C.UTF-8")
    (bench.root / "sub").mkdir()
    said = bench_in(bench.root / "sub", environment={"CI": "1"}).command("env")
    assert "hunter2" not in said
    names = {line.partition("=")[0] for line in said.split("\n")[1:]}
    assert {"PATH", "LANG", "TERM", "CI"} <= names


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["no-such-program"], "no such file"),
        (["./a.txt"], "permission denied"),
        (["a\0b"], "null byte"),
        (["echo", "\ud800"], "surrogate"),
    ],
)
def test_what_cannot_be_started_is_refused_with_the_reason(words: list[str], problem: str, bench: Bench) -> None:
    with pytest.raises(WorkspaceRefusal, match=problem) as refusal:
        bench.command(*words)
    assert "separate words" in refusal.value.cure


@pytest.mark.parametrize("timeout_s", [0, -1, 601, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(timeout_s: float, bench: Bench) -> None:
    with pytest.raises(WorkspaceRefusal, match="a command cannot take"):
        bench.command("true", timeout_s=timeout_s)


@pytest.mark.parametrize("words", [(), ("",)])
def test_no_program_is_refused(words: tuple[str, ...], bench: Bench) -> None:
    with pytest.raises(WorkspaceRefusal, match="no program"):
        bench.command(*words)


def test_a_long_output_keeps_its_beginning_and_its_end(bench: Bench) -> None:
    said = bench.command("sh", "-c", "echo first; head -c 2000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert said.startswith("[exit code 0]\nfirst\nxxx")
    assert said.endswith("xxx\nlast")
    assert f"[... {6 + 2_000_000 + 6 - HEAD_BYTES - TAIL_BYTES} bytes left out ...]" in said


def test_output_that_is_no_text_is_shown_as_far_as_it_is(bench: Bench) -> None:
    assert bench.command("printf", r"a\377b") == "[exit code 0]\na\N{REPLACEMENT CHARACTER}b"


# -- ending ----------------------------------------------------------------------------------------------------------


def test_a_command_that_takes_too_long_is_ended_with_its_children_and_its_output_is_told(bench: Bench, line: Line) -> None:
    with pytest.raises(WorkspaceRefusal, match="did not end within 1 s") as refusal:
        bench.command("sh", "-c", f"echo so far; {HOLDING} wait", timeout_s=1)
    assert "so far" in refusal.value.what
    line.begun()
    assert line.gone()


def test_what_a_command_leaves_running_is_ended_with_it(bench: Bench, line: Line) -> None:
    assert bench.command("sh", "-c", f"{HOLDING} echo left") == "[exit code 0]\nleft"
    line.begun()
    assert line.gone()


def test_a_command_that_will_not_end_is_killed(bench: Bench, line: Line) -> None:
    with pytest.raises(WorkspaceRefusal, match="did not end within"):
        bench.command("sh", "-c", f"trap '' TERM; {HOLDING} while :; do sleep 1; done", timeout_s=0.3)
    line.begun()
    assert line.gone()


def test_a_command_that_is_cancelled_is_ended_with_its_children(bench: Bench, line: Line) -> None:
    async def story() -> None:
        words = ["sh", "-c", f"{HOLDING} wait"]
        task = asyncio.create_task(bench.tools["run_command"].function(command=words))
        await asyncio.to_thread(line.begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(line.gone)

    asyncio.run(story())


def test_commands_leave_no_descriptors(tmp_path: Path) -> None:
    async def run(*programs: str) -> None:
        for program in programs:
            with suppress(WorkspaceRefusal):
                await run_program([program], tmp_path, {"PATH": os.defpath}, 10)

    def open_after(*programs: str) -> int:
        asyncio.run(run(*programs))
        return len(os.listdir("/dev/fd"))

    assert open_after("true") == open_after("true", "no-such-program", "false", "no-such-program")


@pytest.mark.parametrize("turns", range(12))
def test_a_command_that_is_cancelled_while_it_starts_is_ended_with_its_children(turns: int, bench: Bench, line: Line) -> None:
    async def story() -> None:
        words = ["sh", "-c", f"{HOLDING} wait"]
        task = asyncio.create_task(bench.tools["run_command"].function(command=words))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert line.gone_or_never_begun()


# -- what leaves the command's process group (found on Linux alone: see supervisor.py) -------------------------------

WAITS = "import time; open('line', 'w').write('begun'); held = open('line', 'w'); time.sleep(100)"
ESCAPES = {
    "a session of its own": f"import os; os.fork() or (os.setsid(), exec({WAITS!r}))",
    "a double fork": f"import os; os.fork() or (os.setsid(), os.fork() and os._exit(0), exec({WAITS!r}))",
    "signals that it ignores": (
        "import os, signal; [signal.signal(each, signal.SIG_IGN) for each in (1, 2, 15)];"
        f"os.fork() or (os.setsid(), exec({WAITS!r}))"
    ),
    "a family of its own": f"import os; os.fork() or (os.setsid(), os.fork(), os.fork(), exec({WAITS!r}))",
}


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
def test_what_leaves_the_group_of_a_command_ends_with_it(escape: str, bench: Bench, line: Line) -> None:
    begun = "import select; select.select([os.open('begun', os.O_RDONLY)], [], [])"
    os.mkfifo(bench.root / "begun")
    told = escape.replace("open('line', 'w').write('begun');", "open('line', 'w').write('begun'); open('begun', 'w').close();")
    assert bench.command(sys.executable, "-c", f"{told}\n{begun}\nprint('over')") == "[exit code 0]\nover"
    line.begun()
    assert line.gone()


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
def test_what_leaves_the_group_of_a_command_ends_with_its_time(escape: str, bench: Bench, line: Line) -> None:
    with pytest.raises(WorkspaceRefusal, match="did not end within"):
        bench.command(sys.executable, "-c", f"{escape}\nimport time; time.sleep(100)", timeout_s=1)
    line.begun()
    assert line.gone()


@pytest.mark.parametrize("script", [HOLDING + "wait", f"{shlex.quote(sys.executable)} escape.py; sleep 100"])
def test_a_command_ends_when_the_agent_is_killed(script: str, bench: Bench, line: Line) -> None:
    (bench.root / "escape.py").write_text(ESCAPES["a double fork"])
    agent = (
        "import asyncio, pathlib, sys, os\nfrom statewright.workspace.commands import run_program\n"
        "asyncio.run(run_program(['sh', '-c', sys.argv[1]], pathlib.Path('.'), {'PATH': os.environ['PATH']}, 60))"
    )
    with subprocess.Popen([sys.executable, "-c", agent, script], cwd=bench.root) as process:
        line.begun()
        process.kill()
    assert line.gone()


def test_a_command_that_ends_its_supervisor_ends_with_it(bench: Bench, line: Line) -> None:
    with pytest.raises(WorkspaceRefusal, match="how the command ended is not known"):
        bench.command("sh", "-c", f"{HOLDING} kill -9 $PPID; wait")
    line.begun()
    assert line.gone()


def test_a_command_does_not_inherit_what_its_supervisor_ignores(bench: Bench) -> None:
    assert bench.command("sh", "-c", "kill -TERM $$") == "[ended by SIGTERM]"
    assert bench.command("sh", "-c", "kill -PIPE $$") == "[ended by SIGPIPE]"


def test_a_command_holds_no_descriptors_but_its_own(bench: Bench) -> None:
    listing = "import os; print(sorted(int(each) for each in os.listdir('/dev/fd'))[:-1])"
    assert bench.command(sys.executable, "-c", listing) == "[exit code 0]\n[0, 1, 2]"
