"""Tool runs: assess a call, ask a person about it, run it under its timer, and report how it went."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from statewright.config import prompts
from statewright.core.execution import RunExecution
from statewright.core.inputs import call_digest
from statewright.hooks import Decided, HookPoint, ToolText, ToolUse
from statewright.journal.entry import decode, encode
from statewright.runtime.decisions import approval_given, outcome_stated
from statewright.runtime.effects.child_runs import ChildRuns
from statewright.runtime.effects.equipment import Deliver, Equipment
from statewright.runtime.effects.tasks import TaskOwner
from statewright.runtime.effects.tool_surroundings import CallSurroundings
from statewright.tools import BadArguments, ResultNotShown, Tool, ToolRaised, parse_arguments, truncate_result
from statewright.tools.ask_if import asked_if
from statewright.tools.suggestion import closest
from statewright.views.approvals import ApprovalDecision, ApprovalRequest
from statewright_states.form.row import Event
from statewright_states.frozen import replace
from statewright_states.run.commands import AskOutcome, WithdrawOutcomeQuestion
from statewright_states.tool.commands import (
    AbandonTool,
    AskPerson,
    AssessTool,
    StartTool,
    StopChildRuns,
    WithdrawQuestion,
)
from statewright_states.tool.events import NobodyToAsk, ToolAssessed, ToolDeadline, ToolFailed, ToolReturned
from statewright_states.tool.facts import Assessment
from statewright_states.words.approval import SignOff, Standing, statement_of
from statewright_states.words.messages import Message, ToolCall
from statewright_states.words.ports import Clock, Timer
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import ToolRequest


class ToolRuns:
    """Carries out the commands of tool machines."""

    def __init__(self, execution: RunExecution, equipment: Equipment, tasks: TaskOwner, deliver: Deliver) -> None:
        self._execution = execution
        self._texts = execution.inputs.config.prompts
        self._equipment = equipment
        self._tasks = tasks
        self._deliver = deliver
        self.children = ChildRuns(execution, equipment, tasks, deliver)
        """The runs that tools have begun."""
        self.children.on_waiting = self._waits
        self._deadlines: dict[str, _Deadline] = {}
        self._parsed: dict[str, dict[str, Any]] = {}
        self.open_questions: set[str] = set()
        """The calls about which a person is to decide."""

    # -- assessing ---------------------------------------------------------------------------------------------------

    def assess_now(self, command: AssessTool) -> ToolAssessed | None:
        """The assessment, where nobody has to be asked for it; None where a policy callback has to be awaited."""
        request, arguments = self._execution.projection.arguments_of(command.tool)
        fault = self._fault(command.tool, request, arguments)
        if fault is not None:
            return self._refused(Assessment.FAULTY, request, arguments, fault)
        if request.name not in self._execution.inputs.cards:
            return self._refused(Assessment.DENIED, request, arguments, f"{request.name} is not among the allowed tools")
        if self._equipment.on_tool_check is not None or self._equipment.hooks.at(HookPoint.BEFORE_TOOL_CALL):
            return None
        return self._clear(request, arguments)

    def assess(self, cause: str, command: AssessTool) -> None:
        """Ask the policy callback, then the guards; anything but a clear yes is a no."""
        self._tasks.start(command.tool, self._authorise(cause, command))

    def _fault(self, name: str, request: ToolRequest, arguments: str) -> str | None:
        tool = self._equipment.registry.get(request.name)
        if tool is None:
            return self._unknown(request.name)
        try:
            self._parsed[name] = parse_arguments(tool, arguments)
        except BadArguments as error:
            return error.message
        return None

    def _unknown(self, name: str) -> str:
        close = closest(name, self._execution.inputs.cards)
        known = ", ".join(self._execution.inputs.cards) or "none"
        return f"there is no tool named {name!r}." + (f" Did you mean {close!r}?" if close else "") + f" Known tools: {known}"

    def _refused(self, assessment: Assessment, request: ToolRequest, arguments: str, reason: str) -> ToolAssessed:
        mark = prompts.failed if assessment is Assessment.FAULTY else prompts.denied
        text = mark(self._texts, reason)
        message = prompts.tool_message(request.call_id, self._bounded(text))
        digest = call_digest(request.name, arguments)
        return ToolAssessed(assessment, digest, self._execution.payloads.put_message(message), reason=reason)

    async def _authorise(self, cause: str, command: AssessTool) -> None:
        request, arguments = self._execution.projection.arguments_of(command.tool)
        objection = await self._objection(request.name, arguments)
        if objection is None:
            event = await self._guarded(command.tool, request, arguments)
        else:
            event = self._refused(Assessment.DENIED, request, arguments, objection)
        self._deliver("tool", command.tool, event, cause)

    async def _guarded(self, name: str, request: ToolRequest, arguments: str) -> ToolAssessed:
        """The assessment of a call that policy allows, once the guards have been asked."""
        shown: dict[str, Any] = decode(arguments.encode()) if arguments.strip() else {}
        run_id, effect = self._execution.inputs.run_id, ToolEffect(request.effect).value
        subject = ToolUse(run_id, name, request.call_id, request.name, effect, shown)
        asked = await self._equipment.hooks.decide(HookPoint.BEFORE_TOOL_CALL, subject)
        if asked.objection is not None:
            event = self._refused(Assessment.DENIED, request, arguments, asked.objection)
        elif asked.subject.arguments is shown:
            event = self._clear(request, arguments)
        else:
            event = self._replaced(name, request, asked.subject.arguments)
        return replace(event, decisions=asked.decisions)

    def _replaced(self, name: str, request: ToolRequest, given: Mapping[str, Any]) -> ToolAssessed:
        """The assessment of a call with the arguments that guards put in place of the model's: they are parsed anew."""
        try:
            arguments = encode(dict(given)).decode()
        except (TypeError, ValueError, RecursionError) as error:
            reason = f"a hook gave arguments that are not JSON: {error}"
            return self._refused(Assessment.DENIED, request, "", reason)
        call = Message("assistant", None, (ToolCall(request.call_id, request.name, arguments),))
        changed = self._execution.payloads.put_message(call)
        fault = self._fault(name, request, arguments)
        if fault is None:
            return replace(self._clear(request, arguments), changed=changed)
        return replace(self._refused(Assessment.FAULTY, request, arguments, fault), changed=changed)

    def _clear(self, request: ToolRequest, arguments: str) -> ToolAssessed:
        """What guards put in place of the model's arguments may name what the model did not, so it is asked about anew."""
        inputs, digest, asked = self._execution.inputs, call_digest(request.name, arguments), None
        person, question = request.person, inputs.ask_ifs.get(request.name)
        if digest != request.arguments:
            if question:
                asked = asked_if(self._equipment.registry.get(request.name), question, request.call_id, arguments)
            call = ToolCall(request.call_id, request.name, arguments)
            person = person or inputs.request(request.tool, call, asked).person
        return ToolAssessed(Assessment.PERSON if person else Assessment.CLEAR, digest, asked_if=asked)

    async def _objection(self, name: str, arguments: str) -> str | None:
        """Why the policy does not allow this call, or None when it does. Fails closed."""
        check, tool = self._equipment.on_tool_check, self._equipment.registry.get(name)
        if check is None:
            return None
        if tool is None:
            return "there is nobody to ask about it"
        try:
            decision = check(tool.name, tool, parse_arguments(tool, arguments))
            if inspect.isawaitable(decision):
                decision = await decision
            allowed = getattr(decision, "allowed", None)
            reason = str(getattr(decision, "reason", "") or "not allowed by policy")
        except Exception as error:  # the caller's callback: whatever it raises is a no
            return f"the policy check failed ({type(error).__name__}: {error})"
        if allowed is True:
            return None
        return reason if allowed is False else "the policy check gave no decision"

    # -- asking ------------------------------------------------------------------------------------------------------

    def ask(self, cause: str, command: AskPerson) -> None:
        """Ask a person about exactly this call. With nobody to ask, the call receives ``NobodyToAsk``, and its rows decide."""
        self.open_questions.add(command.tool)
        if self._equipment.approver is not None:
            self._tasks.start(_asking(command.tool), self._asked(cause, command))
        else:
            self._nobody_to_ask(cause, command)

    async def _asked(self, cause: str, command: AskPerson) -> None:
        decision = await self._decision(command.tool, command.arguments, outcome_lost=False)
        if decision is None:
            self._nobody_to_ask(cause, command)
            return
        sign_off: SignOff = self._execution.instances[command.tool].facts.sign_off
        counted = sign_off.standing(decision.actor, statement_of(decision.approve, decision.meaning)) is Standing.COUNTS
        at_us = self._equipment.clock.now_us()
        given = approval_given(self._execution, command.tool, command.arguments, decision, at_us)
        self._deliver("tool", command.tool, given, cause)
        if not counted:  # whoever can be asked here has nothing to add: that leaves nobody
            self._nobody_to_ask(cause, command)

    def _nobody_to_ask(self, cause: str, command: AskPerson) -> None:
        request, _ = self._execution.projection.arguments_of(command.tool)
        message = self._execution.payloads.put_message(prompts.tool_message(request.call_id, self._texts.unasked))
        self._deliver("tool", command.tool, NobodyToAsk(message), cause)

    def withdraw(self, cause: str, command: WithdrawQuestion | WithdrawOutcomeQuestion) -> None:
        """Stop asking: somebody has decided."""
        self._close_question(command.tool)

    def _close_question(self, tool: str) -> None:
        self.open_questions.discard(tool)
        self._tasks.cancel(_asking(tool))

    def ask_outcome(self, cause: str, command: AskOutcome) -> None:
        """Ask a person how to go on after a lost outcome."""
        self.open_questions.add(command.tool)
        if self._equipment.approver is not None:
            self._tasks.start(_asking(command.tool), self._outcome_asked(cause, command))

    async def _outcome_asked(self, cause: str, command: AskOutcome) -> None:
        digest = self._execution.instances[command.tool].facts.arguments
        decision = await self._decision(command.tool, digest, outcome_lost=True)
        if decision is not None:
            stated = outcome_stated(command.tool, decision, self._equipment.clock.now_us())
            self._deliver("run", "run", stated, cause)

    async def _decision(self, tool: str, digest: str, *, outcome_lost: bool) -> ApprovalDecision | None:
        approver = self._equipment.approver
        assert approver is not None, "asked only where somebody can be asked"
        request, arguments = self._execution.projection.arguments_of(tool)
        question = ApprovalRequest(
            self._execution.inputs.run_id,
            tool,
            request.call_id,
            request.name,
            arguments,
            ToolEffect(request.effect),
            digest,
            outcome_lost,
            self._execution.instances[tool].facts.sign_off,
            self._execution.inputs.remark(request, arguments),
        )
        return await approver.ask(question)

    # -- running -----------------------------------------------------------------------------------------------------

    def start(self, cause: str, command: StartTool) -> None:
        """Run the tool, with its timer over it."""
        request, arguments = self._execution.projection.arguments_of(command.tool)
        tool = self._equipment.registry.get(request.name)
        timeout_s = self._timeout_s(tool)
        if timeout_s:
            fire = partial(self._timed_out, cause, command.tool, request, timeout_s)
            self._deadlines[command.tool] = _Deadline(self._equipment.clock, timeout_s, fire)
        self._tasks.start(command.tool, self._run(cause, command.tool, tool, request, arguments))

    def _timed_out(self, cause: str, name: str, request: ToolRequest, timeout_s: float) -> None:
        """The time of a call is up. The runs that its tool has begun end first, so that what they used is counted."""
        message = self._execution.payloads.put_message(prompts.timed_out(self._texts, request.call_id, timeout_s))
        self.children.end([name], partial(self._deliver, "tool", name, ToolDeadline(message), cause))

    def _waits(self, name: str, waits: bool) -> None:
        """While a call waits for persons, its time stands still."""
        deadline = self._deadlines.get(name)
        if deadline is not None:
            deadline.pause() if waits else deadline.go_on()

    def _timeout_s(self, tool: Tool | None) -> float:
        own = tool.timeout_s if tool is not None else None
        return self._execution.inputs.config.tool_timeout_s if own is None else own

    async def _run(self, cause: str, name: str, tool: Tool | None, request: ToolRequest, arguments: str) -> None:
        event: Event
        try:
            if tool is None:
                raise ToolRaised(self._unknown(request.name))
            parsed = self._parsed.pop(name, None)
            if self._execution.inputs.config.dry_run:
                result = self._texts.not_executed
            else:
                values = parse_arguments(tool, arguments) if parsed is None else parsed
                result = await self._equipment.execution.run(tool, self._with_context(cause, request, tool, values))
            event = self.returned(request, result)
        except ResultNotShown as hidden:
            event = self.returned(request, hidden.message)
        except (ToolRaised, BadArguments) as error:
            event = self.failed(request, error.message)
        self.children.end([name], partial(self._deliver, "tool", name, event, cause))

    def _with_context(self, cause: str, request: ToolRequest, tool: Tool, values: dict[str, Any]) -> dict[str, Any]:
        """The arguments, with the context of a tool that has a parameter for one."""
        if (parameter := tool.parameters.context) is None:
            return values
        inputs = self._execution.inputs
        call = self.children.started(cause, request, tool)
        surroundings = CallSurroundings(inputs.run_id, call, self.children, self._equipment)
        return values | {parameter: surroundings.context(inputs.session)}

    def returned(self, request: ToolRequest, result: str) -> ToolReturned | ToolFailed:
        """The event of a tool that has returned; guards may withhold its result."""
        kept = self._kept(request, result, failed=False)
        if kept.objection is not None:
            return self._withheld(request, kept)
        result = kept.subject.text
        payloads, shown = self._execution.payloads, self._bounded(result)
        full = payloads.put(encode(result)) if shown != result else None
        return ToolReturned(full, payloads.put_message(prompts.tool_message(request.call_id, shown)), kept.decisions)

    def failed(self, request: ToolRequest, error: str) -> ToolFailed:
        """The event of a tool that has raised."""
        kept = self._kept(request, error, failed=True)
        if kept.objection is not None:
            return self._withheld(request, kept)
        failed = self._bounded(prompts.failed(self._texts, kept.subject.text))
        message = self._execution.payloads.put_message(prompts.tool_message(request.call_id, failed))
        return ToolFailed(kept.subject.text, message, kept.decisions)

    def _kept(self, request: ToolRequest, text: str, *, failed: bool) -> Decided[ToolText]:
        """What the guards of results make of a text, before it is kept anywhere."""
        subject = ToolText(self._execution.inputs.run_id, request.tool, request.call_id, request.name, text, failed)
        return self._equipment.hooks.decide_now(HookPoint.TOOL_RESULT_PERSIST, subject)

    def _withheld(self, request: ToolRequest, kept: Decided[ToolText]) -> ToolFailed:
        """The tool ran, and nothing of what it said is kept."""
        error = f"the tool was run; its result is withheld: {kept.objection}"
        message = prompts.tool_message(request.call_id, self._bounded(prompts.failed(self._texts, error)))
        return ToolFailed(self._bounded(error), self._execution.payloads.put_message(message), kept.decisions)

    def _bounded(self, text: str) -> str:
        return truncate_result(text, self._execution.inputs.config.max_tool_result_chars, self._texts)

    def abandon(self, cause: str, command: AbandonTool) -> None:
        """Stop waiting for the tool."""
        self._tasks.cancel(command.tool)

    def stop_children(self, cause: str, command: StopChildRuns) -> None:
        """Pass a stop on to the runs that the tool has begun."""
        self.children.stop(command.tool)

    def ended(self, tool: str) -> None:
        """The call has settled: withdraw its question, cancel its timer."""
        self._close_question(tool)
        self._parsed.pop(tool, None)
        self.children.settled(tool)
        deadline = self._deadlines.pop(tool, None)
        if deadline is not None:
            deadline.pause()

    async def aclose(self) -> None:
        """Cancel all timers, and end or leave the runs that tools have begun."""
        for deadline in self._deadlines.values():
            deadline.pause()
        await self.children.aclose()


class _Deadline:
    """The timer over a call. It can be put aside and started again with what is left of its time."""

    def __init__(self, clock: Clock, timeout_s: float, fire: Callable[[], None]) -> None:
        self._clock = clock
        self._left_s = timeout_s
        self._fire = fire
        self._timer: Timer | None = None
        self.go_on()

    def go_on(self) -> None:
        if self._timer is None:
            self._since_s = self._clock.monotonic_s()
            self._timer = self._clock.call_later(self._left_s, self._fire)

    def pause(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._left_s = None, max(self._left_s - (self._clock.monotonic_s() - self._since_s), 0)


def _asking(tool: str) -> str:
    """The name of the task that asks about a call."""
    return f"asking about {tool}"
