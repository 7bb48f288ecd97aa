"""A macrostep: one event from outside and all that follows from it inside, one transaction of the pump and one step here.

The commands are carried out as the router of the engine says, first in, first out. Where the surroundings may decide in several
ways, each is followed from the beginning. What the machines command is watched on the way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from statewright.core.links import Route
from statewright.core.routing import Router
from statewright_evidence.proofs.composition import watch
from statewright_evidence.proofs.composition.decisions import IGNORED, Decisions
from statewright_evidence.proofs.composition.external_events import ExternalEvents
from statewright_evidence.proofs.composition.limits import width_of
from statewright_evidence.proofs.composition.outside import CALL, RUN, Activity, Pending, begun
from statewright_evidence.proofs.composition.situation import (
    Call,
    Core,
    ExternalEvent,
    Observations,
    Placed,
    ToolCallState,
    Wrong,
)
from statewright_evidence.proofs.composition.surroundings import EveryAnswer, noted
from statewright_states.call.commands import ReportCall, SendRequest
from statewright_states.call.events import AttemptFailed
from statewright_states.form.row import Command, Event
from statewright_states.frozen import dataclass
from statewright_states.run.commands import ReplaceOldExchanges
from statewright_states.run.facts import CallPhase
from statewright_states.tool.commands import AskPerson, ReportOutcomeUnknown, ReportSettled, StartTool, WithdrawQuestion
from statewright_states.tool.events import ApprovalGiven, NobodyToAsk, ToolCancelled, ToolRepeated, ToolRequested, ToolSkipped
from statewright_states.words.approval import WithoutAPerson
from statewright_states.words.vocabulary import Purpose

CoreOf = Callable[[Placed, tuple[Call, ...], tuple[ToolCallState, ...]], Core]
ABOUT_A_TOOL = (StartTool, AskPerson, WithdrawQuestion, ReportSettled, ReportOutcomeUnknown)


@dataclass(frozen=True, slots=True)
class Setting:
    """What every macrostep of a model works with.

    ``at_once``: what may come at once of an effect whose link allows it; it is given the effect, and the name of the tool that
    it is about. It gives None for one that takes its time.
    """

    router: Router
    decisions: Decisions
    surroundings: EveryAnswer
    at_once: Callable[[Pending, str], Sequence[ExternalEvent] | None]


class Macrostep:
    """A macrostep under way."""

    def __init__(self, setting: Setting, core: Core) -> None:
        self.setting = setting
        self.run = core.run
        self.calls: dict[str, Placed] = {call.name: call.placed for call in core.calls}
        self.tools: dict[str, ToolCallState] = {tool.name: tool for tool in core.tools}
        self.waiting: deque[Command] = deque()
        self.rows: list[tuple[str, str]] = []
        self.effects: list[Command] = []
        self.notes: list[str] = []
        self.wrong: list[Wrong] = []
        self.counted = True
        self.moved = False
        """Whether some machine stands elsewhere than before."""
        self.changed = False
        """Whether what was seen of a tool call is no longer what it was."""
        self.requests = self.starts = 0
        self.lost: list[str] = []
        """The tool calls whose ends were reported as lost."""
        self.summarised = False
        """Whether a call for a summary came back with one."""

    def proceed(self) -> None:
        """Carry out what waits, to the end."""
        self.setting.surroundings.taken = self.tools
        while self.waiting and not self.wrong:
            self._carry_out(self.waiting.popleft())

    def _carry_out(self, command: Command) -> None:
        """Apply the event that this command becomes; it has none where it changes the messages alone, or goes outside."""
        self._watch(command)
        setting, link = self.setting, self.setting.router.link(command)
        chosen = setting.surroundings.choices
        if link.route is Route.MACHINE:
            becomes = setting.router.event(command, self.run.facts, setting.surroundings)
        elif link.route is Route.EFFECT:
            pending = begun(command)
            outcomes = setting.at_once(pending, self._name_of_tool(pending)) if pending is not None and link.at_once else None
            if pending is None or outcomes is None:
                self.effects.append(command)
                return
            becomes = link.sender.value, pending.machine, setting.surroundings.one_of(outcomes).event
        else:
            return
        if setting.surroundings.choices > chosen:
            self.notes.append(noted(becomes[2]))
        self.apply(*becomes)

    def _name_of_tool(self, pending: Pending) -> str:
        return self.tools[pending.machine].seen.request.name if pending.activity is Activity.ASSESSMENT else ""

    # -- events ------------------------------------------------------------------------------------------------------

    def apply(self, machine: str, instance: str, event: Event) -> None:
        """Hand an event to a machine."""
        placed = self._placed(machine, instance, event)
        if placed is None:
            self._blame(watch.NOTHING_REFUSED, f"{instance} is told something, and nobody has asked for it")
            return
        if isinstance(event, ApprovalGiven):
            self._seen(instance, watch.with_statement(self.tools[instance].seen, event, self.run.facts.settings.approval))
        if isinstance(event, AttemptFailed) and not event.sent:
            self.requests -= 1  # a guard kept it from the wire
        if isinstance(event, NobodyToAsk) and self.run.facts.settings.without_a_person is WithoutAPerson.DENY:
            self._seen(instance, self.tools[instance].seen._replace(asked=""))
        decided = self.setting.decisions.decide(placed, event)
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
            return self.calls[instance] if instance in self.calls else self.setting.decisions.new(machine)
        if instance not in self.tools:
            if not isinstance(event, ToolRequested | ToolRepeated | ToolSkipped | ToolCancelled):
                return None
            self.tools[instance] = ToolCallState(instance, self.setting.decisions.new(machine), Observations(event.request))
        return self.tools[instance].placed

    # -- what is watched ---------------------------------------------------------------------------------------------

    def _blame(self, claim: str, what: str) -> None:
        self.wrong.append(Wrong(claim, what))

    def _seen(self, tool: str, seen: Observations) -> None:
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
                self.lost += [command.tool] if isinstance(command, ReportOutcomeUnknown) else []
            case ReportCall(purpose=Purpose.SUMMARY):
                self.summarised = self.setting.surroundings.holds_summary(command)
            case ReplaceOldExchanges() if not self.summarised:
                self._blame(watch.SUMMARY_IS_ONE, "messages are replaced, and there is no summary")
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

    def judge_end(self, external: ExternalEvent) -> None:
        if external.ends_run and not self.run.ended:
            self._blame(watch.ENDS_AT_ONCE, f"{external.text}, and the run goes on in {self.run.state}")
        if external.idle and ((self.counted and self.moved) or self.effects):
            self._blame(watch.LATE_CHANGES_NOTHING, f"it changes where {external.instance} stands: {external.text}")
        settled = {call.request.tool for call in self.run.facts.tools if call.phase is not CallPhase.UNKNOWN}
        if not self.run.ended and (taken := settled & set(self.lost)):
            self._blame(watch.LOST_STAYS_LOST, f"the end of {min(taken)} is lost, and the run takes it for known")
        over = {name for name, placed in self.calls.items() if placed.ended}
        over |= {tool.name for tool in self.tools.values() if tool.placed.ended}
        for command in self.effects:
            about = command.call if isinstance(command, SendRequest) else ""
            about = command.tool if isinstance(command, StartTool | AskPerson) else about
            if about in over:
                what = f"{type(command).__name__} is commanded for {about}, which has ended"
                self._blame(watch.NOTHING_FOR_THE_ENDED, what)


# -- what comes of events ----------------------------------------------------------------------------------------------


class Consequence(NamedTuple):
    """What came of an event."""

    label: str
    core: Core
    effects: tuple[Command, ...]
    current: dict[str, int]
    """The number of the request that each live call waits for, as its machine counted."""
    counted: bool
    """Whether the event itself was taken: an ignored one leaves what it came from as it was."""
    requests: int
    """Requests put on the wire, those that are sent again after a death not counted."""
    starts: int
    """Tool calls that began, those that began again not counted."""
    wrong: tuple[Wrong, ...]


class Macrosteps:
    """Finds out what comes of events, each once. ``core`` puts all machines together."""

    def __init__(self, router: Router, decisions: Decisions, external_events: ExternalEvents, core: CoreOf) -> None:
        scope = external_events.scope

        def at_once(pending: Pending, tool: str) -> Sequence[ExternalEvent] | None:
            return external_events.of(pending, tool) if scope.at_once or pending.activity is Activity.PAUSE else None

        self._setting = Setting(router, decisions, EveryAnswer(scope), at_once)
        self._core = core
        self.after = cache(self._after)

    def _after(self, core: Core, external: ExternalEvent) -> tuple[Consequence, ...]:
        """What may come of this in this situation."""
        return tuple(self._setting.surroundings.every(lambda: self._one(core, external)))

    def _one(self, core: Core, external: ExternalEvent) -> Consequence:
        macrostep = Macrostep(self._setting, core)
        machine = RUN if external.instance == RUN else external.instance.split("-")[0]
        macrostep.apply(machine, external.instance, external.event)
        macrostep.counted = not macrostep.rows[-1][1].endswith(IGNORED)
        if not macrostep.counted and not macrostep.changed:
            return Consequence(_label(external.text, [], macrostep.rows), core, (), {}, False, 0, 0, ())
        macrostep.proceed()
        if not macrostep.wrong:
            macrostep.judge_end(external)
        calls = tuple(Call(name, placed) for name, placed in macrostep.calls.items())
        return Consequence(
            label=_label(external.text, macrostep.notes, macrostep.rows),
            core=self._core(macrostep.run, calls, tuple(macrostep.tools.values())),
            effects=tuple(macrostep.effects),
            current={call.name: call.placed.facts.send for call in calls if not call.placed.ended},
            counted=macrostep.counted,
            requests=macrostep.requests,
            starts=macrostep.starts,
            wrong=tuple(macrostep.wrong),
        )


def _label(text: str, notes: list[str], rows: list[tuple[str, str]]) -> str:
    """What happened, what was found on the way, and the rows taken, by machine, in the order in which they were taken."""
    parts: list[str] = []
    last = ""
    for instance, row in rows:
        parts.append(f" {row}" if instance == last else f"{'; ' if parts else ''}{instance} {row}")
        last = instance
    found = f" ({', then '.join(notes)})" if notes else ""
    return f"{text}{found} → {''.join(parts)}"
