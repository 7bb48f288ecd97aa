"""Faults that can be injected into a run that is stepped through: what each is, which effects it meets, how these fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from statewright.runtime.races import Failing
from statewright.tools import ResultNotShown, ToolRaised
from statewright_states.call.commands import BackOff, SendRequest, WatchStepDeadline
from statewright_states.errors import (
    AttemptTimedOut,
    ConnectionFailed,
    MalformedReply,
    ProviderError,
    RateLimited,
    ServerFailed,
    StreamCutShort,
)
from statewright_states.form.row import Command
from statewright_states.run.commands import AskOutcome, BuildContext, JoinLane, WatchRunDeadline
from statewright_states.tool.commands import AskPerson, AssessTool, StartTool


class Injection(StrEnum):
    """What can be injected into a run."""

    TIMEOUT = "timeout"
    """It takes too long: an attempt of a request times out; for anything else, the timer over it fires now."""
    RATE_LIMIT = "429"
    """The service asks to slow down."""
    SERVER_ERROR = "500"
    """The service fails."""
    MALFORMED = "malformed"
    """What comes back is not what was asked for."""
    CUT_SHORT = "cut short"
    """It breaks off: the connection does, a callback or the way to a person fails."""
    TOOL_ERROR = "tool error"
    """The tool raises."""
    DUPLICATE = "duplicate"
    """An event that waits comes a second time."""
    LATE = "late"
    """The timer over it fires first: what comes of it finds nobody who waits for it. A timer itself fires behind what waits."""
    STOP = "stop"
    """Somebody asks for a graceful stop."""
    CANCEL = "cancel"
    """Somebody ends the run at once."""


WATCHES = (WatchRunDeadline, WatchStepDeadline)
"""Commands that set a timer, if there is a limit to be watched."""
CALLBACKS = (AssessTool, BuildContext)
PERSONS = (AskPerson, AskOutcome)

MEETS: Mapping[Injection, tuple[type[Command], ...]] = {
    Injection.TIMEOUT: (SendRequest, StartTool, BackOff, *CALLBACKS, JoinLane, *WATCHES),
    Injection.RATE_LIMIT: (SendRequest,),
    Injection.SERVER_ERROR: (SendRequest,),
    Injection.MALFORMED: (SendRequest, StartTool, *CALLBACKS, *PERSONS),
    Injection.CUT_SHORT: (SendRequest, StartTool, *CALLBACKS, *PERSONS),
    Injection.TOOL_ERROR: (StartTool,),
    Injection.LATE: (SendRequest, StartTool, BackOff, *WATCHES),
}
"""The commands whose effects a fault can meet. The others meet an event that waits, or the run."""

INJECTED = "injected by whoever steps through the run"

SERVICE: Mapping[Injection, Callable[[bool], ProviderError]] = {
    Injection.TIMEOUT: lambda streamed: AttemptTimedOut(INJECTED),
    Injection.RATE_LIMIT: lambda streamed: RateLimited(INJECTED, status_code=429),
    Injection.SERVER_ERROR: lambda streamed: ServerFailed(INJECTED, status_code=500),
    Injection.MALFORMED: lambda streamed: MalformedReply(INJECTED),
    Injection.CUT_SHORT: lambda streamed: StreamCutShort(INJECTED) if streamed else ConnectionFailed(INJECTED),
}
"""How a request fails, by whether its reply is streamed."""


def failing(injection: Injection, command: Command, *, streamed: bool) -> Failing:
    """How an effect fails of a fault that it can meet: as it would by itself."""
    match command:
        case SendRequest():
            return Failing(SERVICE[injection](streamed))
        case StartTool():
            return Failing(ResultNotShown(INJECTED) if injection is Injection.MALFORMED else ToolRaised(INJECTED))
        case _ if injection is Injection.MALFORMED:
            return Failing(value=INJECTED)
        case _:
            return Failing(OSError(INJECTED))
