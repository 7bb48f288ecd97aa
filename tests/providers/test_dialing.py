"""Which of a host's addresses is connected to, and what becomes of the others."""

from __future__ import annotations

import asyncio
import gc
import socket
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_server import free_port, full_queue, serving, silent
from statewright_providers.dialing import CONNECT_NEXT_S, Address, addresses_of, first_to_answer


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    yield
    gc.collect()  # an open socket complains here


def at(port: int) -> Address:
    return (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))


async def reached(*ports: int) -> int:
    """The port of the server that was connected to."""
    connected = await first_to_answer([at(port) for port in ports])
    with connected:
        return int(connected.getpeername()[1])


def test_an_address_that_refuses_is_passed_at_once() -> None:
    async def run() -> None:
        async with serving(silent) as port:
            begun = time.monotonic()
            assert await reached(free_port(), free_port(), port) == port
            assert time.monotonic() - begun < CONNECT_NEXT_S

    asyncio.run(run())


def test_an_address_that_does_not_answer_is_overtaken_by_the_next() -> None:
    async def run() -> None:
        with full_queue() as deaf:
            async with serving(silent) as port:
                assert await asyncio.wait_for(reached(deaf, port), 5) == port

    asyncio.run(run())


def test_the_first_address_is_used_where_several_answer() -> None:
    async def run() -> None:
        async with serving(silent) as first, serving(silent) as second:
            assert await reached(first, second) == first

    asyncio.run(run())


def test_where_nobody_answers_the_error_says_once_what_each_said() -> None:
    ports = [free_port(), free_port()]
    with pytest.raises(OSError, match=f"{ports[0]}.*; .*{ports[1]}") as caught:
        asyncio.run(reached(*ports, ports[0]))
    assert str(caught.value).count("; ") == 1


def test_a_host_without_addresses_is_an_error() -> None:
    with pytest.raises(OSError, match="no address"):
        asyncio.run(first_to_answer([]))


@settings(max_examples=40, deadline=None)
@given(turns=st.integers(0, 20), answering=st.integers(1, 3))
def test_whenever_it_is_cancelled_nothing_stays_open(turns: int, answering: int) -> None:
    async def run(port: int) -> None:
        before = asyncio.all_tasks()
        dialing = asyncio.create_task(reached(*[port] * answering))
        for _ in range(turns):
            await asyncio.sleep(0)
        dialing.cancel()
        await asyncio.wait([dialing])
        for _ in range(3):
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == before

    with socket.create_server(("127.0.0.1", 0)) as listener:
        asyncio.run(run(listener.getsockname()[1]))


def test_an_address_is_its_own_and_needs_no_answer() -> None:
    for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
        [address] = asyncio.run(addresses_of(host, 80))
        assert (address[0], address[4][:2]) == (family, (host, 80))


def test_the_families_of_a_name_take_turns() -> None:
    families = [address[0] for address in asyncio.run(addresses_of("localhost", 80))]
    assert len(families) < 3 or families[0] != families[1]
