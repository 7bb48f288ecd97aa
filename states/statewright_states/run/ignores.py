"""The ignores of the run table: events that come late, or mean nothing, and change nothing."""

from __future__ import annotations

from statewright_states.form.row import Ignore
from statewright_states.run.commands import ENDS
from statewright_states.run.events import (
    ChildEnded,
    ContextBuilt,
    ContextFailed,
    LaneGranted,
    MessageUnreadable,
    OutcomeStated,
    RunDeadline,
    StartDenied,
)
from statewright_states.run.facts import RunFacts, RunState
from statewright_states.run.questions import awaited, counted_before, may_decide
from statewright_states.words.vocabulary import CancelRequested, EngineFailed, StopRequested

FINAL, LIVE = tuple(ENDS), tuple(state for state in RunState if state not in ENDS)
ELSEWHERE = tuple(state for state in RunState if state is not RunState.ACTING)
"""Where no tool runs."""

# fmt: off
IGNORES: tuple[Ignore[RunFacts], ...] = (
    Ignore("RUN-90", FINAL,    StopRequested,      req=("R-LATE-1",), why="the run has ended"),
    Ignore("RUN-91", FINAL,    CancelRequested,    req=("R-LATE-1",), why="the run has ended"),
    Ignore("RUN-92", FINAL,    RunDeadline,        req=("R-LATE-1",), why="the run has ended in time"),
    Ignore("RUN-93", FINAL,    ContextBuilt,       req=("R-LATE-1",), why="the run has ended while its context was built"),
    Ignore("RUN-94", FINAL,    ContextFailed,      req=("R-LATE-1",), why="the run has ended while its context was built"),
    Ignore("RUN-131", FINAL, StartDenied,     req=("R-LATE-1",), why="the run has ended while its guards were asked"),
    Ignore("RUN-95", FINAL,    LaneGranted,        req=("R-LATE-1",), why="the run has ended while it waited for its lane"),
    Ignore("RUN-96", FINAL,    EngineFailed,       req=("R-LATE-1",), why="the run has ended"),
    Ignore("RUN-97", FINAL,    OutcomeStated,      req=("R-LATE-1",), why="the run has ended; the statement came too late"),
    Ignore("RUN-98", LIVE,     OutcomeStated,      when=(awaited.no,), req=("R-LATE-1",), why="nobody is being asked about this call"),
    Ignore("RUN-100", LIVE,    OutcomeStated,      when=(awaited.yes, may_decide.no), req=("R-APPR-6",), why="not one of those who may say so: on record, and counted for nothing"),
    Ignore("RUN-101", tuple(RunState), MessageUnreadable, req=("R-APPR-9",), why="a message that says nothing the run understands decides nothing; it is kept"),
    Ignore("RUN-102", ELSEWHERE, ChildEnded,       req=("R-LATE-1",), why="the call whose tool had begun it was given up: it ended too late to be counted"),
    Ignore("RUN-103", RunState.ACTING, ChildEnded,         when=(counted_before.yes,), req=("R-CHILD-3",), why="its end is counted already: a run that is found again costs nothing again"),
)
# fmt: on
