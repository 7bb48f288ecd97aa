"""One event and everything that follows from it inside, first in first out: one transaction of the pump, one step here.

Where the surroundings may decide in several ways, each is followed. What the machines command is watched on the way.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from statewright_evidence.proofs.composition import watch
from statewright_evidence.proofs.composition.deciding import Deciding
from statewright_evidence.proofs.composition.happenings import Happenings
from statewright_evidence.proofs.composition.limits import width_of
from statewright_evidence.proofs.composition.outside import CALL, RUN, TOOL, Pending, What
from statewright_evidence.proofs.composition.situation import Core, Happening, Placed, Seen, Tool, Wrong
from statewright_evidence.proofs.composition.surroundings import Around, noted
from statewright_evidence.proofs.composition.wiring import GIVEN_UP, INSIDE, OUTSIDE, SAID
from statewright_states.call.commands import SendRequest
from statewright_states.call.events import AttemptFailed
from statewright_states.form.row import Command, Event
from statewright_states.frozen import dataclass
from statewright_states.tool.commands import AskPerson, ReportOutcomeUnknown, ReportSettled, StartTool, WithdrawQuestion
from statewright_states.tool.events import ApprovalGiven, NobodyToAsk
from statewright_states.words.approval import WithoutAPerson
from statewright_states.words.vocabulary import ToolRequest

ABOUT_A_TOOL = (StartTool, AskPerson, WithdrawQuestion, ReportSettled, ReportOutcomeUnknown)


class Effect(NamedTuple):
    """What a drain leaves to be done outside: something begun, or something given up."""

    command: Command
    begun: Pending | None


@dataclass(frozen=True, slots=True)
class Setting:
    """What every drain of a model works with. ``at_once``: what is done within it and needs nobody outside."""

    deciding: Deciding
    happenings: Happenings
    around: Around
    at_once: tuple[What, ...]


class Drain:
    """A drain under way. ``fork`` gives an independent copy."""

    def __init__(self, setting: Setting, core: Core) -> None:
        self.setting = setting
        self.run = core.run
        self.calls: dict[str, Placed] = {call.name: call.placed for call in core.calls}
        self.tools: dict[str, Tool] = {tool.name: tool for tool in core.tools}
        self.waiting: deque[Command] = deque()
        self.rows: list[tuple[str, str]] = []
        self.effects: list[Effect] = []
        self.notes: list[str] = []
        self.wrong: list[Wrong] = []
        self.counted = True
        self.moved = False
        """Whether some machine stands elsewhere than before."""
        self.changed = False
        """Whether what was seen of a tool call is no longer what it was."""
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
        around, kind = self.setting.around, type(command)
        if kind in INSIDE:
            around.facts, around.taken = self.run.facts, self.tools
            inside = INSIDE[kind](command, around)
            return [(inside.machine, inside.instance, event) for event in inside.events]
        if kind in OUTSIDE:
            begun = OUTSIDE[kind](command)
            if begun.what in self.setting.at_once:
                outcomes = self.setting.happenings.of(begun, self._name_of_tool(begun))
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
        if placed is None:
            self._blame(watch.NOTHING_REFUSED, f"{instance} is told something, and nobody has asked for it")
            return
        if isinstance(event, ApprovalGiven):
            self._seen(instance, watch.heard(self.tools[instance].seen, event, self.run.facts.settings.approval))
        if isinstance(event, AttemptFailed) and not event.sent:
            self.requests -= 1  # a guard kept it from the wire
        if isinstance(event, NobodyToAsk) and self.setting.around.without_a_person is WithoutAPerson.DENY:
            self._seen(instance, self.tools[instance].seen._replace(asked=""))
        decided = self.setting.deciding.decide(placed, event)
        if isinstance(decided, str):
            self.rows.append((instance, "refused"))
            self._blame(watch.NOTHING_REFUSED, decided if machine == RUN else f"{instance}: {decided}")
            return
        row, then, commands = decided
        self.rows.append((instance, row))
        self.moved = self.moved or then is not placed
        if machine == RUN:
            self.run = then
        elif machine == CALL:
            self.calls[instance] = then
        else:
            self.tools[instance] = self.tools[instance]._replace(placed=then)
        self.waiting.extend(commands)

    def _placed(self, machine: str, instance: str, event: Event) -> Placed | None:
        if machine == RUN:
            return self.run
        if machine == CALL:
            return self.calls[instance] if instance in self.calls else self.setting.deciding.new(machine)
        if instance not in self.tools:
            request: ToolRequest | None = getattr(event, "request", None)
            if request is None:
                return None
            self.tools[instance] = Tool(instance, self.setting.deciding.new(machine), Seen(request))
        return self.tools[instance].placed

    # -- what is watched ---------------------------------------------------------------------------------------------

    def _blame(self, claim: str, what: str) -> None:
        self.wrong.append(Wrong(claim, what))

    def _seen(self, tool: str, seen: Seen) -> None:
        self.changed = self.changed or seen != self.tools[tool].seen
        self.tools[tool] = self.tools[tool]._replace(seen=seen)

    def _watch(self, command: Command) -> None:
        if isinstance(command, ABOUT_A_TOOL) and command.tool not in self.tools:
            self._blame(watch.NOTHING_REFUSED, f"{type(command).__name__} speaks of {command.tool!r}, which is no tool call")
            return
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

    def judge_end(self, happening: Happening) -> None:
        if happening.ends_run and not self.run.ended:
            self._blame(watch.ENDS_AT_ONCE, f"{happening.text}, and the run goes on in {self.run.state}")
        if happening.idle and ((self.counted and self.moved) or self.effects):
            self._blame(watch.LATE_CHANGES_NOTHING, f"it changes where {happening.instance} stands: {happening.text}")
        over = {name for name, placed in self.calls.items() if placed.ended}
        over |= {tool.name for tool in self.tools.values() if tool.placed.ended}
        for effect in self.effects:
            if isinstance(effect.command, SendRequest | StartTool | AskPerson):
                about = effect.begun.machine if effect.begun is not None else ""
                if about in over:
                    what = f"{type(effect.command).__name__} is commanded for {about}, which has ended"
                    self._blame(watch.NOTHING_FOR_THE_ENDED, what)
