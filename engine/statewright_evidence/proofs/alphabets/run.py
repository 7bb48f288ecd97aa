"""What may come to a run table: every kind of reply and failure, tool calls in every order, people, deaths, deadlines.

Budgets are explored as what they are to the table: with room, and without. Sizes are one that fits and one that does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from itertools import product

from statewright_evidence.proofs.alphabets.replies import CALLS, SAME_CALLS, Spent, replies, reply, spendings
from statewright_evidence.proofs.alphabets.settings import FULL
from statewright_evidence.proofs.composition.late import LATE_FOR_RUN, UNPROMPTED
from statewright_evidence.proofs.properties import Kind
from statewright_states.form.row import Event
from statewright_states.frozen import dataclass, replace
from statewright_states.run.events import (
    CallDecided,
    CallFailed,
    CallTimedOut,
    CallWaits,
    ChildEnded,
    CompactionPlanned,
    ContextBuilt,
    ContextFailed,
    LaneGranted,
    OutcomeStated,
    PersonAsked,
    RunAdmitted,
    RunDeadline,
    RunDeadlinePaused,
    StartDenied,
    SummaryFailed,
    SummaryReady,
    ToolOutcomeUnknown,
    ToolSettled,
    VerdictReached,
)
from statewright_states.run.facts import CallFault, CallPhase, Finish, RunFacts, RunSettings, RunState
from statewright_states.run.table import RUN
from statewright_states.words.vocabulary import Resumed, Status, StopReason

S = RunState
NOT_ADMITTED = (S.ACCEPTED,)
Offered = Sequence[tuple[Event, Kind]]
FITS, TOO_LONG = 1, 2
"""Tokens of a transcript, where the window holds one."""
VERDICTS = (
    *((True, completed, confidence, True) for completed, confidence in ((True, 1.0), (True, 0.5), (False, 1.0))),
    *((reached, False, 0.0, not reached) for reached in (True, False)),
)
"""Reached, completed, confidence, readable: passed, too unsure, failed, not to be read, out of reach."""


# -- everything that may come, but for what depends on the calls of a reply ------------------------------------------------

OUTSIDE: Offered = (
    *((external.event, Kind.MAYBE) for external in UNPROMPTED),
    (RunDeadline(), Kind.TIMER),
    (OutcomeStated("another tool", True, "ann", ""), Kind.MAYBE),
    (ChildEnded("child", "tool-1", Status.SUCCESS, StopReason.COMPLETED, 1, 1, 1), Kind.MAYBE),
)
TAKEN_UP: Offered = ((Resumed(2), Kind.MAYBE),)
LATE: Offered = tuple((external.event, Kind.MAYBE) for external in LATE_FOR_RUN)


def _due(events: Iterable[Event]) -> Offered:
    return tuple((event, Kind.DUE) for event in events)


def bounds(settings: Sequence[RunSettings]) -> str:
    """What is explored with these settings, in words."""
    steps = max(each.max_steps for each in settings)
    pairs = "; any two of these values together" if settings is FULL else ""
    return (
        f"{len(settings)} settings (up to {steps} steps; 0 or 1 continuations, corrections and identical calls; each mode of "
        f"evaluation; each budget: none, with room and used up{pairs}); every kind of reply, 0 to {max(map(len, CALLS))} tool "
        "calls in each, in every order, with and without persons; every failure; messages that fit and that do not; a stop, "
        "a cancellation, the run deadline, a defect, a resumption, late results and the end of a run that a tool has begun at "
        "any time; tools that wait for persons in runs of their own"
    )


def _sizes(settings: RunSettings) -> tuple[int, ...]:
    return (FITS, TOO_LONG) if settings.window_tokens else (FITS,)


@cache
def _offers(settings: RunSettings, in_call: bool) -> Mapping[StrEnum, Offered]:
    """What may come to a run with these settings, with a call in flight or not, by its state; made once for all its facts."""
    sizes, used = _sizes(settings), spendings(settings)
    unanswered = _due(_unanswered({spent.attempts for spent in used}))
    answered = (answer for spent in used for answer in replies(spent, same_again=bool(settings.max_identical_calls)))
    last_words = (reply(Finish.STOP, Spent(), has_text=True), reply(Finish.TOOL_CALLS, Spent(), CALLS[2]))
    return {
        S.QUEUED: _due([LaneGranted()]),
        S.GENERATING: (*_due(answered), *unanswered),
        S.CLOSING: (*_due(last_words), *unanswered),
        S.EVALUATING: _due(_verdicts(used)),
        S.COMPACTING: _due(_summaries(settings, sizes, used) if in_call else _plans(settings, sizes)),
    }


def _unanswered(requests: Iterable[int]) -> Iterator[Event]:
    for attempts in sorted(requests):
        yield CallTimedOut(attempts)
        yield from (CallFailed(fault, "error", attempts) for fault in CallFault)


def _verdicts(used: Sequence[Spent]) -> Iterator[Event]:
    for reached, completed, confidence, readable in VERDICTS:
        yield from (VerdictReached(reached, completed, confidence, (), "", *spent, readable) for spent in used)


def _left(settings: RunSettings, sizes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """What a compaction may leave: dropped messages, exchanges (as many as are kept whole, or one more), tokens."""
    kept = settings.summarize_after_exchanges
    return product((0, 2), (kept, kept + 1), sizes)


def _plans(settings: RunSettings, sizes: Sequence[int]) -> Iterator[Event]:
    for old in (0, 3):
        for dropped, exchanges, size in _left(settings, sizes):
            yield CompactionPlanned(old, dropped, exchanges, size, "before", "after")


def _summaries(settings: RunSettings, sizes: Sequence[int], used: Sequence[Spent]) -> Iterator[Event]:
    for spent in used:
        for dropped, exchanges, size in _left(settings, sizes):
            yield SummaryReady("summary", exchanges, size, *spent, dropped)
            yield SummaryFailed("error", exchanges, size, *spent, dropped)


def _about_tools(facts: RunFacts, sizes: Sequence[int]) -> Iterator[tuple[Event, Kind]]:
    if facts.paused:
        yield RunDeadlinePaused(0), Kind.MAYBE
    for call in facts.tools:
        tool = call.request.tool
        match call.phase:
            case CallPhase.ASSESSING:
                yield from ((event, Kind.DUE) for event in (CallDecided(tool, False), PersonAsked(tool)))
            case CallPhase.ASKED:
                yield from ((CallDecided(tool, ends_run), Kind.PERSON) for ends_run in (False, True))
            case CallPhase.LAUNCHED if call.waits:
                yield CallWaits(tool, False), Kind.PERSON
            case CallPhase.LAUNCHED:
                yield from ((CallWaits(tool, waits), Kind.MAYBE) for waits in (True, False))
                yield from ((ToolSettled(tool, size), Kind.DUE) for size in sizes)
                yield from ((event, Kind.MAYBE) for event in (ToolOutcomeUnknown(tool, FITS), PersonAsked(tool)))
            case CallPhase.UNKNOWN:
                stated = (OutcomeStated(tool, go_on, who, "") for go_on in (True, False) for who in ("ann", "eve"))
                yield from ((event, Kind.PERSON) for event in stated)
                if not facts.paused:  # what a person said comes first, and starts the timer again
                    yield from ((ToolSettled(tool, size), Kind.PERSON) for size in sizes)
            case _:
                pass


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The alphabet of a run that is admitted with one of these settings."""

    settings: Sequence[RunSettings] = FULL

    def __call__(self, state: StrEnum, facts: RunFacts) -> Iterator[tuple[Event, Kind]]:
        """Every event that may come."""
        if state in RUN.final:
            yield from LATE
            return
        if state in NOT_ADMITTED:
            yield from ((RunAdmitted(settings, "task"), Kind.DUE) for settings in self.settings)
        else:
            yield from _ordinary(state, facts)
            yield from TAKEN_UP
        yield from OUTSIDE


def _ordinary(state: StrEnum, facts: RunFacts) -> Iterable[tuple[Event, Kind]]:
    sizes = _sizes(facts.settings)
    match state:
        case S.PREPARING:
            built = (ContextBuilt(facts.attempt, (), size) for size in sizes)
            return _due([*built, ContextFailed("no prompt"), StartDenied("no", ())])
        case S.AWAITING_APPROVAL | S.ACTING:
            return _about_tools(facts, sizes)
        case _:
            return _offers(facts.settings, facts.in_call)[state]


def abstraction(state: StrEnum, facts: RunFacts) -> RunFacts:
    """Facts that stand for these, field by field.

    * ``step`` is only compared with itself plus one, and ``calls`` names calls: steps are held at 0; calls are counted, since
      their number is claimed to be bounded.
    * ``context_tokens``, ``silent`` and ``verdict`` are asked by no question (questions ask the event) and read by no effect.
    * ``worked_us`` is asked by no question, and read for what is left of a time that has no end here: it is held at 0.
    * ``model_calls``, ``tokens`` and ``cost_microusd`` are compared with their limits alone (calls also with one below it),
      and only grow: without a limit they are held at 0, with one they stop there. ``tool_calls`` likewise.
    * ``exchanges`` are compared with ``summarize_after_exchanges`` alone; above it more are not told apart.
    * ``last_calls`` is compared with the calls of the next reply: these are the same or others. Without a limit on identical
      calls neither it nor ``repeated`` is asked for.
    * ``children`` are asked about while tools run; elsewhere an end that was counted may be counted again here.
    * ``tools`` of which all are settled are asked by no question and released by no effect: no calls stand for them.
    * In a final state every event is ignored without a question: the reason is all that is kept.
    """
    if state in RUN.final:
        return RunFacts(stop_reason=facts.stop_reason, budget=facts.budget)
    if state in NOT_ADMITTED:
        return facts
    limits = facts.settings
    settled = all(call.phase is CallPhase.SETTLED for call in facts.tools)
    return replace(
        facts,
        step=0,
        context_tokens=0,
        silent=False,
        verdict=None,
        worked_us=0,
        exchanges=_up_to(facts.exchanges, limits.summarize_after_exchanges + 1 if limits.summarize_after_exchanges else None),
        tools=() if settled else facts.tools,
        children=facts.children if RunState(state) is S.ACTING else (),
        repeated=facts.repeated if limits.max_identical_calls else 0,
        last_calls=SAME_CALLS if facts.last_calls and limits.max_identical_calls else "",
        model_calls=_up_to(facts.model_calls, limits.max_model_calls),
        tool_calls=_up_to(facts.tool_calls, limits.max_tool_calls),
        tokens=_up_to(facts.tokens, limits.max_total_tokens),
        cost_microusd=_up_to(facts.cost_microusd, limits.max_cost_microusd),
    )


def _up_to(count: int, limit: int | None) -> int:
    return 0 if limit is None else min(count, limit)
