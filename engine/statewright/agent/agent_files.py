"""Agents by name: the built-in profiles, and the agents that a TOML file defines.

::

    max_steps = 30                      # fields of AgentConfig at the top hold for every agent of the file
    model = "openai:gpt-5-mini"

    [agents.auditor]                    # any field of AgentConfig, and: profile, effects, tools, model, base_url, stream
    profile = "review"
    tools = ["ledger:tools"]
    retry = { max_attempts = 2 }

Layers, the lowest first: defaults, profile, the top of the file, the agent's own table, and what is given at the call (the
command line). The highest layer that has a key wins; tables are merged key by key, lists are replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from functools import reduce
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from statewright.agent.profiles import PROFILES, tools_within
from statewright.config.request_parameters import SECRET_KEY
from statewright.config.settings import AgentConfig
from statewright.tools import ToolRegistry, load_tools
from statewright.tools.suggestion import closest, did_you_mean
from statewright_states.errors import ConfigurationError
from statewright_states.frozen import dataclass
from statewright_states.words.tool_effects import ToolEffect

Layer = Mapping[str, Any]
"""Keys that somebody set, as plain data: tables are mappings."""
NOTHING: Layer = {}

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class SharedTable(AgentConfig):
    """The top of a file: what holds for every agent that does not say otherwise."""

    model: str | None = None
    """Specification of the model, such as openai:gpt-5-mini."""
    base_url: str | None = None
    """The model's server. It belongs to the model named beside it: another layer's model does not inherit it."""
    tools: tuple[str, ...] = ()
    """Tools to load, each ``module:attribute`` or ``path/to/file.py:attribute``, from the current directory."""
    stream: bool | None = None
    """Whether replies are asked for in pieces; None leaves it to the caller."""


class AgentTable(SharedTable):
    """One ``[agents.NAME]`` of a file."""

    profile: str | None = None
    """The built-in profile that it starts from; without one, that of its own name where there is one."""
    effects: tuple[ToolEffect, ...] | None = None
    """The effects that its tools may have; None is without a bound."""


BESIDE_CONFIG = tuple(key for key in AgentTable.model_fields if key not in AgentConfig.model_fields)
"""What an agent has beside its AgentConfig."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent, resolved from all layers. ``name`` is None where no agent was asked for by name.

    ``effects`` and ``settings.allowed_tools`` both bound its tools: a loop is given what ``config_for`` makes of them.
    """

    name: str | None
    profile: str | None
    settings: AgentConfig
    effects: tuple[ToolEffect, ...] | None = None
    tools: tuple[str, ...] = ()
    model: str | None = None
    base_url: str | None = None
    stream: bool | None = None

    def registry(self) -> ToolRegistry:
        """The tools that it names, loaded. Raises ConfigurationError, ToolDeclarationError."""
        return ToolRegistry([tool for specification in self.tools for tool in load_tools(specification)])

    def config_for(self, registry: ToolRegistry) -> AgentConfig:
        """Its configuration, with exactly the tools of ``registry`` that it may use.

        Raises ConfigurationError for an allowed tool that does not exist.
        """
        named = self.settings.allowed_tools
        registry.schemas(named)
        return self.settings.model_copy(update={"allowed_tools": tools_within(registry, self.effects, named)})


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents that can be chosen: the built-in ones, and those of a file (``Agents.read``)."""

    source: str = ""
    """The file's name, for errors."""
    shared: Layer = field(default_factory=dict[str, Any])
    """The top of the file."""
    tables: Mapping[str, Layer] = field(default_factory=dict[str, Layer])
    """The file's ``[agents.NAME]`` tables."""

    @classmethod
    def read(cls, path: str | Path) -> Agents:
        """The agents of a TOML file. Raises ConfigurationError: unreadable, not TOML, or any key in it is wrong."""
        return cls.of(_read_toml(Path(path)), str(path))

    @classmethod
    def of(cls, values: Layer, source: str = "configuration") -> Agents:
        """The same from data; ``source`` names where it is from. Every table is checked, also those that nobody chooses."""
        shared = {key: value for key, value in values.items() if key != "agents"}
        check_table(shared, SharedTable, source, also=("agents",))
        tables = values.get("agents", {})
        if not isinstance(tables, Mapping):
            raise _no_table("agents", source, "[agents.NAME]")
        for name, table in cast("Mapping[str, object]", tables).items():
            if not isinstance(table, Mapping):
                raise _no_table(name, _place(source, ("agents",)), f"[agents.{name}]")
            layer = cast("Layer", table)
            check_table(layer, AgentTable, source, ("agents", name))
            _check_profile(layer.get("profile"), _place(source, ("agents", name)))
        return cls(source, shared, cast("Mapping[str, Layer]", tables))

    @property
    def names(self) -> tuple[str, ...]:
        """The file's agents, then the built-in ones that it does not define anew."""
        return (*self.tables, *(name for name in PROFILES if name not in self.tables))

    def choose(self, name: str | None = None, given: Layer | None = None) -> Agent:
        """An agent by name, or with None the one that the top of the file describes; ``given`` is the highest layer.

        Raises ConfigurationError: no such agent, or the layers together make no sense.
        """
        if name is not None and name not in self.names:
            where = self.source or "the built-in agents"
            cure = did_you_mean(name, self.names)
            known = "" if cure.startswith("use one of") else f" known here: {', '.join(self.names)}"
            raise ConfigurationError(f"there is no agent {name!r}", where=where, cure=cure + known)
        table = NOTHING if name is None else self.tables.get(name, NOTHING)
        profile: str | None = table.get("profile", name if name in PROFILES else None)
        base = NOTHING if profile is None else PROFILES[profile].settings
        values = merged(base, self.shared, table, given or NOTHING)
        extras = AgentTable(**{key: values.pop(key) for key in BESIDE_CONFIG if key in values})
        return Agent(
            name=name,
            profile=profile,
            settings=self._settings(name, values),
            effects=extras.effects,
            tools=extras.tools,
            model=extras.model,
            base_url=extras.base_url,
            stream=extras.stream,
        )

    def _settings(self, name: str | None, values: Layer) -> AgentConfig:
        try:
            return AgentConfig(**values)
        except ConfigurationError as error:
            named = f"agent {name!r}" if name is not None else ""
            where = ", ".join(part for part in (self.source, named) if part) or error.where
            raise ConfigurationError(error.what, where=where, cure=error.cure) from error


def merged(*layers: Layer) -> dict[str, Any]:
    """The layers as one, the highest last: it wins, table by table.

    An address belongs to the model that is named with it, so a layer that names a model and no address takes a lower
    layer's address away: what was meant for one server never goes to another.
    """
    return reduce(_laid_over, (_with_its_own_address(layer) for layer in layers), {})


def check_table(
    values: Layer, model: type[BaseModel], source: str, table: tuple[str, ...] = (), *, also: tuple[str, ...] = ()
) -> None:
    """Check each key of a table by itself, and of the tables inside it.

    Raises ConfigurationError that names the key, the file and the table; ``also`` are keys known beside the model's.
    """
    where = _place(source, table)
    for key, value in values.items():
        if key not in model.model_fields:
            raise _unknown_key(key, where, sorted([*model.model_fields, *also]))
        inner = model.model_fields[key].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            _check_value(key, value, model, where)
        elif isinstance(value, Mapping):
            check_table(cast("Layer", value), inner, source, (*table, key))
        else:
            raise _no_table(key, where, f"[{'.'.join((*table, key))}]")


def _laid_over(lower: Layer, higher: Layer) -> dict[str, Any]:
    both = {key: (lower[key], higher[key]) for key in higher if key in lower}
    tables = {
        key: _laid_over(cast("Layer", below), cast("Layer", above))
        for key, (below, above) in both.items()
        if isinstance(below, Mapping) and isinstance(above, Mapping)
    }
    return {**lower, **higher, **tables}


def _with_its_own_address(layer: Layer) -> Layer:
    return {"base_url": None, **layer} if "model" in layer else layer


def _check_value(key: str, value: object, model: type[BaseModel], where: str) -> None:
    try:
        model(**{key: value})
    except ConfigurationError as error:
        if error.where != model.__name__:  # said by a check of ours, with a cure of its own
            raise ConfigurationError(error.what, where=where, cure=error.cure) from error
        default = model.model_fields[key].default
        cure = "leave it out for the default" if default is None else f"its default is {json.dumps(default)}"
        raise ConfigurationError(error.what, where=where, cure=cure) from error


def _check_profile(profile: str | None, where: str) -> None:
    if profile is not None and profile not in PROFILES:
        raise ConfigurationError(f"there is no profile {profile!r}", where=where, cure=did_you_mean(profile, PROFILES))


def _unknown_key(key: str, where: str, known: list[str]) -> ConfigurationError:
    if SECRET_KEY.search(key):
        return ConfigurationError(
            f"{key!r} looks like a secret, and secrets are not read from files",
            where=where,
            cure="take it out of the file, and put it into the environment (OPENAI_API_KEY)",
        )
    meant = closest(key, known)
    hint = f"did you mean {meant!r}? " if meant else ""
    return ConfigurationError(f"unknown configuration key {key!r}", where=where, cure=f"{hint}known there: {', '.join(known)}")


def _no_table(key: str, where: str, heading: str) -> ConfigurationError:
    return ConfigurationError(f"{key!r} is a table of keys, not a value", where=where, cure=f"write its keys under {heading}")


def _place(source: str, table: tuple[str, ...]) -> str:
    """The file and the table as TOML writes it."""
    keys = ".".join(part if BARE_KEY.fullmatch(part) else json.dumps(part) for part in table)
    return f"{source}, [{keys}]" if table else source


def _read_toml(path: Path) -> dict[str, Any]:
    import tomllib  # a thirtieth of the time to import the package, which a file of agents alone needs

    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(
            f"the configuration cannot be read: {error.strerror}", where=str(path), cure="check the path of the file"
        ) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or nested without end
        raise ConfigurationError(
            f"the configuration is not TOML: {error}", where=str(path), cure="mend it; see toml.io for the format"
        ) from error
