"""A section of the evidence: one thing that was checked, what came of it, and the files that show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from statewright_states.frozen import dataclass


class Outcome(StrEnum):
    """What came of a check."""

    HOLDS = "holds"
    BROKEN = "broken"
    NOT_CHECKED = "not checked"
    """Something that it needs is missing here; the summary says what, and how to get it."""


@dataclass(frozen=True, slots=True)
class Section:
    """What one check leaves in the evidence folder. The same tables and tests give the same section, byte for byte.

    ``name`` is its folder, ``summary`` one or two sentences with the figures, for people. ``files`` are texts by their
    path below that folder; the first is what a reader opens first. Times belong into ``seconds`` and nowhere else.
    ``results`` are the single claims that it checked, by name: whether each holds. A claims register refers to them.
    """

    name: str
    title: str
    outcome: Outcome
    summary: str
    files: Mapping[str, str]
    seconds: float
    results: Mapping[str, bool] = field(default_factory=dict[str, bool])
