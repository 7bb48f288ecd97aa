"""What a run used, beside what it may use: model calls one by one, and each limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from statewright.presentation.event_words import seconds
from statewright.report.model import BudgetLine, ReportedCall, Used, Wait
from statewright.report.opened_run import Happened, OpenedRun
from statewright.report.waits import covered_us, left_alone
from statewright_states.call import events as of_call
from statewright_states.run import events as of_run
from statewright_states.run.facts import RunSettings
from statewright_states.words.vocabulary import Purpose


@dataclass(slots=True)
class _SeenCall:
    """What has been seen of a model call so far."""

    requested: of_call.CallRequested
    first: int
    began_us: int
    attempts: int = 0
    outcome: str = ""
    ended_us: int | None = None
    replied: of_call.AttemptReplied | None = None


def calls_of(run: OpenedRun) -> tuple[ReportedCall, ...]:
    """Every model call, in order."""
    seen: dict[str, _SeenCall] = {}
    final = set(run.machines["call"].form.final) if "call" in run.machines else set[str]()
    for happened in run.happened:
        decision = happened.decision
        if decision.machine != "call" or decision.row is None:
            continue
        if isinstance(happened.event, of_call.CallRequested):
            seen.setdefault(decision.instance, _SeenCall(happened.event, decision.seq, happened.at_us))
        if decision.instance in seen:
            _note(seen[decision.instance], happened, final)
    return tuple(_call(run, instance, each) for instance, each in seen.items())


def _note(seen: _SeenCall, happened: Happened, final: set[str]) -> None:
    event, decision = happened.event, happened.decision
    seen.outcome = decision.target
    if isinstance(event, of_call.AttemptReplied):
        seen.replied = event
        seen.attempts += 1 + event.resent
    elif isinstance(event, of_call.AttemptFailed):
        seen.attempts += event.sent + event.resent
    if decision.target in final:
        seen.ended_us = happened.at_us


def _call(run: OpenedRun, instance: str, seen: _SeenCall) -> ReportedCall:
    replied, requested = seen.replied, seen.requested
    return ReportedCall(
        instance=instance,
        purpose=requested.purpose.value,
        step=requested.step,
        model=(replied.model if replied is not None else None) or run.header.model,
        attempts=seen.attempts,
        outcome=seen.outcome,
        input_tokens=replied.input_tokens + replied.estimated_input_tokens if replied is not None else 0,
        output_tokens=replied.output_tokens + replied.estimated_output_tokens if replied is not None else 0,
        cached_input_tokens=replied.cached_input_tokens if replied is not None else 0,
        reasoning_tokens=replied.reasoning_tokens if replied is not None else 0,
        estimated=bool(replied is not None and replied.estimated_tokens),
        cost_microusd=replied.cost_microusd if replied is not None else 0,
        first=seen.first,
        began_us=seen.began_us,
        ended_us=seen.ended_us,
    )


# -- limits ----------------------------------------------------------------------------------------------------------


def used_by(run: OpenedRun) -> Used:
    """What the end says, or of a run that has not ended what its decisions count."""
    end, taken = run.end, [each for each in run.happened if each.decision.row is not None]
    attempt_steps = _attempt_steps(taken)
    if end is not None:
        tokens = end.input_tokens + end.output_tokens
        counts = (end.model_calls, end.tool_calls, tokens, end.cost_microusd, end.estimated_tokens)
        return Used(end.steps, max(attempt_steps, default=0), *counts)
    spent = [each.event for each in taken if isinstance(each.event, of_run.Spending)]
    started = sum(given.command == "StartTool" for each in taken for given in each.decision.commands)
    return Used(
        steps=sum(attempt_steps),
        attempt_steps=max(attempt_steps, default=0),
        model_calls=sum(each.attempts for each in spent),
        tool_calls=started,
        tokens=sum(each.tokens for each in spent),
        cost_microusd=sum(each.cost_microusd for each in spent),
    )


def _attempt_steps(taken: Sequence[Happened]) -> list[int]:
    """The model calls for generation of each attempt at the task."""
    counts: list[int] = []
    for each in taken:
        match each.event:
            case of_run.ContextBuilt():
                counts.append(0)
            case of_call.CallRequested(purpose=Purpose.GENERATION) if counts:
                counts[-1] += 1
            case _:
                pass
    return counts


def budget_of(run: OpenedRun, used: Used, waits: Sequence[Wait]) -> tuple[BudgetLine, ...]:
    """Each limit beside what was used of it; of a run of another kind, what was used alone."""
    settings = next((each.event.settings for each in run.happened if isinstance(each.event, of_run.RunAdmitted)), None)
    whole_us = run.last_us - run.header.at_us
    worked_us = whole_us - covered_us(left_alone(waits, run.header.at_us, run.last_us))
    return tuple(_lines(used, settings, worked_us))


def _lines(used: Used, settings: RunSettings | None, worked_us: int) -> Iterator[BudgetLine]:
    limits = settings or RunSettings(max_model_calls=None)
    others = f" in one attempt, {used.steps:,} in all" if used.steps != used.attempt_steps else ""
    yield _count("steps", used.attempt_steps, limits.max_steps if settings else None, "max_steps", others)
    yield _count("requests to models", used.model_calls, limits.max_model_calls, "budget.max_model_calls")
    yield _count("tool calls begun", used.tool_calls, limits.max_tool_calls, "budget.max_tool_calls")
    about = f", {used.estimated_tokens:,} of them estimated" if used.estimated_tokens else ""
    yield _count("tokens, in and out", used.tokens, limits.max_total_tokens, "budget.max_total_tokens", about)
    cost, bound = used.cost_microusd, limits.max_cost_microusd
    limit = None if bound is None else in_usd(bound)
    yield BudgetLine("cost, by the configured prices", in_usd(cost), limit, _share(cost, bound), "budget.max_cost_usd")
    time_us = limits.run_timeout_us if settings else 0
    told = seconds(time_us / 1_000_000) if time_us else None
    what = "time, without waits for persons alone"
    yield BudgetLine(what, seconds(worked_us / 1_000_000), told, _share(worked_us, time_us or None), "run_timeout_s")


def _count(what: str, used: int, limit: int | None, said_in: str, about: str = "") -> BudgetLine:
    return BudgetLine(what, f"{used:,}{about}", None if limit is None else f"{limit:,}", _share(used, limit), said_in)


def _share(used: int, limit: int | None) -> float | None:
    return None if not limit else round(used / limit, 4)


def in_usd(microusd: int) -> str:
    """An amount in US dollars, exactly."""
    return f"{microusd / 1_000_000:.6f} USD" if microusd else "0 USD"
