"""``why``: which row decided, on which answers, and what each other row would have needed."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.cli.options import NO_JOURNAL, OUTPUT, JournalOptions, RunName
from statewright.cli.runs import resolve_run
from statewright.core.explanation import Explanation
from statewright.core.run_timeline import RunTimeline
from statewright.presentation.explained import explanation_pane
from statewright.presentation.layout import command_text, in_brief, print_folded
from statewright.presentation.output import answers, one_line, print_json, typed
from statewright.presentation.values import MAX_DATA_CHARS
from statewright_states.errors import JournalDamaged
from statewright_states.words.messages import Message
from statewright_states.words.ports import Journal


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
    except JournalDamaged:  # another payload
        return ""
    if message is None:
        return ""
    calls = ", ".join(f"{call.name} {call.arguments}" for call in message.tool_calls)
    return in_brief(" ".join(filter(None, (message.content, calls))), MAX_DATA_CHARS)


def _print(console: Console, found: Explanation, messages: dict[str, str], decisions: int, journal: JournalOptions) -> None:
    place = f"{found.run_id}  decision {found.decision} of {decisions}, entry {found.entry}"
    print_folded(console, Text(one_line(place), style="dim"))
    console.print(explanation_pane(found, messages))
    console.print()
    console.print(command_text(console, f"show {typed(found.run_id)}{journal.again()}", "all"))
