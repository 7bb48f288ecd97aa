"""Random configurations: every field of AgentConfig and of what it holds. A new field belongs here."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st
from pydantic import BaseModel

from statewright import (
    AgentConfig,
    ApprovalConfig,
    BudgetConfig,
    ConfirmMode,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    ModelPrice,
    OnLimit,
    RetryConfig,
)
from statewright.config.settings import PromptConfig

T = TypeVar("T")
Configuration = TypeVar("Configuration", bound=BaseModel)
SPARE_MODELS = [f"scripted:{path}" for path in sorted(Path(__file__).with_name("spare_models").glob("*.json"))]
"""Models to fall back to: one that answers, one that asks for a tool, one that fails."""


def mostly(usual: T, *others: T, times: int = 8) -> st.SearchStrategy[T]:
    """The usual value, and now and then another: most lives should get somewhere before a bound ends them."""
    return st.sampled_from([*[usual] * times, *others])


# A wait is drawn around 100 s and cut to the longest one, so that it is the same each time.
DRAWN: dict[type[BaseModel], dict[str, st.SearchStrategy[Any]]] = {
    RetryConfig: {
        "max_attempts": st.integers(1, 3),
        "waits_s": st.sampled_from([(100,), (100,), (100, 100), ()]),
        "max_wait_s": st.just(1.0071),
        "fallback_models": st.one_of(st.just(()), st.lists(st.sampled_from(SPARE_MODELS), max_size=2).map(tuple)),
    },
    ContextConfig: {
        "max_context_tokens": mostly(80_000, 400, 400, 150, 20, 1, 0),
        "summarize_after_steps": st.sampled_from([8, 2, 2, 0]),
        "keep_recent_steps": st.sampled_from([1, 1, 2]),
        "reserve_tokens": mostly(0, 50, 500),
    },
    EvaluationConfig: {
        "mode": st.sampled_from([EvaluationMode.OFF, *EvaluationMode]),
        "max_retries": st.integers(0, 2),
        "confidence_threshold": st.sampled_from([0.8, 0.8, 0, 1]),
    },
    BudgetConfig: {
        "max_model_calls": mostly(None, 6, 4, 3, 2, 1, 0),
        "max_tool_calls": mostly(None, 4, 1, 0),
        "max_total_tokens": mostly(None, 5000, 100, 0, times=12),
        "max_cost_usd": mostly(None, 1.0, 0.01, 0, times=12),
        "prices": st.just({model: ModelPrice(input_usd=2, output_usd=10) for model in ("scripted:list", *SPARE_MODELS)}),
    },
    ApprovalConfig: {
        "required": mostly(1, 2, times=3),
        "approvers": st.sampled_from([None, None, ("ada", "grace", "joan", "linus")]),
        "four_eyes": st.booleans(),
        "review_required": mostly(False, True, times=3),
        "without_a_person": st.sampled_from(["wait", "wait", "deny"]),
    },
    PromptConfig: {
        "skipped": mostly(PromptConfig().skipped, "{reason} {nonsense} {"),
        "timed_out": mostly(PromptConfig().timed_out, "{timeout_s:g} %s"),
        "rejected": mostly(PromptConfig().rejected, "{actor}{comment}"),
        "summary_heading": mostly(PromptConfig().summary_heading, ""),
    },
    AgentConfig: {
        "system_prompt": st.sampled_from(["", "be exact"]),
        "max_steps": mostly(9, 5, 3, 3, 2, 2, 1, 1, 0),
        "on_limit": st.sampled_from(OnLimit),
        "max_continuations": st.sampled_from([2, 2, 1, 0]),
        "allowed_tools": st.sampled_from([*[None] * 8, ("look", "save", "pay"), ("post",), ()]),
        "confirm_mode": st.sampled_from(ConfirmMode),
        "dry_run": mostly(False, True, times=12),
        "parallel_tools": st.booleans(),
        "max_parallel_tools": st.integers(1, 4),
        "max_identical_calls": mostly(0, 3, 2, 1, times=4),
        "max_tool_result_chars": st.sampled_from([0, 1, 10, 16000]),
        "step_timeout_s": st.sampled_from([0, 0, 3.0617]),
        "run_timeout_s": mostly(600, 12.0313, 12.0313, 0, times=6),
        "tool_timeout_s": st.sampled_from([0, 2.0151]),
        "idle_stream_timeout_s": st.sampled_from([120, 0.5]),
        "temperature": st.sampled_from([None, 0.0, 1.5]),
        "max_output_tokens": st.sampled_from([None, 1, 1000]),
        "top_p": st.sampled_from([None, 0.5]),
        "seed": st.sampled_from([None, 0]),
        "reasoning_effort": st.sampled_from([None, "low"]),
        "stop": st.sampled_from([(), ("END",)]),
        "tool_choice": mostly(None, "auto", "none", times=3),
        "extra_body": mostly({}, {"user": "ada"}, times=3),
        "extra_headers": mostly({}, {"X-Title": "Desk"}, times=3),
        "max_reply_bytes": st.sampled_from([64 * 1024 * 1024, 1000]),
        "max_calls_per_reply": st.sampled_from([256, 1]),
        "output_type": st.sampled_from([None, "text"]),
    },
}
"""What each field is drawn from. A field that is not named here keeps its default."""


def drawn(model: type[Configuration]) -> st.SearchStrategy[Configuration]:
    """Configurations of this kind."""
    return st.builds(model, **DRAWN[model])


DRAWN[AgentConfig] |= {
    "retry": drawn(RetryConfig),
    "context": drawn(ContextConfig),
    "evaluation": drawn(EvaluationConfig),
    "budget": drawn(BudgetConfig),
    "approval": drawn(ApprovalConfig),
    "prompts": drawn(PromptConfig),
}
CONFIGS: st.SearchStrategy[AgentConfig] = drawn(AgentConfig)
