"""A run with its model calls and tool calls, and around them a world in which anything may happen at any moment.

The three machines meet here by the router of the engine: a command of one becomes an event of another.
What the engine would do outside (send a request, run a tool, ask a person) becomes a ``Pending`` entry, and the test
decides what comes of it, when, and whether the process dies before. Whatever one event leads to inside is carried out
before the next thing happens, as one batch of the journal would be. Tools may begin runs of their own: of these the world
knows that they wait for persons, that they end, are found again after a death, and may end late. Chance comes to longer
lives and larger numbers than the model, which comes to everything within its bounds.
"""

from __future__ import annotations

from collections import Counter, deque
from enum import StrEnum
from random import Random
from typing import Any

from outcomes import ASKED, TIMERS, Outcomes
from statewright.core.links import Route
from statewright.core.routing import ROUTER
from statewright_evidence.proofs.composition.outside import CALL as CALL_NAME
from statewright_evidence.proofs.composition.outside import RUN, Activity, Pending, begun, goes_on, stopped
from statewright_states.call.commands import SendRequest
from statewright_states.call.events import ReplyBegan
from statewright_states.call.table import CALL
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Ignored, Refused, Table, Taken
from statewright_states.frozen import replace
from statewright_states.run.commands import CallModel
from statewright_states.run.events import ChildEnded, RunAdmitted
from statewright_states.run.facts import CallPhase, RunFacts, RunSettings, RunState
from statewright_states.run.table import RUN as RUN_TABLE
from statewright_states.tool.commands import StartTool
from statewright_states.tool.events import ToolResumed, ToolWaits
from statewright_states.tool.facts import Approval, ToolState
from statewright_states.tool.table import TOOL
from statewright_states.words.approval import WithoutAPerson
from statewright_states.words.vocabulary import CancelRequested, EngineFailed, Resumed, StopRequested


class Machine:
    """One machine at work: a table, where it stands, and the ids of the rows it took."""

    def __init__(self, name: str, table: Table[Any]) -> None:
        self.name = name
        self.table = table
        self.state: StrEnum = table.initial
        self.facts: Any = table.new_facts()
        self.ends = 0
        """How often a final state was entered."""

    @property
    def ended(self) -> bool:
        return self.state in self.table.final

    def apply(self, event: Event) -> Taken[Any] | Ignored | Refused:
        decision = self.table.decide(self.state, self.facts, event)
        if isinstance(decision, Taken):
            self.state, self.facts = decision.to, decision.facts
            self.ends += self.ended
        return decision


class World:
    """The composition of run, calls and tools. ``chance`` decides every outcome; ``trace`` tells what happened."""

    def __init__(self, chance: Random, settings: RunSettings, *, max_attempts: int = 2, fallbacks: int = 1) -> None:
        self.chance = chance
        self.run = Machine(RUN, RUN_TABLE)
        self.calls: dict[str, Machine] = {}
        self.tools: dict[str, Machine] = {}
        self.outcomes = Outcomes(chance, {"max_attempts": max_attempts, "fallbacks": fallbacks})
        self.requests = 0
        """Requests put on the wire, retries counted, lost ones not."""
        self.children: dict[str, list[str]] = {}
        """The runs that each tool has begun, by the call: found again when it runs again."""
        self.counted: set[str] = set()
        """Those whose end came while the run acts. Each has made one request."""
        self.pending: list[Pending] = []
        self.taken: Counter[str] = Counter()
        self.trace: list[str] = []
        self.epoch = 1
        self._inside: deque[tuple[Machine, Event]] = deque()
        settings = replace(settings, without_a_person=chance.choice(tuple(WithoutAPerson)))
        self.tell(self.run, RunAdmitted(settings, task="task"))

    @property
    def machines(self) -> list[Machine]:
        return [self.run, *self.calls.values(), *self.tools.values()]

    @property
    def facts(self) -> RunFacts:
        facts = self.run.facts
        assert isinstance(facts, RunFacts)
        return facts

    def told(self, what: object) -> str:
        """What is wrong, and all that led there."""
        return f"{what}\n" + "\n".join(self.trace)

    # -- what happens inside -----------------------------------------------------------------------------------------

    def tell(self, machine: Machine, event: Event) -> None:
        """Hand an event to a machine, and carry out all that follows from it inside."""
        self._inside.append((machine, event))
        while self._inside:
            self._step(*self._inside.popleft())

    def _step(self, machine: Machine, event: Event) -> None:
        before = machine.state
        decision = machine.apply(event)
        assert not isinstance(decision, Refused), self.told(f"{machine.name} refused {event}: {decision.why}")
        if isinstance(decision, Ignored):
            self.trace.append(f"{machine.name}: {decision.ignore.id} {type(event).__name__} ignored in {before}")
            self.taken[decision.ignore.id] += 1
            return
        self.trace.append(f"{machine.name}: {decision.row.id} {type(event).__name__}: {before} -> {decision.to}")
        self.taken[decision.row.id] += 1
        for command in decision.commands:
            self._carry_out(command)
        if machine.ended and machine.name in self.children:  # only what has not ended yet may still come, late
            self.pending = [entry for entry in self.pending if entry.subject not in self.counted]
        if machine is self.run and not self.run.ended:
            self._persons_are_waited_for_while_it_acts()

    def _persons_are_waited_for_while_it_acts(self) -> None:
        if self.run.state is not RunState.ACTING:
            assert not any(call.waits for call in self.facts.tools), self.told("a tool waits, and the run does not act")
            asks = self.run.state is RunState.AWAITING_APPROVAL
            assert asks or not self.facts.paused, self.told(f"the run's time stands still in {self.run.state}")

    def _carry_out(self, command: Command) -> None:
        if isinstance(command, CallModel):
            assert command.call not in self.calls, f"{command.call} was asked twice"
        if isinstance(command, SendRequest):
            self.requests += command.new_attempt
        match ROUTER.route(command):
            case Route.MACHINE:
                machine, instance, event = ROUTER.event(command, self.facts, self.outcomes)
                self._inside.append((self._machine(machine, instance), event))
            case Route.EFFECT if (pending := begun(command)) is not None:
                if pending.activity is Activity.PAUSE:  # the timer says so at once, in the engine too
                    self._inside.append((self.run, self.outcomes.of(pending)))
                else:
                    self.pending.append(pending)
                if isinstance(command, StartTool):  # it finds the runs that it has begun before
                    self.pending += [child_of(child) for child in self.children.get(command.tool, ())]
            case _:  # what is given up may still come, late: a thread cannot be killed, and a person may have answered already
                self.pending = [stopped(command, entry) for entry in self.pending]

    def _machine(self, table: str, name: str) -> Machine:
        if table == RUN:
            return self.run
        if table == CALL_NAME:
            return self.calls.setdefault(name, Machine(name, CALL))
        return self.tools.setdefault(name, Machine(name, TOOL))

    # -- what happens outside ----------------------------------------------------------------------------------------

    def happens(self, pending: Pending, *, again: bool = False) -> None:
        """Something that was going on outside comes to its end; ``again`` leaves it there to come once more."""
        if not again:
            self.pending.remove(pending)
        machine = {RUN: self.run, **self.calls, **self.tools}[pending.machine]
        event = self.outcomes.of(pending)
        if isinstance(event, ReplyBegan):
            self.pending.append(pending._replace(activity=Activity.REPLY))
        if isinstance(event, ChildEnded) and self.run.state is RunState.ACTING:
            self.counted.add(event.run)
        self.trace.append(f"- {event}")
        self.tell(machine, event)
        if isinstance(event, ToolWaits) and not machine.ended:
            self._waits(pending, event)
        if pending.activity in ASKED and pending not in self.pending and self._still_open(pending):
            self.pending.append(pending)

    def _waits(self, tool: Pending, event: ToolWaits) -> None:
        """A tool waits for a run that it has begun, or goes on, as it does where a stop has reached that run."""
        if event.questions and tool.activity is Activity.TOOL:
            begun_before = self.children.setdefault(tool.machine, [])
            begun_before.append(f"{tool.machine}.{len(begun_before) + 1}")
            self.pending.append(child_of(begun_before[-1]))
        waits = event.questions and not self.facts.stop
        self.pending.append(tool._replace(activity=Activity.CHILD) if waits else goes_on(tool))

    def _still_open(self, question: Pending) -> bool:
        """Whether a statement left its question open: it was not counted, or is about another version of the call."""
        if question.activity is Activity.OUTCOME:
            lost = [call.request.tool for call in self.facts.tools if call.phase is CallPhase.UNKNOWN]
            return not self.run.ended and question.subject in lost
        tool = self.tools[question.machine]
        return tool.state is ToolState.AWAITING_APPROVAL and tool.facts.approval is Approval.OPEN

    def stops(self) -> None:
        self.trace.append("- stop")
        self.tell(self.run, StopRequested())

    def is_cancelled(self) -> None:
        self.trace.append("- cancel")
        self.tell(self.run, CancelRequested())

    def breaks(self) -> None:
        self.trace.append("- the engine fails")
        self.tell(self.run, EngineFailed("defect"))

    def dies(self, *, stopped_on_the_way: bool = False) -> None:
        """The process dies and another takes the run up: what was going on outside is lost, every open machine is told.

        ``stopped_on_the_way``: a stop arrives before the tools have been told.
        """
        self.pending.clear()
        self.epoch += 1
        self.trace.append(f"- the process dies; epoch {self.epoch}")
        if self.run.ended:
            return
        self.tell(self.run, Resumed(self.epoch))
        if stopped_on_the_way:
            self.stops()
        for call in self.calls.values():
            if not call.ended:
                self.tell(call, Resumed(self.epoch))
        for tool in list(self.tools.values()):
            if not tool.ended:
                self.tell(tool, ToolResumed(self.epoch, "its outcome is unknown"))

    # -- whole lives -------------------------------------------------------------------------------------------------

    def anything_happens(self, rounds: int) -> None:
        """So many things happen, chosen by chance: results, timers, stops, crashes, decisions made twice."""
        for _ in range(rounds):
            dice = self.chance.random()
            if dice < 0.02:
                self.is_cancelled()
            elif dice < 0.08:
                self.stops()
            elif dice < 0.09:
                self.breaks()
            elif dice < 0.15:
                self.dies(stopped_on_the_way=self.chance.random() < 0.2)
            elif self.pending:
                chosen = self.chance.choice(
                    [entry for entry in self.pending for _ in range(1 if entry.activity in TIMERS else 8)]
                )
                self.happens(chosen, again=chosen.activity in ASKED and self.chance.random() < 0.3)

    def calms_down(self, silent: tuple[Activity, ...] = TIMERS) -> None:
        """Everything that is going on outside comes to its end, and nothing else happens; then what was ``silent``, late."""
        for _ in range(2_000):
            ordinary = [entry for entry in self.pending if entry.activity not in silent]
            if not ordinary:
                break
            self.happens(self.chance.choice(ordinary))
        assert self.run.ended, self.told(f"the run hangs in {self.run.state}")
        while self.pending:
            self.happens(self.pending[0])


def child_of(child: str) -> Pending:
    """That this run ends, which a tool has begun."""
    return Pending(Activity.CHILD, subject=child)


def unsettled(world: World) -> list[str]:
    """What was left open, or ended more than once."""
    missing = [tool for tool in world.outcomes.asked_for if tool not in world.tools]
    wrong = [machine for machine in world.machines if machine.ends != 1]
    return missing + [f"{machine.name}: {machine.state}, ended {machine.ends} times" for machine in wrong]


def settled_as(world: World, state: ToolState) -> list[str]:
    """The tools that ended in this state."""
    return [tool.name for tool in world.tools.values() if tool.state is state]
