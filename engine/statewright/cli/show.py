"""``show``: what happened in a run, entry by entry, and where it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.cli.options import NO_JOURNAL, OUTPUT, JournalOptions
from statewright.cli.outcome import Again, how_to_decide, next_commands, summary
from statewright.cli.output import answers, print_json, printable
from statewright.cli.recorded import AnyState, asking, inputs_by_phase, replayed, state_of
from statewright.cli.runs import resolve_run
from statewright.cli.timeline import Timeline
from statewright.config.settings import RetryConfig
from statewright.journal.entry import decode, decode_delivery
from statewright.runtime.decisions import read_decision
from statewright.runtime.observers import RunEvent
from statewright.views.plan_build_state import MixedState
from statewright_states.errors import JournalDamaged
from statewright_states.frozen import dataclass
from statewright_states.words.ports import Journal

Shape = Mapping[str, Any]
SHOWN_DIGITS = 16
ROLE_STYLES = {"system": "dim", "user": "bold blue", "assistant": "bold green", "tool": "bold magenta"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A run as recorded, and as its replay gives it."""

    run_id: str
    entries: Sequence[Shape]
    state: AnyState
    left: Sequence[str]
    """Decisions that were left for the run and that it has not taken yet, in words."""
    dry_run: bool
    """Whether no tool was executed, whatever the timeline says of calls that returned."""


def show(
    run: str,
    /,
    *,
    journal: JournalOptions = NO_JOURNAL,
    messages: bool = False,
    json: Annotated[bool, Parameter(group=OUTPUT)] = False,
) -> Exit:
    """Show a run: every entry of its record, the path of rows, open questions, the outcome.

    Parameters
    ----------
    run
        The run's id, the beginning or the end of it, or `last`.
    messages
        Show the transcript too.
    json
        Print the entries and the outcome as one JSON document.
    """
    shown = asyncio.run(_load(journal.store(), run))
    if json:
        print_json({"run": shown.state.to_output_dict(), "entries": list(shown.entries), "left": list(shown.left)})
        return Exit.SUCCESS
    console = answers()
    _print_header(console, shown)
    _print_timeline(console, shown)
    if messages:
        _print_messages(console, shown.state)
    for left in shown.left:
        console.print(Text(f"left for the run, and not taken yet: {printable(left)}"))
    _print_outcome(console, shown.state, journal)
    return Exit.SUCCESS


async def _load(journal: Journal, named: str) -> Shown:
    try:
        run_id = await resolve_run(journal, named)
        recorded = await replayed(journal, run_id)
        entries = [decode(entry.data) for entry in await journal.entries(run_id)]
        left = [_in_words(message.data) for message in await journal.posted(run_id)]
        dry_run = any(inputs.config.dry_run for inputs in inputs_by_phase(recorded).values())
        return Shown(run_id, entries[: recorded.entries], await state_of(journal, recorded), left, dry_run)
    finally:
        await journal.aclose()


def _in_words(message: bytes) -> str:
    try:
        posted = read_decision(message)
    except ValueError as error:
        return f"a message that cannot be read: {error}"
    return f"{posted.tool} {posted.meaning} by {posted.actor}" + (f": {posted.comment}" if posted.comment else "")


def recorded_event(run_id: str, shape: Shape) -> RunEvent:
    """An event entry as observers saw it. Raises JournalDamaged when it cannot be read."""
    delivery = decode_delivery(shape)
    note = ""
    if "ignored" in shape:
        note = f"ignored ({shape['ignored']})"
    elif "refused" in shape:
        note = f"refused: {shape['refused']}"
    try:
        source, seq, at_us = shape["from"], shape["seq"], shape["at_us"]
    except KeyError as error:
        raise JournalDamaged(f"an entry lacks {error}", where=f"run {run_id}", cure="verify the journal") from error
    return RunEvent(
        run_id=run_id,
        seq=seq,
        at_us=at_us,
        machine=delivery.machine,
        instance=delivery.instance,
        event=delivery.event,
        row=shape.get("row", ""),
        source=source,
        target=shape.get("to", source),
        note=note,
    )


def _print_header(console: Console, shown: Shown) -> None:
    header = shown.entries[0]
    began = datetime.fromtimestamp(header["at_us"] / 1_000_000, UTC).astimezone().isoformat(sep=" ", timespec="seconds")
    facts = [header["run_id"], printable(header["model"]), began, header["engine"], "dry run" if shown.dry_run else ""]
    console.print(Text("  ".join(fact for fact in facts if fact), style="dim"))
    code = [f"{table} {digest.removeprefix('sha256:')[:SHOWN_DIGITS]}…" for table, digest in header.get("code", {}).items()]
    console.print(Text(f"decided by the code  {'  '.join(code) or 'that was there: none is pinned'}", style="dim"))


def _print_timeline(console: Console, shown: Shown) -> None:
    timeline = Timeline(RetryConfig())
    for shape in shown.entries:
        if shape["kind"] == "event":
            console.print(timeline.follow(recorded_event(shown.run_id, shape)).text())


def _print_messages(console: Console, state: AnyState) -> None:
    for message in state.messages:
        console.print()
        answered = printable(message.get("tool_call_id") or "")
        console.print(Text.assemble((message["role"], ROLE_STYLES.get(message["role"], "bold")), ("  " + answered, "dim")))
        if message["content"]:
            console.print(Text(printable(message["content"])))
        for call in message.get("tool_calls", ()):
            function = call["function"]
            console.print(Text(printable(f"→ {function['name']} {function['arguments']}  {call['id']}"), style="cyan"))
    console.print()


def _print_outcome(console: Console, state: AnyState, journal: JournalOptions) -> None:
    console.print(Text.assemble(("path  ", "dim"), " ".join(state.path)))
    for part in state.runs if isinstance(state, MixedState) else ():
        console.print(Text.assemble(("look  ", "dim"), f"statewright show {part.run_id}{journal.again()}"))
    console.print(summary(state))
    if state.error:
        console.print(Text("\n".join(f"  {line}" for line in printable(state.error).splitlines()), style="red"))
    again = Again(journal.again())
    for pending in state.pending:
        for line in how_to_decide(asking(state), pending, again):
            console.print(line)
    if not state.stop_reason:
        for words, command in next_commands(state, again):
            console.print(Text.assemble((f"  {words:<8}", "dim"), command))
