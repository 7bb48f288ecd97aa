"""One event and everything that follows from it inside, first in first out: one transaction of the pump, one step here.

Where the surroundings may decide in several ways, each is followed. What the machines command is watched on the way.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from statewright.evidence.composition import watch
from statewright.evidence.composition.happenings import Happening, Happenings
from statewright.evidence.composition.limits import width_of
from statewright.evidence.composition.normal import Normal
from statewright.evidence.composition.situation import Call, Core, Placed, Pool, Seen, Tables, Tool, Wrong
from statewright.evidence.composition.surroundings import Around, noted
from statewright.evidence.composition.wiring import (
    CALL,
    GIVEN_UP,
    INSIDE,
    OUTSIDE,
    RUN,
    SAID,
    TOOL,
    Pending,
    What,
)
from statewright_states.call.commands import SendRequest
from statewright_states.row import Command, Event
from statewright_states.table import Ignored, Refused, Table, Taken
from statewright_states.tool.commands import AskPerson, ReportOutcomeUnknown, ReportSettled, StartTool, WithdrawQuestion
from statewright_states.tool.events import ApprovalGiven, NobodyToAsk
from statewright_states.vocabulary import ToolRequest

AT_ONCE = (What.LANE, What.CONTEXT, What.ASSESSMENT)
"""What the engine does within the drain where nobody outside has a say in it."""


class Effect(NamedTuple):
    """What a drain leaves to be done outside: something begun, or something given up."""

    command: Command
    begun: Pending | None


class After(NamedTuple):
    """What came of an event."""

    label: str
    core: Core
    effects: tuple[Effect, ...]
    current: dict[str, int]
    """The number of the request that each live call waits for, as its machine counted."""
    counted: bool
    """Whether the event itself was taken: an ignored one leaves what it came from as it was."""
    requests: int
    """Requests put on the wire, those that are sent again after a death not counted."""
    starts: int
    """Tool calls that began, those that began again not counted."""
    wrong: tuple[Wrong, ...]


class Drains:
    """Finds out what comes of events, each once."""

    def __init__(self, tables: Tables, pool: Pool, happenings: Happenings, normal: Normal) -> None:
        self.tables = {RUN: tables.run, CALL: tables.call, TOOL: tables.tool}
        self.pool = pool
        self.normal = normal
        self.happenings = happenings
        self.around = Around(happenings.scope)
        self.at_once = AT_ONCE if happenings.scope.at_once else ()
        self._decided: dict[tuple[Placed, Event], tuple[str, Placed, tuple[Command, ...]] | str] = {}
        self._known: dict[tuple[Core, Happening], tuple[After, ...]] = {}

    def after(self, core: Core, happening: Happening) -> tuple[After, ...]:
        """What may come of this in this situation."""
        found = self._known.get((core, happening))
        if found is None:
            found = self._known[core, happening] = tuple(self._follow(core, happening))
        return found

    def _follow(self, core: Core, happening: Happening) -> list[After]:
        first = Drain(self, core)
        machine = RUN if happening.instance == RUN else happening.instance.split("-")[0]
        first.apply(machine, happening.instance, happening.event)
        first.counted = "ignored" not in first.rows[-1][1]
        open_drains, ended = [first], list[After]()
        while open_drains:
            drain = open_drains.pop()
            forks = drain.proceed()
            open_drains += reversed(forks)
            if not forks:
                ended.append(drain.after(happening))
        return ended

    def decide(self, placed: Placed, event: Event) -> tuple[str, Placed, tuple[Command, ...]] | str:
        """The row, where the machine stands then, and its commands; or why the event is refused."""
        key = (placed, event)
        found = self._decided.get(key)
        if found is None:
            found = self._decided[key] = self._decide(placed, event)
        return found

    def _decide(self, placed: Placed, event: Event) -> tuple[str, Placed, tuple[Command, ...]] | str:
        decision = placed.table.decide(placed.state, placed.facts, event)
        match decision:
            case Taken():
                return decision.row.id, self.pool.placed(placed.table, decision.to, decision.facts), decision.commands
            case Ignored():
                return f"{decision.ignore.id} (ignored)", placed, ()
            case Refused():
                return decision.why


class Drain:
    """A drain under way. ``fork`` gives an independent copy."""

    def __init__(self, drains: Drains, core: Core) -> None:
        self.drains = drains
        self.run = core.run
        self.calls: dict[str, Placed] = {call.name: call.placed for call in core.calls}
        self.tools: dict[str, Tool] = {tool.name: tool for tool in core.tools}
        self.waiting: deque[Command] = deque()
        self.rows: list[tuple[str, str]] = []
        self.effects: list[Effect] = []
        self.notes: list[str] = []
        self.wrong: list[Wrong] = []
        self.counted = True
        self.requests = self.starts = 0

    def fork(self) -> Drain:
        """The same once more."""
        twin = object.__new__(Drain)
        for name, value in vars(self).items():
            setattr(twin, name, value.copy() if isinstance(value, dict | list | deque) else value)
        return twin

    def proceed(self) -> list[Drain]:
        """Carry out what waits, to the end or to where several things may be: then a drain for each."""
        while self.waiting and not self.wrong:
            alternatives = self._carry_out(self.waiting.popleft())
            if len(alternatives) > 1:
                return [self._told(alternative, noted(alternative[2])) for alternative in alternatives]
            for machine, instance, event in alternatives:
                self.apply(machine, instance, event)
        return []

    def _told(self, alternative: tuple[str, str, Event], note: str) -> Drain:
        twin = self.fork()
        twin.notes.append(note)
        twin.apply(*alternative)
        return twin

    def _carry_out(self, command: Command) -> list[tuple[str, str, Event]]:
        """The events that this command may become; it has none where it goes outside."""
        self._watch(command)
        around, kind = self.drains.around, type(command)
        if kind in INSIDE:
            around.facts, around.taken = self.run.facts, self.tools
            inside = INSIDE[kind](command, around)
            return [(inside.machine, inside.instance, event) for event in inside.events]
        if kind in OUTSIDE:
            begun = OUTSIDE[kind](command)
            if begun.what in self.drains.at_once:
                outcomes = self.drains.happenings.of(begun, self._name_of_tool(begun))
                return [(RUN if begun.machine == RUN else TOOL, begun.machine, outcome.event) for outcome in outcomes]
            self.effects.append(Effect(command, begun))
        elif kind in GIVEN_UP:
            self.effects.append(Effect(command, None))
        elif kind not in SAID:
            self._blame(watch.NOTHING_REFUSED, f"nobody carries out {kind.__name__}")
        return []

    def _name_of_tool(self, pending: Pending) -> str:
        return self.tools[pending.machine].seen.request.name if pending.what is What.ASSESSMENT else ""

    # -- events ------------------------------------------------------------------------------------------------------

    def apply(self, machine: str, instance: str, event: Event) -> None:
        """Hand an event to a machine."""
        placed = self._placed(machine, instance, event)
        if isinstance(event, ApprovalGiven):
            self._seen(instance, watch.heard(self.tools[instance].seen, event, self.run.facts.settings.approval))
        if isinstance(event, NobodyToAsk):
            self._seen(instance, self.tools[instance].seen._replace(asked=""))
        decided = self.drains.decide(placed, event)
        if isinstance(decided, str):
            self.rows.append((instance, "refused"))
            self._blame(watch.NOTHING_REFUSED, decided if machine == RUN else f"{instance}: {decided}")
            return
        row, placed, commands = decided
        self.rows.append((instance, row))
        if machine == RUN:
            self.run = placed
        elif machine == CALL:
            self.calls[instance] = placed
        else:
            self.tools[instance] = self.tools[instance]._replace(placed=placed)
        self.waiting.extend(commands)

    def _placed(self, machine: str, instance: str, event: Event) -> Placed:
        if machine == RUN:
            return self.run
        table: Table[Any] = self.drains.tables[machine]
        if machine == CALL:
            return self.calls[instance] if instance in self.calls else self.drains.pool.new(table)
        if instance not in self.tools:
            request: ToolRequest = getattr(event, "request", None) or _unknown(instance)
            self.tools[instance] = Tool(instance, self.drains.pool.new(table), Seen(request))
        return self.tools[instance].placed

    # -- what is watched ---------------------------------------------------------------------------------------------

    def _blame(self, claim: str, what: str) -> None:
        self.wrong.append(Wrong(claim, what))

    def _seen(self, tool: str, seen: Seen) -> None:
        self.tools[tool] = self.tools[tool]._replace(seen=seen)

    def _watch(self, command: Command) -> None:
        match command:
            case SendRequest(new_attempt=True):
                self.requests += 1
                self._watch_stop(f"a request of {command.call} is put on the wire")
                if (spent := watch.over_budget(self.run.facts)) is not None:
                    self._blame(watch.BUDGETS_HOLD, f"a request of {command.call} is put on the wire, and {spent}")
            case StartTool():
                self._watch_start(command.tool)
            case AskPerson():
                self._seen(command.tool, self.tools[command.tool].seen._replace(asked=command.arguments))
            case WithdrawQuestion():
                self._seen(command.tool, self.tools[command.tool].seen._replace(asked=""))
            case ReportSettled() | ReportOutcomeUnknown():
                self._watch_report(command.tool)
            case _:
                pass

    def _watch_stop(self, what: str) -> None:
        if self.run.facts.stop:
            self._blame(watch.NOTHING_AFTER_STOP, f"{what} after a stop was asked for")

    def _watch_start(self, tool: str) -> None:
        seen = self.tools[tool].seen
        if (lacking := watch.unapproved(seen, self.run.facts.settings.approval)) is not None:
            self._blame(watch.APPROVAL_DOMINATES, f"{tool} ({seen.request.name}) begins, and {lacking}")
        if (again := watch.begun_twice(seen)) is not None:
            self._blame(watch.NEVER_TWICE, f"{tool} ({seen.request.name}) begins, and {again}")
        self._watch_stop(f"{tool} begins")
        self._watch_order(tool, "begins")
        self.starts += not seen.begun
        self._seen(tool, seen._replace(begun=1))

    def _watch_report(self, tool: str) -> None:
        seen = self.tools[tool].seen
        self._watch_order(tool, "has settled")
        if seen.reports:
            self._blame(watch.SETTLES_ONCE, f"the run is told a second time that {tool} has settled")
        self._seen(tool, seen._replace(reports=seen.reports + 1))

    def _watch_order(self, tool: str, what: str) -> None:
        names = [call.request.tool for call in self.run.facts.tools]
        earlier = names[: names.index(tool)] if tool in names and width_of(self.run.facts) == 1 else []
        for name in earlier:
            if name not in self.tools or not self.tools[name].placed.ended:
                self._blame(watch.ORDER_KEPT, f"{tool} {what}, and {name}, which stands before it, has not settled")

    def _watch_end(self, happening: Happening) -> None:
        if happening.ends_run and not self.run.ended:
            self._blame(watch.ENDS_AT_ONCE, f"{happening.text}, and the run goes on in {self.run.state}")
        over = {name for name, placed in self.calls.items() if placed.ended}
        over |= {tool.name for tool in self.tools.values() if tool.placed.ended}
        for effect in self.effects:
            if isinstance(effect.command, SendRequest | StartTool | AskPerson):
                about = effect.begun.machine if effect.begun is not None else ""
                if about in over:
                    what = f"{type(effect.command).__name__} is commanded for {about}, which has ended"
                    self._blame(watch.NOTHING_FOR_THE_ENDED, what)

    # -- the end -----------------------------------------------------------------------------------------------------

    def after(self, happening: Happening) -> After:
        """What came of it."""
        if not self.wrong:
            self._watch_end(happening)
        core = self.drains.normal.core(
            self.run, [Call(name, placed) for name, placed in self.calls.items()], list(self.tools.values())
        )
        current = {name: placed.facts.send for name, placed in self.calls.items() if not placed.ended}
        label = _label(happening.text, self.notes, self.rows)
        wrong, effects = tuple(self.wrong), tuple(self.effects)
        return After(label, core, effects, current, self.counted, self.requests, self.starts, wrong)


def _unknown(tool: str) -> ToolRequest:
    """A tool call that was never asked for is told something."""
    raise LookupError(f"{tool} is told something, and nobody has asked for it")


def _label(text: str, notes: list[str], rows: list[tuple[str, str]]) -> str:
    """What happened, what was found on the way, and the rows taken, by machine, in the order in which they were taken."""
    parts: list[str] = []
    last = ""
    for instance, row in rows:
        parts.append(f" {row}" if instance == last else f"{'; ' if parts else ''}{instance} {row}")
        last = instance
    found = f" ({', then '.join(notes)})" if notes else ""
    return f"{text}{found} → {''.join(parts)}"
