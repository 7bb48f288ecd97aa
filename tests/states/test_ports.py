"""What ports hand over: plain values with the defaults that the contract names. And what the shared words mean."""

from __future__ import annotations

import pytest

from statewright_states.words.messages import Message
from statewright_states.words.ports import Batch, Lease, ModelRequest, PostedMessage, StoredEntry
from statewright_states.words.tool_effects import ConfirmMode, needs_person
from statewright_states.words.vocabulary import Purpose, Status, StopReason


def test_a_request_leaves_to_the_model_what_was_not_asked_for() -> None:
    request = ModelRequest((Message("user", "hello"),))
    assert (request.tools, request.stream, request.temperature, request.max_output_tokens) == ((), False, None, None)
    assert request.idle_timeout_s == 120.0


def test_a_batch_needs_no_blobs_and_consumes_nothing_unless_told() -> None:
    batch = Batch((StoredEntry(1, b"{}", "00"),), prev_hash="ff")
    assert batch.blobs == {}
    assert batch.consumed == ()
    assert batch.blobs is not Batch((), "").blobs


def test_leases_and_posted_messages_are_values() -> None:
    assert Lease("run-1", 2, "host 7") == Lease("run-1", 2, "host 7")
    assert PostedMessage(1, b"stop") != PostedMessage(2, b"stop")


@pytest.mark.parametrize(
    "mode, sensitive, wanted",
    (
        (ConfirmMode.YOLO, False, False),
        (ConfirmMode.YOLO, True, False),
        (ConfirmMode.CONFIRM_SENSITIVE, False, False),
        (ConfirmMode.CONFIRM_SENSITIVE, True, True),
        (ConfirmMode.CONFIRM_ALL, False, True),
        (ConfirmMode.CONFIRM_ALL, True, True),
    ),
)
def test_when_a_person_has_to_allow_a_call(mode: ConfirmMode, sensitive: bool, wanted: bool) -> None:
    assert needs_person(mode, sensitive) is wanted


def test_the_words_that_callers_see_are_the_contracts() -> None:
    assert set(Status) == {"running", "success", "partial", "failed"}
    assert set(Purpose) == {"generation", "summary", "evaluation", "closing"}
    promised = (
        "completed max_steps step_timeout run_timeout interrupted cancelled truncated blocked empty_reply incomplete repeating "
        "context_full budget_exceeded llm_error tool_outcome_unknown evaluation_failed approval_denied internal_error"
    )
    assert set(StopReason) == set(promised.split())
