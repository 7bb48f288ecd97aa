"""Requests under way at once from one endpoint, over aiohttp's connections and over httpx's, against an httpx client alone.

All send the same bytes to the same server and read the whole reply; nothing else is done with it.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from statistics import median
from typing import get_args

import httpx
import orjson
from stub import running_stub
from workload import SYSTEM, TASK, interleaved, print_table, ratio, start

from statewright_providers.connection import HttpTransport
from statewright_providers.http import Endpoint

AT_ONCE = (1, 10, 100)
REQUESTS = 500
"""Per round, however many of them are under way at once."""
BODY = orjson.dumps(
    {"model": "stub", "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}], "tools": []}
)
HEADERS = {"content-type": "application/json", "accept-encoding": "identity", "user-agent": "statewright"}
TIMEOUT_S = 60.0
TRANSPORTS = get_args(HttpTransport)

Post = Callable[[], Awaitable[bytes]]


async def all_of(post: Post, at_once: int) -> None:
    """All requests of a round: ``at_once`` senders, each one request after another."""

    async def sender() -> None:
        for _ in range(REQUESTS // at_once):
            if not (await post()).endswith(b"}"):
                raise RuntimeError("that is no reply")

    await asyncio.gather(*(sender() for _ in range(at_once)))


async def compared(base: str, at_once: int, rounds: int) -> list[str]:
    """One row of the table."""
    url = f"{base}/steps/1/v1"
    endpoints = [Endpoint("stub", url, "/chat/completions", {}, api_key="", client=None, http=http) for http in TRANSPORTS]
    limits = httpx.Limits(max_connections=1000, max_keepalive_connections=1000)
    client = httpx.AsyncClient(limits=limits, trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    async def over(endpoint: Endpoint) -> bytes:
        async with endpoint.post(BODY, idle_timeout_s=TIMEOUT_S) as response:
            return await response.aread()

    async def over_client() -> bytes:
        response = await client.post(f"{url}/chat/completions", content=BODY, headers=HEADERS, timeout=TIMEOUT_S)
        return response.content

    posts: list[Post] = [over_client, *(partial(over, endpoint) for endpoint in endpoints)]
    try:
        alone, *ours = await interleaved([partial(all_of, post, at_once) for post in posts], rounds)
    finally:
        for endpoint in endpoints:
            await endpoint.aclose()
        await client.aclose()
    per_request = [f"{1e6 * median(times) / REQUESTS:.0f}" for times in (alone, *ours)]
    return [f"{at_once}", *per_request, *(f"{ratio(times, alone)[0]:.2f}" for times in ours)]


async def main(*, at_once: tuple[int, ...] = AT_ONCE, rounds: int = 5) -> None:
    with running_stub() as base:
        print(f"{REQUESTS} requests, {rounds} rounds; CPU in µs per request\n")
        heads = ["under way at once", "httpx client", *TRANSPORTS, *(f"{http}: ratio" for http in TRANSPORTS)]
        print_table(heads, [await compared(base, number, rounds) for number in at_once])


if __name__ == "__main__":
    start(main, __doc__)
