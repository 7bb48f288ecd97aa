"""Commands of the debugger that move: by entries, to the ends, to what is looked for, to a breakpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from statewright.debugger.answers import DebugAnswer, position_lines, saying
from statewright.debugger.session import DebugSession, Find
from statewright.debugger.stops import Breakpoint, breakpoint_of, tool_of, watch_of
from statewright.journal.entry import RecordedDecision
from statewright.presentation.output import one_line
from statewright.tools.suggestion import did_you_mean
from statewright_states.errors import ConfigurationError
from statewright_states.frozen import replace

Matches = Callable[[DebugSession, RecordedDecision, str], bool]
CLEAR = "clear"


async def here(session: DebugSession, stops: Iterable[Breakpoint] = ()) -> DebugAnswer:
    """Where one stands."""
    await session.read()
    return DebugAnswer(
        (position_lines(session, stops),), moved=True, notice=one_line("; ".join(f"stopped: {each.text}" for each in stops))
    )


async def go_on(session: DebugSession, argument: str) -> DebugAnswer:
    """``next [N]``, or ``next KIND``. A breakpoint on the way is stopped at, as gdb does."""
    if argument and not _is_number(argument):
        return await _to_kind(session, "next", argument, backwards=False)
    for gone in range(number_of("next", argument)):
        if not await session.go_on():
            return await here(session) if gone else saying(*_no_further(session))
        if stops := await session.stops_here():
            return await here(session, stops)
    return await here(session)


async def go_back(session: DebugSession, argument: str) -> DebugAnswer:
    """``back [N]``."""
    for gone in range(number_of("back", argument)):
        if not session.go_back():
            return await here(session) if gone else saying("this is the beginning: nothing was decided before entry 1")
    return await here(session)


async def to_previous(session: DebugSession, argument: str) -> DebugAnswer:
    """``previous KIND``."""
    return await _to_kind(session, "previous", argument, backwards=True)


async def to_start(session: DebugSession, argument: str) -> DebugAnswer:
    """``start``."""
    session.go_to(0)
    return await here(session)


async def to_end(session: DebugSession, argument: str) -> DebugAnswer:
    """``end``."""
    await session.look_again()
    session.go_to(session.last)
    return await here(session)


async def to_entry(session: DebugSession, argument: str) -> DebugAnswer:
    """``goto N``."""
    if not _is_number(argument):
        cure = f"type `goto N`, with N from 0 to {session.last}"
        raise ConfigurationError(f"{argument!r} is no entry" if argument else "no entry is named", where="goto", cure=cure)
    await session.look_again()
    session.go_to(int(argument))
    return await here(session)


async def to_breakpoint(session: DebugSession, argument: str) -> DebugAnswer:
    """``continue``."""
    began = session.position
    while await session.go_on():
        if stops := await session.stops_here():
            return await here(session, stops)
    if session.position == began:
        return saying(*_no_further(session))
    if session.breakpoints or session.watches:
        none = saying("; ".join(("no breakpoint was met", *_no_further(session))))
        return DebugAnswer((*none.said, *(await here(session)).said), moved=True, notice=none.notice)
    answer = await here(session)
    return replace(answer, notice="; ".join(_no_further(session)))


def _no_further(session: DebugSession) -> list[str]:
    ended, stepper = session.timeline.end is not None, session.stepper
    if stepper is not None and stepper.waiting:
        return ["the run waits for a person: `approve` or `reject`"]
    if session.timeline.problem is not None:
        return ["this is the last entry that is good"]
    return ["this is the last entry: the run has ended" if ended else "this is the last entry so far: the run has not ended"]


# -- to what is looked for -------------------------------------------------------------------------------------------


def _of_machine(session: DebugSession, decision: RecordedDecision) -> bool:
    return decision.machine == session.machine


KINDS: Mapping[str, Matches] = {
    "row": lambda session, one, name: one.row is not None and _of_machine(session, one) and name in ("", one.row),
    "state": lambda session, one, name: (
        one.row is not None and _of_machine(session, one) and one.target != one.source and name in ("", one.target)
    ),
    "event": lambda session, one, name: name in ("", one.event),
    "refusal": lambda session, one, name: one.refused is not None,
    "ignored": lambda session, one, name: one.ignored is not None,
    "tool call": lambda session, one, name: one.event == "ToolRequested" and name in ("", tool_of(one)),
    "model call": lambda session, one, name: one.event == "CallRequested",
}
"""What can be gone to: a row or a state of the machine that is shown, an event, a refused or ignored one, the two calls."""


async def _to_kind(session: DebugSession, command: str, argument: str, *, backwards: bool) -> DebugAnswer:
    kind = next((kind for kind in KINDS if argument == kind or argument.startswith(f"{kind} ")), None)
    if kind is None:
        asked = f"{argument!r} is nothing that can be gone to" if argument else "nothing is named"
        typed = " | ".join(KINDS)
        also = "a number, or " if command == "next" else ""
        raise ConfigurationError(asked, where=command, cure=f"type {also}one of: {typed}; {did_you_mean(argument, KINDS)}")
    name, matches = argument.removeprefix(kind).strip(), KINDS[kind]
    await session.look_again()

    async def found(entry: int) -> bool:
        return any(matches(session, decision, name) for decision in session.timeline.entry(entry).decisions)

    return await _move_to(session, found, f"{kind} {name}".strip(), backwards=backwards)


async def _move_to(session: DebugSession, found: Find, what: str, *, backwards: bool) -> DebugAnswer:
    entry = await session.find(found, backwards=backwards)
    if entry is None:
        return saying(f"there is no {what} {'before' if backwards else 'after'} entry {session.position}")
    session.go_to(entry)
    return await here(session)


async def search(session: DebugSession, argument: str) -> DebugAnswer:
    """``search [TEXT]``: the next entry whose lines or messages hold a text; without one, the same text again."""
    session.searched = argument or session.searched
    if not session.searched:
        raise ConfigurationError("nothing is searched for", where="search", cure="type `search TEXT`")
    await session.look_again()
    wanted = session.searched.casefold()

    async def found(entry: int) -> bool:
        return await holds(session, entry, wanted)

    return await _move_to(session, found, f"entry with {session.searched!r}", backwards=False)


async def holds(session: DebugSession, entry: int, wanted: str) -> bool:
    """Whether what is said of an entry, or in it, holds a text, capitals aside."""
    await session.timeline.read_to(entry)
    lines = session.lines.of(entry)
    return any(wanted in f"{line.text().plain} {line.event.event.__class__.__name__} {line.whole}".casefold() for line in lines)


# -- where to stop ---------------------------------------------------------------------------------------------------


async def set_breakpoint(session: DebugSession, argument: str) -> DebugAnswer:
    """``break [KIND=VALUE | clear [N]]``; without a word they are listed."""
    if not argument:
        return saying(*_listed(session.breakpoints, "breakpoint"))
    if argument.split(maxsplit=1)[0] == CLEAR:
        return _clear(session.breakpoints, argument.removeprefix(CLEAR).strip(), "break")
    return _set(session.breakpoints, breakpoint_of(argument, session.timeline))


async def watch(session: DebugSession, argument: str) -> DebugAnswer:
    """``watch [FIELD | clear [N]]``; without a word they are listed."""
    if not argument:
        return saying(*_listed(session.watches, "watched fact"))
    if argument.split(maxsplit=1)[0] == CLEAR:
        return _clear(session.watches, argument.removeprefix(CLEAR).strip(), "watch")
    await session.read()
    return _set(session.watches, watch_of(argument, session.timeline, session.moment))


def _set(kept: list[Breakpoint], new: Breakpoint) -> DebugAnswer:
    if new.text not in [each.text for each in kept]:
        kept.append(new)
    return saying(f"set: {new.text}; `continue` goes on to it", moved=True)


def _listed(kept: list[Breakpoint], noun: str) -> list[str]:
    return [f"{place}  {each.text}" for place, each in enumerate(kept, 1)] or [f"there is no {noun}"]


def _clear(kept: list[Breakpoint], argument: str, command: str) -> DebugAnswer:
    """Clear one of them, by its number or its text, or all."""
    named = [each for place, each in enumerate(kept, 1) if argument in ("", str(place), each.text)]
    if argument and not named:
        cure = f"`{command}` lists them with their numbers"
        raise ConfigurationError(f"there is none {argument!r}", where=f"{command} {CLEAR}", cure=cure)
    kept[:] = [each for each in kept if each not in named]
    return saying(f"cleared: {', '.join(each.text for each in named) or 'nothing was set'}", moved=True)


# -- numbers ---------------------------------------------------------------------------------------------------------


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 9


def number_of(command: str, argument: str) -> int:
    """How many; 1 where nothing is said. Raises ConfigurationError."""
    if not argument:
        return 1
    if not _is_number(argument) or int(argument) == 0:
        raise ConfigurationError(
            f"{argument!r} is no number of entries", where=command, cure=f"type `{command}` or `{command} 5`"
        )
    return int(argument)
