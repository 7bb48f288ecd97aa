"""Evaluation: what a judge is asked about a final answer, how its words are read, and what a correction says.

The judge fails closed: whatever is not clearly a verdict is none, and verifies nothing. What follows from one that passed, that
failed, that nobody can read, or that could not be asked for at all, the run table says for each.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, cast

from statewright.config.prompts import filled
from statewright.config.settings import ENGLISH, PromptConfig
from statewright_states.frozen import dataclass
from statewright_states.words.messages import Message

OUTPUT_CHARS = 4_000
MAX_ISSUES = 20
WORD_CHARS = 1_000
THOUGHT_BEGINNING = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
NAME_FOLLOWS = re.compile(r'\{\s*"')
MARK = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}]', re.DOTALL)
"""A string, also one that does not end, or a brace outside of strings."""


@dataclass(frozen=True, slots=True)
class EvalResult:
    """What the judge said. ``confidence`` is finite and in [0, 1]."""

    completed: bool
    confidence: float
    issues: tuple[str, ...] = ()
    suggestion: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


class SelfEvaluator:
    """Asks for a judgement of a final answer and reads the reply, in the words of ``prompts``. Keeps nothing between calls."""

    def __init__(self, prompts: PromptConfig = ENGLISH) -> None:
        self._prompts = prompts

    def request(self, task: str, output: str, actions: Sequence[str], *, again: bool = False) -> tuple[Message, ...]:
        """The messages for the judge: the task, the answer (cut to 4 000 characters), and the tools used.

        ``again`` tells it that its last reply could not be read.
        """
        text = output if len(output) <= OUTPUT_CHARS else output[:OUTPUT_CHARS] + " [...]"
        asked = {"task": task, "answer": text, "actions": _listed(actions or (self._prompts.no_actions,))}
        question = filled(self._prompts.judge_request, asked)
        asked_again = f"{question}\n\n{self._prompts.unreadable_verdict}"
        return (Message("system", self._prompts.judge_system), Message("user", asked_again if again else question))

    def read(self, text: str) -> EvalResult | None:
        """The verdict in the judge's reply: the whole text as JSON, else what the objects in it say, fenced or not.

        What a model thought first, up to ``</think>``, is not its verdict. None where there is no verdict: no JSON object, a
        name given twice, a ``completed`` that is no boolean, a ``confidence`` that no float can hold; or several that differ.
        Of issues the first 20 count; of each, and of the suggestion, 1 000 characters.
        """
        whole = _verdict(text)
        if whole is not None:
            return whole
        said = _after_thinking(text)
        verdicts = [verdict for verdict in map(_verdict, _objects(said)) if verdict is not None]
        agreed = {(verdict.completed, verdict.confidence) for verdict in verdicts}
        return verdicts[0] if len(agreed) == 1 else None

    def correction(self, task: str, result: EvalResult) -> str:
        """The prompt of the next attempt: the original task, what was wrong, and what was suggested."""
        issues = _listed(result.issues or (self._prompts.no_issues,))
        suggestion = result.suggestion or self._prompts.no_suggestion
        return filled(self._prompts.correction, {"task": task, "issues": issues, "suggestion": suggestion})


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _after_thinking(text: str) -> str:
    """What follows the thoughts. Some servers leave the opening tag out; where the closing one is missing, all are thoughts."""
    closed = THOUGHT_END.search(text)
    if closed is not None:
        return text[closed.end() :]
    return "" if THOUGHT_BEGINNING.match(text) else text


def _objects(text: str) -> Iterator[str]:
    """What begins like a JSON object with a name, up to its closing brace, from the first on. Other braces are words.

    What stands within one is none of its own. One without a closing brace is cut off: whatever follows may be any part of it.
    Linear in the text, whatever it is.
    """
    begun = NAME_FOLLOWS.search(text)
    while begun is not None:
        closing = _closing_brace(text, begun.start())
        if closing is None:
            return
        yield text[begun.start() : closing]
        begun = NAME_FOLLOWS.search(text, closing)


def _closing_brace(text: str, brace: int) -> int | None:
    """Behind the brace that closes this one, as strings in double quotes go."""
    level = 0
    for mark in MARK.finditer(text, brace):
        level += {"{": 1, "}": -1}.get(mark.group(), 0)
        if level == 0:
            return mark.end()
    return None


def _verdict(candidate: str) -> EvalResult | None:
    """A verdict from JSON text, or None when it is not one: names once, strict booleans, a finite number."""
    try:
        shape: Any = json.loads(candidate, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    if not isinstance(shape, dict):
        return None
    fields = cast("dict[str, Any]", shape)
    completed, confidence, issues = fields.get("completed"), fields.get("confidence"), fields.get("issues")
    if not isinstance(completed, bool) or isinstance(confidence, bool) or not isinstance(confidence, int | float):
        return None
    try:
        share = float(confidence)
    except OverflowError:
        return None
    if not math.isfinite(share):
        return None
    named = cast("list[object]", issues)[:MAX_ISSUES] if isinstance(issues, list) else []
    return EvalResult(
        completed,
        min(max(share, 0.0), 1.0),
        tuple(_in_words(issue) for issue in named),
        _in_words(fields.get("suggestion") or ""),
    )


def _in_words(value: object) -> str:
    try:
        return str(value)[:WORD_CHARS]
    except RecursionError:
        return "(nested too deeply to be read)"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a name that is given twice says two things, and so nothing clear."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a name is given twice")
    return fields
