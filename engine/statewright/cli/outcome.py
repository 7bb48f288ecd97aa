"""How a run ended, and what to type next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.presentation.answer import print_answer
from statewright.presentation.event_words import counted, seconds
from statewright.presentation.layout import arguments_in_brief, command_text, folded, print_folded
from statewright.presentation.output import one_line, print_json, printable, typed
from statewright.presentation.recorded import AnyState
from statewright.presentation.timeline import TONES
from statewright.runtime.decisions import progress
from statewright.views.state import PendingApproval
from statewright_states.frozen import dataclass
from statewright_states.words.approval import UNSIGNED
from statewright_states.words.messages import Usage
from statewright_states.words.vocabulary import Status

OF_STATUS: Mapping[Status, Exit] = {
    Status.SUCCESS: Exit.SUCCESS,
    Status.PARTIAL: Exit.PARTIAL,
    Status.FAILED: Exit.FAILED,
    Status.RUNNING: Exit.FAILED,
}

SHOWN_DIGITS = 12
"""How much of a digest is typed to say which call was looked at."""


@dataclass(frozen=True, slots=True)
class Again:
    """What has to be typed after a run id, so that the same journal and the same equipment are used."""

    journal: str = ""
    equipment: str = ""


def exit_of(state: AnyState) -> Exit:
    """The exit code of a run as it stands."""
    return Exit.WAITING if state.waiting else OF_STATUS[state.status]


def print_outcome(state: AnyState, *, as_json: bool) -> bool:
    """Print the outcome on stdout: the document, or the answer where the model gave one. Tells whether it printed any.

    A failed run has no answer. Where the model said nothing, the reason is a remark and not an answer either.
    """
    if as_json:
        print_json(state.to_output_dict())
        return True
    if state.status in (Status.SUCCESS, Status.PARTIAL) and state.final_output and model_spoke(state):
        print_answer(state.final_output)
        return True
    return False


def model_spoke(state: AnyState) -> bool:
    """Whether the transcript holds any text of the model."""
    return any(message["role"] == "assistant" and message["content"] for message in state.messages)


def remark_outcome(console: Console, state: AnyState, again: Again) -> None:
    """The outcome in a few lines on stderr, with what to type next."""
    print_folded(console, summary(state), 2)
    if state.error and state.status is not Status.SUCCESS:
        print_folded(console, error_text(state.error), 2)
    elif state.final_output and not model_spoke(state):
        print_folded(console, Text(f"  {state.final_output}"), 2)
    for line in what_next(console, state, again):
        console.print(line)


def summary(state: AnyState, word: str = "") -> Text:
    """Status, stop reason and what it took; ``word`` says how it stands, where more is known than the state."""
    word = word or ("waiting" if state.waiting else state.status.value)
    reason = state.stop_reason.value if state.stop_reason else "a person has to decide" if state.waiting else "not ended"
    judged = {True: "judged good", False: "judged not good", None: ""}[state.verified]
    facts = [
        reason,
        judged,
        "no reply wanted" if state.silent else "",
        f"interfered with {counted(state.interference, 'time')}" if state.interference else "",
        state.budget_spent or "",
        counted(state.steps_taken, "step"),
        seconds(state.duration_s),
        _tokens(state.usage),
        f"{state.cost_usd:.6f} USD" if state.cost_microusd else "",
        state.run_id,
    ]
    return Text.assemble((word, TONES.get(word, "")), ("  " + one_line(" · ".join(fact for fact in facts if fact)), ""))


def _tokens(usage: Usage) -> str:
    """How many tokens were used, and whether that is an estimate."""
    if not usage.estimated_tokens:
        return counted(usage.total_tokens, "token")
    if usage.estimated_tokens == usage.total_tokens:
        return f"about {counted(usage.total_tokens, 'token')}, estimated"
    return f"{counted(usage.total_tokens, 'token')}, {usage.estimated_tokens} of them estimated"


def error_text(error: str) -> Text:
    """What went wrong, as a remark."""
    return Text("\n".join(f"  {line}" for line in printable(error).splitlines()), style="red")


def what_next(console: Console, state: AnyState, again: Again) -> Iterator[Text]:
    """The open questions with the commands that answer them, then what somebody may want to type next."""
    for pending in state.pending:
        yield from _how_to_decide(console, pending.run_id, pending, again)
    words = "then" if state.waiting else "go on" if state.status is Status.RUNNING else "look"
    command = f"show {typed(state.run_id)}" if words == "look" else f"resume {typed(state.run_id)}{again.equipment}"
    yield command_text(console, f"{command}{again.journal}", words)


def _how_to_decide(console: Console, run_id: str, pending: PendingApproval, again: Again) -> list[Text]:
    question = "began, and its outcome is lost: may the run go on?" if pending.outcome_lost else "may it run?"
    arguments = arguments_in_brief(pending.arguments)
    target = f"{typed(run_id)} {typed(pending.call_id)}{again.journal} --digest {pending.digest[:SHOWN_DIGITS]}"
    plain = pending.outcome_lost or pending.sign_off == UNSIGNED
    told = [
        Text.assemble("  ", (one_line(pending.name), "bold"), f"  {arguments}  ", question),
        *([Text(f"  {one_line(pending.remark)}")] if pending.remark else []),
        *([] if plain else [Text(f"  {one_line(progress(pending.sign_off))}")]),
    ]
    return [
        *(folded(line, console.width, 4) if console.is_terminal else line for line in told),
        command_text(console, f"approve {target}", "yes"),
        command_text(console, f"reject {target}", "no"),
    ]
