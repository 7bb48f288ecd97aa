"""``why``: which row decided, on which answers, and what each other row would have needed."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.cli.options import NO_JOURNAL, OUTPUT, JournalOptions, RunName
from statewright.cli.runs import resolve_run
from statewright.core.explanation import Explanation, OtherRow
from statewright.core.run_timeline import RunTimeline
from statewright.presentation.layout import command_text, in_brief, print_folded
from statewright.presentation.output import answers, as_json, one_line, print_json, typed
from statewright_states.words.messages import Message
from statewright_states.words.ports import Journal

LABEL = 10
"""Columns of the label before what is said."""
MAX_DATA_CHARS = 400
NOTHING: tuple[object, ...] = (None, "", [], {})


def why(
    run: RunName,
    seq: int | None = None,
    /,
    *,
    journal: JournalOptions = NO_JOURNAL,
    json: Annotated[bool, Parameter(group=OUTPUT)] = False,
) -> Exit:
    """Explain a decision: the event, the row with its reason, each question with its answer, and why no other row.

    It is told from the record and from the tables that the run is pinned to, which stand in the record too.

    Parameters
    ----------
    seq
        The number of the decision, as `show` prints it (default: the one that ended the run, else the last).
    json
        Print the explanation as one JSON document.
    """
    found, messages, decisions = asyncio.run(_explained(journal.store(), run, seq))
    if json:
        print_json(asdict(found))
    else:
        _print(answers(), found, messages, decisions, journal)
    return Exit.SUCCESS


async def _explained(journal: Journal, named: str, seq: int | None) -> tuple[Explanation, dict[str, str], int]:
    """The explanation, the messages that its event names in brief, and how many decisions the run has."""
    async with aclosing(journal):
        run_id = await resolve_run(journal, named)
        timeline = await RunTimeline.open(journal, run_id)
        found = timeline.explain(timeline.asked_about if seq is None else seq)
        told = {name: await _message(journal, value) for name, value in found.data.items()}
        return found, {name: text for name, text in told.items() if text}, timeline.decisions


async def _message(journal: Journal, value: object) -> str:
    """What a message says that is named by its digest, in brief; nothing for any other value."""
    data = await journal.blob(value) if isinstance(value, str) and value.startswith("sha256:") else None
    try:
        message = Message.from_encoded(data) if data is not None else None
    except (ValueError, TypeError, LookupError):  # another payload
        return ""
    if message is None:
        return ""
    calls = ", ".join(f"{call.name} {call.arguments}" for call in message.tool_calls)
    return in_brief(" ".join(filter(None, (message.content, calls))), MAX_DATA_CHARS)


def _print(console: Console, found: Explanation, messages: dict[str, str], decisions: int, journal: JournalOptions) -> None:
    place = f"{found.run_id}  decision {found.decision} of {decisions}, entry {found.entry}"
    print_folded(console, Text(one_line(place), style="dim"))
    _say(console, "event", Text.assemble((one_line(found.event), "bold"), one_line(f" at {found.instance}")))
    for name, value in found.data.items():
        if value in NOTHING:
            continue
        _say(console, "", Text(f"{one_line(name)}: {messages.get(name) or _in_words(value)}"), 2)
    if found.cause:
        by = f", given by {found.given_by}" if found.given_by else ""
        _say(console, "led to by", Text(one_line(f"command {found.cause}{by}")))
    _say(console, "state", Text(one_line(found.state)))
    _print_outcome(console, found)
    for identity, text in found.requirements.items():
        _say(console, "serves", Text(one_line(f"{identity}: {text}" if text else identity)))
    for given in found.commands:
        data = ", ".join(f"{name} {_in_words(value)}" for name, value in given.data.items())
        _say(console, "command", Text(one_line(f"{given.id} {given.command}  {data}".rstrip())))
    _say(console, "table", Text(one_line(found.decided_by), style="dim"))
    _print_questions(console, found)
    _print_others(console, found)
    console.print()
    console.print(command_text(console, f"show {typed(found.run_id)}{journal.again()}", "all"))


def _print_outcome(console: Console, found: Explanation) -> None:
    reason = one_line(f": {found.why}" if found.why else "")
    if found.outcome == "refused":
        _say(console, "refused", Text(one_line(found.why), style="bold red"))
    elif found.outcome == "ignored":
        _say(console, "ignored", Text.assemble((one_line(found.id or ""), "bold cyan"), f"{reason}; nothing changed"))
    else:
        to = "stays" if found.to == found.state else f"to {found.to}"
        _say(console, "row", Text.assemble((one_line(found.id or ""), "bold cyan"), one_line(f", {to}{reason}")))


def _print_questions(console: Console, found: Explanation) -> None:
    console.print()
    if not found.asked:
        _say(console, "asked", Text("nothing: this event means the same here, whatever the facts are"))
    for decisive, label in ((True, "because"), (False, "also asked")):
        for at, question in enumerate(asked for asked in found.asked if asked.decisive is decisive):
            text = f"{question.name}: {question.text}" if question.text else question.name
            answer = (one_line(question.answer), "bold" if decisive else "")
            said = Text.assemble(f"{one_line(text)}  ", answer, style="" if decisive else "dim")
            _say(console, "" if at else label, said, 2)


def _print_others(console: Console, found: Explanation) -> None:
    console.print()
    if not found.others:
        _say(console, "why not", Text(one_line(f"nothing else is declared for {found.event} in {found.state}")))
    for at, other in enumerate(found.others):
        what = "ignores" if other.to is None else "stays" if other.to == found.state else f"to {other.to}"
        stated = Text.assemble((one_line(other.id), "cyan"), one_line(f", {what}: {other.why}"))
        _say(console, "" if at else "why not", stated, 2)
        _say(console, "", Text(one_line(_needed(other)), style="yellow"), 2, shift=2)


def _needed(other: OtherRow) -> str:
    if not other.unmet:
        return "it would fit too; an ignore goes before it"
    return "needs " + "; ".join(f"{each.question}: {' or '.join(each.needed)} (was {each.was})" for each in other.unmet)


def _say(console: Console, label: str, said: Text, hang: int = 0, shift: int = 0) -> None:
    """A label and what is said; lines that go on stand ``hang`` further to the right."""
    start = f"{label:<{LABEL}} {' ' * shift}"
    print_folded(console, Text.assemble((start, "dim"), said), len(start) + hang)


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return in_brief(value if isinstance(value, str) else " ".join(as_json(value).split()), MAX_DATA_CHARS)
