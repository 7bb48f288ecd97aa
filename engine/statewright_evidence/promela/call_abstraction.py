"""The call machine's data in small: attempts, requests, the model in turn, and the limits that were set for them.

Left out: texts, times, and the number of each request; whether a result belongs to the request on the wire is nature's choice.
"""

from __future__ import annotations

from statewright_evidence.promela.abstraction import Abstraction, Choice, Happening, Variable, answer_names
from statewright_evidence.proofs.properties import Kind
from statewright_states.call.events import (
    AttemptFailed,
    AttemptReplied,
    BackoffElapsed,
    CallRequested,
    ReplyBegan,
    StepDeadline,
)
from statewright_states.call.facts import CallState
from statewright_states.call.table import CALL, LIVE, ON_THE_WIRE
from statewright_states.words.vocabulary import CancelRequested, Resumed, StopRequested

S = CallState
DUE, TIMER, MAYBE = Kind.DUE, Kind.TIMER, Kind.MAYBE
BEGUN = "begun"
CURRENT = (Choice("current", first=1, last="1"),)
STALE = (Choice("current", first=0, last="0"),)
FAULT = (Choice("fault", last="fault_blocked"),)

VARIABLES = (
    Variable("begun", "whether the request was made"),
    Variable("max_attempts", "the most attempts with one model", last="MAX_ATTEMPTS"),
    Variable("fallbacks", "how many other models there are", last="MAX_FALLBACKS"),
    Variable("max_requests", "the most requests to all models together", last="MAX_REQUESTS"),
    Variable("attempt", "attempts with this model", last="max_attempts"),
    Variable("attempts", "requests to all models together", last="max_requests"),
    Variable("model_index", "which model is in turn", last="fallbacks"),
    Variable("stop", "whether a stop was asked for"),
)
LIMITS = (
    Choice("attempts_allowed", first=1, last="MAX_ATTEMPTS"),
    Choice("models_besides", last="MAX_FALLBACKS"),
    Choice("requests_allowed", first=1, last="MAX_REQUESTS"),
)
HAPPENINGS = (
    Happening(
        CallRequested,
        DUE,
        (S.SENDING,),
        when="not begun",
        choices=LIMITS,
        then=("max_attempts = attempts_allowed", "fallbacks = models_besides", "max_requests = requests_allowed"),
    ),
    Happening(AttemptReplied, DUE, ON_THE_WIRE, when=BEGUN, about=CURRENT),
    Happening(AttemptFailed, DUE, ON_THE_WIRE, when=BEGUN, about=CURRENT, choices=FAULT),
    Happening(BackoffElapsed, DUE, (S.BACKING_OFF,)),
    Happening(StepDeadline, TIMER, LIVE, when=BEGUN, ends=True),
    # that a reply begins is only observed: not counted on, so that taking up again and again is no way to an end
    Happening(ReplyBegan, MAYBE, (S.SENDING,), when=BEGUN, about=CURRENT),
    Happening(ReplyBegan, MAYBE, LIVE, when=BEGUN, about=STALE),
    Happening(AttemptReplied, MAYBE, LIVE, when=BEGUN, about=STALE),
    Happening(AttemptFailed, MAYBE, LIVE, when=BEGUN, about=STALE, choices=FAULT),
    Happening(StopRequested, MAYBE, LIVE, when=BEGUN, then=("stop = 1",)),
    Happening(CancelRequested, MAYBE, LIVE, when=BEGUN, ends=True),
    Happening(Resumed, MAYBE, LIVE, when=BEGUN, then=("stop = 0",)),
)
CALL_ABSTRACTION = Abstraction(
    bounds={"MAX_ATTEMPTS": 3, "MAX_FALLBACKS": 2, "MAX_REQUESTS": 9},
    constants=answer_names(CALL.declared),
    variables=VARIABLES,
    happenings=HAPPENINGS,
    questions={
        "stopping": "stop",
        "attempts_left": "attempt < max_attempts",
        "fallback_left": "model_index < fallbacks",
        "requests_left": "attempts < max_requests",
    },
    open_questions=frozenset(),
    effects={
        "send": ("begun = 1", "attempt = attempt + 1", "attempts = attempts + 1"),
        "switch_model": ("model_index = model_index + 1", "attempt = 1", "attempts = attempts + 1"),
    },
    without_effect=frozenset(("watch_step_deadline", "send_again", "back_off")),
)
