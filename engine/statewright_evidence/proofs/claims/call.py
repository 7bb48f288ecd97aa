"""What is claimed of the call table."""

from __future__ import annotations

from statewright_evidence.proofs.alphabets.call import BOUNDS, abstraction, alphabet
from statewright_evidence.proofs.proof import Proof
from statewright_evidence.proofs.properties import Property
from statewright_evidence.proofs.table_claims import each_row, given, stop_ends
from statewright_evidence.proofs.table_model import ModelState
from statewright_states.call.commands import AbortRequest, ReportCall, SendRequest
from statewright_states.call.events import StepDeadline
from statewright_states.call.facts import CallFacts
from statewright_states.call.table import CALL
from statewright_states.form.row import Event
from statewright_states.form.table import Taken
from statewright_states.words.vocabulary import CancelRequested

Before = ModelState[CallFacts]
Decided = Taken[CallFacts]


def _passes_a_bound(before: Before, event: Event, taken: Decided) -> str | None:
    facts = taken.facts
    most = min(facts.max_attempts * (facts.fallbacks + 1), facts.max_requests)
    if facts.attempts > most:
        return f"attempt {facts.attempts}, and {most} are allowed"
    if facts.attempt > facts.max_attempts:
        return f"attempt {facts.attempt} at one model, and {facts.max_attempts} are allowed"
    return f"model {facts.model_index}, and there are {facts.fallbacks + 1}" if facts.model_index > facts.fallbacks else None


def _shares_a_number(before: Before, event: Event, taken: Decided) -> str | None:
    numbers = [command.send for command in taken.commands if isinstance(command, SendRequest)]
    expected = list(range(before.facts.send + 1, before.facts.send + 1 + len(numbers)))
    if numbers != expected or taken.facts.send != before.facts.send + len(numbers):
        return f"requests {numbers} are sent after number {before.facts.send}"
    return None


def _sends_after_a_stop(before: Before, event: Event, taken: Decided) -> str | None:
    return "a request is sent after a stop" if taken.facts.stop and given(taken, SendRequest) else None


def _reports_otherwise(before: Before, event: Event, taken: Decided) -> str | None:
    """A cancelled call reports to nobody: the run that asked is over."""
    wanted = int(taken.to in CALL.final and not isinstance(event, CancelRequested))
    count = len(given(taken, ReportCall))
    return f"{count} reports instead of {wanted}" if count != wanted else None


def _goes_on(before: Before, event: Event, taken: Decided) -> str | None:
    if taken.to not in CALL.final:
        return f"it goes on as {taken.to}"
    return None if given(taken, AbortRequest) else "the request on the wire is not given up"


CLAIMS: tuple[Property[Before], ...] = (
    each_row(
        "attempts-bounded",
        "attempts never pass max_attempts at a model, max_attempts times models in all, or max_requests",
        _passes_a_bound,
    ),
    each_row("requests-numbered", "each request on the wire has a number of its own, the next one", _shares_a_number),
    each_row("stop-sends-nothing", "after a stop no further request is sent", _sends_after_a_stop),
    stop_ends(CALL, "a stop leads to an end: what is due is enough, no timer and no person", lambda facts: facts.stop),
    each_row("cancel-ends", "a cancellation ends the call at once, from every state", _goes_on, on=CancelRequested),
    each_row("deadline-ends", "the step deadline ends the call at once, from every state", _goes_on, on=StepDeadline),
    each_row("reports-once", "whoever asked is told of the end exactly once, unless the call is cancelled", _reports_otherwise),
)
PROOF = Proof(CALL, alphabet, CLAIMS, BOUNDS, abstraction=abstraction)
"""What there is to prove of the call table."""
