"""Settings of runs to explore: few enough to explore all they allow, chosen so that every two values meet.

All combinations would be thousands, most of which differ in settings that never meet in one decision. A covering array
holds each pair of values of two settings at least once (pairwise testing: D. R. Kuhn, R. N. Kacker and Y. Lei, Practical
Combinatorial Testing, NIST SP 800-142).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

from statewright_states.run.facts import EvaluationMode, OnLimit, RunSettings
from statewright_states.words.approval import ApprovalRule

RULE = ApprovalRule(approvers=("ann",))
VALUES: Mapping[str, Sequence[object]] = {
    "max_steps": (2, 1),
    "on_limit": tuple(OnLimit),
    "max_continuations": (1, 0),
    "max_identical_calls": (1, 0),
    "parallel_tools": (True, False),
    "max_parallel_tools": (0, 1),
    "evaluation": tuple(EvaluationMode),
    "max_evaluation_retries": (1, 0),
    "summarize_after_exchanges": (1, 0),
    "window_tokens": (1, 0),
    "max_model_calls": (None, 2),
    "max_tool_calls": (None, 1),
    "max_total_tokens": (None, 1),
    "max_cost_microusd": (None, 1),
    "approval": (None, RULE),
}


def plain(**settings: Any) -> RunSettings:
    """Settings under which little may happen but for what is given."""
    quiet: dict[str, Any] = {"max_steps": 1, "max_continuations": 0, "max_identical_calls": 0, "summarize_after_exchanges": 0}
    return RunSettings(**(quiet | settings))


NOTHING_ALLOWED = (
    plain(max_steps=0),
    plain(max_model_calls=0),
    plain(max_total_tokens=0),
    plain(max_cost_microusd=0),
)
"""Limits of zero end a run before its first call: they would hide whatever they are combined with."""
THREE_STEPS = (plain(max_steps=3, max_identical_calls=1), plain(max_steps=3, max_continuations=1))
"""Told of a repetition and repeating it again takes three steps; so does a reminder of a text that was cut off."""


Setting = tuple[str, object]


def covering(values: Mapping[str, Sequence[object]]) -> list[dict[str, Any]]:
    """Choices of a value for each name in which each two values of two names occur together; greedy, always the same."""
    missing = dict.fromkeys(
        ((one, first), (other, second))
        for one, other in combinations(values, 2)
        for first, second in product(values[one], values[other])
    )
    choices: list[dict[str, Any]] = []
    while missing:
        chosen: dict[str, Any] = dict(next(iter(missing)))
        for name in values:
            if name not in chosen:
                chosen[name] = max(values[name], key=lambda value: _gain(chosen, (name, value), missing))
        choices.append({name: chosen[name] for name in values})
        for pair in combinations(choices[-1].items(), 2):
            missing.pop(pair, None)
    return choices


def _gain(chosen: Mapping[str, object], setting: Setting, missing: Mapping[tuple[Setting, Setting], None]) -> int:
    """How many missing pairs this setting makes with those that are chosen."""
    return sum((one, setting) in missing or (setting, one) in missing for one in chosen.items())


FULL = (*NOTHING_ALLOWED, *THREE_STEPS, *(RunSettings(**choice) for choice in covering(VALUES)))
SMALL = (
    *NOTHING_ALLOWED[:2],
    plain(max_steps=3, max_identical_calls=1, max_tool_calls=1),
    plain(max_steps=3, max_continuations=1, max_tool_calls=0),
    plain(max_steps=2, summarize_after_exchanges=1),
    plain(max_steps=2, max_continuations=1, max_total_tokens=1, max_tool_calls=1, evaluation=EvaluationMode.BASIC),
    plain(max_continuations=1, window_tokens=1, max_total_tokens=1, on_limit=OnLimit.CLOSE),
    plain(evaluation=EvaluationMode.FULL, max_evaluation_retries=1),
    plain(evaluation=EvaluationMode.FULL, max_evaluation_retries=0, max_tool_calls=1, max_model_calls=2, approval=RULE),
)
"""Enough for every row to be met, in a few seconds."""
