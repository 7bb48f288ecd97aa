"""``show``: what happened in a run, decision by decision, and where it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict
from datetime import UTC, datetime
from json import dumps
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.cli.options import NO_JOURNAL, OUTPUT, JournalOptions, RunName
from statewright.cli.outcome import Again, error_text, summary, what_next
from statewright.cli.output import answers, one_line, print_json, printable, typed
from statewright.cli.own_machines import RecordedRun, is_own, recorded_run, timeline
from statewright.cli.recorded import AnyState, inputs_by_phase, replayed, state_of
from statewright.cli.runs import resolve_run
from statewright.cli.timeline import Timeline, counted
from statewright.config.settings import RetryConfig
from statewright.core.replay import machine_of
from statewright.journal.entry import Entry, RecordedDecision, decode
from statewright.journal.reading import Record, delivery_of, read_record
from statewright.runtime.decisions import read_decision
from statewright.runtime.observers import RunEvent
from statewright.views.plan_build_state import MixedState
from statewright_states.frozen import dataclass
from statewright_states.words.messages import Message
from statewright_states.words.parts import OpaquePart, Part, ReasoningPart, TextPart, ToolCall, described, kind_of
from statewright_states.words.ports import Journal

SHOWN_DIGITS = 16
ROLE_STYLES = {"system": "dim", "user": "bold blue", "assistant": "bold green", "tool": "bold magenta"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A run as recorded, and as its replay gives it."""

    run_id: str
    entries: Sequence[Any]
    """The entries as they are stored."""
    record: Record
    state: AnyState
    left: Sequence[str]
    """Decisions that were left for the run and that it has not taken yet, in words."""
    dry_run: bool
    """Whether no tool was executed, whatever the timeline says of calls that returned."""


@dataclass(frozen=True, slots=True)
class ShownMachine:
    """A run of a table of somebody's own, as its record alone tells it."""

    run: RecordedRun
    entries: Sequence[Any]
    record: Record
    left: int
    """How many messages were left for the run that it has not taken yet."""


def show(
    run: RunName,
    /,
    *,
    journal: JournalOptions = NO_JOURNAL,
    messages: bool = False,
    json: Annotated[bool, Parameter(group=OUTPUT)] = False,
) -> Exit:
    """Show a run: every decision on record, the path of rows, open questions, the outcome.

    Parameters
    ----------
    messages
        Show the transcript too.
    json
        Print the entries and the outcome as one JSON document.
    """
    shown = asyncio.run(_load(journal.store(), run))
    if isinstance(shown, ShownMachine):
        return _show_machine(shown, as_json=json)
    if json:
        print_json({"run": shown.state.to_output_dict(), "entries": list(shown.entries), "left": list(shown.left)})
        return Exit.SUCCESS
    console = answers()
    _print_header(console, shown)
    _print_timeline(console, shown)
    if messages:
        _print_messages(console, shown.state)
    for left in shown.left:
        console.print(Text(f"left for the run, and not taken yet: {one_line(left)}"))
    _print_outcome(console, shown.state, journal)
    return Exit.SUCCESS


def _show_machine(shown: ShownMachine, *, as_json: bool) -> Exit:
    run = shown.run
    if as_json:
        print_json({"run": asdict(run), "entries": list(shown.entries), "left": shown.left})
        return Exit.SUCCESS
    console = answers()
    header = shown.record.header
    facts = [run.run_id, f"table {run.table}", _began(header.at_us), header.engine]
    console.print(Text("  ".join(map(one_line, facts)), style="dim"))
    for line in timeline(run.run_id, shown.record.entries):
        console.print(line)
    if shown.left:
        console.print(Text(f"left for the run, and not taken yet: {counted(shown.left, 'message')}"))
    for command in run.under_way:
        console.print(Text.assemble(("under way  ", "dim"), one_line(command)))
    console.print(Text.assemble(("path  ", "dim"), one_line(" ".join(run.path))))
    if run.facts is not None:
        console.print(Text.assemble(("facts  ", "dim"), one_line(dumps(run.facts, ensure_ascii=False))))
    console.print(run.summary())
    return Exit.SUCCESS


async def _load(journal: Journal, named: str) -> Shown | ShownMachine:
    async with aclosing(journal):
        run_id = await resolve_run(journal, named)
        if is_own(await machine_of(journal, run_id)):
            stored = await journal.entries(run_id)
            record, waiting = read_record(run_id, stored), await journal.posted(run_id)
            run = await recorded_run(journal, run_id, record)
            return ShownMachine(run, [decode(entry.data) for entry in stored], record, len(waiting))
        recorded = await replayed(journal, run_id)
        stored = (await journal.entries(run_id))[: recorded.entries]
        entries, record = [decode(entry.data) for entry in stored], read_record(run_id, stored)
        left = [_in_words(message.data) for message in await journal.posted(run_id)]
        dry_run = any(inputs.config.dry_run for inputs in inputs_by_phase(recorded).values())
        return Shown(run_id, entries, record, await state_of(journal, recorded), left, dry_run)


def _in_words(message: bytes) -> str:
    try:
        posted = read_decision(message)
    except ValueError as error:
        return f"a message that cannot be read: {error}"
    return f"{posted.tool} {posted.meaning} by {posted.actor}" + (f": {posted.comment}" if posted.comment else "")


def recorded_event(run_id: str, entry: Entry, decision: RecordedDecision) -> RunEvent:
    """A decision of this entry as observers saw it. Raises JournalDamaged when its event cannot be read."""
    delivery = delivery_of(decision, entry.seq)
    note = ""
    if decision.ignored is not None:
        note = f"ignored ({decision.ignored})"
    elif decision.refused is not None:
        note = f"refused: {decision.refused}"
    return RunEvent(
        run_id=run_id,
        seq=decision.seq,
        at_us=entry.at_us if decision.at_us is None else decision.at_us,
        machine=delivery.machine,
        instance=delivery.instance,
        event=delivery.event,
        row=decision.row or "",
        source=decision.source,
        target=decision.target,
        note=note,
    )


def _print_header(console: Console, shown: Shown) -> None:
    header = shown.record.header
    facts = [header.run_id, header.model, _began(header.at_us), header.engine, "dry run" if shown.dry_run else ""]
    console.print(Text("  ".join(one_line(fact) for fact in facts if fact), style="dim"))
    code = [one_line(f"{table} {digest.removeprefix('sha256:')[:SHOWN_DIGITS]}…") for table, digest in header.code.items()]
    console.print(Text(f"decided by the code  {'  '.join(code) or 'that was there: none is pinned'}", style="dim"))


def _began(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1_000_000, UTC).astimezone().isoformat(sep=" ", timespec="seconds")


def _print_timeline(console: Console, shown: Shown) -> None:
    timeline = Timeline(RetryConfig())
    for entry in shown.record.entries:
        for decision in entry.decisions:
            console.print(timeline.follow(recorded_event(shown.run_id, entry, decision)).text())


def _print_messages(console: Console, state: AnyState) -> None:
    for message in map(Message.from_dict, state.messages):
        console.print()
        answered = one_line(message.tool_call_id or "")
        console.print(Text.assemble((message.role, ROLE_STYLES[message.role]), ("  " + answered, "dim")))
        for part in message.parts:
            text, style = _part_in_words(part)
            if text:
                console.print(Text(printable(text), style=style))
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
        case OpaquePart():
            state = part.provider_state
            return f"[for {state.adapter}: {len(state.data)} characters]", "dim"
        case _:
            return f"[{kind_of(part)}: {described(part)}]", "magenta"


def _print_outcome(console: Console, state: AnyState, journal: JournalOptions) -> None:
    console.print(Text.assemble(("path  ", "dim"), one_line(" ".join(state.path))))
    for part in state.runs if isinstance(state, MixedState) else ():
        console.print(Text.assemble(("look  ", "dim"), f"statewright show {typed(part.run_id)}{journal.again()}"))
    console.print(summary(state))
    if state.error:
        console.print(error_text(state.error))
    for line in what_next(state, Again(journal.again())) if not state.stop_reason else ():
        console.print(line)
