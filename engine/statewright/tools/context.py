"""The context of a tool: what a function may be told of the call that it is run for, and of the run around it.

::

    @tool(effect="read")
    async def research(question: str, context: ToolContext[Library]) -> str:
        '''Answer a question from the library.'''
        context.progress("reading", total=3)
        state = await context.run(reader, question)
        return state.final_output or ""

A parameter with this hint, under any name, is filled by the engine. It is no part of what a model is told of the tool, and a
model cannot give it. Whoever calls the function directly gives one: ``research("...", ToolContext(library))``.
"""

from __future__ import annotations

import typing
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Generic, Protocol, TypeVar

from statewright.views.state import AgentState
from statewright_states.errors import ConfigurationError
from statewright_states.words.messages import Message

Deps = TypeVar("Deps")
ChildHistory = Sequence[Mapping[str, Any] | Message]


class RunnableAgent(Protocol):
    """An agent whose runs a tool may begin: an ``AgentLoop``."""

    async def run_within(self, parent: Any, prompt: str, history: Any) -> AgentState:
        """Begin a run that belongs to another one, or take it up. ``parent`` says which, and with what."""
        ...


@dataclass(frozen=True, slots=True)
class ChildOptions:
    """What a tool says of a run that it begins, beside the prompt. ``deps`` are those of the tool's own run unless given."""

    history: ChildHistory | None
    session: str | None
    deps: Any


class ToolSurroundings(Protocol):
    """What carries out what a tool asks its context for."""

    def progress(self, told: str | float, total: float | None) -> None:
        """Tell observers. Safe from any thread."""
        ...

    def run(self, agent: RunnableAgent, prompt: str, options: ChildOptions) -> Coroutine[Any, Any, AgentState]:
        """Begin a run, or find the one that was begun, and wait for its end."""
        ...


class Nowhere:
    """The surroundings of a function that is called directly, outside any run."""

    def progress(self, told: str | float, total: float | None) -> None:
        """Nobody is told."""

    def run(self, agent: RunnableAgent, prompt: str, options: ChildOptions) -> Coroutine[Any, Any, AgentState]:
        """Raises ConfigurationError."""
        raise ConfigurationError(
            "this context belongs to no run, so that no run can be begun within one",
            where="ToolContext.run",
            cure="have an agent call the tool, or run the other agent directly: await agent.run(prompt)",
        )


NOWHERE = Nowhere()


@dataclass(frozen=True, slots=True)
class ToolContext(Generic[Deps]):
    """What a tool is told of its call. ``deps`` is what the caller gave the run: ``loop.run(prompt, deps=...)``.

    ``run_id`` names the run, ``call_id`` the call as the model named it, ``tool`` the call in the journal (``tool-3.1``).
    ``idempotency_key`` is the same each time that this very call is run, also in another process, and that of no other call:
    give it to services that know such keys. ``session`` is that of the run, if it has one.
    """

    deps: Deps
    run_id: str = ""
    call_id: str = ""
    tool: str = ""
    idempotency_key: str = ""
    session: str | None = None
    surroundings: ToolSurroundings = NOWHERE

    def progress(self, told: str | float, total: float | None = None) -> None:
        """Tell whoever watches the run how far this call is: in words, or as a number, of ``total`` where that is known.

        It changes nothing and is not on record. Safe from any thread; where it is told faster than anybody can be told, the
        latest counts. What comes after the call has settled is dropped.
        """
        self.surroundings.progress(told, total)

    def run(
        self,
        agent: RunnableAgent,
        prompt: str,
        *,
        history: ChildHistory | None = None,
        session: str | None = None,
        deps: Any = None,
    ) -> Coroutine[Any, Any, AgentState]:
        """Run another agent on a task, as a part of this run: await it for its state. For tools that are ``async``.

        The run is recorded in this run's journal, under a name that is made of the call and of how many runs the tool has begun
        before; when the tool is run again after a crash, the run of the same place goes on where its record ends, and none
        begins twice. So a tool that begins runs has to be one that may run again (``read`` or ``idempotent``), and to begin the
        same runs in the same order. What the run used counts for this one; its questions to persons are those of this one; it
        ends when the call ends. ``deps`` are those of this run, unless others are given.

        Raises ConfigurationError: a tool that may not run again or is no ``async`` one, or a run of this place whose task is
        another one. Raises RunExists where another run has that name.
        """
        return self.surroundings.run(agent, prompt, ChildOptions(history, session, deps))


# -- declaring and filling -------------------------------------------------------------------------------------------


def is_context(hint: Any) -> bool:
    """Whether this type hint asks for a context."""
    return hint is ToolContext or typing.get_origin(hint) is ToolContext


def deps_of(hint: Any) -> Any:
    """What a context with this hint wants for its ``deps``; Any where it does not say."""
    arguments = typing.get_args(hint)
    return arguments[0] if arguments else Any


def require_deps(wanted: Iterable[tuple[str, Any]], deps: object) -> None:
    """Raise ConfigurationError unless ``deps`` are what each tool wants: its name, and the hint of its ``deps``."""
    for name, hint in wanted:
        if not _suits(hint, deps):
            expected = getattr(hint, "__name__", None) or str(hint)
            given = "none are given" if deps is None else f"{type(deps).__name__} is given"
            raise ConfigurationError(
                f"the tool {name!r} wants deps of the type {expected}, and {given}",
                where="deps",
                cure=f"give them to the run: run(prompt, deps=...) with a {expected}",
            )


def _suits(hint: Any, deps: object) -> bool:
    """Whether deps may be what a hint says, as far as that can be known: a class, of a generic one the class alone."""
    if hint is None or hint is NoneType or hint is Any or hint is object or isinstance(hint, TypeVar):
        return True  # whoever wants none is not disturbed by what is there for others
    if typing.get_origin(hint) in (UnionType, typing.Union):
        choices = typing.get_args(hint)
        return any(deps is None if choice is NoneType else _suits(choice, deps) for choice in choices)
    kind = typing.get_origin(hint) or hint
    if isinstance(kind, type) and not _is_loose(kind):
        return isinstance(deps, kind)
    return deps is not None


def _is_loose(kind: type) -> bool:
    """Whether nothing can be asked to be an instance of it: a protocol that is for type checkers alone, a TypedDict."""
    protocol = getattr(kind, "_is_protocol", False) and not getattr(kind, "_is_runtime_protocol", False)
    return typing.is_typeddict(kind) or protocol
