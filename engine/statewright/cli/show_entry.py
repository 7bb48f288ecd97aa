"""``show --entry``: a run as it was after one entry, with the panes of the debugger, one below the other."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from statewright.cli.runs import resolve_run
from statewright.core.run_timeline import RunTimeline
from statewright.journal.entry import decode, facts_shape
from statewright.presentation.conversation import conversation_pane
from statewright.presentation.layout import print_folded
from statewright.presentation.moment_view import RunLines, diagram_at, entry_lines_pane, moment_heading
from statewright.presentation.output import one_line
from statewright.presentation.panes import change_pane, entry_pane, facts_pane, instances_pane, under_way_pane
from statewright_states.frozen import dataclass
from statewright_states.words.ports import Journal


@dataclass(frozen=True, slots=True)
class EntryView:
    """What is shown of an entry: the conversation with ``messages``, unfolded with ``full``; its bytes with ``hashes``."""

    timeline: RunTimeline
    number: int
    messages: bool = False
    full: bool = False
    hashes: bool = False

    def as_json(self) -> dict[str, Any]:
        """The moment as JSON-ready data: instances with their facts, commands under way, and the entry itself."""
        moment = self.timeline.at(self.number)
        return {
            "run_id": moment.run_id,
            "entry": moment.entry,
            "entries": self.timeline.last,
            "at_us": moment.at_us,
            "elapsed_us": moment.elapsed_us,
            "instances": [
                {
                    "name": each.name,
                    "machine": each.machine,
                    "state": each.state,
                    "ended": each.ended,
                    "since_us": each.since_us,
                    "facts": None if each.facts is None else facts_shape(each.facts),
                }
                for each in moment.instances
            ],
            "under_way": [
                {"id": each.id, "command": each.command, "data": each.data, "instance": each.instance, "age_us": each.age_us}
                for each in moment.under_way
            ],
            "messages": [message.to_dict() for message in moment.messages] if self.messages else None,
            "stored": decode(self.timeline.stored(self.number).data),
            "hash": self.timeline.stored(self.number).hash,
        }

    def print_to(self, console: Console) -> None:
        """Print it: the machine as a diagram, what was decided, what it changed, what is under way, the facts of the run."""
        timeline, number = self.timeline, self.number
        moment = timeline.at(number)
        console.print(moment_heading(timeline, number))
        if timeline.problem is not None:
            print_folded(console, Text(one_line(f"{timeline.problem.where}: {timeline.problem.what}"), style="bold red"), 2)
        console.print()
        console.print(diagram_at(timeline, number), soft_wrap=False)
        width = console.width if console.is_terminal else None
        if number:
            _print(console, "decided", entry_lines_pane(RunLines(timeline).of(number), width))
            _print(console, "changed", change_pane(timeline.change(number - 1, number)))
        _print(console, "machines", instances_pane(moment.instances, moment.at_us))
        _print(console, "under way", under_way_pane(moment.under_way))
        _print(console, "facts of the run", facts_pane(moment.main, problem=timeline.facts_problem))
        if self.messages:
            unfolded = range(len(moment.messages)) if self.full else ()
            _print(console, "conversation", conversation_pane(moment.messages, unfolded=unfolded), soft_wrap=False)
        if self.hashes:
            stored = timeline.stored(number)
            before = timeline.stored(number - 1).hash if number else "0" * len(stored.hash)
            _print(console, "entry", entry_pane(stored, before, moment.at_us))


def _print(console: Console, title: str, pane: RenderableType, *, soft_wrap: bool = True) -> None:
    console.print()
    console.print(Text(title, style="bold"))
    console.print(pane, soft_wrap=soft_wrap)


async def view_of(journal: Journal, named: str, number: int, *, messages: bool, full: bool, hashes: bool) -> EntryView:
    """What is shown of an entry of the run that is named; a number below 0 counts from the end. Raises ConfigurationError."""
    async with aclosing(journal):
        timeline = await RunTimeline.open(journal, await resolve_run(journal, named))
        number = number if number >= 0 else timeline.last + 1 + number
        await timeline.moment(number)
        return EntryView(timeline, number, messages=messages, full=full, hashes=hashes)
