"""Why some mutants live: each that nobody notices, by name, with the reason. A survivor without one breaks the evidence."""

from __future__ import annotations

from collections.abc import Mapping

NOT_ACTING = ("accepted", "queued", "preparing", "generating", "awaiting_approval", "compacting", "evaluating", "closing")
ACTING_ALONE = (
    "equivalent for any run: RUN-100 asks whether an outcome is awaited, and one is only while the run is acting; a statement "
    "that comes in another state is about nothing, and RUN-98 has it"
)

WAITING_ALONE = (
    "equivalent for any run: RUN-178 asks whether a tool waits for runs of its own, and one does only while the run is acting; "
    "in awaiting_approval no tool has begun, and RUN-83 or RUN-174 is taken"
)

REASONS: Mapping[str, str] = {
    **{f"RUN-100 dropped in {state}": ACTING_ALONE for state in NOT_ACTING},
    "RUN-178 to acting instead of SAME": WAITING_ALONE,
}
