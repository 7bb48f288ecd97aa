"""A model's argument text becomes keyword arguments, or an answer that tells the model what to mend.

Arguments are the model's bytes: they are read as strict JSON (RFC 8259, with names unique and numbers finite) and
checked against the tool's parameters without any conversion or repair. A call that was guessed right nine times in ten
is a call that nobody asked for once.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any, NoReturn

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from statewright.tools.declaration import Tool
from statewright.tools.rendering import clean_text
from statewright.tools.schema import Parameters

MAX_PROBLEMS = 10
"""How many problems are told at once; a reply that is wrong throughout needs no longer list."""
MAX_SHOWN_CHARS = 80
MAX_QUOTED_CHARS = 500
"""How much is quoted of arguments that cannot be read: an adapter may not be able to send them back in the call itself."""


class BadArguments(Exception):
    """The arguments are not what the tool takes. ``message`` is for the model: one line per problem."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = clean_text(message)  # it quotes what the model sent


def parse_arguments(tool: Tool, text: str) -> dict[str, Any]:
    """The validated keyword arguments for ``tool.function``, defaults included. Raises BadArguments, and nothing else.

    Text that is empty or blank stands for no arguments: that is how models say it.
    """
    text = text if text.strip() else "{}"
    _check_json(text)
    parameters = tool.parameters
    try:
        # The text and not the parsed value: pydantic knows what JSON cannot say (dates, enums, tuples) in this mode only.
        checked = parameters.model.model_validate_json(text, strict=True)
    except ValidationError as error:
        unread = any(problem["type"] == "json_invalid" for problem in error.errors(include_url=False, include_context=False))
        raise BadArguments(_explain(error, parameters) + (_quoted(text) if unread else "")) from error
    except Exception as error:  # a validator of the caller's own types raised something else
        raise BadArguments(f"the arguments could not be checked: {type(error).__name__}: {error}") from error
    return {name: getattr(checked, field) for field, name in parameters.names.items()}


def _check_json(text: str) -> None:
    try:
        value = _STRICT.decode(text)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno} column {error.colno} (character {error.pos})"
        raise BadArguments(f"the arguments are not valid JSON: {error.msg} at {position}{_quoted(text, error.pos)}") from error
    except RecursionError as error:
        raise BadArguments(f"the arguments are nested too deeply{_quoted(text)}") from error
    except BadArguments as error:
        raise BadArguments(f"{error.message}{_quoted(text)}") from error
    except ValueError as error:  # Python's limit on the digits of an integer
        raise BadArguments(f"the arguments hold a number with too many digits{_quoted(text)}") from error
    if not isinstance(value, dict):
        raise BadArguments(f"the arguments must be one JSON object, not {_shown(value)}")


def _quoted(text: str, at: int = 0) -> str:
    """What was sent, as a further line: whole, or a part around the character ``at``."""
    start = max(0, min(at - MAX_QUOTED_CHARS // 2, len(text) - MAX_QUOTED_CHARS))
    part = text[start : start + MAX_QUOTED_CHARS]
    before, behind = "..." if start else "", "..." if start + MAX_QUOTED_CHARS < len(text) else ""
    return f"\nthe arguments were: {before}{part}{behind}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise BadArguments(f"{twice}: this name is given more than once in one object; give it once")
    return value


def _no_constant(constant: str) -> NoReturn:
    raise BadArguments(f"{constant} is not JSON; give a finite number, or null where that is allowed")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise BadArguments(f"the number {digits[:40]} is too large")
    return value


_STRICT = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
"""Made once: ``json.loads`` with hooks makes a new one for each call."""


def _explain(error: ValidationError, parameters: Parameters) -> str:
    problems = error.errors(include_url=False, include_context=False)
    lines = [" ".join(_problem(problem, parameters).splitlines()) for problem in problems[:MAX_PROBLEMS]]
    if len(problems) > MAX_PROBLEMS:
        lines.append(f"... and {len(problems) - MAX_PROBLEMS} more problems")
    return "\n".join(lines)


def _problem(problem: ErrorDetails, parameters: Parameters) -> str:
    path = ".".join(str(step) for step in problem["loc"])
    if problem["type"] == "json_invalid":  # pydantic's reader is stricter: lone surrogates, 200 levels
        return f"the arguments are not valid JSON: {problem['msg'].removeprefix('Invalid JSON: ')}"
    if problem["type"] == "missing":
        return f"{path}: is required and missing"
    if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
        known = ", ".join(parameters.names.values()) or "none, this tool takes no arguments"
        return f"{path}: is not an argument of this tool; its arguments are: {known}"
    if problem["type"] == "extra_forbidden":
        return f"{path}: is not known here; leave it out"
    return f"{path}: {problem['msg']}, not {_shown(problem['input'])}"


def _shown(value: object) -> str:
    """The value in JSON, shortened: a model knows its own words again."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        return "a value that is nested too deeply"
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}..."
