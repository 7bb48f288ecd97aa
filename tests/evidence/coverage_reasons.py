"""Why some answers of some questions are never seen, and why some questions cannot show their effect: as data.

An entry stands for a question in one cell, for which the record of the test run holds no independence pair or not every
answer. ``coverage_run`` demands one wherever something is missing, and wherever nothing is, refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping

Asked = tuple[str, str, str, str]
"""Table, state, event, question."""

NOBODY_ASKED = "an outcome is lost, and somebody asked about it, in acting alone; here the answer to 'awaited' is always no"
IN_ANOTHER_STATE = "a call that needs a person waits in awaiting_approval: here it is never found to need one"
NO_TOOL_HAS_BEGUN = "tools run in acting alone: here none can wait for runs that it has begun"

REASONS: Mapping[Asked, str] = {
    **{
        ("run", state, "OutcomeStated", question): NOBODY_ASKED
        for state in (
            "accepted", "queued", "preparing", "generating", "awaiting_approval", "compacting", "evaluating", "closing",
        )
        for question in ("awaited", "may_decide")
    },
    ("run", "acting", "PersonAsked", "only_persons"): IN_ANOTHER_STATE,
    ("run", "awaiting_approval", "Resumed", "tool_waits"): NO_TOOL_HAS_BEGUN,
    ("call", "streaming", "ReplyBegan", "current"): "a reply begins once: while it comes, only an earlier one can begin",
    ("tool", "requested", "ToolReleased", "assessment"): IN_ANOTHER_STATE,
    ("tool", "requested", "ToolResumed", "assessment"): IN_ANOTHER_STATE,
}  # fmt: skip
