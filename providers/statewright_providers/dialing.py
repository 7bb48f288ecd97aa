"""A TCP connection to whichever of a host's addresses answers first ("happy eyeballs", RFC 8305).

asyncio can do it within ``create_connection``; but there a connection that comes about just when its task is cancelled, or its
time is over, is forgotten and stays open.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

CONNECT_NEXT_S = 0.25
"""How long one address of a host is tried alone, before the next is tried beside it (RFC 8305, section 5)."""

Address = tuple[int, int, int, str, Any]
"""Family, type, protocol, canonical name and socket address, as ``socket.getaddrinfo`` gives them."""


async def addresses_of(host: str, port: int) -> list[Address]:
    """The addresses in the order in which to try them. Raises OSError, and UnicodeError for what cannot be a host's name."""
    try:  # an address as it stands needs nobody's answer
        found: Sequence[Address] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # IPv6 and IPv4 take turns, so that a family which leads nowhere costs one delay (RFC 8305, section 4).
    preferred = [address for address in found if address[0] == found[0][0]]
    others = [address for address in found if address[0] != found[0][0]]
    return [address for pair in zip_longest(preferred, others) for address in pair if address is not None]


async def first_to_answer(addresses: Sequence[Address]) -> socket.socket:
    """A socket connected to one of the addresses. Each is tried a little after the one before, or as soon as one has failed.

    Raises OSError when all have failed, with what each said.
    """
    untried = iter(addresses)
    attempts: list[asyncio.Task[socket.socket]] = []
    winner: asyncio.Task[socket.socket] | None = None
    errors: dict[str, BaseException] = {}
    try:
        while True:
            address = next(untried, None)
            if address is not None:
                attempts.append(asyncio.create_task(_connected(address)))
            pending = [attempt for attempt in attempts if not attempt.done()]
            if not pending:
                raise OSError("; ".join(errors) or "no address") from next(iter(errors.values()), None)
            timeout_s = None if address is None else CONNECT_NEXT_S
            done, _ = await asyncio.wait(pending, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            for attempt in done:
                error = attempt.exception()
                if error is None:
                    winner = attempt
                    return winner.result()
                errors[str(error)] = error
    finally:
        for attempt in attempts:  # not waited for: a cancellation that met us here would leave the winner open
            if attempt is not winner:
                attempt.add_done_callback(_let_go)
                attempt.cancel()


async def _connected(address: Address) -> socket.socket:
    family, kind, protocol, _, target = address
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, target)
    except BaseException:
        opened.close()
        raise
    return opened


def _let_go(attempt: asyncio.Task[socket.socket]) -> None:
    """Close what answered second, or when nobody wanted it any more."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()
