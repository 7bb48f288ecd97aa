"""A decision explained: the event, the row with its reason, each question with its answer, and why no other row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.text import Text

from statewright.core.explanation import Explanation, OtherRow
from statewright.presentation.lines import BLANK, Line, Lines, labelled
from statewright.presentation.output import one_line
from statewright.presentation.values import data_in_words, value_in_words

NOTHING: tuple[object, ...] = (None, "", [], {})
NO_MESSAGES: Mapping[str, str] = {}


def decision_pane(found: Explanation, messages: Mapping[str, str] = NO_MESSAGES) -> Lines:
    """What was decided: the event with its data, the state, the row with its reason, what it serves, the commands.

    ``messages`` maps fields of the event to what the message says that they name, in brief.
    """
    return Lines(_decision(found, messages))


def questions_pane(found: Explanation) -> Lines:
    """The questions that were asked, those first that what decided demands, each with its answer."""
    return Lines(_questions(found))


def others_pane(found: Explanation) -> Lines:
    """Why not: the other rows of the same state and event, each with the answers that it would have needed."""
    return Lines(_others(found))


def explanation_pane(found: Explanation, messages: Mapping[str, str] = NO_MESSAGES) -> Lines:
    """All of it: the decision, the questions, the other rows."""
    blank = Lines([BLANK])
    return decision_pane(found, messages) + blank + questions_pane(found) + blank + others_pane(found)


def _decision(found: Explanation, messages: Mapping[str, str]) -> Iterator[Line]:
    yield labelled("event", Text.assemble((one_line(found.event), "bold"), one_line(f" at {found.instance}")))
    for name, value in found.data.items():
        if value not in NOTHING:
            yield labelled("", Text(f"{one_line(name)}: {messages.get(name) or value_in_words(value)}"), 2)
    if found.cause:
        by = f", given by {found.given_by}" if found.given_by else ""
        yield labelled("led to by", Text(one_line(f"command {found.cause}{by}")))
    yield labelled("state", Text(one_line(found.state)))
    yield outcome_line(found)
    for identity, text in found.requirements.items():
        yield labelled("serves", Text(one_line(f"{identity}: {text}" if text else identity)))
    for given in found.commands:
        yield labelled("command", Text(one_line(f"{given.id} {given.command}  {data_in_words(given.data)}".rstrip())))
    yield labelled("table", Text(one_line(found.decided_by), style="dim"))


def outcome_line(found: Explanation) -> Line:
    """What decided, where to, and its reason; or that the event was ignored or refused."""
    reason = one_line(f": {found.why}" if found.why else "")
    if found.outcome == "refused":
        return labelled("refused", Text(one_line(found.why), style="bold red"))
    if found.outcome == "ignored":
        return labelled("ignored", Text.assemble((one_line(found.id or ""), "bold cyan"), f"{reason}; nothing changed"))
    to = "stays" if found.to == found.state else f"to {found.to}"
    return labelled("row", Text.assemble((one_line(found.id or ""), "bold cyan"), one_line(f", {to}{reason}")))


def _questions(found: Explanation) -> Iterator[Line]:
    if not found.asked:
        yield labelled("asked", Text("nothing: this event means the same here, whatever the facts are"))
    for decisive, label in ((True, "because"), (False, "also asked")):
        for at, question in enumerate(asked for asked in found.asked if asked.decisive is decisive):
            text = f"{question.name}: {question.text}" if question.text else question.name
            answer = (one_line(question.answer), "bold" if decisive else "")
            said = Text.assemble(f"{one_line(text)}  ", answer, style="" if decisive else "dim")
            yield labelled("" if at else label, said, 2)


def _others(found: Explanation) -> Iterator[Line]:
    if not found.others:
        yield labelled("why not", Text(one_line(f"nothing else is declared for {found.event} in {found.state}")))
    for at, other in enumerate(found.others):
        what = "ignores" if other.to is None else "stays" if other.to == found.state else f"to {other.to}"
        stated = Text.assemble((one_line(other.id), "cyan"), one_line(f", {what}: {other.why}"))
        yield labelled("" if at else "why not", stated, 2)
        yield labelled("", Text(one_line(_needed(other)), style="yellow"), 2, shift=2)


def _needed(other: OtherRow) -> str:
    if not other.unmet:
        return "it would fit too; an ignore goes before it"
    return "needs " + "; ".join(f"{each.question}: {' or '.join(each.needed)} (was {each.was})" for each in other.unmet)
