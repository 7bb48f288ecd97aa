"""Texts of the configuration with what belongs into them, and tool messages that no tool wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from statewright.config.settings import PromptConfig
from statewright_states.words.messages import Message
from statewright_states.words.parts import Attachment, described, kind_of
from statewright_states.words.vocabulary import StopReason

CUT_OFF = "cut off"
"""The reason that the run table gives for calls of a cut-off reply."""
_PLACE = re.compile(r"\{([a-z_]+(?::g)?)\}")


def filled(text: str, values: Mapping[str, object]) -> str:
    """The text with the values in the places that have their names, ``{name}``; all other braces stay.

    All go in at once: what looks like a place inside a value is none.
    """
    return _PLACE.sub(lambda place: str(values.get(place[1], place[0])), text)


def with_attachments(prompts: PromptConfig, text: str, attachments: Sequence[Attachment]) -> str:
    """The text with a line for each image and file, for who is told of them and not shown them."""
    told = [filled(prompts.attachment, {"kind": kind_of(part), "attachment": described(part)}) for part in attachments]
    return "\n".join([text, *told] if text else told)


def skipped(prompts: PromptConfig, call_id: str, reason: str) -> Message:
    """For a call that was not run; calls of a cut-off reply are told so."""
    text = prompts.cut_off if reason == CUT_OFF else filled(prompts.skipped, {"reason": reason})
    return tool_message(call_id, text)


def rejected(prompts: PromptConfig, call_id: str, actor: str, comment: str) -> Message:
    """For a call that a person rejected."""
    return tool_message(call_id, filled(prompts.rejected, {"actor": actor, "comment": comment}).strip())


def timed_out(prompts: PromptConfig, call_id: str, timeout_s: float) -> Message:
    """For a call that did not return in time."""
    return tool_message(call_id, filled(prompts.timed_out, {"timeout_s:g": f"{timeout_s:g}"}))


def failed(prompts: PromptConfig, error: str) -> str:
    """What is said of a call that failed: marked as an error for the model."""
    return filled(prompts.failed, {"error": error})


def denied(prompts: PromptConfig, reason: str) -> str:
    """What is said of a call that the policy does not allow."""
    return filled(prompts.denied, {"reason": reason})


def notice(prompts: PromptConfig, reason: StopReason, values: Mapping[str, object]) -> str:
    """What is said of a run that ended for this reason, and whose model said nothing; empty where nothing is."""
    return filled(prompts.notices.get(reason, ""), values)


def tool_message(call_id: str, text: str) -> Message:
    """A tool message."""
    return Message("tool", text, tool_call_id=call_id)
