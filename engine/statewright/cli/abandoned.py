"""What the command line had to give up: tasks and threads that do not end hold up no exit."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_given_up: list[str] = []


def note_given_up(what: str) -> None:
    """Note something that still runs."""
    _given_up.append(what)


def leave_at_once_if_anything_is_given_up(code: int) -> None:
    """End the process here where something still runs: Python would wait for its threads, and for ever."""
    if _given_up:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
