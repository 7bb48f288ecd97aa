"""Tool messages that no tool wrote: skipped, cancelled, denied, timed out, unknown. Texts come from the configuration."""

from __future__ import annotations

from statewright.config import PromptConfig
from statewright_states.messages import Message

CUT_OFF = "cut off"
"""The reason that the run table gives for calls of a cut-off reply."""


def skipped(prompts: PromptConfig, call_id: str, reason: str) -> Message:
    """For a call that was not run; calls of a cut-off reply are told so."""
    text = prompts.cut_off if reason == CUT_OFF else prompts.skipped.replace("{reason}", reason)
    return tool_message(call_id, text)


def rejected(prompts: PromptConfig, call_id: str, actor: str, comment: str) -> Message:
    """For a call that a person rejected."""
    return tool_message(call_id, prompts.rejected.replace("{actor}", actor).replace("{comment}", comment).strip())


def unasked(prompts: PromptConfig, call_id: str) -> Message:
    """For a call that needs a person where nobody can be asked."""
    return tool_message(call_id, prompts.unasked)


def failed(error: str) -> str:
    """What is said of a call that failed: marked as an error for the model."""
    return f"Error: {error}"


def denied(reason: str) -> str:
    """What is said of a call that the policy does not allow."""
    return f"Denied: {reason}"


def tool_message(call_id: str, text: str) -> Message:
    """A tool message."""
    return Message("tool", text, tool_call_id=call_id)
