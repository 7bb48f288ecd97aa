"""Exit codes: one meaning each, for scripts."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from statewright_states.errors import (
    CallerError,
    Fenced,
    InternalError,
    JournalDamaged,
    JournalError,
    ProviderError,
    ReplayDiverged,
    StatewrightError,
)


class Exit(IntEnum):
    """What an exit code of the command line means."""

    SUCCESS = 0
    FAILED = 1
    """The run failed, or Statewright did."""
    USAGE = 2
    """A wrong option, a wrong configuration, a journal that cannot be used: nothing was begun, or what was can be resumed."""
    PARTIAL = 3
    WAITING = 4
    """The run waits for a person."""
    VERIFICATION_FAILED = 5
    REPLAY_DIVERGED = 6
    INTERRUPTED = 130
    """128 and the number of SIGINT, as shells say it."""
    BROKEN_PIPE = 141
    """128 and the number of SIGPIPE: whoever read the output has gone."""


OF_ERROR: Mapping[type[StatewrightError], Exit] = {
    JournalDamaged: Exit.VERIFICATION_FAILED,
    ReplayDiverged: Exit.REPLAY_DIVERGED,
    Fenced: Exit.FAILED,
    JournalError: Exit.USAGE,
    CallerError: Exit.USAGE,
    ProviderError: Exit.FAILED,
    InternalError: Exit.FAILED,
}
"""The first class that an error belongs to decides."""


def exit_for(error: StatewrightError) -> Exit:
    """The exit code of an error."""
    return next((code for kind, code in OF_ERROR.items() if isinstance(error, kind)), Exit.FAILED)
