"""What may be going on outside the machines, and the names by which they are addressed."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

RUN, CALL, TOOL = "run", "call", "tool"


class What(StrEnum):
    """What is going on outside."""

    ADMISSION = "admission"
    LANE = "lane"
    CONTEXT = "context"
    REQUEST = "request"
    REPLY = "reply"
    BACKOFF = "backoff"
    ASSESSMENT = "assessment"
    TOOL = "tool"
    PERSON = "person"
    OUTCOME = "outcome"
    RUN_TIMER = "run timer"
    STEP_TIMER = "step timer"


class Pending(NamedTuple):
    """Something outside that will answer one machine.

    ``number`` is the send or the attempt that it belongs to, ``subject`` the tool call that it is about, ``arguments`` what
    a person was shown.
    """

    what: What
    machine: str = RUN
    number: int = 0
    subject: str = ""
    arguments: str = ""
