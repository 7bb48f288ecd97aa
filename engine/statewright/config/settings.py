"""Configuration: pydantic models that reject unknown keys. Times in seconds, sizes in characters or tokens."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import ceil
from typing import Annotated, Literal

from pydantic import Field, GetPydanticSchema, field_validator, model_validator

from statewright.config.configuration import Configuration
from statewright.config.request_parameters import LIMIT_KEYS, RequestParameters
from statewright_states.errors import ConfigurationError
from statewright_states.run.facts import EvaluationMode, OnLimit, RunSettings
from statewright_states.words.approval import ApprovalRule, actor_key, same_actor
from statewright_states.words.ports import MAX_CALLS_PER_REPLY, MAX_REPLY_BYTES
from statewright_states.words.tool_effects import ConfirmMode
from statewright_states.words.vocabulary import StopReason

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
ExactUsd = Annotated[Decimal, Field(ge=0, allow_inf_nan=False, max_digits=18, decimal_places=6)]
Usd = Annotated[Decimal | float | str, GetPydanticSchema(lambda _, handler: handler.generate_schema(ExactUsd))]
"""An amount of US dollars: a number or a text such as ``"0.25"``, with at most six decimals. It is kept as a Decimal."""


class RetryConfig(Configuration):
    """Retries of one model call. They happen in the ``call`` table and nowhere else."""

    max_attempts: Positive = 4
    """Times that a request is sent at most to one model, the first included."""
    waits_s: tuple[Seconds, ...] = (1.0, 2.0, 4.0)
    """Waits in seconds before the second, third, ... attempt, before jitter; the last one is used for all further ones."""
    max_wait_s: Seconds = 60.0
    """The longest wait in seconds, also where a server's Retry-After asks for a longer one."""
    fallback_models: tuple[str, ...] = ()
    """Specifications of models to turn to, in order, when the one before gave up."""


class ContextConfig(Configuration):
    """How the messages are kept inside the model's window."""

    max_context_tokens: Count = 80_000
    """The window in tokens; 0 switches the limit off."""
    summarize_after_steps: Count = 8
    """Summarise when there are more exchanges than this; 0 switches summaries off."""
    keep_recent_steps: Positive = 4
    """Exchanges that a summary leaves whole."""
    reserve_tokens: Count = 500
    """Tokens kept free for the reply (more, if ``max_output_tokens`` is more)."""


class EvaluationConfig(Configuration):
    """Whether a final answer is judged."""

    mode: EvaluationMode = EvaluationMode.OFF
    """off: no judgement. basic: one. full: one, and corrections where it says that something is amiss."""
    max_retries: Count = 2
    """Corrections at most, each a new attempt at the task; with mode full."""
    confidence_threshold: Annotated[float, Field(ge=0, le=1)] = 0.8
    """How sure the judge has to be that the task is completed: from 0 to 1, this value included."""


class ModelPrice(Configuration):
    """What a model costs, in US dollars per million tokens."""

    input_usd: Usd
    """US dollars for a million tokens of input."""
    output_usd: Usd
    """US dollars for a million tokens of output."""
    cached_input_usd: Usd | None = None
    """US dollars for a million tokens of input that the provider had cached; None is the price of other input."""


class BudgetConfig(Configuration):
    """Upper bounds on what a run may use; None is without a bound. All end the run as ``budget_exceeded``.

    They are asked before a call begins, so the last one may pass a bound of tokens or cost; it is the last.
    """

    max_model_calls: Count | None = None
    """Requests to models for any purpose, retries included."""
    max_tool_calls: Count | None = None
    """Tool calls at most that are begun."""
    max_total_tokens: Count | None = None
    """Input and output of all model calls together, as the providers count them; estimated where they do not."""
    max_cost_usd: Usd | None = None
    """US dollars at most, by ``prices``. Needs a price for the model and for every fallback."""
    prices: Mapping[str, ModelPrice] = Field(default_factory=dict[str, ModelPrice])
    """By model, written as it is asked for: ``openai:gpt-5-mini``. None are built in: prices change."""


class ApprovalConfig(Configuration):
    """What the approval of a tool call takes, and who may give it. Names are compared as people read them, not by case."""

    required: Positive = 1
    """How many different persons have to approve a call before it runs. One rejection rejects it."""
    approvers: tuple[str, ...] | None = None
    """Those who may decide; None: anybody."""
    four_eyes: bool = False
    """Whether whoever asked for the run (``requested_by``, which has to be known then) may reject its calls only."""
    review_required: bool = False
    """Whether a call has to be reviewed by one person before others may approve it."""
    without_a_person: Literal["wait", "deny"] = "wait"
    """What happens where there is no way to ask a person: the run waits for a decision from anywhere, or the call is denied."""

    @model_validator(mode="after")
    def _enough_people(self) -> ApprovalConfig:
        keys = [actor_key(name) for name in self.approvers or ()]
        if not all(keys):
            raise ValueError("approvers: a name is empty")
        if len(set(keys)) < len(keys):
            raise ValueError(f"approvers: a name stands there twice: {', '.join(self.approvers or ())}")
        if self.approvers is not None and len(keys) < self.persons:
            raise ValueError(f"{self.persons} persons have to sign, and approvers names {len(keys)}: no call could ever run")
        return self

    @property
    def persons(self) -> int:
        """How many different persons it takes, a reviewer counted."""
        return self.required + self.review_required

    def check(self, requested_by: str | None) -> None:
        """Raises ConfigurationError where four eyes are wanted and the requester is not known, or too few besides are left."""
        if not self.four_eyes:
            return
        if not actor_key(requested_by or ""):
            raise ConfigurationError(
                "four eyes are wanted, and nobody is named who asks for the run",
                where="approval.four_eyes",
                cure="name the person: requested_by=... of run(), --as NAME on the command line",
            )
        others = [name for name in self.approvers or () if not same_actor(name, requested_by or "")]
        if self.approvers is not None and len(others) < self.persons:
            raise ConfigurationError(
                f"{self.persons} persons besides {requested_by} have to sign, and approvers names {len(others)}",
                where="approval.approvers",
                cure="name more approvers, or ask for fewer approvals",
            )

    def rule(self, requested_by: str | None) -> ApprovalRule | None:
        """What the tables ask for; None where it is the default: one person, whoever it is."""
        requester = requested_by if self.four_eyes else None
        rule = ApprovalRule(self.required, self.approvers, requester, self.review_required)
        return None if rule == ApprovalRule() else rule


NOTICES = {
    StopReason.MAX_STEPS: "Stopped after {steps} steps without a final answer.",
    StopReason.STEP_TIMEOUT: "Step {steps} did not get its reply in time.",
    StopReason.RUN_TIMEOUT: "The run did not end within its time.",
    StopReason.INTERRUPTED: "The run was stopped before it had an answer.",
    StopReason.CANCELLED: "The run was cancelled.",
    StopReason.LLM_ERROR: "The model could not be asked: {error}",
    StopReason.BLOCKED: "Blocked: {error}",
    StopReason.CONTEXT_FULL: "The messages no longer fit into the model's window.",
    StopReason.BUDGET_EXCEEDED: "The budget is used up: {budget}.",
    StopReason.REPEATING: "The model asked for the same calls again and again.",
    StopReason.EMPTY_REPLY: "The model gave no answer.",
    StopReason.APPROVAL_DENIED: "A person rejected the run.",
    StopReason.TOOL_OUTCOME_UNKNOWN: "A tool call's outcome was lost.",
    StopReason.INTERNAL_ERROR: "The run failed inside the engine: {error}",
}


class PromptConfig(Configuration):
    """The built-in texts, for other languages and tastes.

    A name in braces that stands in the default of a text is a place where something is put in; all other braces are text.
    """

    continuation: str = "Continue from where you left off."
    """Asks for the rest of a reply that was cut off by its length."""
    nudge: str = "Your reply was empty. Answer the task, or call a tool."
    """Asks again after an empty reply."""
    closing: str = "The step limit is reached. Say in a few sentences what is done and what is missing. Call no tools."
    """Asks for last words at the step limit, with ``on_limit`` close."""
    cut_off: str = "Error: your reply was cut off by its length, so this call was not run. Ask again, with shorter arguments."
    """The result of a call in a reply that was cut off."""
    skipped: str = "Skipped: this call was not run, because the run was {reason}."
    """The result of a call that was not begun because the run ended."""
    failed: str = "Error: {error}"
    """The result of a call that failed."""
    denied: str = "Denied: {reason}"
    """The result of a call that a policy or a guard did not allow."""
    cancelled: str = "Cancelled: the run ended before this call returned."
    """The result of a call that was under way when the run was cancelled."""
    timed_out: str = "Error: the tool did not return within {timeout_s:g} s; it was abandoned."
    """The result of a call that took longer than its time."""
    outcome_unknown: str = (
        "Outcome unknown: the call had begun when the process died. It was not run again. Verify before you rely on it."
    )
    """The result of a call that a crash interrupted and that may not run twice."""
    rejected: str = "Denied: {actor} rejected this call. {comment}"
    """The result of a call that a person rejected."""
    dry_run: str = "This is a dry run: tools are not executed, and their results say nothing. Say what you would do."
    """Told to the model once at the beginning of a dry run."""
    not_executed: str = "Not executed (dry run)."
    """The result of every call in a dry run."""
    unasked: str = "Denied: this call needs a person's approval, and nobody can be asked."
    """The result of a call that needs a person where nobody can be asked, and the run is not to wait."""
    missing_result: str = "No result of this call is known."
    """What stands where a history holds a tool call without its result."""
    truncated_lines: str = "[... {lines} lines, {missing} characters left out ...]"
    """In the place of what was cut out of a long text; for lines, on a line of its own."""
    truncated: str = "[... {missing} characters left out ...]"
    """In the place of what was cut out of a long text without lines."""
    truncated_briefly: str = "[{missing} left out]"
    """Where there is no room for a longer one; the last resort is an ellipsis."""
    summary_heading: str = "[Summary of earlier steps]"
    """Stands above a summary."""
    summary_system: str = (
        "You summarise the work of an agent for the agent itself. Keep facts, file names, figures, decisions and what is "
        "still open. Leave out politeness. At most 200 words."
    )
    """The system prompt of the model that summarises."""
    summary_request: str = "Summarise these steps:\n\n{steps}"
    """Asks for a summary of these steps."""
    summary_call: str = "[called {name}({arguments})]"
    """How a tool call is told in ``steps``."""
    attachment: str = "[{kind}: {attachment}]"
    """How an image or a file is told, with its name, type and size, in a summary's ``steps`` and to the judge."""
    judge_system: str = (
        "You judge whether an agent completed its task. Reply with one JSON object and nothing else: "
        '{"completed": true or false, "confidence": 0.0 to 1.0, "issues": ["..."], "suggestion": "..."}'
    )
    """The names in the judge's reply are fixed: it is read by them."""
    judge_request: str = (
        "Task:\n{task}\n\nAnswer of the agent:\n{answer}\n\nTools it used:\n{actions}\n\nWas the task completed?"
    )
    """Asks the judge about an answer."""
    no_actions: str = "none"
    """In the place of ``actions`` where no tool was called."""
    unreadable_verdict: str = "Your last reply could not be read as a verdict. Reply with the JSON object and nothing else."
    """What the judge is told when it is asked once more."""
    correction: str = (
        "{task}\n\nAn earlier attempt at this task did not pass its review.\nIssues:\n{issues}\n"
        "Suggestion: {suggestion}\nDo the whole task again, and mend these issues."
    )
    """The prompt of the next attempt, after a judgement that something is amiss."""
    no_issues: str = "none named"
    """In the place of ``issues`` where the judge named none."""
    no_suggestion: str = "none"
    """In the place of ``suggestion`` where the judge made none."""
    planning: str = (
        "Make a plan for the task; somebody else will carry it out. Look at whatever you need, but change nothing. "
        "Answer with the plan alone: the steps in their order, what each one changes, and how to see that it worked."
    )
    """Is added to the system prompt of the agent that plans."""
    building: str = (
        "{task}\n\n[Plan, made beforehand]\n{plan}\n\n[End of the plan. Carry it out; depart from it where it is wrong.]"
    )
    """The prompt of the run that builds, with the task and the plan."""
    repeated: str = (
        "[You have made this very call {count} times in a row. It was not run again; this is its earlier result. "
        "Make another call, or answer.]"
    )
    """Is added to the earlier result of a call that was made too often in a row."""
    no_reply: str = "NO_REPLY"
    """A reply that is exactly this is a silent end; empty switches that off. The model has to be told of it by you."""
    notices: Mapping[StopReason, str] = Field(default_factory=lambda: dict(NOTICES))
    """What the final output says where the model said nothing, by stop reason; those that are not given keep their defaults."""

    @field_validator("notices")
    @classmethod
    def _with_the_others(cls, given: Mapping[StopReason, str]) -> Mapping[StopReason, str]:
        return {**NOTICES, **given}


ENGLISH = PromptConfig.model_construct()  # as declared: validating them would build the model while it is imported
"""The built-in texts as they are."""


class AgentConfig(RequestParameters):
    """Everything that one agent is told; see the fields for defaults."""

    system_prompt: str = ""
    """What the model is told before everything else; empty: no system message."""
    max_steps: Count = 40
    """Model calls for generation in one attempt at the task; 0 makes no call."""
    on_limit: OnLimit = OnLimit.CUT
    """At ``max_steps`` — cut: the run ends. close: one last call without tools asks what is done and what is missing."""
    max_continuations: Count = 2
    """Times at most that the rest of a reply is asked for that was cut off by its length."""
    allowed_tools: tuple[str, ...] | None = None
    """Names of the tools that may be shown and executed; None allows every registered one."""
    confirm_mode: ConfirmMode = ConfirmMode.CONFIRM_SENSITIVE
    """Which tool calls a person is asked about: yolo: none, confirm-sensitive: those of sensitive tools, confirm-all: all."""
    dry_run: bool = False
    """Tools are not executed; the model is told so once."""
    parallel_tools: bool = True
    """Whether the calls of one reply may run side by side, if all their tools allow it and no person is asked."""
    max_parallel_tools: Positive = 4
    """Tool calls at most that run at the same time."""
    max_tool_result_chars: Count = 16_000
    """Characters of a tool's result that the model is shown at most, marker included; 0 is without a bound."""
    max_identical_calls: Count = 3
    """Runs of the same calls in a row; then they get their earlier results with a note, then the run ends; 0 is off."""
    step_timeout_s: Seconds = 0.0
    """Seconds for one model call with its retries; 0 is off."""
    run_timeout_s: Seconds = 600.0
    """Seconds for the whole run, those aside in which only persons are waited for; 0 is off."""
    tool_timeout_s: Seconds = 30.0
    """Seconds for one tool call, unless its tool declares others; 0 is off."""
    idle_stream_timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0
    """Seconds of silence after which a reply in pieces is given up."""
    temperature: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """How freely the model chooses its words."""
    max_output_tokens: Positive | None = None
    """Longest reply in tokens; summaries and judgements are not bound by it."""
    max_reply_bytes: Positive = MAX_REPLY_BYTES
    """Longest reply in bytes that is read from a server, as it comes; more is a malformed reply, which is asked for again."""
    max_calls_per_reply: Positive = MAX_CALLS_PER_REPLY
    """Most tool calls in one reply; more is a malformed reply too."""
    output_type: Literal["text"] | None = None
    """What the final answer is: text. None is the same."""
    retry: RetryConfig = Field(default_factory=RetryConfig)
    """Retries of a model call, and other models to turn to."""
    context: ContextConfig = Field(default_factory=ContextConfig)
    """How the messages are kept inside the model's window."""
    evaluation: EvaluationConfig = Field(default_factory=EvaluationConfig)
    """Whether a final answer is judged, and corrected."""
    budget: BudgetConfig = Field(default_factory=BudgetConfig)
    """What the run may use: calls, tokens, US dollars."""
    approval: ApprovalConfig = Field(default_factory=ApprovalConfig)
    """What the approval of a tool call takes, and who may give it."""
    prompts: PromptConfig = Field(default_factory=PromptConfig)
    """The built-in texts, for other languages and tastes."""

    @model_validator(mode="after")
    def _summary_keeps_less_than_it_waits_for(self) -> AgentConfig:
        after = self.context.summarize_after_steps
        if 0 < after < self.context.keep_recent_steps:
            raise ValueError(
                f"context.keep_recent_steps ({self.context.keep_recent_steps}) is more than "
                f"context.summarize_after_steps ({after}): a summary would cover nothing"
            )
        return self

    @model_validator(mode="after")
    def _one_limit_of_output(self) -> AgentConfig:
        twice = next((key for key in LIMIT_KEYS if key in self.extra_body), None)
        if twice is not None and self.max_output_tokens is not None:
            raise ConfigurationError(
                f"max_output_tokens and extra_body both set the limit of output tokens ({twice})",
                where="extra_body",
                cure=f"take {twice!r} out of it, or leave out max_output_tokens",
            )
        return self

    def run_settings(self) -> RunSettings:
        """What the run table's questions ask for."""
        reserve = max(self.context.reserve_tokens, self.max_output_tokens or 0)
        window = self.context.max_context_tokens
        cost = self.budget.max_cost_usd
        return RunSettings(
            max_steps=self.max_steps,
            on_limit=self.on_limit,
            max_continuations=self.max_continuations,
            max_identical_calls=self.max_identical_calls,
            parallel_tools=self.parallel_tools,
            max_parallel_tools=self.max_parallel_tools,
            evaluation=self.evaluation.mode,
            max_evaluation_retries=self.evaluation.max_retries,
            confidence_threshold=self.evaluation.confidence_threshold,
            summarize_after_exchanges=self.context.summarize_after_steps,
            window_tokens=max(window - reserve, 1) if window else 0,
            max_model_calls=self.budget.max_model_calls,
            max_tool_calls=self.budget.max_tool_calls,
            max_total_tokens=self.budget.max_total_tokens,
            max_cost_microusd=None if cost is None else int(Decimal(cost) * 1_000_000),
            run_timeout_us=ceil(self.run_timeout_s * 1_000_000),
        )
