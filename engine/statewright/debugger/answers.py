"""What a command of the debugger answers, and the words for where one stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from statewright.debugger.session import DebugSession
from statewright.debugger.stops import Breakpoint
from statewright.presentation.event_words import seconds
from statewright.presentation.lines import Line, Lines
from statewright.presentation.output import one_line
from statewright.presentation.timeline import TONES
from statewright.presentation.values import fact_in_words
from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class DebugAnswer:
    """What a command gives: what is said, whether the position or what is shown there changed, whether it was the last one.

    ``pane`` is the part of the screen that shows the same.
    """

    said: tuple[RenderableType, ...] = ()
    moved: bool = False
    leaves: bool = False
    pane: str = ""
    copied: str = ""
    """A text for the clipboard."""
    notice: str = ""
    """The same in a line, for a screen that shows the rest anyway."""
    over: tuple[RenderableType, ...] = ()
    """The same to be read over the screen, where that looks other than what is said."""


def saying(*lines: str, pane: str = "", moved: bool = False) -> DebugAnswer:
    """An answer in plain lines."""
    said = tuple(map(one_line, lines))
    return DebugAnswer((Lines(Line(Text(each), 2) for each in said),), moved=moved, pane=pane, notice="; ".join(said))


def position_lines(session: DebugSession, stops: Iterable[Breakpoint] = ()) -> Lines:
    """Where one stands: the entry and its time, what was decided in it and why, and what is watched."""
    return Lines(
        [*_head(session), *_stopped(stops), *_decisions(session), *_end(session), *_watched(session), *waiting_lines(session)]
    )


def _head(session: DebugSession) -> Iterator[Line]:
    timeline, at = session.timeline, session.position
    moment = session.moment
    main = moment.main
    where = f"entry {at} of {session.last}" if at else "before entry 1" + (f" of {session.last}" if session.last else "")
    elapsed = f"{seconds(moment.elapsed_us / 1_000_000)} after the beginning"
    state = (one_line(main.state), TONES.get(main.state, "bold"))
    yield Line(Text.assemble((where, "bold"), f", {elapsed}: {one_line(main.name)} is in ", state), 2)
    if timeline.problem is not None and at == session.last:
        yield Line(Text(one_line(f"damaged here: {timeline.problem.what} ({timeline.problem.where})"), style="bold red"), 2)
    if timeline.facts_problem and not moment.known:
        yield Line(Text(one_line(f"facts and messages are not known: {timeline.facts_problem}"), style="yellow"), 2)


def _stopped(stops: Iterable[Breakpoint]) -> Iterator[Line]:
    for each in stops:
        yield Line(Text(one_line(f"stopped: {each.text}"), style="bold yellow"), 2)


def _decisions(session: DebugSession) -> Iterator[Line]:
    for line in session.lines.of(session.position):
        yield Line(line.text(), 6)
    decision = session.decision
    if decision is not None and decision.decided is not None and decision.machine in session.timeline.machines:
        words = session.timeline.machines[decision.machine].words.get(decision.decided)
        if words is not None and words.why:
            yield Line(
                Text.assemble(("why  ", "dim"), (one_line(decision.decided), "bold cyan"), one_line(f": {words.why}")), 5
            )


def _end(session: DebugSession) -> Iterator[Line]:
    end = session.timeline.end if session.position == session.last else None
    if end is not None:
        status = (one_line(end.status), TONES.get(end.status, "bold"))
        yield Line(Text.assemble("the run ends here: ", status, one_line(f", {end.stop_reason}")), 2)


def waiting_lines(session: DebugSession) -> Iterator[Line]:
    """What waits to be applied in a live run, where one stands at the end of its record."""
    if session.stepper is None or session.position != session.last:
        return
    for place, held in enumerate(session.stepper.inbox):
        edited = f", {held.delivery.interference.what}" if held.delivery.interference is not None else ""
        said = f"{held.kind} at {held.instance}{edited}"
        yield Line(Text.assemble(("then " if place else "next ", "dim"), (one_line(said), "bold")), 5)
    if session.stepper.waiting:
        yield Line(Text("the run waits for a person: `approve` or `reject`", style="bold yellow"), 2)


def _watched(session: DebugSession) -> Iterator[Line]:
    if not session.watches:
        return
    moment, change = session.moment, session.change
    for watch in session.watches:
        instance, _, name = watch.text.rpartition(".")
        held = [each for each in moment.instances if instance in ("", each.name) and name in each.fields()]
        for each in held:
            changed = any(fact.field == name and fact.instance == each.name for fact in change.facts)
            said = f"{each.name}.{name}: {fact_in_words(each.fields()[name])}{' (changed)' if changed else ''}"
            yield Line(Text.assemble(("watch  ", "dim"), one_line(said)), 7)
        if not held:
            yield Line(Text.assemble(("watch  ", "dim"), one_line(f"{watch.text}: nothing here has it")), 7)
