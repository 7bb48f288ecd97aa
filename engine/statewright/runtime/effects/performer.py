"""The performer: which part carries out which effect, and the effects of the run itself.

Theory of operation. An effect is performed once the entry that commands it is on record, by the one handler that ``handlers``
names for its command. The result is delivered as an event, with the id of the command as its cause. Effects whose links
have ``at_once`` may be answered before: they change nothing outside, so doing them again after a crash is harmless, and doing
them within the turn saves each step a write to the journal. Where somebody outside has to be asked,
``answer_at_once`` gives None, and the effect is performed like any other. A performer never changes a machine, never waits in
a handler (what takes time is a task), and never raises into the pump: a handler that breaks ends the run visibly.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from statewright.context.builder import ContextBuilder, messages_from, with_more, with_notice, with_system
from statewright.context.judge import SelfEvaluator
from statewright.context.repair import repaired
from statewright.core.execution import RunExecution, pending_approvals
from statewright.core.routing import ROUTER
from statewright.hooks import AgentStart, Decided, HookPoint
from statewright.journal.entry import Delivery
from statewright.runtime.decisions import event_of
from statewright.runtime.effects.equipment import Deliver, Equipment
from statewright.runtime.effects.model_calls import ModelCalls
from statewright.runtime.effects.tasks import TaskOwner
from statewright.runtime.effects.tool_calls import ToolRuns
from statewright_states.call.commands import AbortRequest, BackOff, SendRequest, WatchStepDeadline
from statewright_states.form.row import Command, Event
from statewright_states.frozen import replace
from statewright_states.run.commands import (
    AskOutcome,
    BuildContext,
    JoinLane,
    PauseRunDeadline,
    WatchRunDeadline,
    WithdrawOutcomeQuestion,
)
from statewright_states.run.events import (
    ContextBuilt,
    ContextFailed,
    LaneGranted,
    RunDeadline,
    RunDeadlinePaused,
    StartDenied,
)
from statewright_states.tool.commands import (
    AbandonTool,
    AskPerson,
    AssessTool,
    StartTool,
    StopChildRuns,
    WithdrawQuestion,
)
from statewright_states.words.messages import Message
from statewright_states.words.ports import Timer
from statewright_states.words.vocabulary import EngineFailed

MAX_MENDED = 100
"""How many repairs of a history an entry describes; the messages as they came are kept whole."""


class Performer:
    """Carries out effects. Everything it does comes back as an event; nothing it does can raise into the pump."""

    def __init__(self, execution: RunExecution, equipment: Equipment, deliver: Deliver, on_done: Callable[[], None]) -> None:
        """``on_done`` is called whenever a task has ended, also one that led to no event."""
        self._execution = execution
        self._equipment = equipment
        self._deliver = deliver
        self._tasks = TaskOwner(self._defect, on_done)
        self.calls = ModelCalls(execution, equipment, self._tasks, deliver)
        self.tools = ToolRuns(execution, equipment, self._tasks, deliver)
        self._deadline: Timer | None = None
        self._watched_at_s: float | None = None
        """When the timer of the run was started, by the monotonic clock; None while it is paused."""
        self._lane: str | None = None
        self.handlers: Mapping[type[Command], Callable[[str, Any], None]] = {
            WatchStepDeadline: self.calls.watch,
            SendRequest: self.calls.send,
            BackOff: self.calls.back_off,
            AbortRequest: self.calls.abort,
            AssessTool: self.tools.assess,
            AskPerson: self.tools.ask,
            StartTool: self.tools.start,
            AbandonTool: self.tools.abandon,
            StopChildRuns: self.tools.stop_children,
            AskOutcome: self.tools.ask_outcome,
            WithdrawQuestion: self.tools.withdraw,
            WithdrawOutcomeQuestion: self.tools.withdraw,
            JoinLane: self._join_lane,
            WatchRunDeadline: self._watch_deadline,
            PauseRunDeadline: self._pause_deadline,
            BuildContext: self._build_context,
        }
        self.answers: Mapping[type[Command], Callable[[Any], Event | None]] = {
            AssessTool: self.tools.assess_now,
            JoinLane: self._lane_granted,
            BuildContext: self._standard_context,
            PauseRunDeadline: self._deadline_paused,
        }
        """What answers the effects that may be answered at once; None where somebody outside has to be asked."""

    @property
    def idle(self) -> bool:
        """Whether nothing is under way that could lead to an event (the run's own deadline aside)."""
        return self._tasks.idle and self.calls.idle

    @property
    def asking(self) -> bool:
        """Whether a person is to decide about something."""
        return bool(self.tools.open_questions)

    @property
    def waiting(self) -> bool:
        """Whether a person is asked about something that is still open, here or in a run that a tool has begun."""
        ours = self._execution.inputs.run_id
        asked = (pending.tool for pending in pending_approvals(self._execution) if pending.run_id == ours)
        return self.tools.children.waiting or any(tool in self.tools.open_questions for tool in asked)

    def before_the_end(self, then: Callable[[], None]) -> None:
        """End the runs that tools have begun, so that what they used is counted; then do what ends this run."""
        self.tools.children.end_all(then)

    def event_from(self, message: bytes) -> Delivery:
        """What a message that another process has left means for this run."""
        return Delivery(*event_of(self._execution, message))

    def answer_at_once(self, command: Command) -> tuple[str, str, Event] | None:
        """The event of an effect that may be answered before it is on record; None for every other effect."""
        if not ROUTER.link(command).at_once or (event := self.answers[type(command)](command)) is None:
            return None
        return ("tool", command.tool, event) if isinstance(command, AssessTool) else ("run", "run", event)

    def perform(self, cause: str, command: Command) -> None:
        """Carry out a command whose entry is on record."""
        try:
            self.handlers[type(command)](cause, command)
        except Exception as error:
            self._defect(f"{type(error).__name__} in {type(command).__name__}: {error}")

    def ended(self, instance: str) -> None:
        """An instance has ended: cancel its timers."""
        self.calls.ended(instance)
        self.tools.ended(instance)

    async def aclose(self) -> None:
        """Give up what is under way, wait until it has ended, and leave the lane."""
        self.calls.aclose()
        await self.tools.aclose()
        self._give_up_deadline()
        await self._tasks.aclose()
        if self._lane is not None:
            self._equipment.lanes.leave(self._lane)
            self._lane = None

    def _defect(self, error: str) -> None:
        self._deliver("run", "run", EngineFailed(error), None)

    # -- the run's own effects ---------------------------------------------------------------------------------------

    def _lane_granted(self, command: JoinLane) -> LaneGranted | None:
        return LaneGranted() if self._execution.inputs.session is None else None

    def _join_lane(self, cause: str, command: JoinLane) -> None:
        self._tasks.start("joining the lane", self._joined(cause, self._execution.inputs.session or ""))

    async def _joined(self, cause: str, session: str) -> None:
        await self._equipment.lanes.join(session)
        self._lane = session
        self._deliver("run", "run", LaneGranted(), cause)

    def _watch_deadline(self, cause: str, command: WatchRunDeadline) -> None:
        if self._execution.run.facts.paused:
            return  # paused again before it was started
        self._give_up_deadline()
        self._watched_at_s = self._equipment.clock.monotonic_s()
        if command.left_us is not None:
            passed = partial(self.before_the_end, partial(self._deliver, "run", "run", RunDeadline(), cause))
            self._deadline = self._equipment.clock.call_later(command.left_us / 1_000_000, passed)

    def _pause_deadline(self, cause: str, command: PauseRunDeadline) -> None:
        self._deliver("run", "run", self._deadline_paused(command), cause)

    def _deadline_paused(self, command: PauseRunDeadline) -> RunDeadlinePaused:
        """Pause the timer of the run. A timer that was not started yet has run for no time."""
        self._give_up_deadline()
        since_s, self._watched_at_s = self._watched_at_s, None
        worked_s = 0.0 if since_s is None else self._equipment.clock.monotonic_s() - since_s
        return RunDeadlinePaused(round(worked_s * 1_000_000))

    def _give_up_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _build_context(self, cause: str, command: BuildContext) -> None:
        self._tasks.start("building the context", self._built(cause, command))

    def _standard_context(self, command: BuildContext) -> ContextBuilt | None:
        """The first messages; None where a callback or a hook of the caller has to be asked for them."""
        if self._equipment.on_build_context is not None or self._equipment.hooks.at(HookPoint.BEFORE_AGENT_START):
            return None
        return self._context_built(command)

    async def _built(self, cause: str, command: BuildContext) -> None:
        asked = await self._ask_guards(command)
        event: Event
        if asked.objection is not None:
            event = StartDenied(asked.objection, asked.decisions)
        elif (build := self._equipment.on_build_context) is None:
            event = replace(self._context_built(command, asked.subject), decisions=asked.decisions)
        else:
            try:
                built = build(self._task(command), [message.to_dict() for message in self._execution.inputs.history])
                messages = messages_from(await built if inspect.isawaitable(built) else built)
                event = replace(self._event(command, self._as_guarded(messages, asked.subject)), decisions=asked.decisions)
            except Exception as error:  # the caller's callback: whatever it raises ends the run visibly
                event = ContextFailed(f"on_build_context: {type(error).__name__}: {error}", asked.decisions)
        self._deliver("run", "run", event, cause)

    async def _ask_guards(self, command: BuildContext) -> Decided[AgentStart]:
        inputs = self._execution.inputs
        subject = AgentStart(inputs.run_id, self._task(command), inputs.config.system_prompt, command.attempt)
        return await self._equipment.hooks.decide(HookPoint.BEFORE_AGENT_START, subject)

    def _context_built(self, command: BuildContext, start: AgentStart | None = None) -> ContextBuilt:
        inputs = self._execution.inputs
        history = inputs.history if command.attempt == 1 else tuple(m for m in inputs.history if m.role == "system")
        messages = ContextBuilder(inputs.config).build_initial(self._task(command), history)
        return self._event(command, messages if start is None else self._as_guarded(messages, start))

    def _as_guarded(self, messages: list[Message], start: AgentStart) -> list[Message]:
        """The messages with what guards put in their place."""
        if start.system_prompt != self._execution.inputs.config.system_prompt:
            messages = with_system(messages, start.system_prompt)
        return with_more(messages, start.add)

    def _task(self, command: BuildContext) -> str:
        """The task, or for a later attempt the task with what the judge found."""
        judgement, inputs = self._execution.projection.judgement, self._execution.inputs
        if command.attempt == 1 or judgement is None:
            return inputs.task
        return SelfEvaluator(inputs.config.prompts).correction(inputs.task, judgement)

    def _event(self, command: BuildContext, messages: list[Message]) -> ContextBuilt:
        payloads, config = self._execution.payloads, self._execution.inputs.config
        if config.dry_run:
            messages = with_notice(messages, config.prompts.dry_run)
        sound, mended = repaired(messages, config.prompts)
        raw = payloads.put_messages(messages) if mended else None
        digests = tuple(payloads.put_message(message) for message in sound)
        return ContextBuilt(command.attempt, digests, self._execution.conversation.estimates.of(sound), _first(mended), raw)


def _first(mended: tuple[str, ...]) -> tuple[str, ...]:
    more = len(mended) - MAX_MENDED
    return mended if more <= 0 else (*mended[:MAX_MENDED], f"and {more} more")
