"""Assembling: the one place that names providers, reads the environment, and builds time, chance and names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from statewright.clock import SystemChance, SystemClock, SystemNames
from statewright.config.settings import AgentConfig
from statewright_providers import ScriptedProvider
from statewright_providers import connect as provider_of
from statewright_providers.connection import HttpTransport
from statewright_providers.shown_address import shown_address
from statewright_states.errors import ConfigurationError
from statewright_states.words.ports import Chance, Clock, Names, Provider

__all__ = ["ScriptedProvider", "chance", "clock", "connect", "names", "shown_address", "with_fallbacks"]

if TYPE_CHECKING:
    import httpx


class NamesModel(Protocol):
    """What names a model, and the server that it is asked at: an agent of a file, for one."""

    @property
    def model(self) -> str | None: ...
    @property
    def base_url(self) -> str | None: ...


def connect(
    model: str | NamesModel,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    client: httpx.AsyncClient | None = None,
    http: HttpTransport = "aiohttp",
    environment: Mapping[str, str] = os.environ,
) -> Provider:
    """A provider for ``openai:MODEL`` (any Chat Completions server), ``scripted:FILE`` (replies from a file), or an agent.

    An agent brings its model and its ``base_url``, unless another is given here. ``base_url`` and ``api_key`` default to the
    vendor's usual environment variables (OPENAI_BASE_URL, OPENAI_API_KEY); nothing is sent yet. ``http`` says whose connections
    httpx's client uses, where no ``client`` is handed in: aiohttp's, or its own.

    Raises ConfigurationError: unknown prefix, no model, no key where one is needed, bad address.
    """
    if isinstance(model, str):
        specification = model
    elif model.model is None:
        raise ConfigurationError("the agent names no model", where="model", cure='give it one: model = "openai:gpt-5-mini"')
    else:
        specification, base_url = model.model, base_url or model.base_url
    return provider_of(specification, base_url=base_url, api_key=api_key, client=client, http=http, environment=environment)


def clock() -> Clock:
    """The machine's own time."""
    return SystemClock()


def chance() -> Chance:
    """Randomness for jitter."""
    return SystemChance()


def names(clock: Clock) -> Names:
    """Fresh run ids."""
    return SystemNames(clock)


def with_fallbacks(provider: Provider, config: AgentConfig) -> Sequence[Provider]:
    """The model first, then the fallbacks that the configuration names, connected."""
    return (provider, *(provider_of(model) for model in config.retry.fallback_models))
