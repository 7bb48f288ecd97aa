"""What a changed machine means for recorded runs, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from statewright_evidence.differences.difference import show_cases
from statewright_evidence.differences.impact import Impact, RunImpact

SAID: Mapping[Impact, str] = {
    Impact.SAME: "the same path",
    Impact.RENAMED: "the same path, by rows of other names",
    Impact.DEPARTS: "another path",
    Impact.UNDECIDED: "cannot be decided from the record",
    Impact.NOT_CONCERNED: "not concerned",
    Impact.UNREADABLE: "cannot be read",
}


def impact_lines(found: RunImpact) -> Iterator[str]:
    """One run: what becomes of it, and below that the decision at which it shows."""
    yield f"{found.run_id}: {SAID[found.effect]}"
    if found.problem:
        yield found.problem
    place = found.place
    if place is None:
        return
    telling = {question: [place.answers[question]] for question in place.telling if question in place.answers}
    given = f" with {show_cases(telling)}" if telling else ""
    yield f"decision {place.seq}: {place.instance} in {place.state} + {place.event}{given}"
    yield f"recorded: {place.recorded}"
    yield f"why not: {place.why}" if place.why else f"changed:  {place.changed}  (another {', '.join(place.what)})"
    if found.effect is Impact.RENAMED:
        return
    ended = found.outcome or "not ended"
    if found.new_outcome is not None:
        yield f"outcome: {ended} → {found.new_outcome}"
    else:
        yield f"outcome: {ended} → not known: from here on the record says nothing"


def counted(counts: Mapping[str, int]) -> str:
    """How many runs of each kind, in one line."""
    return ", ".join(f"{SAID[effect]}: {counts[effect]}" for effect in Impact if counts.get(effect)) or "no runs"
