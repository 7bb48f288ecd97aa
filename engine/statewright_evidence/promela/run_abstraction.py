"""The run machine's data in small: what ``RunFacts`` keeps about limits, marks, and two tool calls.

Left out, and its questions left open: tokens, money, the messages' size, which settings are on; so those settings are covered
at once. Not covered: limits above the bounds (the step limit is any up to its bound, the other three are their bounds), no
limit of identical calls, and replies with more than two tool calls. A tool call is ``GONE`` once it is settled. When an event
can come is said here by hand.
"""

from __future__ import annotations

from statewright_evidence.promela.abstraction import Abstraction, Choice, Happening, Variable, answer_names
from statewright_evidence.promela.free_model import declaration_of
from statewright_evidence.proofs.properties import Kind
from statewright_states.run.events import (
    CallDecided,
    CallFailed,
    CallTimedOut,
    CompactionPlanned,
    ContextBuilt,
    ContextFailed,
    EngineFailed,
    EstimatorFailed,
    LaneGranted,
    MessageUnreadable,
    OutcomeStated,
    ReplyReceived,
    RunAdmitted,
    RunDeadline,
    StartDenied,
    SummaryFailed,
    SummaryReady,
    ToolOutcomeUnknown,
    ToolSettled,
    VerdictReached,
)
from statewright_states.run.facts import RunState
from statewright_states.run.table import LIVE, RUN
from statewright_states.words.vocabulary import CancelRequested, CodeChangeAccepted, Resumed, StopRequested

S = RunState
DUE, TIMER, PERSON, MAYBE = Kind
PHASES = ("GONE", "WAITING", "ASKED", "DECIDED", "LAUNCHED", "UNKNOWN")
"""Where a tool call stands; the numbers of these names are their places here."""

BOUNDS = {"MAX_STEPS": 4, "MAX_CONTINUATIONS": 2, "MAX_RETRIES": 2, "MAX_SAME": 2}

VARIABLES = (
    Variable("attempt", "which attempt at the task this is", first=1, last="MAX_RETRIES + 1"),
    Variable("max_steps", "the step limit, chosen with the admission", last="MAX_STEPS"),
    Variable("attempt_steps", "model calls for generation in this attempt", last="max_steps"),
    Variable("continuations", "how often a reply that was cut off was continued", last="MAX_CONTINUATIONS"),
    Variable("repeated", "how often in a row the same calls were asked for", last="MAX_SAME + 1"),
    Variable("nudged", "whether the model was reminded of an empty reply"),
    Variable("continuing", "whether the rest of a text is awaited"),
    Variable("compacted", "whether this step has been compacted"),
    Variable("overflowed", "whether this step's call did not fit"),
    Variable("stop", "whether a stop was asked for"),
    Variable("in_call", "whether the model is being asked"),
    Variable("tool1", "where the first call of the reply stands", last="UNKNOWN"),
    Variable("tool2", "where the second one stands", last="UNKNOWN"),
)

PHASE = "(tool1 if tool == 1 else tool2)"
OTHER = "(tool2 if tool == 1 else tool1)"
WHICH = Choice("tool", first=1, last="2")
"""Which of the two the event is about; 0 is any other."""
WIDE = Choice("wide", first=1, last="2")
"""How many calls of a reply may run at the same time."""
OF_TOOLS = "kind == kind_tools"


def _put(phase: str) -> tuple[str, str]:
    """The call that the event is about is in this phase now."""
    return f"tool1 = {phase} if tool == 1 else tool1", f"tool2 = {phase} if tool == 2 else tool2"


def _each(phases: tuple[str, ...], to: str) -> tuple[str, ...]:
    """Each call in one of these phases is in another one now."""
    return tuple(
        f"{tool} = {to} if {' or '.join(f'{tool} == {phase}' for phase in phases)} else {tool}" for tool in ("tool1", "tool2")
    )


def _launched(tool: str, other: str) -> str:
    """A call whose turn has not come is launched, if another one may run beside those that are."""
    ready = f"({tool} == WAITING or {tool} == DECIDED)"
    return f"{tool} = LAUNCHED if {ready} and ({other} != LAUNCHED or wide == 2) else {tool}"


OVER = ("in_call = 0",)
HAPPENINGS = (
    # -- what comes by itself ----------------------------------------------------------------------------------------
    Happening(RunAdmitted, DUE, (S.ACCEPTED,), choices=(Choice("limit", last="MAX_STEPS"),), then=("max_steps = limit",)),
    Happening(LaneGranted, DUE, (S.QUEUED,)),
    Happening(ContextBuilt, DUE, (S.PREPARING,)),
    Happening(ContextFailed, DUE, (S.PREPARING,)),
    Happening(StartDenied, DUE, (S.PREPARING,)),
    Happening(
        ReplyReceived,
        DUE,
        (S.GENERATING, S.CLOSING),
        when="in_call",
        choices=(
            Choice("kind", last="kind_silent"),
            Choice("calls", first=1, last="2", matters="kind == kind_tools or kind == kind_tools_cut"),
            Choice("same", matters=OF_TOOLS),
            Choice("wide", first=1, last="2", matters=OF_TOOLS),
        ),
        then=(
            *OVER,
            "continuing = 1 if kind == kind_length else (continuing if kind == kind_empty else 0)",
            f"tool1 = WAITING if {OF_TOOLS} or kind == kind_tools_cut else tool1",
            f"tool2 = WAITING if ({OF_TOOLS} or kind == kind_tools_cut) and calls == 2 else tool2",
            f"continuations = 0 if {OF_TOOLS} else continuations",
            f"repeated = (repeated + 1 if same else 1) if {OF_TOOLS} else repeated",
        ),
    ),
    Happening(
        CallFailed,
        DUE,
        (S.GENERATING, S.CLOSING),
        when="in_call",
        choices=(Choice("call_fault", last="call_fault_other"),),
        then=(*OVER, "overflowed = call_fault == call_fault_overflow"),
    ),
    Happening(CallTimedOut, TIMER, (S.GENERATING, S.CLOSING), when="in_call", then=OVER),
    Happening(ToolSettled, DUE, (S.ACTING,), when=f"{PHASE} == LAUNCHED", about=(WHICH,), choices=(WIDE,), then=_put("GONE")),
    Happening(CompactionPlanned, DUE, (S.COMPACTING,), when="not in_call", then=("compacted = 1",)),
    Happening(SummaryReady, DUE, (S.COMPACTING,), when="in_call", choices=(Choice("drops"),), then=(*OVER, "compacted = 1")),
    Happening(SummaryFailed, DUE, (S.COMPACTING,), when="in_call", choices=(Choice("drops"),), then=(*OVER, "compacted = 1")),
    Happening(VerdictReached, DUE, (S.EVALUATING,), when="in_call", then=OVER),
    Happening(RunDeadline, TIMER, LIVE, ends=True),
    # -- what people say ---------------------------------------------------------------------------------------------
    Happening(
        CallDecided,
        PERSON,
        (S.AWAITING_APPROVAL,),
        when=f"{PHASE} == ASKED",
        about=(WHICH,),
        choices=(WIDE,),
        then=_put("DECIDED"),
    ),
    Happening(OutcomeStated, PERSON, (S.ACTING,), when=f"{PHASE} == UNKNOWN", about=(WHICH,)),
    Happening(  # a person let the run go on after a lost outcome, and the call is settled
        ToolSettled, PERSON, (S.ACTING,), when=f"{PHASE} == UNKNOWN", about=(WHICH,), choices=(WIDE,), then=_put("GONE")
    ),
    # -- what comes or does not --------------------------------------------------------------------------------------
    Happening(StopRequested, MAYBE, LIVE, then=("stop = 1",)),
    Happening(CancelRequested, MAYBE, LIVE, ends=True),
    Happening(EngineFailed, MAYBE, LIVE, ends=True),
    Happening(EstimatorFailed, MAYBE, LIVE),
    Happening(CodeChangeAccepted, MAYBE, LIVE),
    Happening(MessageUnreadable, MAYBE, LIVE),
    Happening(OutcomeStated, MAYBE, LIVE, when=f"tool == 0 or {PHASE} != UNKNOWN", about=(Choice("tool", last="2"),)),
    Happening(Resumed, MAYBE, tuple(state for state in LIVE if state is not S.ACCEPTED), then=("stop = 0",)),
    Happening(ToolOutcomeUnknown, MAYBE, (S.ACTING,), when=f"{PHASE} == LAUNCHED", about=(WHICH,), then=_put("UNKNOWN")),
)

QUESTIONS = {
    "stopping": "stop",
    "steps_left": "attempt_steps < max_steps",
    "continuations_left": "continuations < MAX_CONTINUATIONS",
    "retries_left": "attempt <= MAX_RETRIES",
    "repeating": "repeating_fresh if not same or repeated < MAX_SAME else "
    "(repeating_again if repeated == MAX_SAME else repeating_goes_on)",
    "left": f"left_nothing if {OTHER} == GONE else (left_person if {OTHER} == UNKNOWN else left_calls)",
    "all_decided": f"{OTHER} != ASKED",
    "in_flight": "tool1 == LAUNCHED or tool2 == LAUNCHED",
    "awaited": f"tool != 0 and {PHASE} == UNKNOWN",
    "same_again": "overflowed and not drops",
}
OPEN = frozenset(
    [
        "evaluation",
        "full_evaluation",
        "may_close",
        "budget_left",
        "fits",
        "pressure",
        "remedy",
        "tools_affordable",
        "needs_person",
        "ends_run",
        "go_on",
        "may_decide",
        "verdict",
    ]
)

UNBEGUN = ("WAITING", "ASKED", "DECIDED")
EFFECTS = {
    "call_model": (
        "attempt_steps = attempt_steps if overflowed else attempt_steps + 1",
        "compacted = compacted and overflowed",
        "overflowed = 0",
        "in_call = 1",
    ),
    "judge": ("in_call = 1",),
    "summarise": ("in_call = 1",),
    "close": ("continuing = 0", "in_call = 1"),
    "continue_text": ("continuations = continuations + 1",),
    "ask_again": ("continuations = continuations + 1",),
    "nudge": ("nudged = 1",),
    "nudge_to_continue": ("nudged = 1",),
    "ask_about_tools": _each(("WAITING",), "ASKED"),
    "launch_tools": (_launched("tool1", "tool2"), _launched("tool2", "tool1")),
    "answer_repeated": _each(("WAITING",), "LAUNCHED"),
    "skip_calls(stopped)": _each(UNBEGUN, "GONE"),
    "skip_calls(cut off)": _each(UNBEGUN, "GONE"),
    "skip_calls(run ended)": _each(UNBEGUN, "GONE"),
    "build_correction": (
        "attempt = attempt + 1",
        *(f"{name} = 0" for name in ("attempt_steps", "continuations", "nudged", "continuing", "compacted", "repeated")),
        "tool1 = GONE",
        "tool2 = GONE",
    ),
}
WITHOUT_EFFECT = frozenset(
    [
        "join_lane",
        "watch_deadline",
        "build_context",
        "plan_compaction",
        "replace_old_exchanges",
        "drop_old_exchanges",
        "stop_call",
        "stop_tools",
        "ask_outcome",
        "ask_outcomes_again",
        "withdraw_question",
        "settle_unknown",
    ]
)

RUN_ABSTRACTION = Abstraction(
    bounds=BOUNDS,
    constants={**{phase: number for number, phase in enumerate(PHASES)}, **answer_names(declaration_of(RUN))},
    variables=VARIABLES,
    happenings=HAPPENINGS,
    questions=QUESTIONS,
    open_questions=OPEN,
    effects=EFFECTS,
    without_effect=WITHOUT_EFFECT,
)
