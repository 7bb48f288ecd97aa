"""The tools of an agent, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from statewright.tools.declaration import Tool, as_tool
from statewright.tools.suggestion import closest, did_you_mean
from statewright_states.errors import ConfigurationError, ToolDeclarationError
from statewright_states.words.messages import ToolSchema


class ToolRegistry:
    """Tools by name, in the order in which they were added; iterating gives the tools."""

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        """Takes ``@tool`` functions and plain annotated ones. Raises ToolDeclarationError."""
        _require_list(tools)
        self._tools: dict[str, Tool] = {}
        for candidate in tools:
            self.add(candidate)

    def add(self, candidate: Tool | Callable[..., Any]) -> Tool:
        """Add one tool and return it; adding the same one again changes nothing. Raises ToolDeclarationError."""
        added = as_tool(candidate)
        known = self._tools.setdefault(added.name, added)
        if known is not added:
            raise ToolDeclarationError(
                f"two tools are named {added.name!r}",
                where=f"{_module_of(known)} and {_module_of(added)}",
                cure='give one of them another name with @tool(name="...")',
            )
        return added

    def get(self, name: str) -> Tool | None:
        """The tool of this name, or None."""
        return self._tools.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self._tools)

    def schemas(self, allowed: Sequence[str] | None = None) -> tuple[ToolSchema, ...]:
        """What a model is told: of all tools (None), or of those allowed, always in the registry's order.

        Raises ConfigurationError for an allowed name that does not exist.
        """
        for name in allowed or ():
            if name not in self._tools:
                cure = did_you_mean(name, self._tools)
                raise ConfigurationError(f"there is no tool named {name!r}", where="allowed_tools", cure=cure)
        return tuple(known.schema for known in self._tools.values() if allowed is None or known.name in allowed)

    def suggest(self, name: str) -> str | None:
        """The known name most like ``name``, or None when none is close."""
        return closest(name, self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())


def _require_list(tools: object) -> None:
    """Callers without a type checker give anything."""
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        what = "the tools are no list of functions"
        raise ToolDeclarationError(what, where="tools", cure="give a list: ToolRegistry([add])")


def _module_of(known: Tool) -> str:
    return f"{known.function.__module__}.{known.function.__qualname__}"
