"""Commands of the debugger that show: why, facts, messages, the entry, commands under way, differences."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from statewright.core.explanation import Explanation
from statewright.core.run_timeline import RunTimeline
from statewright.debugger.answers import DebugAnswer, position_lines, saying
from statewright.debugger.divergence import divergence_in_words, first_divergence, rows_side_by_side
from statewright.debugger.entry_lines import EntryLines
from statewright.debugger.session import DebugSession
from statewright.debugger.side_by_side import SideBySide
from statewright.journal.entry import NO_HASH
from statewright.presentation.conversation import called_names, can_unfold, conversation_pane, message_pane
from statewright.presentation.explained import (
    decision_pane,
    explanation_pane,
    others_pane,
    outcome_line,
    questions_pane,
)
from statewright.presentation.lines import BLANK, Line, Lines, labelled
from statewright.presentation.moment_view import taken_in
from statewright.presentation.output import one_line
from statewright.presentation.panes import (
    change_pane,
    entry_pane,
    facts_pane,
    instances_pane,
    message_in_brief,
    under_way_pane,
)
from statewright.presentation.state_diagram import StateDiagram
from statewright.tools.suggestion import did_you_mean
from statewright_states.errors import ConfigurationError

# -- panes: what is shown of a position, for --plain and for the screen -------------------------------------------------


def why_pane(session: DebugSession, decision: int | None = None) -> RenderableType:
    """Why the telling decision of this entry, or that of this number, was this one and no other."""
    told = session.decision
    number = decision if decision is not None else told.seq if told is not None else None
    if number is None:
        return Lines([Line(Text("nothing has been decided here: this is the header", style="dim"))])
    found = session.timeline.explain(number)
    return explanation_pane(found, _messages_of(session, found))


def _messages_of(session: DebugSession, found: Explanation) -> Mapping[str, str]:
    return {name: text for name, value in found.data.items() if (text := _message(session, value))}


def _message(session: DebugSession, value: object) -> str:
    """What a message says that is named by its digest, in brief; nothing for any other value."""
    try:
        return message_in_brief(session.timeline.message(value)) if isinstance(value, str) else ""
    except KeyError:
        return ""


def all_facts_pane(session: DebugSession) -> Lines:
    """The facts of every instance that lives here or moved here, those first that changed."""
    moment, change = session.moment, session.change
    lines: list[Line] = []
    for each in moment.instances:
        lines += instances_pane([each], moment.at_us).lines
        lines += facts_pane(each, change, problem=session.timeline.facts_problem).lines
    return Lines(lines)


def messages_pane(session: DebugSession, most: int | None = None) -> RenderableType:
    """What the model is shown here, ``most`` messages at most; what this entry added is marked."""
    moment = session.moment
    if not moment.known:
        problem = session.timeline.facts_problem or "they are being read"
        return Lines([Line(Text(one_line(f"messages are not known: {problem}"), style="yellow"), 2)])
    said, left_out = len(session.change.said), max(len(moment.messages) - most, 0) if most is not None else 0
    unfolded = [number for number, each in enumerate(moment.messages) if session.unfolded and each in session.unfolded]
    shown = conversation_pane(moment.messages, unfolded=unfolded, said=said, first=left_out, numbered=True)
    if not left_out:
        return shown
    return Group(Text(f"… {left_out} earlier messages: `messages` in --plain shows them", style="dim"), shown)


def stored_entry_pane(session: DebugSession) -> Lines:
    """The entry as it is stored, with its hashes."""
    timeline, at = session.timeline, session.position
    return entry_pane(timeline.stored(at), timeline.stored(at - 1).hash if at else NO_HASH, session.moment.at_us)


def commands_pane(session: DebugSession) -> Lines:
    """The commands of which nothing has come yet."""
    return under_way_pane(session.moment.under_way)


def machine_pane(session: DebugSession, max_lines: int | None = None) -> RenderableType:
    """The chosen machine as a diagram: the state of its instance lit, the row that this entry took marked."""
    timeline, at = session.timeline, session.position
    instance = session.shown_instance(session.moment)
    machine = timeline.machines[session.machine]
    if instance is None:
        return StateDiagram(machine, None, max_lines=max_lines)
    visited, taken = timeline.visited(instance.name, at), taken_in(timeline, at, instance.name)
    return StateDiagram(machine, instance.state, visited=visited, taken=taken, max_lines=max_lines)


def short_why_pane(session: DebugSession) -> RenderableType:
    """The same for a screen: what decided and on which answers, why not the others, and then all the rest."""
    told = session.decision
    if told is None:
        return why_pane(session)
    found = session.timeline.explain(told.seq)
    head = Text.assemble((one_line(found.event), "bold"), one_line(f" at {found.instance}, which was in {found.state}"))
    because = ", ".join(f"{each.name} {each.answer}" for each in found.asked if each.decisive)
    first = [labelled("event", head), outcome_line(found)]
    first += [labelled("because", Text(one_line(because), style="bold"))] if because else []
    whole = decision_pane(found, _messages_of(session, found))
    return Lines([*first, BLANK]) + others_pane(found) + Lines([BLANK]) + questions_pane(found) + Lines([BLANK]) + whole


# -- commands --------------------------------------------------------------------------------------------------------


async def why(session: DebugSession, argument: str) -> DebugAnswer:
    """``why [DECISION]``."""
    await session.read()
    if argument and not (argument.isascii() and argument.isdecimal()):
        raise ConfigurationError(f"{argument!r} is no decision", where="why", cure="type `why`, or `why N` with its number")
    return DebugAnswer((why_pane(session, int(argument) if argument else None),), pane="why" if not argument else "")


async def facts(session: DebugSession, argument: str) -> DebugAnswer:
    """``facts``."""
    await session.read()
    return DebugAnswer((all_facts_pane(session),), pane="facts")


async def messages(session: DebugSession, argument: str) -> DebugAnswer:
    """``messages``."""
    await session.read()
    return DebugAnswer((messages_pane(session),), pane="messages")


async def unfold(session: DebugSession, argument: str) -> DebugAnswer:
    """``unfold [N]``: message N whole, or in brief if it is whole already; without a number, all that can be unfolded."""
    await session.read()
    shown = session.moment.messages
    if not argument:
        chosen = [each for each in shown if can_unfold(each)]
    elif argument.isascii() and argument.isdecimal() and len(argument) <= 9 and 1 <= int(argument) <= len(shown):
        chosen = [each for each in (shown[int(argument) - 1],) if can_unfold(each)]
    else:
        cure = f"type `unfold`, or `unfold N` with N from 1 to {len(shown)}" if shown else "go on until something has been said"
        raise ConfigurationError(f"there is no message {argument!r} here", where="unfold", cure=cure)
    if not chosen:
        return saying("nothing is folded there: it is shown whole", pane="messages")
    folds = session.unfolded.issuperset(chosen)
    (session.unfolded.difference_update if folds else session.unfolded.update)(chosen)
    what = f"message {argument} is" if argument else "all messages are"
    if not argument:
        said = messages_pane(session)
    else:
        name = called_names(shown).get(chosen[0].tool_call_id or "")
        said = message_pane(chosen[0], unfolded=not folds, name=name, number=int(argument))
    return DebugAnswer((said,), pane="messages", notice=f"{what} {'folded' if folds else 'unfolded'}")


async def entry(session: DebugSession, argument: str) -> DebugAnswer:
    """``entry``."""
    return DebugAnswer((stored_entry_pane(session),), pane="entry")


async def commands(session: DebugSession, argument: str) -> DebugAnswer:
    """``commands``."""
    return DebugAnswer((commands_pane(session),), pane="commands")


async def machine(session: DebugSession, argument: str) -> DebugAnswer:
    """``machine [NAME]``: draw it; without a name the one that is chosen."""
    names = list(session.timeline.machines)
    if argument and argument not in names:
        raise ConfigurationError(f"the run has no machine {argument!r}", where="machine", cure=did_you_mean(argument, names))
    session.machine = argument or session.machine
    instance = session.shown_instance(session.moment)
    of = f"{instance.name} is in {instance.state}" if instance is not None else "no instance of it lives here"
    said = Lines([Line(Text(one_line(f"machine {session.machine}: {of}"), style="dim"))])
    return DebugAnswer((said, machine_pane(session)), moved=True)


async def next_machine(session: DebugSession, argument: str) -> DebugAnswer:
    """Draw the machine that follows the one that is drawn."""
    names = list(session.timeline.machines)
    return await machine(session, names[(names.index(session.machine) + 1) % len(names)])


async def where(session: DebugSession, argument: str) -> DebugAnswer:
    """``where``: the position again."""
    await session.read()
    return DebugAnswer((position_lines(session), Text(), instances_pane(session.moment.instances, session.moment.at_us)))


async def filter_entries(session: DebugSession, argument: str) -> DebugAnswer:
    """``filter [TEXT]``: which entries are listed."""
    session.filter = argument
    return saying(f"entries with {argument!r} are listed" if argument else "all entries are listed", moved=True)


async def difference(session: DebugSession, argument: str) -> DebugAnswer:
    """``diff [A [B]]``: what differs between two entries; with one, between it and here; with none, what this entry did."""
    words = argument.split()
    if len(words) > 2 or not all(word.isascii() and word.isdecimal() for word in words):
        raise ConfigurationError(
            f"{argument!r} is no pair of entries", where="diff", cure="type `diff A B`, or `diff A`, or `diff`"
        )
    named = [int(word) for word in words]
    first, second = [*named, session.position][:2] if named else (max(session.position - 1, 0), session.position)
    await session.timeline.read_to(max(first, second))
    change = session.timeline.change(first, second)
    head = Line(Text(f"from entry {change.before} to entry {change.after}", style="bold"))
    return DebugAnswer((Lines([head, *change_pane(change).lines]),))


COLUMNS_OF_TWO = 100
"""From so many columns on, text has two columns; a screen always has them."""


async def compare(session: DebugSession, argument: str) -> DebugAnswer:
    """``compare RUN``: where another run first decided otherwise, in words, and both side by side from there on."""
    if not argument:
        raise ConfigurationError("no run is named", where="compare", cure="type `compare RUN`, with the id of another run")
    one, other = session.timeline, await RunTimeline.open(session.journal, await session.named(argument))
    number = first_divergence(one, other)
    words = divergence_in_words(one, other, number)
    rows = await rows_side_by_side(one, other, (session.lines, EntryLines(other)), number)
    if not rows:
        return DebugAnswer((words,))
    return DebugAnswer((words, Text(), SideBySide(rows, stacked_below=COLUMNS_OF_TWO)), over=(words, Text(), SideBySide(rows)))
