"""The name that somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like ``name``, capitals aside; None when none is close."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    matches = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A cure for a name that does not exist: the closest one, or the list of all."""
    names = list(known)
    meant = closest(name, names)
    if meant is not None:
        return f"did you mean {meant!r}?"
    return f"use one of: {', '.join(names)}" if names else "there is none to choose from"
