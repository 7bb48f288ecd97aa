"""What persons said, and what they are still asked."""

from __future__ import annotations

from collections.abc import Iterator

from statewright.presentation.layout import arguments_in_brief
from statewright.report.model import OpenQuestion, PersonSaid, ReportedTool
from statewright.report.opened_run import Happened, OpenedRun
from statewright.views.state import PendingApproval
from statewright_states.run.events import OutcomeStated
from statewright_states.tool.events import ApprovalGiven


def people_of(run: OpenedRun, tools: tuple[ReportedTool, ...]) -> tuple[PersonSaid, ...]:
    """Every statement of a person, in order; ``tools`` says what each was about."""
    return tuple(_statements(run, {tool.instance: tool for tool in tools}))


def _statements(run: OpenedRun, tools: dict[str, ReportedTool]) -> Iterator[PersonSaid]:
    for happened in run.happened:
        event, decision = happened.event, happened.decision
        match event:
            case ApprovalGiven():
                about, meaning = _about(tools.get(decision.instance), decision.instance), event.meaning
                meaning += ", and the run with it" if event.ends_run else ""
                digest = event.arguments
            case OutcomeStated():
                about, digest = _about(tools.get(event.tool), event.tool), ""
                meaning = (
                    "the run may go on after the lost outcome" if event.go_on else "the run is to end after the lost outcome"
                )
            case _:
                continue
        said_us = event.decided_at_us or happened.at_us
        counted, number = _counted(happened), decision.seq
        yield PersonSaid(event.actor, meaning, said_us, happened.at_us, event.comment, about, digest, counted, number)


def _about(tool: ReportedTool | None, instance: str) -> str:
    if tool is None:
        return instance
    asked = tool.changed or tool.arguments
    return f"{tool.name} {arguments_in_brief(asked.text)}".strip()


def _counted(happened: Happened) -> str:
    decision = happened.decision
    if decision.row is not None:
        return f"counted, by {decision.row}"
    return f"not counted: {decision.refused or f'ignored by {decision.ignored}'}"


def questions_of(run: OpenedRun, pending: tuple[PendingApproval, ...]) -> tuple[OpenQuestion, ...]:
    """The calls that wait for a person."""
    return tuple(
        OpenQuestion(each.run_id or run.run_id, each.name, each.call_id, run.bounded(each.arguments), each.digest, each.remark)
        for each in pending
    )
