"""What callers hand in, looked at before anything happens: a wrong type is an error that names the argument and the cure.

Type checkers say the same earlier; these checks are for whoever uses none. They look at kinds and shapes alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from statewright.config.request_parameters import AUTO, NO_TOOL, REQUIRED
from statewright.config.settings import AgentConfig
from statewright.tools.suggestion import did_you_mean
from statewright_states.errors import ConfigurationError, HistoryError
from statewright_states.words.messages import Message, ToolSchema
from statewright_states.words.ports import HoldsSecrets

LAST = "last"
"""What the command line calls the newest run."""
MAX_RUN_ID_CHARS = 200

PORTS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "provider": (("model", "complete", "aclose"), 'connect a model: AgentLoop(connect("openai:NAME"))'),
    "journal": (("create", "append", "entries", "location"), 'open one: journal=SQLiteJournal("runs.db")'),
    "clock": (("now_us", "monotonic_s", "call_later"), "leave it out, or give an object that implements Clock"),
    "approver": (("ask",), "give an object with a method ask(request), as Approver describes it"),
    "token_estimator": (("estimate",), "give an object with a method estimate(messages), as TokenEstimator describes it"),
    "shutdown": (("listen", "request", "should_stop"), "give a GracefulShutdown()"),
}
"""What an argument of each name has to have, and the cure."""


def refuse(name: str, value: object, expected: str, cure: str) -> ConfigurationError:
    """The error of an argument of a wrong type. The value is not told: it may hold a key."""
    given = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
    return ConfigurationError(f"{name} is {given}, {expected} is expected", where=name, cure=cure)


def require_kind(name: str, value: object, kind: type, cure: str) -> None:
    """Raise ConfigurationError unless the value is of this class."""
    if not isinstance(value, kind):
        raise refuse(name, value, kind.__name__, cure)


def require_port(name: str, value: object) -> None:
    """Raise ConfigurationError unless the value has what this port needs; None is left out."""
    attributes, cure = PORTS[name]
    if value is not None and (isinstance(value, type) or not all(hasattr(value, attribute) for attribute in attributes)):
        raise refuse(name, value, f"an object with {', '.join(attributes)}", cure)


def require_callables(**given: object) -> None:
    """Raise ConfigurationError for one that cannot be called; None is left out."""
    for name, value in given.items():
        if value is not None and not callable(value):
            raise refuse(name, value, "a function", "give a function, or leave it out")


def require_several(name: str, value: object, cure: str) -> None:
    """Raise ConfigurationError unless the value is a collection; text and a mapping are none."""
    if not _is_list(value):
        raise refuse(name, value, "a list", cure)


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def messages_of(history: Any) -> tuple[Message, ...]:
    """The messages of a history, in the chat shape or as they are. Raises HistoryError."""
    if history is None:
        return ()
    if not _is_list(history):
        raise _no_history(history, "the history", "a list of messages", "history")
    given: list[object] = list(cast("Iterable[object]", history))
    return tuple(_message(item, f"history[{at}]") for at, item in enumerate(given))


def _message(item: object, where: str) -> Message:
    if isinstance(item, Message):
        return item
    if not isinstance(item, Mapping):
        raise _no_history(item, "a message", "a dict in the chat shape, or a Message,", where)
    return Message.from_dict(cast("Mapping[str, Any]", item), where=where)


def _no_history(value: object, what: str, expected: str, where: str) -> HistoryError:
    given: str = type(value).__name__
    cure = 'give a list such as [{"role": "user", "content": "..."}]'
    return HistoryError(f"{what} is {given}, {expected} is expected", where=where, cure=cure)


def require_text(name: str, value: object, cure: str = "give a string") -> None:
    """Raise ConfigurationError unless the value is text."""
    if not isinstance(value, str):
        raise refuse(name, value, "text", cure)


def require_possible_choice(config: AgentConfig, tools: Sequence[ToolSchema]) -> None:
    """Raise ConfigurationError where ``tool_choice`` demands a call of none of these tools, which are all that a run has."""
    names = [tool.name for tool in tools]
    if not config.demands_a_call or config.tool_choice in names or (config.tool_choice == REQUIRED and names):
        return
    what = "and the agent has no tools" if config.tool_choice == REQUIRED else "which is no tool that the agent may use"
    known = did_you_mean(str(config.tool_choice), (*names, AUTO, NO_TOOL, *((REQUIRED,) if names else ())))
    raise ConfigurationError(f"tool_choice is {config.tool_choice!r}, {what}", where="tool_choice", cure=known)


def require_no_secret(config: AgentConfig, providers: Iterable[object]) -> None:
    """Raise ConfigurationError where what is sent beside the messages, which is recorded, holds a key of these providers."""
    holders = [provider for provider in providers if isinstance(provider, HoldsSecrets)]
    if any(holder.holds_secret(text) for text in config.extra_texts for holder in holders):
        raise ConfigurationError(
            "extra_body or extra_headers holds the key of the model, and both are recorded with the run",
            where="extra_body, extra_headers",
            cure="take it out: the key is sent with every request already",
        )


def require_options(options: Any) -> None:
    """Look at the keywords of ``run``. Raises ConfigurationError."""
    require_kind("stream", options.stream, bool, "give True or False")
    require_callables(on_stream_chunk=options.on_stream_chunk)
    for name in ("session", "requested_by", "agent"):
        if getattr(options, name) is not None:
            require_text(name, getattr(options, name), "give a string, or leave it out")
    require_several("equipment", options.equipment, 'give the words of a command line: ("--tools", "ledger:tools")')
    for word in options.equipment:
        require_text("equipment", word)
    if options.session == "":
        raise ConfigurationError("the session has no name", where="session", cure="give it one, or leave it out")
    if options.run_id is not None:
        require_run_id(options.run_id)


def require_run_id(run_id: object) -> None:
    """Raise ConfigurationError unless a new run can be called that: somebody has to read it, and to type it again."""
    require_text("run_id", run_id)
    name = str(run_id)
    problem = ""
    if not name:
        problem = "is empty"
    elif name == LAST:
        problem = f"is {LAST!r}, which names the newest run on the command line"
    elif name.startswith("-"):
        problem = "begins with a hyphen, as options do"
    elif not name.isprintable():
        problem = "holds characters that cannot be printed"
    elif len(name) > MAX_RUN_ID_CHARS:
        problem = f"has {len(name)} characters, and may have {MAX_RUN_ID_CHARS}"
    if problem:
        raise ConfigurationError(f"the run id {problem}", where="run_id", cure="give another one, or none: then one is made")
