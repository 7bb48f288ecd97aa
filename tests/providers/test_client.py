"""The way a request takes, as the environment says: straight or through a proxy, and whose certificates are believed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest
import uvloop

from certificates import AUTHORITY, server_tls
from local_server import Answer, LocalServer, chunked, local_server, plain, saying, serving
from statewright_states.errors import ConnectionFailed, ProviderError, RequestRejected
from statewright_states.words.ports import ModelRequest
from wire import HTTP, QUESTION, Watcher, both_transports, completion, delta, provider_at, provider_for, sse

pytestmark = pytest.mark.usefixtures(both_transports.__name__)
BODY = json.dumps(completion(content="5")).encode()
REPLY = plain(BODY)
STREAM = chunked([sse(delta(content="5"), delta("stop"))])
BISCUIT = plain(BODY, "set-cookie: biscuit=crumbs; Path=/")
NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment trusts the tests' authority."""
    AUTHORITY.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))


async def asked(base_url: str, *streams: bool) -> list[str | None]:
    """What a model at ``base_url`` says, asked once for each of ``streams``, over one endpoint."""
    provider = provider_at(base_url)
    try:
        requests = [ModelRequest(QUESTION, stream=stream, idle_timeout_s=5) for stream in streams or (False,)]
        return [(await asyncio.wait_for(provider.complete(request, Watcher()), 20)).content for request in requests]
    finally:
        await provider.aclose()


def refused(base_url: str, kind: type[ProviderError]) -> ProviderError:
    with pytest.raises(kind) as caught:
        asyncio.run(asked(base_url))
    assert caught.value.cure
    assert base_url in caught.value.where
    return caught.value


# -- proxies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
def test_a_proxy_that_the_environment_names_gets_the_request(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    async def run() -> LocalServer:
        async with local_server(Answer(REPLY), Answer(STREAM)) as proxy:
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            assert await asked("http://model.example/v1", False, True) == ["5", "5"]
            return proxy

    proxy = asyncio.run(run())
    assert proxy.paths == ["http://model.example/v1/chat/completions"] * 2
    assert proxy.requests == [1, 1]


@pytest.mark.usefixtures("trusted")
def test_a_proxy_is_asked_for_a_tunnel_to_an_encrypted_address_and_reads_nothing_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []

    async def run() -> None:
        async with local_server(Answer(REPLY), tls=server_tls("model.example")) as model:

            async def forward(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
                while data := await source.read(65536):
                    seen.append(data)
                    target.write(data)

            async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                seen.append(await reader.readuntil(b"\r\n\r\n"))
                there, onward = await asyncio.open_connection("127.0.0.1", model.port)
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                try:
                    await asyncio.gather(forward(reader, onward), forward(there, writer))
                finally:
                    onward.close()

            async with serving(tunnel) as port:
                monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
                assert await asked("https://model.example/v1") == ["5"]

    asyncio.run(run())
    assert seen[0].startswith(b"CONNECT model.example:443 HTTP/1.1\r\n")
    assert not any(b"completion" in data for data in seen)


def test_a_host_that_needs_no_proxy_is_reached_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with local_server() as proxy:
            monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv("NO_PROXY", "model.invalid")
            with pytest.raises(ConnectionFailed, match="no connection"):
                await asked("http://model.invalid/v1")
            assert proxy.connections == 0

    asyncio.run(run())


def test_a_proxy_that_refuses_is_a_failed_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with serving(saying(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")) as port:
            monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
            with pytest.raises(ConnectionFailed, match="403 Forbidden"):
                await asked("https://model.example/v1")

    asyncio.run(run())


@pytest.mark.parametrize("proxy", ["gopher://me:sesame@127.0.0.1:9", "http://me:sesame@127.0.0.1:port"])
def test_a_proxy_that_cannot_be_used_is_an_error_that_keeps_its_password(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    error = refused("http://model.example/v1", RequestRejected)
    assert "HTTP_PROXY" in error.cure
    assert "sesame" not in f"{error}{error.__cause__}"


# -- what is on record of it -----------------------------------------------------------------------------------------


def test_a_provider_says_whose_connections_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert provider_at("https://model.example/v1").http == HTTP.get()
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    assert provider_at("https://model.example/v1").http == "httpx", "it speaks to every kind of proxy"
    assert provider_at("https://127.0.0.1:9/v1").http == HTTP.get()
    assert provider_for(lambda request: httpx.Response(200)).http == "given"


# -- event loops -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("encrypted", [False, True])
def test_requests_are_made_on_uvloop_as_on_the_loop_of_asyncio(encrypted: bool) -> None:
    async def run() -> list[int]:
        async with local_server(*[Answer(REPLY), Answer(STREAM)] * 2, tls=server_tls() if encrypted else None) as server:
            assert await asked(server.base_url, False, True, False, True) == ["5"] * 4
            return server.requests

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run()) == [1, 1, 1, 1]


# -- cookies ---------------------------------------------------------------------------------------------------------


def test_no_cookie_is_sent_back() -> None:
    async def run() -> LocalServer:
        async with local_server(Answer(BISCUIT), Answer(BISCUIT)) as server:
            await asked(server.base_url, False, False)
            return server

    assert [("cookie" in head.lower()) for head in asyncio.run(run()).heads] == [False, False]


def test_no_cookie_is_sent_back_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> LocalServer:
        async with local_server(Answer(BISCUIT), Answer(BISCUIT)) as proxy:
            monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
            await asked("http://model.example/v1", False, False)
            return proxy

    assert [("cookie" in head.lower()) for head in asyncio.run(run()).heads] == [False, False]


# -- TLS -------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("trusted")
def test_one_encrypted_connection_serves_plain_and_streamed_requests() -> None:
    async def run() -> list[int]:
        async with local_server(Answer(REPLY), Answer(STREAM), Answer(REPLY), tls=server_tls()) as server:
            assert await asked(server.base_url, False, True, False) == ["5", "5", "5"]
            return server.requests

    assert asyncio.run(run()) == [1, 1, 1]


@pytest.mark.usefixtures("trusted")
def test_an_encrypted_connection_that_the_server_closed_meanwhile_is_replaced_without_a_word() -> None:
    async def run() -> list[int]:
        async with local_server(Answer(REPLY), Answer(then="close"), Answer(STREAM, "close"), tls=server_tls()) as server:
            assert await asked(server.base_url, False, True) == ["5", "5"]
            return server.requests

    assert asyncio.run(run()) == [1, 1, 2]


def test_a_server_that_nobody_vouches_for_is_a_failed_connection() -> None:
    async def run() -> None:
        async with local_server(tls=server_tls()) as server:
            with pytest.raises(ConnectionFailed, match="certificate verify failed") as caught:
                await asked(server.base_url)
            assert caught.value.cure
            assert not server.requests

    asyncio.run(run())


@pytest.mark.usefixtures("trusted")
def test_a_server_with_the_certificate_of_another_is_a_failed_connection() -> None:
    async def run() -> None:
        async with local_server(tls=server_tls("model.example")) as server:
            with pytest.raises(ConnectionFailed, match=r"127\.0\.0\.1"):
                await asked(server.base_url)
            assert not server.requests

    asyncio.run(run())


@pytest.mark.usefixtures("trusted")
def test_a_server_that_ends_the_connection_before_tls_stands_is_a_failed_connection() -> None:
    async def run() -> None:
        async with serving(saying(b"")) as port:
            with pytest.raises(ConnectionFailed, match="no connection"):
                await asked(f"https://127.0.0.1:{port}/v1")

    asyncio.run(run())


@pytest.mark.parametrize("content", [None, "", "no certificate"], ids=["missing", "empty", "of something else"])
def test_a_certificate_bundle_that_cannot_be_used_is_an_error_that_says_where_to_look(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "bundle.pem").write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "bundle.pem"))
    assert "SSL_CERT_FILE" in refused("https://model.example/v1", RequestRejected).cure
