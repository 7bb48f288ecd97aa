"""Running a command: a program with its arguments, in a process group of its own, bounded in time and output.

There is no shell in between. What a person allows is exactly what runs, word by word, and a file name that holds
``$(...)`` or ``;`` is a file name. Whoever needs a pipe asks for a shell in plain sight: ``["sh", "-c", "..."]``.

A command is not confined: it can do whatever the user can who runs the agent, on the whole machine. That is why it is
irreversible and sensitive. It does get none of the environment but what is named here, so no keys by that way.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import closing, suppress
from io import FileIO
from pathlib import Path

from statewright.workspace.paths import shown
from statewright.workspace.refusal import WorkspaceRefusal
from statewright_states.frozen import dataclass

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""The variables of this process that a command sees. All others stay here: keys and tokens live among them."""
PLAIN = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""For output without colours, and for programs that would ask a person."""

GRACE_S = 1.0
"""How long a command may take to end when it is told to, before it is killed."""
HEAD_BYTES = 200_000
TAIL_BYTES = 100_000
"""What is kept of a longer output: its beginning and its end."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. ``exit_code`` is negative for a signal; None when its time was up."""

    exit_code: int | None
    output: str


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
    """Run a program to its end, or until its time is up, and end everything that it started in its process group.

    Raises WorkspaceRefusal when it cannot be started. A cancelled call ends the command in the same way.
    """
    output = _Output()
    reading, writing = _pipe()
    with writing:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: output, reading)
        with closing(transport):
            process = await _started(words, folder, environment, writing.fileno())
            writing.close()
            in_time = await _ended_in_time(process, timeout_s)
            await _in_time(output.closed.wait(), GRACE_S)  # somebody who left the group may still hold the other end
    return Ended(process.returncode if in_time else None, output.text())


def _pipe() -> tuple[FileIO, FileIO]:
    """A pipe of our own: the library's would make waiting for the process wait for everybody who holds it, too."""
    reading, writing = os.pipe()
    return FileIO(reading, "rb"), FileIO(writing, "wb")


async def _started(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], writing: int
) -> asyncio.subprocess.Process:
    """The process. Starting is not cut short: asyncio would kill the program then, and not what it has started already."""
    starting = asyncio.create_task(_start(words, folder, environment, writing))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(WorkspaceRefusal):
            await _end(await starting)
        raise


async def _start(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], writing: int
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # not found, not executable; a NUL or a lone surrogate in a word
        reason = os.strerror(error.errno).lower() if isinstance(error, OSError) and error.errno else str(error)
        cure = 'give a program and its arguments as separate words; for a line of shell: ["sh", "-c", "..."]'
        raise WorkspaceRefusal(f"the program cannot be started: {reason}", where=shown(words[0]), cure=cure) from error


async def _ended_in_time(process: asyncio.subprocess.Process, timeout_s: float) -> bool:
    try:
        return await _in_time(process.wait(), timeout_s)
    finally:
        await _end(process)


async def _in_time(waiting: Awaitable[object], timeout_s: float) -> bool:
    try:
        async with asyncio.timeout(timeout_s):
            await waiting
    except TimeoutError:
        return False
    return True


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask the group to end, then kill what is left of it: nothing that a command started goes on behind its back."""
    try:
        if process.returncode is None:
            _signal_group(process, signal.SIGTERM)
            await _in_time(process.wait(), GRACE_S)
    finally:
        _signal_group(process, signal.SIGKILL)
    await _in_time(process.wait(), GRACE_S)


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Also when the first process has gone: its number names the group as long as anybody is in it."""
    with suppress(ProcessLookupError, PermissionError):  # all gone; macOS says so of a group of zombies
        os.killpg(process.pid, number)
