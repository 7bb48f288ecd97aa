"""From a specification, ``PREFIX:MODEL``, to a provider."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

import httpx

from statewright_providers.openai_chat import OPENAI_BASE_URL, OpenAIChatProvider
from statewright_providers.script_file import load_script
from statewright_providers.scripted import ScriptedProvider
from statewright_states.errors import ConfigurationError
from statewright_states.ports import Provider


@dataclass(frozen=True, slots=True)
class Connection:
    """What a provider is made from besides its model; None where the caller said nothing."""

    base_url: str | None
    api_key: str | None = field(repr=False)
    client: httpx.AsyncClient | None
    environment: Mapping[str, str] = field(repr=False)


def connect(
    spec: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    client: httpx.AsyncClient | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Provider:
    """A provider for ``spec``: ``openai:MODEL`` (any Chat Completions server), ``scripted:FILE`` (replies from a file).

    ``base_url`` and ``api_key`` default to the vendor's usual environment variables (OPENAI_BASE_URL, OPENAI_API_KEY);
    nothing is sent yet. Raises ConfigurationError: unknown prefix, no model, no key where one is needed, bad address.
    """
    prefix, colon, name = spec.strip().partition(":")
    if prefix not in FACTORIES or not name:
        raise _unknown(spec, prefix if colon else "", name)
    return FACTORIES[prefix](name, Connection(base_url, api_key, client, environment))


def _openai(model: str, given: Connection) -> Provider:
    base_url = given.base_url or given.environment.get("OPENAI_BASE_URL") or OPENAI_BASE_URL
    api_key = given.api_key or given.environment.get("OPENAI_API_KEY")
    if not api_key and base_url.rstrip("/") == OPENAI_BASE_URL:
        raise ConfigurationError(
            "there is no key for the OpenAI API",
            where=f"model openai:{model}",
            cure="set OPENAI_API_KEY or pass api_key=; for a server of your own, give its address as base_url",
        )
    return OpenAIChatProvider(model, base_url=base_url, api_key=api_key, client=given.client)


def _scripted(path: str, given: Connection) -> Provider:
    if given.base_url or given.api_key or given.client:
        raise ConfigurationError(
            "a scripted model talks to no server",
            where=f"model scripted:{path}",
            cure="leave base_url, api_key and client out, or use openai:MODEL",
        )
    return ScriptedProvider(load_script(path), model=f"scripted:{path}")


Factory = Callable[[str, Connection], Provider]

FACTORIES: Mapping[str, Factory] = {
    "openai": _openai,
    "scripted": _scripted,
}
"""Prefix to factory. Another provider is another line."""


def _unknown(spec: str, prefix: str, name: str) -> ConfigurationError:
    known = ", ".join(f"{prefix}:" for prefix in FACTORIES)
    close = get_close_matches(prefix.lower(), FACTORIES, n=1)
    if prefix in FACTORIES:
        what, cure = f"{prefix}: names no model", "write the model after the colon, for example openai:gpt-5-mini"
    elif not prefix:
        what, cure = (
            "the model names no provider",
            f"write PREFIX:MODEL, for example openai:gpt-5-mini; known prefixes: {known}",
        )
    else:
        what = f"there is no provider {prefix!r}"
        cure = (f"did you mean {close[0]}:{name}? " if close else "") + f"known prefixes: {known}"
    return ConfigurationError(what, where=f"model {spec!r}", cure=cure)
