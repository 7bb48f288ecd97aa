"""The tool calls of a run, each with what was asked, what it may do, how it ended, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from statewright.presentation.event_words import counted
from statewright.report.model import BoundedText, ReportedTool
from statewright.report.opened_run import Happened, OpenedRun
from statewright_states.run.events import ReplyReceived
from statewright_states.tool import events as of_tool
from statewright_states.words.vocabulary import ToolRequest


@dataclass(slots=True)
class _SeenTool:
    """What has been seen of a call so far."""

    first: int
    request: ToolRequest | None = None
    outcome: str = ""
    changed: str | None = None
    message: str | None = None
    whole: str | None = None
    notes: list[str] = field(default_factory=list[str])
    last: int = 0
    began_us: int | None = None
    ran_us: int | None = None


def tools_of(run: OpenedRun) -> tuple[ReportedTool, ...]:
    """Every tool call, in the order in which the model asked."""
    seen: dict[str, _SeenTool] = {}
    asked: dict[str, str] = {}
    for happened in run.happened:
        event, decision = happened.event, happened.decision
        if isinstance(event, ReplyReceived) and decision.row is not None:
            message = run.said(event.message)
            calls = message.tool_calls if message is not None else ()
            asked |= {request.tool: call.arguments for request, call in zip(event.calls, calls, strict=False)}
        elif decision.machine == "tool" and decision.row is not None:
            _note(seen.setdefault(decision.instance, _SeenTool(decision.seq)), happened)
    return tuple(_use(run, instance, each, asked.get(instance, "")) for instance, each in seen.items())


def _note(seen: _SeenTool, happened: Happened) -> None:
    decision, event = happened.decision, happened.event
    seen.outcome, seen.last = decision.target, decision.seq
    if decision.target == "running" and decision.source != "running":
        seen.began_us = happened.at_us
    elif decision.source == "running" != decision.target and seen.began_us is not None:
        seen.ran_us = happened.at_us - seen.began_us
    match event:
        case of_tool.ToolRequested() | of_tool.ToolSkipped() | of_tool.ToolRepeated() | of_tool.ToolCancelled():
            seen.request = event.request
        case of_tool.ToolAssessed():
            seen.changed = event.changed
            seen.notes += [event.reason] if event.reason else []
        case of_tool.ToolReturned():
            seen.whole = event.result
        case of_tool.ToolFailed():
            seen.notes.append(event.error)
        case of_tool.ToolResumed():
            seen.notes.append("taken up again")
        case _:
            pass
    if isinstance(event, of_tool.ToolSkipped):
        seen.notes.append(event.reason)
    if isinstance(event, of_tool.ToolRepeated):
        seen.notes.append(f"made again: the result of {event.earlier} stands for it")
    message: object = decision.data.get("message")
    seen.message = message if isinstance(message, str) else seen.message


def _use(run: OpenedRun, instance: str, seen: _SeenTool, asked: str) -> ReportedTool:
    request = seen.request
    message = run.said(seen.message)
    changed = run.said(seen.changed)
    whole = run.stored(seen.whole) if seen.whole else None
    if whole is not None:
        seen.notes.append(f"the model was shown a part of it: the whole result has {counted(len(whole), 'byte')}")
    return ReportedTool(
        instance=instance,
        name=request.name if request is not None else "?",
        call_id=request.call_id if request is not None else "",
        effect=request.effect.value if request is not None else "",
        outcome=seen.outcome,
        arguments=run.bounded(asked),
        changed=run.bounded(changed.tool_calls[0].arguments) if changed is not None and changed.tool_calls else None,
        result=_result(run, message.content if message is not None else None),
        note="; ".join(seen.notes),
        first=seen.first,
        last=seen.last,
        ran_us=seen.ran_us,
    )


def _result(run: OpenedRun, text: str | None) -> BoundedText | None:
    return None if text is None else run.bounded(text)
