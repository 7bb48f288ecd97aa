"""What a provider is made from besides its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from statewright_states.frozen import dataclass

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True, slots=True)
class Connection:
    """Address, key and client as the caller gave them (None where nothing was said), and the environment."""

    base_url: str | None
    api_key: str | None = field(repr=False)
    client: httpx.AsyncClient | None
    environment: Mapping[str, str] = field(repr=False)
