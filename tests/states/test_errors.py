"""The error tree: who is at fault, what happened, where, and the cure."""

from __future__ import annotations

import re

import pytest

from statewright_states import errors
from statewright_states.errors import (
    AttemptTimedOut,
    AuthenticationFailed,
    CallerError,
    ConfigurationError,
    ConnectionFailed,
    ContextOverflow,
    DeclarationError,
    Fault,
    InternalError,
    JournalBusy,
    JournalDamaged,
    JournalError,
    MalformedReply,
    ModelNotFound,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    ReplayDiverged,
    RequestRejected,
    ServerFailed,
    StatewrightError,
    StreamCutShort,
)

ALL = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, StatewrightError)]


def test_a_message_says_what_where_and_the_cure_on_lines_of_their_own() -> None:
    error = ConfigurationError("max_steps is -1", where="option --max-steps", cure="give 0 or more")
    assert str(error) == "max_steps is -1\n  where: option --max-steps\n  cure:  give 0 or more"
    assert (error.what, error.where, error.cure) == ("max_steps is -1", "option --max-steps", "give 0 or more")


def test_what_is_not_known_is_left_out() -> None:
    assert str(CallerError("no")) == "no"
    assert str(JournalError("no", cure="yes")) == "no\n  cure:  yes"


def test_the_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    drawn: set[tuple[str, str]] = set()
    above = {0: "Exception"}
    for branch, name in re.findall(r"^    ([│ ├└─]*)([A-Z]\w+)", errors.__doc__ or "", re.MULTILINE):
        depth = len(branch) // 4
        above[depth + 1] = name
        drawn.add((name, above[depth]))
    assert drawn == {(kind.__name__, kind.__base__.__name__) for kind in ALL if kind.__base__}


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_says_in_its_docstring_what_it_means(kind: type[StatewrightError]) -> None:
    assert (kind.__doc__ or "").strip()


@pytest.mark.parametrize(
    "kind, fault",
    (
        (ProviderError, Fault.TRANSIENT),
        (ConnectionFailed, Fault.TRANSIENT),
        (AttemptTimedOut, Fault.TRANSIENT),
        (RateLimited, Fault.TRANSIENT),
        (ServerFailed, Fault.TRANSIENT),
        (StreamCutShort, Fault.TRANSIENT),
        (MalformedReply, Fault.TRANSIENT),
        (AuthenticationFailed, Fault.UNAVAILABLE),
        (QuotaExhausted, Fault.UNAVAILABLE),
        (ModelNotFound, Fault.UNAVAILABLE),
        (ContextOverflow, Fault.OVERFLOW),
        (RequestRejected, Fault.REJECTED),
    ),
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_providers_error_knows_what_may_be_done_next(kind: type[ProviderError], fault: Fault) -> None:
    error = kind("it failed", status_code=429, retry_after_s=1.5)
    assert error.fault is fault
    assert (error.status_code, error.retry_after_s) == (429, 1.5)
    assert (kind("it failed").status_code, kind("it failed").retry_after_s) == (None, None)


def test_a_declaration_error_leads_with_its_rule() -> None:
    error = DeclarationError("no-gap", "nothing fires", where="table run", cure="add a row")
    assert error.rule == "no-gap"
    assert error.what == "no-gap: nothing fires"


def test_journal_errors_name_the_owner_or_the_entry() -> None:
    assert JournalBusy("taken", owner="host 7").owner == "host 7"
    assert JournalDamaged("changed", seq=3).seq == 3
    assert ReplayDiverged("another row", seq=4).seq == 4
    assert JournalDamaged("changed").seq is None


def test_a_defect_of_ours_asks_for_a_report_unless_it_knows_better() -> None:
    assert "please report it" in InternalError("impossible").cure
    assert InternalError("impossible", cure="restart").cure == "restart"
