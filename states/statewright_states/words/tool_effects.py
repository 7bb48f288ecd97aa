"""What running a tool may do to the world, and when a person has to allow it."""

from __future__ import annotations

from enum import StrEnum


class ToolEffect(StrEnum):
    """What a tool declares about itself; decides what recovery may do with it."""

    READ = "read"
    """Changes nothing: it may run again."""
    IDEMPOTENT = "idempotent"
    """Changes the world, and running it again with the same arguments changes nothing more."""
    IRREVERSIBLE = "irreversible"
    """Changes the world for good: never run twice, and sensitive unless declared otherwise."""
    UNDECLARED = "undeclared"
    """Nothing was declared: never run twice."""


class ConfirmMode(StrEnum):
    """Which tool calls a person has to allow."""

    YOLO = "yolo"
    CONFIRM_SENSITIVE = "confirm-sensitive"
    CONFIRM_ALL = "confirm-all"


def needs_person(mode: ConfirmMode, sensitive: bool) -> bool:
    """Whether a call of a tool has to be allowed by a person under this mode."""
    return mode is ConfirmMode.CONFIRM_ALL or (mode is ConfirmMode.CONFIRM_SENSITIVE and sensitive)
