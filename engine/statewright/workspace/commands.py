"""Running a command: a program with its arguments, in a process group of its own, bounded in time and output.

Between the agent and the command stands a supervisor (``supervisor.py``), which ends what the command started when the
command ends, when its time is up, and when the agent is killed. What it cannot find or end: a process of another user,
one that another service was asked to start, outside Linux one that left the command's process group, and on Linux such
a one if the command kills its own supervisor.

There is no shell in between. What a person allows is exactly what runs, word by word, and a file name that holds
``$(...)`` or ``;`` is a file name. Whoever needs a pipe asks for a shell in plain sight: ``["sh", "-c", "..."]``.

A command is not confined: it can do whatever the user can who runs the agent, on the whole machine. That is why it is
irreversible and sensitive. It does get none of the environment but what is named here, so no keys by that way.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import ExitStack, suppress
from io import FileIO
from pathlib import Path
from typing import Any

from statewright.workspace.paths import shown
from statewright_states.errors import WorkspaceRefusal
from statewright_states.frozen import dataclass

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""The variables of this process that a command sees. All others stay here: keys and tokens live among them."""
PLAIN = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""For output without colours, and for programs that would ask a person."""

_SUPERVISOR = Path(__file__).with_name("supervisor.py")

SUPERVISOR_S = 6.0
"""How long a supervisor may take to end the command and itself: its grace, then its kills, then some more."""
GRACE_S = 1.0
"""How long a command may take to end when it is told to, before it is killed."""
HEAD_BYTES = 200_000
TAIL_BYTES = 100_000
"""What is kept of a longer output: its beginning and its end."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. ``exit_code`` is negative for a signal; None when its time was up.

    ``left`` says that it started processes that could not be ended.
    """

    exit_code: int | None
    output: str
    left: bool


@dataclass(frozen=True, slots=True)
class _Ends:
    """The supervisor's ends of three pipes: the command's output, the supervisor's report, and its lifeline."""

    output: int
    report: int
    lifeline: int


class _Output(asyncio.Protocol):
    """Takes what a command writes, and keeps a bounded part of it."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def data_received(self, data: bytes) -> None:
        """Keep the first bytes, and the last of all others."""
        room = HEAD_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * TAIL_BYTES:  # not each time: that would copy the tail for every piece
            self._drop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody holds the other end any more."""
        self.closed.set()

    def _drop(self) -> None:
        surplus = max(len(self._tail) - TAIL_BYTES, 0)
        self._dropped += surplus
        del self._tail[:surplus]

    def text(self) -> str:
        """What was kept, with a marker where something is missing."""
        self._drop()
        missing = f"\n[... {self._dropped} bytes left out ...]\n".encode() if self._dropped else b""
        return (bytes(self._head) + missing + bytes(self._tail)).decode("utf-8", "replace")


def command_environment(added: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a command: what is passed on, what makes output plain, and what the caller adds."""
    inherited = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return inherited | PLAIN | dict(added or {})


async def run_program(words: Sequence[str], folder: Path, environment: Mapping[str, str], timeout_s: float) -> Ended:
    """Run a program to its end, or until its time is up, and end what it started, as far as its supervisor can.

    Raises WorkspaceRefusal when it cannot be started. A cancelled call ends the command in the same way.
    """
    output, report = _Output(), _Output()
    with ExitStack() as ours:
        with ExitStack() as theirs:
            writing, reporting = [await _received(each, ours, theirs) for each in (output, report)]
            lifeline, held = _pipe()
            ours.callback(held.close)
            theirs.callback(lifeline.close)
            ends = _Ends(writing.fileno(), reporting.fileno(), lifeline.fileno())
            process = await _started(words, folder, environment, ends, held)
        in_time = await _ended_in_time(process, held, report, timeout_s)
        await _in_time(report.closed.wait(), GRACE_S)
        await _in_time(output.closed.wait(), GRACE_S)  # somebody who could not be ended may still hold the other end
    return _ended(words[0], _read(report.text()), output.text(), in_time=in_time)


def _pipe() -> tuple[FileIO, FileIO]:
    """A pipe of our own: the library's would make waiting for the process wait for everybody who holds it, too."""
    reading, writing = os.pipe()
    return FileIO(reading, "rb"), FileIO(writing, "wb")


async def _received(output: _Output, ours: ExitStack, theirs: ExitStack) -> FileIO:
    """The end of a pipe into which others write what the output takes."""
    reading, writing = _pipe()
    theirs.callback(writing.close)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: output, reading)
    ours.callback(transport.close)
    return writing


async def _started(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], ends: _Ends, held: FileIO
) -> asyncio.subprocess.Process:
    """The supervisor. Starting is not cut short: asyncio would kill it then, and not what it has started already."""
    starting = asyncio.create_task(_start(words, folder, environment, ends))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(WorkspaceRefusal):
            await _end(await starting, held)
        raise


async def _start(words: Sequence[str], folder: Path, environment: Mapping[str, str], ends: _Ends) -> asyncio.subprocess.Process:
    supervisor = [sys.executable, "-I", "-S", str(_SUPERVISOR), str(ends.lifeline), str(ends.report), str(GRACE_S)]
    try:
        return await asyncio.create_subprocess_exec(
            *supervisor,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=ends.output,
            stderr=ends.output,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
            pass_fds=(ends.lifeline, ends.report),
        )
    except (OSError, ValueError) as error:  # a NUL or a lone surrogate in a word; no process is to be had
        reason = os.strerror(error.errno).lower() if isinstance(error, OSError) and error.errno else str(error)
        raise _not_started(words[0], reason) from error


def _not_started(program: str, reason: str) -> WorkspaceRefusal:
    cure = 'give a program and its arguments as separate words; for a line of shell: ["sh", "-c", "..."]'
    return WorkspaceRefusal(f"the program cannot be started: {reason}", where=shown(program), cure=cure)


def _ended(program: str, report: Mapping[str, Any], output: str, *, in_time: bool) -> Ended:
    """What the supervisor reported. Raises WorkspaceRefusal when the program did not start, or nothing was reported."""
    if "error" in report:
        raise _not_started(program, os.strerror(report["error"]).lower())
    if not in_time:
        return Ended(None, output, left=bool(report.get("left", True)))
    if report.get("status") is None:
        what = f"how the command ended is not known: its supervisor was ended; its output until then:\n{output}"
        raise WorkspaceRefusal(what, where=shown(program), cure="see what the command did, and leave its parent process alone")
    return Ended(report["status"], output, left=bool(report["left"]))


def _read(report: str) -> dict[str, Any]:
    """What a supervisor reported, in one object; nothing of a line that was cut off."""
    said: dict[str, Any] = {}
    for line in report.splitlines(keepends=True):
        if line.endswith("\n"):
            said |= json.loads(line)
    return said


async def _ended_in_time(process: asyncio.subprocess.Process, held: FileIO, report: _Output, timeout_s: float) -> bool:
    try:
        return await _in_time(process.wait(), timeout_s)
    finally:
        await _end(process, held)
        said = _read(report.text())
        if not said.keys() & {"status", "error"}:
            _kill_group(said.get("started"))  # the supervisor has been killed: by the command, or because it took too long


async def _in_time(waiting: Awaitable[object], timeout_s: float) -> bool:
    try:
        async with asyncio.timeout(timeout_s):
            await waiting
    except TimeoutError:
        return False
    return True


async def _end(process: asyncio.subprocess.Process, held: FileIO) -> None:
    """Let go of the supervisor, which ends the command and itself; one that does not is killed, and the command with it."""
    held.close()
    try:
        await _in_time(process.wait(), SUPERVISOR_S)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    await _in_time(process.wait(), GRACE_S)


def _kill_group(command: int | None) -> None:
    if command is not None:
        with suppress(ProcessLookupError, PermissionError):  # all gone; macOS says so of a group of zombies
            os.killpg(command, signal.SIGKILL)
