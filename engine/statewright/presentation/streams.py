"""The streams of the process, settled before anything is written: closed ones and full disks are errors, never tracebacks."""

from __future__ import annotations

import io
import os
import re
import sys
from typing import TYPE_CHECKING, TextIO

from statewright_states.errors import StatewrightError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STDIN, STDOUT, STDERR = 0, 1, 2
_SIZE = re.compile("0*[1-9][0-9]{0,3}")
"""A size of a terminal that can be drawn for. 0 means that it is not known."""


class OutputLost(StatewrightError):
    """stdout cannot be written: it is closed, its disk is full, or its terminal has gone."""


class _Answers(io.FileIO):
    """stdout. What it cannot write is an error of ours; of a broken pipe, ``main`` knows what it means."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(
                f"the output cannot be written: {os.strerror(error.errno or 0)}",
                where="stdout",
                cure="give it a place that can be written; what a run did is on record all the same: statewright show last",
            ) from error


class _Remarks(io.FileIO):
    """stderr. Remarks that nobody can read change nothing of what is done."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError:
            return memoryview(data).nbytes


def settle_streams() -> None:
    """Make the streams such that writing to them fails in a declared way. To be called once, before anything is written."""
    _open_what_is_closed()
    sys.stdout = _settled(sys.stdout, STDOUT, _Answers)
    sys.stderr = _settled(sys.stderr, STDERR, _Remarks)
    for name in ("COLUMNS", "LINES"):
        if not _SIZE.fullmatch(os.environ.get(name, "1")):
            del os.environ[name]


def give_up_stdout() -> None:
    """Nobody reads stdout any more: nothing may be flushed into it at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)


def _open_what_is_closed() -> None:
    """Let nothing else get the number of a closed stream, such as a file that would then be written into.

    What stands for stdout cannot be written: a lost answer is an error. Each gets its own number, the lowest that is free.
    """
    for number, how in ((STDIN, os.O_RDONLY), (STDOUT, os.O_RDONLY), (STDERR, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, how)


def _settled(stream: TextIO | None, number: int, kind: type[_Answers | _Remarks]) -> TextIO:
    """The stream over the same file, with text that its encoding cannot hold spelled out; one that is no file stays."""
    try:
        if stream is not None and stream.fileno() != number:
            return stream
    except (OSError, ValueError):  # io.UnsupportedOperation is both
        return stream if stream is not None else io.StringIO()
    return io.TextIOWrapper(
        io.BufferedWriter(kind(number, "w", closefd=False)),
        encoding=stream.encoding if stream is not None else "utf-8",
        errors="backslashreplace",
        line_buffering=number == STDERR or os.isatty(number),
    )
