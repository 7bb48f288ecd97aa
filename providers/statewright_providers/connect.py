"""From a specification, ``PREFIX:MODEL``, to a provider."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, get_args

from statewright_providers.connection import Connection, HttpTransport
from statewright_providers.shown_address import shown_address
from statewright_states.errors import ConfigurationError
from statewright_states.words.ports import Provider

if TYPE_CHECKING:
    import httpx


def connect(
    spec: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    client: httpx.AsyncClient | None = None,
    http: HttpTransport = "aiohttp",
    environment: Mapping[str, str] = os.environ,
) -> Provider:
    """A provider for ``spec``: ``openai:MODEL`` (any Chat Completions server), ``scripted:FILE`` (replies from a file).

    ``base_url`` and ``api_key`` default to the vendor's usual environment variables (OPENAI_BASE_URL, OPENAI_API_KEY);
    nothing is sent yet. ``http`` says whose connections httpx's client uses, where no ``client`` is handed in: aiohttp's, or
    its own. Raises ConfigurationError: unknown prefix, no model, no key where one is needed, bad address.
    """
    prefix, colon, name = spec.strip().partition(":")
    if prefix not in ADAPTERS or not name:
        raise _unknown(spec, prefix if colon else "", name)
    if http not in get_args(HttpTransport):
        known = " or ".join(get_args(HttpTransport))
        raise ConfigurationError(f"there is no transport {http!r}", where="http", cure=f"write {known}, or leave it out")
    adapter = importlib.import_module(ADAPTERS[prefix])
    provider: Provider = adapter.connected(name, Connection(base_url, api_key, client, http, environment))
    return provider


ADAPTERS: Mapping[str, str] = {
    "openai": "statewright_providers.openai_chat",
    "scripted": "statewright_providers.script_file",
}
"""Prefix to the module of its adapter, which has a function ``connected``. Another provider is another line.

An adapter is imported when it is connected: importing httpx takes as long as importing the whole engine.
"""


def _unknown(spec: str, prefix: str, name: str) -> ConfigurationError:
    known = ", ".join(f"{prefix}:" for prefix in ADAPTERS)
    close = get_close_matches(prefix.lower(), ADAPTERS, n=1)
    if prefix in ADAPTERS:
        what, cure = f"{prefix}: names no model", "write the model after the colon, for example openai:gpt-5-mini"
    elif not prefix:
        what, cure = (
            "the model names no provider",
            f"write PREFIX:MODEL, for example openai:gpt-5-mini; known prefixes: {known}",
        )
    else:
        what = f"there is no provider {prefix!r}"
        cure = (f"did you mean {close[0]}:{shown_address(name)}? " if close else "") + f"known prefixes: {known}"
    return ConfigurationError(what, where=f"model {shown_address(spec)!r}", cure=cure)
