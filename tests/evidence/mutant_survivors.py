"""Why some mutants live: each that nobody notices, by name, with the reason. A survivor without one breaks the evidence."""

from __future__ import annotations

from collections.abc import Mapping

NEVER_ASKED = "equivalent: a person is asked about an outcome while acting alone, so that here nobody is awaited (proven)"
ELSEWHERE = ("accepted", "queued", "preparing", "generating", "awaiting_approval", "compacting", "evaluating", "closing")

REASONS: Mapping[str, str] = {f"RUN-100 dropped in {state}": NEVER_ASKED for state in ELSEWHERE}
