"""What a provider is made from besides its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from statewright_states.frozen import dataclass

if TYPE_CHECKING:
    import httpx

HttpTransport = Literal["aiohttp", "httpx"]
"""Whose connections are used below httpx's client."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited for a connection, and for a server to take a piece of a request, in seconds."""

    connect_s: float = 10.0
    write_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Connection:
    """Address, key, client and transport as the caller gave them (None where nothing was said), and the environment."""

    base_url: str | None
    api_key: str | None = field(repr=False)
    client: httpx.AsyncClient | None
    http: HttpTransport
    environment: Mapping[str, str] = field(repr=False)
