"""The timeline's words for what happens, and durations."""

from __future__ import annotations

import pytest

from statewright.config.settings import RetryConfig
from statewright.presentation.event_words import seconds
from statewright.presentation.timeline import TimelineWriter
from statewright.runtime.observers import RunEvent
from statewright_states.call.events import (
    AttemptFailed,
    AttemptReplied,
    BackoffElapsed,
    CallRequested,
    ReplyBegan,
    StepDeadline,
)
from statewright_states.errors import Fault
from statewright_states.form.row import Event
from statewright_states.plan_build.events import PlanEnded
from statewright_states.plan_build.facts import ChildEnd, Ending
from statewright_states.run.events import (
    CallFailed,
    CallTimedOut,
    CompactionPlanned,
    ContextBuilt,
    ContextFailed,
    EstimatorFailed,
    OutcomeStated,
    ReplyReceived,
    RunDeadline,
    SummaryFailed,
    SummaryReady,
    ToolOutcomeUnknown,
    VerdictReached,
)
from statewright_states.run.facts import CallFault, CutOff, Finish
from statewright_states.tool.events import (
    ApprovalGiven,
    ToolAssessed,
    ToolFailed,
    ToolRepeated,
    ToolRequested,
    ToolResumed,
    ToolReturned,
    ToolStopped,
)
from statewright_states.tool.facts import Assessment
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import (
    CancelRequested,
    EngineFailed,
    Purpose,
    Resumed,
    StopReason,
    StopRequested,
    ToolRequest,
)

COUNTS = dict.fromkeys(("model_calls", "tool_calls", "input_tokens", "output_tokens", "cost_microusd"), 0)
PLANNED = ChildEnd("t.plan", Ending.PARTIAL, StopReason.MAX_STEPS, "", "", True, None, steps=3, **COUNTS)
ASKED = ToolRequest("tool-1.1", "call_1", "po\x1bst", "sha256:0", ToolEffect.IRREVERSIBLE, True, False)
ATTEMPT = AttemptFailed(1, Fault.TRANSIENT, "ServerFailed", "overloaded\nand more")


def entry(
    event: Event, instance: str = "run", *, at_s: float = 0.0, to: str = "acting", row: str = "X-1", note: str = ""
) -> RunEvent:
    return RunEvent("run-1", 1, int(at_s * 1_000_000), instance.partition("-")[0], instance, event, row, "here", to, note)


def test_an_attempt_whose_request_was_sent_once_more_says_so() -> None:
    failed = AttemptFailed(1, Fault.TRANSIENT, "ConnectionFailed", "it broke", resent=1)
    told = "sent 1 time more: its kept connection was closed"
    assert told in words(entry(failed, "call-1"))
    assert told in words(entry(AttemptReplied(1, "", None, None, "stop", 1, 1, 0, 0, 0, resent=1), "call-1"))
    assert "sent" not in words(entry(ATTEMPT, "call-1"))


def words(*entries: RunEvent) -> str:
    """What is said of the last one."""
    timeline = TimelineWriter(RetryConfig(waits_s=(1, 2), max_wait_s=5))
    return [timeline.follow(entry).words for entry in entries][-1]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (VerdictReached(True, True, 0.9, (), "", 1, 1, 0), "judged completed, confidence 0.9"),
        (
            VerdictReached(True, False, 0.5, ("no sum", "no date"), "", 1, 1, 0),
            "judged not completed, confidence 0.5; no sum; no date",
        ),
        (VerdictReached(False, False, 0.0, (), "", 1, 1, 0), "the judge could not be asked"),
        (CompactionPlanned(3, 1, 1, 10, "b", "a"), "3 messages could be summarised, 1 would have to be dropped"),
        (ContextBuilt(1, ("sha256:0",), 7, ("this", "that")), "1 message, about 7 tokens; this; that"),
        (EstimatorFailed("Broken: no"), "Broken: no"),
        (SummaryReady("sha256:0", 1, 10, 1, 1, 0), "old exchanges are summarised"),
        (SummaryFailed("no summary", 1, 10, 1), "no summary"),
        (CallFailed(CallFault.OTHER, "no connection\n  where: there", 4), "no connection"),
        (CallTimedOut(1), "the model did not reply in time"),
        (ContextFailed("no context"), "no context"),
        (PlanEnded(PLANNED), "plan: partial, max_steps, 3 steps"),
        (EngineFailed("a defect"), "a defect"),
        (OutcomeStated("tool-1.1", True, "Ada", "I looked"), "Ada says: go on. I looked"),
        (ToolOutcomeUnknown("tool-1.1", 10), "tool-1.1 began, and nobody knows how it ended"),
        (StopRequested(), "stop requested"),
        (CancelRequested(), "cancelled"),
        (RunDeadline(), "the time for the run is up"),
        (Resumed(2), "taken up again"),
    ],
)
def test_what_happens_to_a_run_is_said_in_words(event: Event, said: str) -> None:
    assert words(entry(event)) == said


@pytest.mark.parametrize(
    ("finish", "cut_off", "silent", "said"),
    [
        (Finish.LENGTH, CutOff.STATED, False, "is cut off by its length"),
        (Finish.STOP, CutOff.AT_CAP, False, "is cut off: it has as many tokens as it may have"),
        (Finish.TOOL_CALLS, CutOff.IN_ARGUMENTS, False, "is cut off in the middle of a call's arguments"),
        (Finish.STOP, CutOff.NO, True, "has nothing to say"),
        (Finish.STOP, CutOff.NO, False, "answers"),
    ],
)
def test_what_a_reply_is_taken_for_is_said_in_words(finish: Finish, cut_off: CutOff, *, silent: bool, said: str) -> None:
    assert words(entry(ReplyReceived(finish, True, "sha256:0", (), "", 1, 1, 0, 1, cut_off, silent))) == said


def test_the_waits_between_attempts_are_the_configured_ones_or_what_the_service_asks_for() -> None:
    failed = entry(ATTEMPT, "call-1", to="backing_off")
    asked = entry(AttemptFailed(1, Fault.TRANSIENT, "RateLimited", "slow down", retry_after_s=3), "call-1", to="backing_off")
    assert words(failed) == "ServerFailed: overloaded, again in about 1 s"
    assert words(failed, failed) == words(failed, failed, failed) == "ServerFailed: overloaded, again in about 2 s"
    assert words(asked) == "RateLimited: slow down, again in about 3 s"
    assert words(entry(ATTEMPT, "call-1", to="sending")) == "ServerFailed: overloaded, now the next model"
    assert words(entry(ATTEMPT, "call-1", to="failed")) == "ServerFailed: overloaded"


def test_what_happens_to_a_call_is_said_in_words() -> None:
    requested = entry(CallRequested("call-1", Purpose.SUMMARY, 1, 4, 4, 0, "sha256:0", 3), "call-1")
    assert words(requested) == "summary: 3 messages to the model"
    assert words(requested, entry(StepDeadline(), "call-1", at_s=2)) == "no reply within the step's time (2.0 s)"
    assert words(entry(BackoffElapsed(1), "call-1")) == "sending again"
    assert words(entry(Resumed(2), "call-1")) == "taken up again"
    assert words(entry(ReplyBegan(1), "call-1")) == ""


def test_what_happens_to_a_tool_is_said_with_its_name_and_duration() -> None:
    requested = entry(ToolRequested(ASKED, True), "tool-1.1", to="requested")
    running = entry(ToolResumed(2, "sha256:0"), "tool-1.1", at_s=1, to="running")
    assert words(requested) == "irreversible, call_1"
    assert words(requested, running) == "taken up again"
    assert words(running, entry(ToolFailed("boom", "sha256:0"), "tool-1.1", at_s=2.5, to="failed")) == "1.5 s, boom"
    assert words(running, entry(ToolReturned(None, "sha256:0"), "tool-1.1", at_s=1.02, to="returned")) == "20 ms"
    assert words(running, entry(ToolStopped("sha256:0"), "tool-1.1", at_s=2, to="running")).endswith("stop requested")
    repeated = words(requested, entry(ToolRepeated("tool-1.1", "sha256:0", ASKED), "tool-2.1", to="repeated"))
    assert repeated == "made again; the result of tool-1.1 stands for it"
    refused = ToolAssessed(Assessment.FAULTY, "sha256:0", "sha256:0", reason="b: is not an argument of this tool")
    assert words(requested, entry(refused, "tool-1.1", to="failed")) == "b: is not an argument of this tool"
    approved = ApprovalGiven(True, "Ada", "approved", "", "sha256:0")
    assert words(entry(approved, "tool-1.1")) == "approved by Ada"
    timeline = TimelineWriter(RetryConfig())
    timeline.follow(requested)
    timeline.follow(running)
    assert timeline.running == {"tool-1.1": "po\\x1bst"}
    assert (
        "po\\x1bst  20 ms" in timeline.follow(entry(ToolReturned(None, ""), "tool-1.1", at_s=1.02, to="returned")).text().plain
    )
    assert timeline.running == {}


def test_late_and_refused_events_are_told_as_such() -> None:
    late = TimelineWriter(RetryConfig()).follow(entry(StopRequested(), row="", note="ignored (RUN-90): the run has ended"))
    refused = TimelineWriter(RetryConfig()).follow(entry(StopRequested(), row="", note="refused: no row"))
    assert (late.words, late.telling) == ("ignored (RUN-90): the run has ended", False)
    assert (refused.words, refused.telling) == ("refused: no row", True)


@pytest.mark.parametrize(("value", "said"), [(0.0124, "12 ms"), (3.44, "3.4 s"), (125.2, "2 min 05 s")])
def test_durations_have_as_many_digits_as_say_something(value: float, said: str) -> None:
    assert seconds(value) == said
