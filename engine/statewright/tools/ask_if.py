"""``ask_if``: a tool says of the arguments of a call whether a person has to be asked about it.

It is a plain function of the tool's parameters that answers True or False, quickly and without input or output: it is called
on the event loop. Whatever else it does counts as a yes. Its answer is recorded, and a replay never asks it.
"""

from __future__ import annotations

import inspect
from typing import cast

from statewright.tools.arguments import BadArguments, parse_arguments
from statewright.tools.declaration import Tool
from statewright.tools.rendering import clean_text
from statewright_states.words.vocabulary import AskedIf

MAX_PROBLEM_CHARS = 200


def asked_if_in_words(asked: AskedIf) -> str:
    """What it said, for people: ``amount_over(1000): yes``."""
    return f"{asked.name}: {'yes' if asked.answer else 'no'}" + (f" ({asked.problem})" if asked.problem else "")


def asked_if(tool: Tool | None, name: str, call_id: str, arguments: str) -> AskedIf | None:
    """What the tool's ``ask_if`` says of these arguments; None where they do not parse, so that nothing will run.

    ``name`` is that of the function as the run knows it. Where the tool has none any more, that is a yes.
    """
    if tool is None or tool.ask_if is None:
        return AskedIf(call_id, name, answer=True, problem="it is not there any more")
    try:
        values = parse_arguments(tool, arguments)
    except BadArguments:
        return None
    try:
        answer = cast("object", tool.ask_if(**values))
    except (Exception, SystemExit) as error:  # the caller's code: whatever it raises is a yes
        problem = clean_text(f"it raised {type(error).__name__}: {error}")[:MAX_PROBLEM_CHARS]
        return AskedIf(call_id, name, answer=True, problem=problem)
    if isinstance(answer, bool):
        return AskedIf(call_id, name, answer)
    if inspect.iscoroutine(answer):
        answer.close()
    return AskedIf(call_id, name, answer=True, problem=f"it answered {type(answer).__name__}, and not True or False")
