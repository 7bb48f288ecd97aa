"""What stands beside a machine's diagram: facts, commands under way, the raw entry, the difference between two moments.

Each is a small function of what ``RunTimeline`` gives, and gives a Rich renderable, for a debugger and the plain command line.
All text in them is harmless for a terminal. A mark stands before whatever a step has changed, so that no colour has to say it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from datetime import UTC, datetime

from rich.text import Text

from statewright.core.moment import CommandUnderWay, FactChange, InstanceNow, MomentChange, StateChange
from statewright.journal.entry import decode
from statewright.presentation.event_words import counted, seconds
from statewright.presentation.layout import in_brief
from statewright.presentation.lines import Line, Lines
from statewright.presentation.output import as_json, one_line, printable
from statewright.presentation.timeline import TONES
from statewright.presentation.values import data_in_words, differing, fact_in_words
from statewright_states.words.messages import Message
from statewright_states.words.ports import StoredEntry

CHANGED, ADDED, REMOVED, SAME = "~", "+", "-", " "
MAX_ENTRY_BYTES = 200_000
"""An entry that is longer is shown by its beginning, as it is stored."""
MAX_SHOWN_CHARS = 20_000
"""Of any text this many characters are shown at most."""
UNKNOWN = "not known"


def instances_pane(instances: Sequence[InstanceNow], at_us: int) -> Lines:
    """The state of every machine's instance at this time, and for how long it has been in it."""
    width = max((len(one_line(each.name)) for each in instances), default=0)
    return Lines(_instance(each, at_us, width) for each in instances)


def _instance(each: InstanceNow, at_us: int, width: int) -> Line:
    since = seconds((at_us - each.since_us) / 1_000_000)
    name, state = (f"{one_line(each.name):<{width}}  ", "dim"), (one_line(each.state), TONES.get(each.state, "bold"))
    return Line(Text.assemble(name, state, (f"  ended {since} ago" if each.ended else f"  for {since}", "dim")), width + 4)


def facts_pane(instance: InstanceNow | None, change: MomentChange | None = None, *, problem: str = "") -> Lines:
    """The facts of an instance: what the change did to them first, marked; then the others, those that hold nothing in brief.

    ``problem`` says why facts are not known, where they are not.
    """
    if instance is None or instance.facts is None:
        return Lines([Line(Text(one_line(f"facts: {problem or UNKNOWN}"), style="yellow"), 7)])
    changed = {each.field: each for each in change.facts if each.instance == instance.name} if change is not None else {}
    held = {name: value for name, value in instance.fields().items() if name not in changed}
    empty = [name for name, value in held.items() if _is_empty(value)]
    lines = [line for each in changed.values() for line in _fact_changed(each)]
    lines += [
        Line(Text.assemble(f"{SAME} ", (f"{one_line(name)}: ", "dim"), fact_in_words(value)), 4)
        for name, value in held.items()
        if name not in empty
    ]
    if empty:
        lines.append(Line(Text(f"{SAME} nothing yet: {', '.join(map(one_line, empty))}", style="dim"), 4))
    return Lines(lines or [Line(Text("no facts", style="dim"))])


def _fact_changed(change: FactChange, instance: str = "") -> Iterator[Line]:
    for name, before, after in differing(change.field, change.before, change.after):
        told = one_line(f"{instance}.{name}" if instance else name)
        now = (fact_in_words(after), "bold")
        yield Line(Text.assemble((f"{CHANGED} ", "bold"), (f"{told}: ", "dim"), f"{fact_in_words(before)} → ", now), 4)


def _is_empty(value: object) -> bool:
    """Whether a fact holds nothing yet: no, none, an empty text or list. A number of 0 says something where it is asked for."""
    return value is None or value is False or (isinstance(value, Sized) and not len(value))


def under_way_pane(commands: Sequence[CommandUnderWay]) -> Lines:
    """The commands of which nothing has come yet, each with its age; the oldest first."""
    lines = [_under_way(command) for command in sorted(commands, key=lambda command: command.since_us)]
    return Lines(lines or [Line(Text("nothing is under way", style="dim"))])


def _under_way(command: CommandUnderWay, mark: str = "") -> Line:
    said = data_in_words(command.data)
    return Line(
        Text.assemble(
            (mark, "bold"),
            (f"{one_line(command.id)} ", "dim"),
            (one_line(command.command), "bold"),
            (f" of {one_line(command.instance)}, {seconds(command.age_us / 1_000_000)}", "dim"),
            f"  {said}" if said else "",
        ),
        4,
    )


def entry_pane(entry: StoredEntry, previous_hash: str, at_us: int) -> Lines:
    """An entry as it is stored: its hash, the one that it continues, and its bytes as JSON, or the beginning of many."""
    at = datetime.fromtimestamp(at_us / 1_000_000, UTC).astimezone().isoformat(sep=" ", timespec="milliseconds")
    lines = [
        Line(Text.assemble((f"entry {entry.seq}", "bold"), (f"  {at}  {counted(len(entry.data), 'byte')}", "dim"))),
        Line(Text.assemble(("hash   ", "dim"), one_line(entry.hash)), 7),
        Line(Text.assemble(("after  ", "dim"), one_line(previous_hash)), 7),
    ]
    return Lines([*lines, *(Line(Text(line), 8) for line in _json_lines(entry.data))])


def _json_lines(data: bytes) -> Sequence[str]:
    text = data[:MAX_SHOWN_CHARS].decode(errors="backslashreplace")
    if len(data) <= MAX_ENTRY_BYTES:
        try:
            text = as_json(decode(data))
        except (ValueError, RecursionError):  # it is damaged: then it is shown as it is
            text = data.decode(errors="backslashreplace")
    return cut(text, len(data)).split("\n")


def cut(text: str, whole: int | None = None) -> str:
    """The beginning of a text, harmless, and how much more there is; ``whole`` is its size where it was cut before."""
    left = max(len(text) if whole is None else whole, len(text)) - MAX_SHOWN_CHARS
    return printable(text) if left <= 0 else f"{printable(text[:MAX_SHOWN_CHARS])}\n\n… and {left:,} more"


def change_pane(change: MomentChange) -> Lines:
    """What differs between two moments: states with the rows taken, facts, messages, commands that began and settled."""
    lines = [_state_changed(each) for each in change.states]
    lines += _facts_changed(change)
    lines += _messages(change)
    lines += [_under_way(command, f"{ADDED} ") for command in change.began]
    lines += [_under_way(command, f"{REMOVED} ") for command in change.settled]
    if not change.known:
        lines.append(Line(Text(f"  facts and messages: {UNKNOWN}", style="yellow"), 4))
    return Lines(lines or [Line(Text("no difference", style="dim"))])


def _state_changed(change: StateChange) -> Line:
    mark = ADDED if change.before is None else SAME if change.before == change.after else CHANGED
    came = "began" if change.before is None else one_line(change.before)
    moved = f"stays {one_line(change.after)}" if mark == SAME else f"{came} → {one_line(change.after)}"
    rows = one_line(" ".join(change.rows))
    return Line(Text.assemble((f"{mark} ", "bold"), (f"{one_line(change.instance)}: ", "dim"), moved, (f"  {rows}", "cyan")), 4)


def _facts_changed(change: MomentChange) -> Iterator[Line]:
    """Instance by instance; all that a new one holds on one line."""
    new = [each.instance for each in change.states if each.before is None]
    for each in change.facts:
        if each.instance not in new:
            yield from _fact_changed(each, each.instance)
    for name in new:
        held = {each.field: each.after for each in change.facts if each.instance == name and not _is_empty(each.after)}
        if held:
            said = ", ".join(f"{one_line(field)} {fact_in_words(value)}" for field, value in held.items())
            yield Line(Text.assemble((f"{ADDED} ", "bold"), (f"{one_line(name)} holds: ", "dim"), said), 4)


def _messages(change: MomentChange) -> Iterator[Line]:
    if change.removed:
        yield Line(Text(f"{REMOVED} {counted(change.removed, 'message')} of the conversation", style="bold"), 4)
    for message in change.said:
        yield Line(Text.assemble((f"{ADDED} ", "bold"), (f"{message.role}: ", "dim"), message_in_brief(message)), 4)


def message_in_brief(message: Message) -> str:
    """A message on one line: the beginning of its text, and the names of the tools that it calls."""
    calls = ", ".join(one_line(call.name) for call in message.tool_calls)
    text = in_brief(message.content or "") if message.content else ""
    return " ".join(filter(None, (text, f"→ {calls}" if calls else ""))) or "…"
