"""Tool runs: assess a call, ask a person about it, run it under its timer, and report how it went."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from statewright import prompts
from statewright.approvals import ApprovalDecision, ApprovalRequest
from statewright.course import Course
from statewright.inputs import call_digest
from statewright.journal.entry import encode
from statewright.perform.ports import Deliver, Equipment
from statewright.perform.tasks import TaskOwner
from statewright.tools import BadArguments, Tool, parse_arguments, truncate_result
from statewright.tools import ToolFailed as ToolRaised
from statewright.tools.suggestion import closest
from statewright_states.effects import ToolEffect
from statewright_states.ports import Timer
from statewright_states.row import Event
from statewright_states.run.commands import AskOutcome
from statewright_states.run.events import OutcomeStated
from statewright_states.tool.commands import AbandonTool, AskPerson, AssessTool, StartTool
from statewright_states.tool.events import ApprovalGiven, ToolAssessed, ToolDeadline, ToolFailed, ToolReturned
from statewright_states.tool.facts import Assessment
from statewright_states.vocabulary import ToolRequest


class ToolRuns:
    """Carries out the commands of tool machines."""

    def __init__(self, course: Course, equipment: Equipment, tasks: TaskOwner, deliver: Deliver) -> None:
        self._course = course
        self._equipment = equipment
        self._tasks = tasks
        self._deliver = deliver
        self._deadlines: dict[str, Timer] = {}
        self._parsed: dict[str, dict[str, Any]] = {}

    # -- assessing ---------------------------------------------------------------------------------------------------

    def assess_now(self, command: AssessTool) -> ToolAssessed | None:
        """The assessment, where nobody has to be asked for it; None where a policy callback has to be awaited."""
        request, arguments = self._course.projection.arguments_of(command.tool)
        digest = call_digest(request.name, arguments)
        fault = self._fault(command.tool, request, arguments)
        if fault is not None:
            return self._refused(Assessment.FAULTY, digest, request, prompts.failed(fault))
        if request.name not in self._course.inputs.cards:
            return self._refused(
                Assessment.DENIED, digest, request, prompts.denied(f"{request.name} is not among the allowed tools")
            )
        if self._equipment.on_tool_check is not None:
            return None
        return ToolAssessed(Assessment.PERSON if request.person else Assessment.CLEAR, digest)

    def assess(self, cause: str, command: AssessTool) -> None:
        """Ask the policy callback; anything but a clear yes is a no."""
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
        close = closest(name, self._course.inputs.cards)
        known = ", ".join(self._course.inputs.cards) or "none"
        return f"there is no tool named {name!r}." + (f" Did you mean {close!r}?" if close else "") + f" Known tools: {known}"

    def _refused(self, assessment: Assessment, digest: str, request: ToolRequest, text: str) -> ToolAssessed:
        message = prompts.tool_message(request.call_id, self._bounded(text))
        return ToolAssessed(assessment, digest, self._course.payloads.put_message(message))

    async def _authorise(self, cause: str, command: AssessTool) -> None:
        request, arguments = self._course.projection.arguments_of(command.tool)
        digest = call_digest(request.name, arguments)
        objection = await self._objection(request.name, arguments)
        if objection is None:
            event = ToolAssessed(Assessment.PERSON if request.person else Assessment.CLEAR, digest)
        else:
            text = prompts.denied(objection)
            event = self._refused(Assessment.DENIED, digest, request, text)
        self._deliver("tool", command.tool, event, cause)

    async def _objection(self, name: str, arguments: str) -> str | None:
        """Why the policy does not allow this call, or None when it does. Fails closed."""
        check, tool = self._equipment.on_tool_check, self._equipment.registry.get(name)
        if check is None or tool is None:
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
        """Ask a person about exactly this call; with nobody to ask, the question stays open."""
        if self._equipment.approver is not None:
            self._tasks.start(f"asking about {command.tool}", self._asked(cause, command))

    async def _asked(self, cause: str, command: AskPerson) -> None:
        decision = await self._decision(command.tool, command.arguments, outcome_lost=False)
        if decision is not None:
            self._deliver("tool", command.tool, self.decided(command.tool, command.arguments, decision), cause)

    def decided(self, tool: str, digest: str, decision: ApprovalDecision) -> ApprovalGiven:
        """The event of a person's decision."""
        request, _ = self._course.projection.arguments_of(tool)
        message = None
        if not decision.approve:
            texts = self._course.inputs.config.prompts
            rejected = prompts.rejected(texts, request.call_id, decision.actor, decision.comment)
            message = self._course.payloads.put_message(
                prompts.tool_message(request.call_id, self._bounded(rejected.content or ""))
            )
        return ApprovalGiven(
            decision.approve, decision.actor, decision.meaning, decision.comment, digest, decision.ends_run, message
        )

    def ask_outcome(self, cause: str, command: AskOutcome) -> None:
        """Ask a person how to go on after a lost outcome."""
        if self._equipment.approver is not None:
            self._tasks.start(f"asking about {command.tool}", self._outcome_asked(cause, command))

    async def _outcome_asked(self, cause: str, command: AskOutcome) -> None:
        digest = self._course.subjects[command.tool].facts.arguments
        decision = await self._decision(command.tool, digest, outcome_lost=True)
        if decision is not None:
            stated = OutcomeStated(command.tool, decision.approve, decision.actor, decision.comment)
            self._deliver("run", "run", stated, cause)

    async def _decision(self, tool: str, digest: str, *, outcome_lost: bool) -> ApprovalDecision | None:
        approver = self._equipment.approver
        assert approver is not None, "asked only where somebody can be asked"
        request, arguments = self._course.projection.arguments_of(tool)
        question = ApprovalRequest(
            self._course.inputs.run_id,
            tool,
            request.call_id,
            request.name,
            arguments,
            ToolEffect(request.effect),
            digest,
            outcome_lost,
        )
        return await approver.ask(question)

    # -- running -----------------------------------------------------------------------------------------------------

    def start(self, cause: str, command: StartTool) -> None:
        """Run the tool, with its timer over it."""
        request, arguments = self._course.projection.arguments_of(command.tool)
        tool = self._equipment.registry.get(request.name)
        timeout_s = self._timeout_s(tool)
        if timeout_s:
            fire = partial(self._timed_out, cause, command.tool, request, timeout_s)
            self._deadlines[command.tool] = self._equipment.clock.call_later(timeout_s, fire)
        self._tasks.start(command.tool, self._run(cause, command.tool, tool, request, arguments))

    def _timed_out(self, cause: str, name: str, request: ToolRequest, timeout_s: float) -> None:
        text = self._course.inputs.config.prompts.timed_out.replace("{timeout_s:g}", f"{timeout_s:g}")
        message = self._course.payloads.put_message(prompts.tool_message(request.call_id, text))
        self._deliver("tool", name, ToolDeadline(message), cause)

    def _timeout_s(self, tool: Tool | None) -> float:
        own = tool.timeout_s if tool is not None else None
        return self._course.inputs.config.tool_timeout_s if own is None else own

    async def _run(self, cause: str, name: str, tool: Tool | None, request: ToolRequest, arguments: str) -> None:
        event: Event
        try:
            if tool is None:
                raise ToolRaised(self._unknown(request.name))
            parsed = self._parsed.pop(name, None)
            result = await self._equipment.execution.run(tool, parse_arguments(tool, arguments) if parsed is None else parsed)
            event = self._returned(request, result)
        except (ToolRaised, BadArguments) as error:
            failed = self._bounded(prompts.failed(error.message))
            message = prompts.tool_message(request.call_id, failed)
            event = ToolFailed(self._bounded(error.message), self._course.payloads.put_message(message))
        self._deliver("tool", name, event, cause)

    def _returned(self, request: ToolRequest, result: str) -> ToolReturned:
        payloads, shown = self._course.payloads, self._bounded(result)
        full = payloads.put(encode(result)) if shown != result else None
        return ToolReturned(full, payloads.put_message(prompts.tool_message(request.call_id, shown)))

    def _bounded(self, text: str) -> str:
        return truncate_result(text, self._course.inputs.config.max_tool_result_chars)

    def abandon(self, cause: str, command: AbandonTool) -> None:
        """Stop waiting for the tool."""
        self._tasks.cancel(command.tool)

    def ended(self, tool: str) -> None:
        """The call has settled: nobody is asked about it, and its timer has nothing to say any more."""
        self._tasks.cancel(f"asking about {tool}")
        self._parsed.pop(tool, None)
        timer = self._deadlines.pop(tool, None)
        if timer is not None:
            timer.cancel()

    def aclose(self) -> None:
        """Call all timers off."""
        for tool in list(self._deadlines):
            self.ended(tool)
