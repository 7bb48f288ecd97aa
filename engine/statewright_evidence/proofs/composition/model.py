"""The composition of run, calls and tool calls in one scope, as a model to be explored whole.

A step is one event from outside and everything that it leads to inside, as in the engine, where both are one transaction.
Between two steps anything that is under way outside may end, and anybody may say something, in every order.

What may be counted on (``Kind``): a request is answered or fails, a tool ends or its time is up, a lane is granted, whoever
a new process has to tell is told (due); a wait before the next attempt is over (a timer). A person who is asked may never
say anything. The run deadline and the step deadline are not counted on, since both can be turned off.

A death takes with it what was under way outside. A new process first tells every machine that has not ended, then goes on;
nothing else comes between, because that stands first in its queue. Nothing comes from the dead process any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

from statewright.core.routing import Router
from statewright_evidence.proofs.composition.decisions import Decisions
from statewright_evidence.proofs.composition.external_events import ExternalEvents
from statewright_evidence.proofs.composition.late import LATE_FOR_RUN
from statewright_evidence.proofs.composition.limits import wrong_in
from statewright_evidence.proofs.composition.macrostep import Consequence, Macrosteps
from statewright_evidence.proofs.composition.normal import Normal
from statewright_evidence.proofs.composition.outside import RUN, TOOL, Activity, Pending, begun, given_up, goes_on, stopped
from statewright_evidence.proofs.composition.scope import Scope
from statewright_evidence.proofs.composition.situation import Core, ExternalEvent, Pool, State, Tables
from statewright_evidence.proofs.properties import Kind, Step
from statewright_states.call.events import ReplyBegan
from statewright_states.run.facts import RunState
from statewright_states.tool.events import NobodyToAsk, ToolResumed, ToolWaits
from statewright_states.words.approval import WithoutAPerson
from statewright_states.words.vocabulary import Resumed

ASKED = (Activity.PERSON, Activity.OUTCOME)
COUNTED_ON = frozenset(Activity) - {Activity.RUN_TIMER, Activity.STEP_TIMER}
"""What lies outside and will end, or may be ended by a person: something of it keeps a run going."""
EPOCH = 2


class CompositionModel:
    """Run, calls and tool calls with everything around them, within the bounds of a scope."""

    def __init__(self, scope: Scope, tables: Tables | None = None, *, forgetful: bool = True) -> None:
        """``forgetful``: no keeps what ``normal`` would forget; such a model has no end, and is for walks through it."""
        self.scope = scope
        self.tables = tables or Tables()
        self.pool = Pool()
        self.external_events = ExternalEvents(scope)
        self._forgetful = forgetful
        self._wrong_in = cache(partial(wrong_in, scope))
        self._decisions = Decisions(self.tables, self.pool)
        core = Normal(self.pool, self._decisions, self.tables).core if forgetful else self.pool.core
        self._macrosteps = Macrosteps(Router(self.tables.links), self._decisions, self.external_events, core)
        self._unprompted = cache(self._unprompted_in)
        self._told = cache(_told)
        self.requests: dict[str, int] = {}
        """Requests put on the wire by a step, by its label; labels without any are left out."""
        self.starts: dict[str, int] = {}
        """Tool calls that begin with a step, by its label."""

    @property
    def name(self) -> str:
        return f"run, calls and tools: {self.scope.name}"

    @property
    def met(self) -> frozenset[str]:
        """The ids of the rows and ignores that were met so far."""
        return frozenset(self._decisions.met)

    def initial(self) -> tuple[State]:
        """A run that has been asked for."""
        return (State(self.pool.core(self.pool.new(self.tables.run), (), ()), (Pending(Activity.ADMISSION),)),)

    def steps(self, state: State) -> Iterator[Step[State]]:
        """Everything that may happen."""
        if state.wrong:
            return
        if state.core.run.ended:
            for external in LATE_FOR_RUN:
                yield from self._happens(state, external, None)
            return
        if state.waking:
            yield from self._wakes(state)
        else:
            for pending in dict.fromkeys(state.pending):
                for external in self.external_events.pending(state.core, pending):
                    yield from self._happens(state, external, pending)
            for external in self._unprompted(state.core):
                yield from self._happens(state, external, None)
        if state.deaths < self.scope.deaths:
            yield Step("the process dies", Kind.MAYBE, self._dead(state))

    def show(self, state: State) -> str:
        """The run, its calls and tool calls, and what is under way outside."""
        core = state.core
        stop = ", a stop was asked for" if core.run.facts.stop else ""
        parts = [f"run {core.run.state}{stop}"]
        parts += [f"{name} {placed.state}" for name, placed in core.others]
        outside = [f"{entry.activity} {entry.subject or entry.machine.removeprefix(RUN)}".strip() for entry in state.pending]
        parts += [f"outside: {', '.join(outside)}"] if outside else []
        parts += [f"still to be told: {', '.join(state.waking)}"] if state.waking else []
        return "; ".join(parts)

    # -- what follows ------------------------------------------------------------------------------------------------

    def _unprompted_in(self, core: Core) -> tuple[ExternalEvent, ...]:
        return tuple(self.external_events.unprompted(core, self._decisions.harmless))

    def _happens(self, state: State, external: ExternalEvent, pending: Pending | None) -> Iterator[Step[State]]:
        for after in self._macrosteps.after(state.core, external):
            kind = external.kind
            left = state.pending
            if pending is not None and (after.counted or pending.activity not in ASKED) and not self._stays_open(external):
                left = _without(left, pending)
                if isinstance(external.event, ReplyBegan):
                    left = (*left, pending._replace(activity=Activity.REPLY))
                elif isinstance(external.event, ToolWaits):
                    waits = external.event.questions and not after.core.run.facts.stop  # a stop has reached its runs
                    left = (*left, pending._replace(activity=Activity.CHILD) if waits else goes_on(pending))
            elif pending is not None:
                kind = Kind.MAYBE  # on record, and counted for nothing: the question stays open
            yield self._step(after, kind, State(after.core, left, state.waking, state.deaths))

    def _stays_open(self, external: ExternalEvent) -> bool:
        """Whether it is that nobody can be asked, and the call waits for somebody elsewhere."""
        return isinstance(external.event, NobodyToAsk) and self.scope.nobody is WithoutAPerson.WAIT

    def _step(self, after: Consequence, kind: Kind, to: State) -> Step[State]:
        if after.requests:
            self.requests[after.label] = after.requests
        if after.starts:
            self.starts[after.label] = after.starts
        wrong = after.wrong or self._wrong_in(after.core)
        if after.core.run.ended:  # the pump ends with the run: what is under way outside is given up
            return Step(after.label, kind, State(after.core, deaths=0, wrong=wrong))
        return Step(after.label, kind, to._replace(pending=self._pending(to.pending, after), wrong=wrong))

    def _pending(self, left: tuple[Pending, ...], after: Consequence) -> tuple[Pending, ...]:
        for command in after.effects:
            if (pending := begun(command)) is None:
                left = tuple(stopped(command, entry) for entry in left if not given_up(command, entry))
            elif pending not in left:
                left = (*left, pending)
        live = after.core.live
        there = [entry for entry in left if entry.machine in live]
        if self._forgetful:
            there = [_renumbered(entry, after.current) for entry in there]
        return tuple(sorted(there))

    # -- death and a new process -------------------------------------------------------------------------------------

    def _dead(self, state: State) -> State:
        core = state.core
        tools = tuple(tool._replace(seen=tool.seen._replace(asked="")) for tool in core.tools)
        core = self.pool.core(core.run, core.calls, tools)
        return State(core, (), core.live, state.deaths + 1)

    def _wakes(self, state: State) -> Iterator[Step[State]]:
        instance, *others = state.waking
        unknown = instance == RUN and state.core.run.at(RunState.ACCEPTED)  # its admission is not on record
        external = self.external_events.of(Pending(Activity.ADMISSION), "")[0] if unknown else self._told(instance)
        for after in self._macrosteps.after(state.core, external):
            waking = tuple(other for other in others if other in after.core.live)
            yield self._step(after, Kind.DUE, State(after.core, state.pending, waking, state.deaths))


def _told(instance: str) -> ExternalEvent:
    event = ToolResumed(EPOCH, "message") if instance.startswith(TOOL) else Resumed(EPOCH)
    return ExternalEvent(f"a new process tells {instance}", Kind.DUE, instance, event)


def _without(entries: tuple[Pending, ...], gone: Pending) -> tuple[Pending, ...]:
    at = entries.index(gone)
    return (*entries[:at], *entries[at + 1 :])


def _renumbered(entry: Pending, current: dict[str, int]) -> Pending:
    """Requests are told apart by whether they are the current one: 1, or an earlier one: 0."""
    if entry.machine not in current or not entry.number:
        return entry
    return entry._replace(number=int(entry.number == current[entry.machine]))
