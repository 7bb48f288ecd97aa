"""Edits: something else in place of what an event brought, for whoever steps through a run or forks it. The event is marked."""

from __future__ import annotations

from collections.abc import Mapping

from statewright.config import prompts
from statewright.core.execution import RunExecution
from statewright.journal.entry import Delivery, Interference, Tampering, encode
from statewright.tools import truncate_result
from statewright_states.call.events import AttemptReplied
from statewright_states.errors import CallerError
from statewright_states.form.row import Event
from statewright_states.frozen import dataclass, replace
from statewright_states.run.events import OutcomeStated
from statewright_states.tool.events import ApprovalGiven, ToolFailed, ToolReturned
from statewright_states.words.approval import Statement
from statewright_states.words.messages import Message
from statewright_states.words.parts import Part, TextPart


@dataclass(frozen=True, slots=True)
class EditedReply:
    """Another text of a model's reply. Its tool calls, its reasoning and what was counted stay as they came."""

    text: str


@dataclass(frozen=True, slots=True)
class EditedResult:
    """Another result of a tool, which is taken to have returned."""

    text: str


@dataclass(frozen=True, slots=True)
class EditedDecision:
    """Another decision about a tool call. ``actor`` is whoever edits: nobody is made to have said what they did not say."""

    approve: bool
    actor: str
    comment: str = ""


Edit = EditedReply | EditedResult | EditedDecision


FITS: Mapping[type[Edit], tuple[type[Event], ...]] = {
    EditedReply: (AttemptReplied,),
    EditedResult: (ToolReturned, ToolFailed),
    EditedDecision: (ApprovalGiven, OutcomeStated),
}


def fits(event: Event, edit: Edit) -> bool:
    """Whether the edit can be put in place of what this event brought."""
    return isinstance(event, FITS[type(edit)])


def edited(execution: RunExecution, delivery: Delivery, edit: Edit, by: str) -> Delivery:
    """The delivery as it is after the edit, which it says. Raises CallerError where they do not fit."""
    match delivery.event, edit:
        case AttemptReplied() as reply, EditedReply(text):
            message = _with_text(execution.payloads.message(reply.message), text)
            return _marked(delivery, replace(reply, message=execution.payloads.put_message(message)), "reply", by)
        case ToolReturned() | ToolFailed(), EditedResult(text):
            return _marked(delivery, _returned(execution, delivery.instance, text), "result", by)
        case ApprovalGiven() as given, EditedDecision():
            return _marked(delivery, _decided(execution, delivery.instance, given, edit), "decision", by)
        case OutcomeStated() as stated, EditedDecision(approve, actor, comment):
            return _marked(delivery, replace(stated, go_on=approve, actor=actor, comment=comment), "decision", by)
        case event, _:
            raise CallerError(
                f"{type(edit).__name__} does not fit the event {delivery.machine}.{type(event).__name__}",
                where=f"run {execution.inputs.run_id}, {delivery.instance}",
                cure="EditedReply is for AttemptReplied, EditedResult for ToolReturned and ToolFailed, EditedDecision for"
                " ApprovalGiven and OutcomeStated",
            )


def _marked(delivery: Delivery, event: Event, what: str, by: str) -> Delivery:
    return replace(delivery, event=event, interference=Interference(Tampering.EDITED, what, by))


def _with_text(message: Message, text: str) -> Message:
    """The message with this text, where its first one stood, and no other."""
    parts: list[Part] = [part for part in message.parts if not isinstance(part, TextPart)]
    before = next((at for at, part in enumerate(message.parts) if isinstance(part, TextPart)), 0)
    if text:
        parts.insert(before, TextPart(text))
    return Message(message.role, tool_call_id=message.tool_call_id, parts=parts)


def _returned(execution: RunExecution, tool: str, text: str) -> ToolReturned:
    request, _ = execution.projection.arguments_of(tool)
    config, payloads = execution.inputs.config, execution.payloads
    shown = truncate_result(text, config.max_tool_result_chars, config.prompts)
    full = payloads.put(encode(text)) if shown != text else None
    return ToolReturned(full, payloads.put_message(prompts.tool_message(request.call_id, shown)))


def _decided(execution: RunExecution, tool: str, given: ApprovalGiven, edit: EditedDecision) -> ApprovalGiven:
    meaning = Statement.APPROVED if edit.approve else Statement.REJECTED
    said = replace(given, approve=edit.approve, actor=edit.actor, meaning=meaning.value, comment=edit.comment, message=None)
    return said if edit.approve else replace(said, message=rejection_message(execution, tool, edit.actor, edit.comment))


def rejection_message(execution: RunExecution, tool: str, actor: str, comment: str) -> str:
    """What the model is told of a call that a person has rejected; gives its digest."""
    request, _ = execution.projection.arguments_of(tool)
    texts = execution.inputs.config.prompts
    rejected = prompts.rejected(texts, request.call_id, actor, comment)
    shown = truncate_result(rejected.content or "", execution.inputs.config.max_tool_result_chars, texts)
    return execution.payloads.put_message(prompts.tool_message(request.call_id, shown))
