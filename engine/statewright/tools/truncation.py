"""Long results cut to a bound. The bound counts characters, includes the marker, and always holds."""

from __future__ import annotations

import re

from statewright.config.prompts import filled
from statewright.config.settings import ENGLISH, PromptConfig
from statewright.tools.rendering import binary_marker, render

HEAD_LINES = 40
TAIL_LINES = 20

_ELLIPSIS = "…"

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w.+-]+=[\w.+-]+)*;base64,([A-Za-z0-9+/_-]{64,}={0,2})")


def truncate_result(text: str, max_chars: int, prompts: PromptConfig = ENGLISH) -> str:
    """The text in at most ``max_chars`` characters (0 = off), with a marker that says how much is missing.

    The first 40 and last 20 lines when these fit, else a head and a tail of characters, two to one. A bound too small
    for the markers of ``prompts`` gets an ellipsis. Raises ValueError for a negative bound.
    """
    if max_chars < 0:
        raise ValueError("max_chars must not be negative; 0 switches truncation off")
    if max_chars == 0 or len(text) <= max_chars:
        return text
    by_lines = _cut_lines(text, prompts)
    return by_lines if by_lines is not None and len(by_lines) <= max_chars else _cut_characters(text, max_chars, prompts)


def event_view(value: object, max_chars: int = 8000) -> str:
    """A value as people see it in an event: text, binary data replaced by its size, at most ``max_chars`` characters.

    Never raises for a value: an observer must not be able to fail a run.
    """
    try:
        text = render(value)
    except Exception as error:  # the value's own methods raise what they like
        text = f"[cannot be shown: {type(error).__name__}]"
    return truncate_result(_DATA_URL.sub(_data_url_marker, text), max_chars)


def _cut_lines(text: str, prompts: PromptConfig) -> str | None:
    lines = text.split("\n")
    if len(lines) <= HEAD_LINES + TAIL_LINES:
        return None
    head, tail = "\n".join(lines[:HEAD_LINES]), "\n".join(lines[-TAIL_LINES:])
    missing_lines = len(lines) - HEAD_LINES - TAIL_LINES
    missing = len(text) - len(head) - len(tail) - 2  # the line breaks on both sides of the marker are kept
    marker = filled(prompts.truncated_lines, {"lines": missing_lines, "missing": missing})
    return f"{head}\n{marker}\n{tail}"


def _cut_characters(text: str, max_chars: int, prompts: PromptConfig) -> str:
    # From the clearest to the shortest: the first that leaves room for some text is used.
    for form in (f"\n{prompts.truncated}\n", prompts.truncated_briefly, _ELLIPSIS):
        # The number of missing characters is below the text's length, so its marker is no longer than this one.
        room = max_chars - len(filled(form, {"missing": len(text)}))
        if room > 0:
            break
    else:
        form, room = _ELLIPSIS, 0
    tail = room // 3
    head = room - tail
    return text[:head] + filled(form, {"missing": len(text) - room}) + text[len(text) - tail :]


def _data_url_marker(match: re.Match[str]) -> str:
    encoded = match[2].rstrip("=")
    return binary_marker(len(encoded) * 3 // 4, match[1] or "binary data")
