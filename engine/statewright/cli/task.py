"""The task of a run: it stands in quotes on the command line, or comes from stdin."""

from __future__ import annotations

import sys

from statewright_states.errors import ConfigurationError

FROM_STDIN = "/dev/stdin"
"""What stands for a lone hyphen, which the parser would take for an option."""


def with_stdin_named(given: list[str]) -> list[str]:
    """A command line in which a lone hyphen as a task of ``run`` can be parsed."""
    if given[0] != "run":
        return given
    end = given.index("--") if "--" in given else len(given)
    return [FROM_STDIN if word == "-" and at < end else word for at, word in enumerate(given)]


def task_text(prompt: str | None) -> str:
    """The task: what was given, else what stdin holds. Raises ConfigurationError: there is none, or it is not text."""
    if prompt is not None and prompt != FROM_STDIN:
        return prompt
    if sys.stdin is None or (prompt is None and sys.stdin.isatty()):
        raise ConfigurationError(
            "no task is given", where="statewright run", cure='write it in quotes: statewright run "What is 17 plus 25?"'
        )
    try:
        task = sys.stdin.read()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"the task is not text: {error}", where="stdin", cure="give text in UTF-8") from error
    if not task.strip():
        raise ConfigurationError("the task is empty", where="stdin", cure="write the task to stdin, or give it in quotes")
    return task
