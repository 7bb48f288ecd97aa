"""The conversation as it came: everything that the model was shown or said, in order, also what was left out later."""

from __future__ import annotations

from collections.abc import Iterator

from statewright.report.model import BoundedText, CallSaid, ReportedMessage
from statewright.report.opened_run import OpenedRun
from statewright_states.call.events import CallRequested
from statewright_states.form.row import Event
from statewright_states.run import events as of_run
from statewright_states.tool import events as of_tool
from statewright_states.words.messages import Message
from statewright_states.words.parts import OpaquePart, ReasoningPart, TextPart, ToolCall, described, kind_of
from statewright_states.words.vocabulary import Purpose

SUMMARY = "a summary, which stands for older messages from here on"
MAX_MESSAGES = 2_000
"""Of a conversation; the newest are shown."""


def conversation_of(run: OpenedRun) -> tuple[tuple[ReportedMessage, ...], int]:
    """The messages in order, and how many older ones are left out."""
    told: list[tuple[int, str, str]] = []
    known: set[str] = set()
    names: dict[str, str] = {}
    for happened in run.happened:
        event, decision = happened.event, happened.decision
        if decision.row is None or event is None:
            continue
        if isinstance(event, of_tool.ToolRequested | of_tool.ToolSkipped | of_tool.ToolRepeated | of_tool.ToolCancelled):
            names[decision.instance] = event.request.name
        for digest, remark in _digests(event):
            if digest not in known or not isinstance(event, of_run.ContextBuilt):
                known.add(digest)
                told.append((happened.entry.seq, digest, remark or names.get(decision.instance, "")))
    shown = told[-MAX_MESSAGES:]
    return tuple(_said(run, *each) for each in shown), len(told) - len(shown)


def _digests(event: Event) -> Iterator[tuple[str, str]]:
    """The messages that became part of the conversation by this event, each with a remark."""
    match event:
        case of_run.ContextBuilt():
            yield from ((digest, "") for digest in event.messages)
        case CallRequested(purpose=Purpose.GENERATION | Purpose.CLOSING):
            yield from ((digest, "") for digest in event.added)
        case of_run.ReplyReceived():
            yield event.message, ""
        case of_run.SummaryReady():
            yield event.message, SUMMARY
        case of_tool.ApprovalGiven() | of_tool.ToolAssessed():
            if event.message is not None:
                yield event.message, ""
        case (
            of_tool.ToolReturned()
            | of_tool.ToolFailed()
            | of_tool.ToolDeadline()
            | of_tool.ToolSkipped()
            | of_tool.ToolRepeated()
            | of_tool.ToolCancelled()
            | of_tool.NobodyToAsk()
        ):
            yield event.message, ""
        case _:
            return


def _said(run: OpenedRun, entry: int, digest: str, remark: str) -> ReportedMessage:
    message = run.said(digest)
    if message is None:
        return ReportedMessage(entry, "missing", remark, (), f"the message {digest} is missing, or is not what its name says")
    parts, left_out = _parts(run, message)
    return ReportedMessage(entry, message.role, remark, parts, left_out)


def _parts(run: OpenedRun, message: Message) -> tuple[tuple[BoundedText | CallSaid, ...], str]:
    parts: list[BoundedText | CallSaid] = []
    others: list[str] = []
    for part in message.parts:
        match part:
            case TextPart():
                if part.text.strip():
                    parts.append(run.bounded(part.text, markdown=message.role in ("assistant", "user")))
                others += [f"cites {cited.title or cited.url or cited.quote}" for cited in part.citations]
            case ToolCall():
                parts.append(CallSaid(part.id, part.name, run.bounded(part.arguments)))
            case ReasoningPart():
                others.append(f"reasoning, {len(part.text)} characters")
            case OpaquePart():
                others.append(f"something that only the adapter {part.provider_state.adapter} understands")
            case _:
                others.append(f"{kind_of(part)}: {described(part)}")
    return tuple(parts), "; ".join(others)
