"""What happened to a run and to its tools, each event in a few words."""

from __future__ import annotations

from statewright.core.deciding_code import in_words
from statewright.presentation.layout import in_brief
from statewright.runtime.observers import RunEvent
from statewright.tools.ask_if import asked_if_in_words
from statewright_states.call import events as of_call
from statewright_states.plan_build import events as of_plan_build
from statewright_states.plan_build.facts import ChildEnd, Ending
from statewright_states.run import events as of_run
from statewright_states.run.facts import CutOff, Finish
from statewright_states.tool import events as of_tool
from statewright_states.tool.table import TOOL
from statewright_states.words.vocabulary import (
    CancelRequested,
    CodeChangeAccepted,
    EngineFailed,
    Resumed,
    RunStalled,
    Status,
    StopRequested,
)

MAX_ERROR_CHARS = 80


def first_line(text: str) -> str:
    """The first line of an error, in brief."""
    return in_brief(text.partition("\n")[0], MAX_ERROR_CHARS)


def tokens_in_words(replied: of_call.AttemptReplied) -> str:
    """What a reply used, as the provider counted it, or about."""
    asked, said = replied.estimated_input_tokens, replied.estimated_output_tokens
    about = "about " if said and not asked else ""
    return f"{f'about {asked}' if asked else replied.input_tokens} tokens in, {about}{said or replied.output_tokens} out"


def resent_in_words(count: int) -> str:
    """That a request was sent more than once, where it was."""
    return f", sent {counted(count, 'time')} more: its kept connection was closed" if count else ""


def words_of_run(event: RunEvent) -> str:
    """What happened to a run; empty where the row says it all."""
    match event.event:
        case of_run.ContextBuilt() as built:
            mended = "".join(f"; {what}" for what in built.mended)
            return f"{counted(len(built.messages), 'message')}, about {built.context_tokens} tokens{mended}"
        case of_run.ReplyReceived() as reply:
            return _of_reply(reply)
        case of_run.CompactionPlanned() as planned:
            return f"{counted(planned.old, 'message')} could be summarised, {planned.dropped} would have to be dropped"
        case of_run.CallFailed() | of_run.ContextFailed() | of_run.EstimatorFailed() | of_run.SummaryFailed() as failed:
            return failed.error
        case EngineFailed() | RunStalled() as defect:
            return defect.error
        case of_run.CallTimedOut():
            return "the model did not reply in time"
        case of_run.SummaryReady():
            return "old exchanges are summarised"
        case of_run.VerdictReached() as verdict:
            return _of_verdict(verdict)
        case of_run.OutcomeStated() as stated:
            return f"{stated.actor} says: {'go on' if stated.go_on else 'end the run'}. {stated.comment}"
        case of_run.MessageUnreadable() as unreadable:
            return f"a message that cannot be read was left for the run: {unreadable.problem}"
        case of_run.ToolOutcomeUnknown() as unknown:
            return f"{unknown.tool} began, and nobody knows how it ended"
        case of_run.CallWaits() as call:
            return f"{call.tool} waits for a run of its own" if call.waits else f"{call.tool} waits no longer"
        case of_run.ChildEnded() as child:
            why = "" if child.status is Status.SUCCESS else f", {child.stop_reason}"
            return f"{child.run} of {child.tool} has ended: {child.status}{why}, {counted(child.tokens, 'token')}"
        case of_plan_build.PlanEnded() | of_plan_build.BuildEnded() as ended:
            return _of_child(ended.end)
        case of_plan_build.ChildWaits() as child:
            return f"{child.run} waits for a person"
        case of_plan_build.ChildUnrecorded() as child:
            return f"{child.run} cannot be recorded: {first_line(child.error)}"
        case StopRequested():
            return "stop requested"
        case CancelRequested():
            return "cancelled"
        case of_run.RunDeadline():
            return "the time for the run is up"
        case of_run.RunDeadlinePaused() as paused:
            return f"the run's time stands still while a person is asked; {paused.worked_us / 1_000_000:.1f} s of it were used"
        case Resumed():
            return "taken up again"
        case CodeChangeAccepted() as accepted:
            return f"goes on under other code, which was accepted: {in_words(accepted.changes)}"
        case _:
            return ""


def _of_child(end: ChildEnd) -> str:
    why = "" if end.status is Ending.SUCCESS else f", {end.stop_reason}"
    return f"{end.run.rpartition('.')[2]}: {end.status}{why}, {counted(end.steps, 'step')}"


def _of_reply(reply: of_run.ReplyReceived) -> str:
    if reply.finish is Finish.LENGTH or reply.cut_off is CutOff.STATED:
        return "is cut off by its length"
    if reply.cut_off is CutOff.AT_CAP:
        return "is cut off: it has as many tokens as it may have"
    if reply.cut_off is CutOff.IN_ARGUMENTS:
        return "is cut off in the middle of a call's arguments"
    if reply.silent:
        return "has nothing to say"
    if reply.calls:
        return f"asks for {', '.join(request.name for request in reply.calls)}"
    return "answers" if reply.has_text else "says nothing"


def _of_verdict(verdict: of_run.VerdictReached) -> str:
    if not verdict.reached:
        return "the judge could not be asked"
    if not verdict.readable:
        return "nobody can read the judge's words as a verdict"
    said = "completed" if verdict.completed else "not completed"
    return f"judged {said}, confidence {verdict.confidence:g}" + "".join(f"; {issue}" for issue in verdict.issues)


def words_of_statement(event: RunEvent) -> str:
    """What a person said that was not counted, or what is wrong with a message; nothing for any other event."""
    match event.event:
        case of_tool.ApprovalGiven():
            return f"{words_of_tool(event, '')}, "
        case of_run.OutcomeStated() | of_run.MessageUnreadable():
            return f"{words_of_run(event)}, "
        case _:
            return ""


def words_of_tool(event: RunEvent, took: str) -> str:
    """What happened to a tool call; ``took`` is how long it ran, in words."""
    match event.event:
        case of_tool.ApprovalGiven() as given:
            return f"{given.meaning} by {given.actor}" + (f": {given.comment}" if given.comment else "")
        case of_tool.NobodyToAsk():
            return "nobody can be asked"
        case of_tool.ToolAssessed() as assessed:
            return asked_if_in_words(assessed.asked_if) if assessed.asked_if else assessed.reason
        case of_tool.ToolFailed() as failed:
            return f"{took}, {failed.error}"
        case of_tool.ToolSkipped() as skipped:
            return skipped.reason
        case of_tool.ToolRepeated() as repeated:
            return f"made again; the result of {repeated.earlier} stands for it"
        case of_tool.ToolRequested() as requested:
            request = requested.request
            return ", ".join((request.effect, request.call_id, *map(asked_if_in_words, filter(None, (request.asked_if,)))))
        case of_tool.ToolWaits(questions=()):
            return "goes on"
        case of_tool.ToolWaits() as waits:
            return "waits for a person in " + ", ".join(dict.fromkeys(question.run for question in waits.questions))
        case of_tool.ToolStopped():
            return f"{took}, stop requested" if took else "stop requested"
        case of_tool.ToolResumed():
            return "taken up again"
        case _:
            return took if event.target in TOOL.final else ""


def seconds(value: float) -> str:
    """A duration in as many digits as say something: ``12 ms``, ``3.4 s``, ``2 min 05 s``, ``26 h 10 min``, ``3 d 04 h``."""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    if value < 3_600:
        return f"{int(value) // 60} min {int(value) % 60:02d} s"
    if value < 172_800:
        return f"{int(value) // 3_600} h {int(value) % 3_600 // 60:02d} min"
    return f"{int(value) // 86_400} d {int(value) % 86_400 // 3_600:02d} h"


def counted(number: int, noun: str) -> str:
    """``1 step``, ``2 steps``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
