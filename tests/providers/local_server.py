"""Real servers on a free port of 127.0.0.1: one that talks as it is told, and one that speaks HTTP/1.1 from a script."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Literal

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""What a server does with a connection. It is closed afterwards, and a client that goes away is nobody's error."""


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Listens, and says nothing."""
    await reader.read()


async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes no more than its buffers do, and says nothing."""
    await asyncio.Event().wait()


def saying(data: bytes, *, reset: bool = False) -> Talk:
    """Says this when anything was said to it, and ends the connection, or breaks it."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(data)
        await writer.drain()
        if reset:
            at_once = struct.pack("ii", 1, 0)  # no lingering: the system sends RST where it would send FIN
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            writer.transport.abort()

    return talk


@dataclass(frozen=True)
class Answer:
    """Bytes to send for one request, and what becomes of the connection then."""

    data: bytes = b""
    then: Literal["keep", "close", "hang"] = "keep"


@dataclass
class LocalServer:
    """What a test asks about: the address, and the number of the connection that each request came over."""

    script: Iterator[Answer]
    scheme: str = "http"
    port: int = 0
    connections: int = 0
    open_connections: int = 0
    requests: list[int] = field(default_factory=list[int])
    heads: list[str] = field(default_factory=list[str])
    request_came: asyncio.Event = field(default_factory=asyncio.Event)
    closed_by_peer: asyncio.Event = field(default_factory=asyncio.Event)
    all_closed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def base_url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    @property
    def paths(self) -> list[str]:
        return [head.split()[1] for head in self.heads]

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = self.connections
        self.open_connections += 1
        self.all_closed.clear()
        try:
            while head := await _read_request(reader):
                self.requests.append(connection)
                self.heads.append(head)
                self.request_came.set()
                answer = next(self.script)
                writer.write(answer.data)
                await writer.drain()
                if answer.then == "close":
                    return
                if answer.then == "hang":
                    await reader.read()
                    self.closed_by_peer.set()
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            self.closed_by_peer.set()
        finally:
            self.open_connections -= 1
            if not self.open_connections:
                self.all_closed.set()


@asynccontextmanager
async def serving(talk: Talk, *, port: int = 0, tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """Let ``talk`` do with each connection as it likes, for the length of the context; gives the port."""
    talks: set[asyncio.Task[None]] = set()

    async def to_its_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(asyncio.get_running_loop().create_task(to_its_end(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in talks:
            task.cancel()
        for ended in await asyncio.gather(*talks, return_exceptions=True):
            if ended is not None and not isinstance(ended, asyncio.CancelledError):
                raise ended


@asynccontextmanager
async def local_server(*script: Answer, port: int = 0, tls: ssl.SSLContext | None = None) -> AsyncGenerator[LocalServer]:
    """Serve the script, one item per request, for the length of the context."""
    state = LocalServer(iter(script), "http" if tls is None else "https")
    async with serving(state.talk, port=port, tls=tls) as state.port:
        yield state


def free_port() -> int:
    """A port of 127.0.0.1 on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def full_queue() -> Generator[int]:
    """The port of a server that accepts nobody, and before which there is no room left to wait."""
    with ExitStack() as opened:
        listener = opened.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def plain(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A response with a length."""
    lines = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunked(pieces: Sequence[bytes], *, complete: bool = True) -> bytes:
    """An event stream in chunks, each piece one chunk; incomplete ones lack the last, empty chunk."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n" * complete


def until_close(body: bytes) -> bytes:
    """An event stream that ends where the connection does."""
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + body


async def _read_request(reader: asyncio.StreamReader) -> str:
    """The request's head, "" at the end of the connection; its body is read and dropped."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return ""
    lengths = [line.split(":")[1] for line in head.lower().split("\r\n") if line.startswith("content-length:")]
    await reader.readexactly(int(lengths[0]))
    return head
