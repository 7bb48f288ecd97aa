"""Addresses and keys as people type them, checked before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

import httpx

from statewright_providers.shown_address import SECRET_NAME, shown_address
from statewright_states.errors import ConfigurationError


def is_loopback(host: str) -> bool:
    """Whether the host is this machine: localhost, 127.0.0.0/8, ::1, or the unspecified address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def checked_key(api_key: str) -> str:
    """The key without surrounding blanks; raises ConfigurationError, without showing it, when no header can carry it."""
    key = api_key.strip()
    if not all("!" <= char <= "~" for char in key):
        raise ConfigurationError(
            "the API key contains a character that an HTTP header cannot carry",
            where="api_key",
            cure="copy the key again: it is one word of printable ASCII characters",
        )
    return key


def secrets_in(url: httpx.URL, client: httpx.AsyncClient | None) -> Iterator[str]:
    """The keys in the query of an address, and in the headers and the query that a given client sends with each request."""
    given = [] if client is None else [*client.headers.multi_items(), *client.params.multi_items()]
    for name, value in (*url.params.multi_items(), *given):
        if SECRET_NAME.search(name):
            yield value.rpartition(" ")[2]  # "Bearer KEY"


def endpoint_url(base_url: str, path: str) -> httpx.URL:
    """The URL of ``path`` below ``base_url``; a query in it is kept. Raises ConfigurationError for what is no address."""
    shown, example = shown_address(base_url), "http://127.0.0.1:8080/v1"
    where = f"base_url {shown!r}"
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL as error:
        why = f": {error}" if shown == base_url else ""  # it quotes pieces of the address
        raise ConfigurationError(f"base_url is not a URL{why}", where=where, cure=f"write it like {example}") from None
    if url.userinfo:
        raise ConfigurationError(
            "base_url holds a user name or password", where="base_url", cure="take it out and pass the key as api_key"
        )
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigurationError(
            "base_url does not begin with http:// or https:// and a host", where=where, cure=f"write it like {example}"
        )
    return url.copy_with(path=url.path.rstrip("/") + path, fragment=None)
