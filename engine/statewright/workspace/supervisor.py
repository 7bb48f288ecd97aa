"""Stands between an agent and one command, and ends everything that the command started. A program of its own.

``python supervisor.py LIFELINE REPORT GRACE_S PROGRAM ARGUMENT...``: ``LIFELINE`` is the reading end of a pipe of which
the agent holds the other; when that closes (the agent wants the command to end, or was killed), the command is ended.
``REPORT`` is a pipe for JSON lines: ``started`` (the command's pid), then ``error`` (an errno: it could not be started),
or ``status`` (its exit code, negative for a signal) and ``left`` (whether processes remain that could not be ended).

On Linux it is the reaper of all that the command starts (``PR_SET_CHILD_SUBREAPER``: prctl(2)), so that a process
that leaves its group, or whose parent ends, becomes a child of this one and is found; and the command itself is killed
when this process is (``PR_SET_PDEATHSIG``). Elsewhere, what left the command's process group is not found.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from typing import NoReturn

SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36
"""Numbers of <linux/prctl.h>."""

IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ)
"""What this process ignores, Python the last two: a program that it starts would ignore them as well."""

END_S = 3.0
"""How long processes that were killed may take to go; one that waits for a device may take longer, and is reported."""


def prctl(option: int, value: int) -> None:
    """Ask Linux for something; elsewhere, and where it is refused, nothing happens."""
    if sys.platform == "linux":
        with suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def start(words: list[str], report: int) -> tuple[int, int]:
    """The command's pid in a session of its own, and 0 or the errno with which it could not be started."""
    reading, writing = os.pipe()  # closed by a program that starts
    supervisor, pid = os.getpid(), os.fork()
    if pid == 0:
        os.close(reading)
        _become(words, supervisor, writing, report)
    os.close(writing)
    with open(reading, "rb") as failure:
        return pid, int(failure.read() or b"0")


def _become(words: list[str], supervisor: int, failure: int, report: int) -> NoReturn:
    try:
        os.setsid()
        _tell(report, {"started": os.getpid()})  # before it can do anything to its supervisor
        prctl(SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:  # it went before it could be watched
            os._exit(1)
        for number in IGNORED:
            signal.signal(number, signal.SIG_DFL)
        os.execvp(words[0], words)  # noqa: S606 - what it is for
    except OSError as error:
        os.write(failure, str(error.errno).encode())
    finally:
        os._exit(127)


class Family:
    """The command and all that it started, as far as these are children of this process."""

    def __init__(self, command: int) -> None:
        self.command = command
        self.exit_code: int | None = None
        self.left = True

    def reap(self) -> None:
        """Take note of all that have ended."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self.command:
                    self.exit_code = os.waitstatus_to_exitcode(status)
        self.left = False

    def signal_group(self, number: int) -> None:
        """Also when the command has gone: its number names the group as long as anybody is in it."""
        with suppress(ProcessLookupError, PermissionError):  # all gone; macOS says so of a group of zombies
            os.killpg(self.command, number)

    def kill(self) -> None:
        """Kill the group and each child; what these had started are children the next time, where this is the reaper.

        Children alone, because nobody else can give their numbers to another process meanwhile.
        """
        self.signal_group(signal.SIGKILL)
        for pid in children():
            with suppress(ProcessLookupError, PermissionError):  # one that runs as somebody else
                os.kill(pid, signal.SIGKILL)


def children() -> list[int]:
    """The children of this process, where there is a ``/proc``: field 4 of ``/proc/PID/stat`` (proc_pid_stat(5))."""
    found: list[int] = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        with suppress(OSError, IndexError):
            if name.isdigit() and int(_stat(name).rpartition(b")")[2].split()[1]) == os.getpid():
                found.append(int(name))
    return found


def _stat(pid: str) -> bytes:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return stat.read()


def supervise(family: Family, lifeline: int, woken: int, grace_s: float) -> None:
    """Wait for the command or the end of the lifeline, then end all that is left."""
    family.reap()
    while family.exit_code is None:
        if lifeline in select.select([lifeline, woken], [], [])[0]:
            _ask_to_end(family, woken, grace_s)
            break
        _wait(woken, 0)
        family.reap()
    until_s = time.monotonic() + END_S
    family.reap()
    while family.left and time.monotonic() < until_s:
        family.kill()
        _wait(woken, 0.01)
        family.reap()


def _ask_to_end(family: Family, woken: int, grace_s: float) -> None:
    family.signal_group(signal.SIGTERM)
    until_s = time.monotonic() + grace_s
    while family.exit_code is None and (left_s := until_s - time.monotonic()) > 0:
        _wait(woken, left_s)
        family.reap()


def _wait(woken: int, seconds: float) -> None:
    """Until a child ends, and no longer than that."""
    if select.select([woken], [], [], seconds)[0]:
        with suppress(BlockingIOError):
            os.read(woken, 512)


def _noticed(number: int, frame: object) -> None:
    """The pipe is written to for signals that have a handler only."""


def _wakes() -> int:
    """The reading end of a pipe that is written to when a child ends."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.signal(signal.SIGCHLD, _noticed)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading


def main() -> None:
    """See the top of this file."""
    lifeline, report, grace_s, words = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
    os.set_inheritable(lifeline, False)
    os.set_inheritable(report, False)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)  # it ends with the command or the lifeline
    woken = _wakes()
    prctl(SET_CHILD_SUBREAPER, 1)
    pid, error = start(words, report)
    if error:
        _tell(report, {"error": error})
        return
    family = Family(pid)
    supervise(family, lifeline, woken, grace_s)
    _tell(report, {"status": family.exit_code, "left": family.left})


def _tell(report: int, said: dict[str, int | bool | None]) -> None:
    with suppress(OSError):  # the agent was killed: nobody listens
        os.write(report, json.dumps(said).encode() + b"\n")


if __name__ == "__main__":
    main()
