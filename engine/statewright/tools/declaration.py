"""Declaring a function as a tool.

::

    @tool(effect="read")
    def balance(account: str) -> float:
        '''The balance of an account.

        Args:
            account: its number
        '''

What is declared is a ``Tool``, which is still called like the function. Everything that could be wrong with it is
found here, when the module is imported, and not in the middle of a run.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

from statewright.tools.docstring import parse_docstring
from statewright.tools.schema import Parameters, parameters_of
from statewright.tools.suggestion import did_you_mean
from statewright_states.errors import ToolDeclarationError
from statewright_states.words.messages import ToolSchema
from statewright_states.words.tool_effects import ToolEffect

P = ParamSpec("P")
R = TypeVar("R")

EffectName = Literal["read", "idempotent", "irreversible", "undeclared"]

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The names that every vendor accepts (OpenAI's and Anthropic's published pattern for function names)."""


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A function that a model may call, and what is known about it.

    ``timeout_s`` is the longest it may run, in seconds: None leaves it to the configuration, 0 sets no limit.
    ``sensitive``: a person is asked first under ``confirm-sensitive``. ``parallel``: it may run beside others.
    """

    name: str
    description: str
    schema: ToolSchema
    effect: ToolEffect
    sensitive: bool
    timeout_s: float | None
    parallel: bool
    function: Callable[..., Any]
    is_async: bool
    parameters: Parameters
    sensitive_paths: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """For arguments that are paths, patterns of names about which a person is asked first under ``confirm-sensitive``."""
    ask_if: Callable[..., bool] | None = None
    """Says of the arguments of a call whether a person is asked first under ``confirm-sensitive`` (tools/ask_if.py)."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function, for ``inspect.signature`` and other tools that unwrap."""
        return self.function


@dataclass(frozen=True, slots=True, eq=False)
class DeclaredTool(Tool, Generic[P, R]):
    """A Tool that type checkers see with the signature of its function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself."""
        result: R = self.function(*args, **kwargs)
        return result


@overload
def tool(function: Callable[P, R], /) -> DeclaredTool[P, R]: ...


@overload
def tool(
    *,
    effect: EffectName | ToolEffect | None = None,
    sensitive: bool | None = None,
    timeout_s: float | None = None,
    parallel: bool | None = None,
    name: str | None = None,
    sensitive_paths: Mapping[str, Sequence[str]] | None = None,
) -> Callable[[Callable[P, R]], DeclaredTool[P, R]]: ...


@overload
def tool(
    *,
    ask_if: Callable[P, bool],
    effect: EffectName | ToolEffect | None = None,
    sensitive: Literal[False] | None = None,
    timeout_s: float | None = None,
    parallel: bool | None = None,
    name: str | None = None,
    sensitive_paths: Mapping[str, Sequence[str]] | None = None,
) -> Callable[[Callable[P, R]], DeclaredTool[P, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    effect: EffectName | ToolEffect | None = None,
    sensitive: bool | None = None,
    timeout_s: float | None = None,
    parallel: bool | None = None,
    name: str | None = None,
    sensitive_paths: Mapping[str, Sequence[str]] | None = None,
    ask_if: Callable[..., bool] | None = None,
) -> Any:
    """Declare a function as a tool: ``@tool``, or ``@tool(effect="read", ...)``.

    ``effect`` is ``read``, ``idempotent``, ``irreversible``, or ``undeclared`` when left out, which counts as irreversible.
    ``sensitive`` is True by default for irreversible tools only: a person is asked about them. ``parallel`` is True by
    default for all but these: what cannot be taken back happens in the order asked. ``name`` is the function's own
    unless given. ``sensitive_paths`` has a person asked about some calls only: for arguments that are paths, patterns of
    names, such as ``{"path": [".env", "*.pem"]}`` (``statewright.tools.sensitive_paths``). ``ask_if`` does so too: a function
    with the tool's own parameters that says True where a person is to be asked, and then decides alone, unless there are
    ``sensitive_paths`` (``statewright.tools.ask_if``). Raises ToolDeclarationError.
    """

    def declare(declared: Callable[..., Any]) -> DeclaredTool[..., Any]:
        where = _where(declared)
        _check_function(declared, where)
        known_effect = _checked_effect(effect, where)
        known_name = _checked_name(name if name is not None else declared.__name__, where)
        docstring = parse_docstring(inspect.getdoc(declared))
        parameters = parameters_of(declared, docstring, where)
        if ask_if is not None:
            _check_ask_if(ask_if, sensitive, parameters, where)
        irreversible = known_effect in (ToolEffect.IRREVERSIBLE, ToolEffect.UNDECLARED)  # else it would run unasked by omission
        return DeclaredTool(
            name=known_name,
            description=docstring.description,
            schema=ToolSchema(known_name, docstring.description, parameters.json_schema),
            effect=known_effect,
            sensitive=irreversible and ask_if is None if sensitive is None else sensitive,
            timeout_s=_checked_timeout(timeout_s, where),
            parallel=not irreversible if parallel is None else parallel,
            function=declared,
            is_async=inspect.iscoroutinefunction(declared),
            parameters=parameters,
            sensitive_paths=_checked_paths(sensitive_paths or {}, parameters, where),
            ask_if=ask_if,
        )

    return declare if function is None else declare(function)


def as_tool(candidate: Tool | Callable[..., Any]) -> Tool:
    """The tool itself, or a plain annotated function declared with the defaults. Raises ToolDeclarationError."""
    return candidate if isinstance(candidate, Tool) else tool(candidate)


def _where(function: object) -> str:
    """``file:line name`` of a function; the best that can be said of anything else."""
    unwrapped: Any = inspect.unwrap(function) if callable(function) else function
    code = getattr(unwrapped, "__code__", None)
    if code is None:
        return f"the tool {function!r:.80}"
    return f"{code.co_filename}:{code.co_firstlineno} {unwrapped.__qualname__}"


def _check_function(function: object, where: str) -> None:
    wrapped = inspect.unwrap(function) if callable(function) else function
    if isinstance(function, Tool):
        problem, cure = "it is a tool already", "declare it once"
    elif isinstance(function, functools.partial):
        problem, cure = "a partial has no name, hints or docstring of its own", "write a small function that makes the call"
    elif not callable(function) or not (inspect.isfunction(wrapped) or inspect.ismethod(wrapped)):
        problem = f"{function!r:.80} is not a function"
        cure = "declare a function or a bound method: @tool above a def, or @tool(effect=...) with options by name"
    elif wrapped.__name__ == "<lambda>":
        problem, cure = "a lambda has no name and no hints", "write it as a def with type hints and a docstring"
    elif inspect.isgeneratorfunction(wrapped) or inspect.isasyncgenfunction(wrapped):
        problem, cure = "a generator has no single result", "collect what it yields and return it as a list or text"
    else:
        return
    raise ToolDeclarationError(f"this cannot become a tool: {problem}", where=where, cure=cure)


def _checked_effect(effect: str | None, where: str) -> ToolEffect:
    if effect is None:
        return ToolEffect.UNDECLARED
    try:
        return ToolEffect(effect)
    except ValueError as error:
        cure = did_you_mean(str(effect), list(ToolEffect))
        raise ToolDeclarationError(f"there is no effect {effect!r}", where=where, cure=cure) from error


def _checked_name(name: Any, where: str) -> str:
    if isinstance(name, str) and TOOL_NAME.fullmatch(name):
        return name
    raise ToolDeclarationError(
        f"models cannot call a tool named {name!r}",
        where=where,
        cure='give it 1 to 64 letters, digits, "_" or "-" (ASCII): rename the function, or use @tool(name="...")',
    )


def _checked_paths(patterns: Mapping[str, Sequence[str]], parameters: Parameters, where: str) -> dict[str, tuple[str, ...]]:
    for name, of_name in patterns.items():
        if name not in parameters.names.values():
            cure = did_you_mean(name, list(parameters.names.values()))
            raise ToolDeclarationError(f"sensitive_paths names {name!r}, which is no parameter", where=where, cure=cure)
        if isinstance(of_name, str):
            raise ToolDeclarationError(
                f"the sensitive_paths of {name!r} are one text", where=where, cure='give a list of patterns, such as [".env"]'
            )
    return {name: tuple(of_name) for name, of_name in patterns.items()}


def ask_if_name(question: Callable[..., bool]) -> str:
    """What an ``ask_if`` is called on record: the function's name, or what an object says of itself."""
    return str(getattr(question, "__name__", None) or f"{question!r:.80}")


def _check_ask_if(question: Any, sensitive: bool | None, parameters: Parameters, where: str) -> None:
    names = list(parameters.names.values())
    problem, cure = "", f"write a function that takes the tool's own parameters by name: {', '.join(names) or 'none'}"
    if not callable(question):
        problem = f"is {type(question).__name__}, and not a function"
    elif sensitive:
        problem, cure = "is of no use beside sensitive=True, which asks about every call", "leave one of them out"
    elif inspect.iscoroutinefunction(question):
        problem, cure = "is asynchronous", "make it a plain function; what has to wait is a hook: @hook('before_tool_call')"
    elif not _takes(question, names):
        problem = "does not take the tool's parameters"
    if problem:
        raise ToolDeclarationError(f"ask_if {problem}", where=where, cure=cure)


def _takes(question: Callable[..., object], names: Sequence[str]) -> bool:
    try:
        inspect.signature(question).bind(**dict.fromkeys(names))
    except TypeError:
        return False
    except ValueError:  # a built-in function that does not tell its parameters
        return True
    return True


def _checked_timeout(timeout_s: Any, where: str) -> float | None:
    if timeout_s is None:
        return None
    if isinstance(timeout_s, int | float) and math.isfinite(timeout_s) and timeout_s >= 0:
        return timeout_s
    raise ToolDeclarationError(
        f"timeout_s is {timeout_s!r}", where=where, cure="give seconds, 0 for no limit, or None for the configured default"
    )
