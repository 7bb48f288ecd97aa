"""``show``: what happened in a run, decision by decision, and where it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.cli.follow_run import EntryPrinter, follow_run
from statewright.cli.options import NO_JOURNAL, OUTPUT, JournalOptions, RunName, again
from statewright.cli.outcome import Again, error_text, exit_of, summary, what_next
from statewright.cli.runs import resolve_run
from statewright.cli.show_entry import view_of
from statewright.config.settings import RetryConfig
from statewright.core.described_machines import pinned_machines
from statewright.core.replay import machine_of
from statewright.journal import SQLiteJournal
from statewright.journal.entry import NO_HASH, decode
from statewright.journal.reading import Record, read_record
from statewright.journal.stores.owner import LeaseHolder
from statewright.presentation.conversation import ROLE_STYLES, attached
from statewright.presentation.layout import command_text, print_folded
from statewright.presentation.output import answers, one_line, print_json, printable, typed
from statewright.presentation.own_machines import ShownMachine, is_own, shown_machine
from statewright.presentation.recorded import (
    AnyState,
    inputs_by_phase,
    messages_of,
    recorded_event,
    replayed,
    standing,
    state_of,
)
from statewright.presentation.timeline import GetMessage, TimelineWriter
from statewright.runtime.decisions import read_decision
from statewright.views.plan_build_state import MixedState
from statewright_states.frozen import dataclass
from statewright_states.words.messages import Message
from statewright_states.words.parts import Part, ReasoningPart, TextPart, ToolCall
from statewright_states.words.ports import StoredEntry

SHOWN_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Shown:
    """A run as recorded, and as its replay gives it."""

    run_id: str
    stored: Sequence[StoredEntry]
    record: Record
    state: AnyState
    holder: LeaseHolder | None
    """Whoever has the run's lease."""
    reasons: Mapping[str, str]
    """Why each row exists, by its id, in the words of the machines that the run is pinned to."""
    message: GetMessage
    left: Sequence[str]
    """Decisions that were left for the run and that it has not taken yet, in words."""
    dry_run: bool
    """Whether no tool was executed, whatever the timeline says of calls that returned."""


def show(
    run: RunName,
    /,
    *,
    journal: JournalOptions = NO_JOURNAL,
    messages: bool = False,
    full: bool = False,
    hashes: bool = False,
    entry: int | None = None,
    follow: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(group=OUTPUT)] = False,
) -> Exit:
    """Show a run: every decision on record with its number, the path of rows, open questions, the outcome.

    `statewright why RUN NUMBER` explains one of the decisions.

    Parameters
    ----------
    entry
        Show the run as it was after this entry: the machine as a diagram, what was decided, what it changed, what was under
        way. Entries are numbered from 1, as `--hashes` shows them; -1 is the last.
    follow
        Print what another process writes, until the run has ended or no process drives it any more. The exit code is that of
        the run then. With --json each entry is a JSON object on a line of its own.
    messages
        Show the transcript too.
    full
        Show arguments, results and replies as they are, and not in brief.
    hashes
        Show the hash of each entry, and of the one that it continues; with --entry the whole of it as it is stored.
    json
        Print the entries and the outcome as one JSON document.
    """
    if entry is not None:
        view = asyncio.run(view_of(journal.store(), run, entry, messages=messages, full=full, hashes=hashes))
        print_json(view.as_json()) if json else view.print_to(answers())
        return Exit.SUCCESS
    if follow:
        return _follow(journal, run, EntryPrinter(answers(), full=full, hashes=hashes, json=json), messages=messages)
    shown = asyncio.run(_load(journal.store(), run))
    if isinstance(shown, ShownMachine):
        shown.print_as_json() if json else shown.print_to(answers(), hashes=hashes)
        return Exit.SUCCESS
    if json:
        driven = {"standing": standing(shown.state, shown.holder), "owner": shown.holder.owner if shown.holder else None}
        entries = [decode(entry.data) for entry in shown.stored]
        print_json({"run": shown.state.to_output_dict(), "entries": entries, "left": list(shown.left), **driven})
        return Exit.SUCCESS
    console = answers()
    _print_header(console, shown)
    _print_timeline(shown, EntryPrinter(console, full=full, hashes=hashes))
    _print_rest(console, shown, journal, messages=messages)
    return Exit.SUCCESS


def _follow(journal: JournalOptions, named: str, printer: EntryPrinter, *, messages: bool) -> Exit:
    """Print the entries as they come, then the rest as of any other run; the exit code is that of the run."""
    run_id = asyncio.run(follow_run(journal.store(), named, printer))
    shown = asyncio.run(_load(journal.store(), run_id))
    if isinstance(shown, ShownMachine):
        if not printer.json:
            printer.console.print(shown.run.summary())
        return Exit.SUCCESS if shown.run.ended else Exit.FAILED
    if not printer.json:
        _print_rest(printer.console, shown, journal, messages=messages)
    return exit_of(shown.state)


def _print_rest(console: Console, shown: Shown, journal: JournalOptions, *, messages: bool) -> None:
    """What comes behind the decisions: the transcript if it is wanted, decisions that were left, the path, the outcome."""
    if messages:
        _print_messages(console, shown.state)
    for left in shown.left:
        print_folded(console, Text(f"left for the run, and not taken yet: {one_line(left)}"), 2)
    _print_path(console, shown)
    _print_outcome(console, shown, journal)


async def _load(journal: SQLiteJournal, named: str) -> Shown | ShownMachine:
    async with aclosing(journal):
        run_id = await resolve_run(journal, named)
        if is_own(await machine_of(journal, run_id)):
            return await shown_machine(journal, run_id)
        recorded = await replayed(journal, run_id)
        stored = (await journal.entries(run_id))[: recorded.entries]
        words = [machine.words for machine in (await pinned_machines(journal, run_id)).values()]
        return Shown(
            run_id,
            stored,
            record=read_record(run_id, stored),
            state=await state_of(journal, recorded),
            holder=await journal.lease_holder(run_id),
            reasons={identity: said.why for each in words for identity, said in each.items()},
            message=messages_of(recorded),
            left=[_in_words(message.data) for message in await journal.posted(run_id)],
            dry_run=any(inputs.config.dry_run for inputs in inputs_by_phase(recorded).values()),
        )


def _in_words(message: bytes) -> str:
    try:
        posted = read_decision(message)
    except ValueError as error:
        return f"a message that cannot be read: {error}"
    return f"{posted.tool} {posted.meaning} by {posted.actor}" + (f": {posted.comment}" if posted.comment else "")


def _print_header(console: Console, shown: Shown) -> None:
    header = shown.record.header
    began = datetime.fromtimestamp(header.at_us / 1_000_000, UTC).astimezone().isoformat(sep=" ", timespec="seconds")
    agent = f"agent {header.agent}" if header.agent else ""
    session = f"session {header.session}" if header.session else ""
    facts = [header.run_id, agent, header.model, began, session, header.engine, "dry run" if shown.dry_run else ""]
    print_folded(console, Text("  ".join(one_line(fact) for fact in facts if fact), style="dim"))
    code = [one_line(f"{table} {digest.removeprefix('sha256:')[:SHOWN_DIGITS]}…") for table, digest in header.code.items()]
    told = f"decided by the code  {'  '.join(code) or 'that was there: none is pinned'}"
    print_folded(console, Text(told, style="dim"), 2)


def _print_timeline(shown: Shown, printer: EntryPrinter) -> None:
    timeline = TimelineWriter(RetryConfig(), reasons=shown.reasons)
    if printer.hashes:
        printer.print((), shown.stored[0], NO_HASH)
    for place, entry in enumerate(shown.record.entries, 1):
        events = [recorded_event(shown.run_id, entry, decision) for decision in entry.decisions]
        lines = [timeline.follow(event, shown.message) for event in events]
        printer.print(lines, shown.stored[place], shown.stored[place - 1].hash)


def _print_path(console: Console, shown: Shown) -> None:
    """The rows that the run took, in order, each with its reason."""
    console.print(Text("path", style="dim"))
    for row, times in ((row, len(list(same))) for row, same in groupby(shown.state.path)):
        again = f" ({times} times)" if times > 1 else ""
        reason = one_line(shown.reasons.get(row, "")) + again
        print_folded(console, Text.assemble("  ", (f"{one_line(row):<8}", "bold cyan"), reason), 10)


def _print_messages(console: Console, state: AnyState) -> None:
    for message in map(Message.from_dict, state.messages):
        console.print()
        answered = one_line(message.tool_call_id or "")
        console.print(Text.assemble((message.role, ROLE_STYLES[message.role]), ("  " + answered, "dim")))
        for part in message.parts:
            text, style = _part_in_words(part)
            if text:
                print_folded(console, Text(printable(text), style=style))
    console.print()


def _part_in_words(part: Part) -> tuple[str, str]:
    """A part of a message for people, and its style. What only an adapter reads is named by its size."""
    match part:
        case TextPart():
            cited = [f"  [{citation.title or citation.url or citation.quote}]" for citation in part.citations]
            return "\n".join([part.text, *cited]), ""
        case ReasoningPart():
            return part.text, "dim italic"
        case ToolCall():
            return f"→ {part.name} {part.arguments}  {part.id}", "cyan"
        case _:
            return attached(part)


def _print_outcome(console: Console, shown: Shown, journal: JournalOptions) -> None:
    state, header, last = shown.state, shown.record.header, shown.stored[-1]
    for part in state.runs if isinstance(state, MixedState) else ():
        console.print(command_text(console, f"show {typed(part.run_id)}{journal.again()}", "look"))
    console.print(Text.assemble((f"head  entry {last.seq}  ", "dim"), one_line(last.hash)))
    print_folded(console, summary(state, standing(state, shown.holder)), 2)
    if shown.holder is not None and not state.stop_reason:
        word = "driven by" if shown.holder.live else "was driven by"
        print_folded(console, Text(one_line(f"  {word} {shown.holder.owner}")), 4)
    if state.error:
        print_folded(console, error_text(state.error), 2)
    if state.stop_reason:
        console.print(command_text(console, f"why {typed(shown.run_id)}{journal.again()}", "why"))
    elif shown.holder is None or not shown.holder.live or state.waiting:
        for line in what_next(console, state, Again(journal.again(), again(header.equipment))):
            console.print(line)
