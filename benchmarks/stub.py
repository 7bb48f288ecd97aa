"""A model server for benchmarks: OpenAI Chat Completions over real HTTP with keep-alive, in a process of its own.

It asks for one tool call after another until the request holds as many tool results as the path says, then it answers:
``POST /steps/50/v1/chat/completions``. With ``/calls/8`` behind the steps it asks for 8 at once, with ``/chunks/100`` a reply
that is asked for as a stream has so many pieces. It counts a prompt token for every four bytes of the request, so that two
clients whose usage is equal have sent requests of equal size. Being a process of its own, its CPU is not the client's.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any

import orjson

BYTES_PER_TOKEN = 4


@contextmanager
def running_stub() -> Iterator[str]:
    """A stub on a free port of the loopback; gives its address. It ends with the context, or with this process."""
    with subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One client's connection, until it is closed; requests are answered in order."""
    with closing(writer), suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            path, length = _path_and_length(await reader.readuntil(b"\r\n\r\n"))
            names = path.split("/")[1:-3]
            asked = dict(zip(names[::2], map(int, names[1::2]), strict=True))
            body = await reader.readexactly(length)
            if orjson.loads(body).get("stream"):
                await _stream(writer, asked.get("chunks", 1))
            else:
                writer.write(_response(asked, body))


def _path_and_length(head: bytes) -> tuple[str, int]:
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return first.split(" ")[1], int(headers["content-length"])


async def _stream(writer: asyncio.StreamWriter, chunks: int) -> None:
    """A final answer in pieces, each an event and a piece of the body of its own."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    for number in range(chunks):
        finish = "stop" if number == chunks - 1 else None
        choice = {"index": 0, "delta": {"content": f"word{number} "}, "finish_reason": finish}
        chunk = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "stub"}
        event = b"data: " + orjson.dumps({**chunk, "choices": [choice]}) + b"\n\n"
        writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        await asyncio.sleep(0)
    writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
    await writer.drain()


def _response(asked: Mapping[str, int], body: bytes) -> bytes:
    calls = asked.get("calls", 1)
    done = sum(message["role"] == "tool" for message in orjson.loads(body)["messages"]) // calls
    reply = orjson.dumps(_completion(done, asked["steps"], len(body), calls))
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(reply), reply)


def _completion(done: int, steps: int, request_bytes: int, calls: int) -> dict[str, Any]:
    prompt_tokens = request_bytes // BYTES_PER_TOKEN
    message: dict[str, Any] = {"role": "assistant", "content": "All pages are read; the books are in balance."}
    if done < steps:
        pages = range(done * calls + 1, (done + 1) * calls + 1)
        functions = {page: {"name": "read_page", "arguments": f'{{"page":{page}}}'} for page in pages}
        asked = [{"id": f"call_{page:024d}", "type": "function", "function": function} for page, function in functions.items()]
        message = {"role": "assistant", "content": None, "tool_calls": asked}
    return {
        "id": f"chatcmpl-{done:024d}",
        "object": "chat.completion",
        "created": 1_790_000_000 + done,
        "model": "stub",
        "choices": [
            {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if done < steps else "stop"}
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": 24,
            "total_tokens": prompt_tokens + 24,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": "fp_stub",
    }


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # the pipe closes with whoever started this process
    os._exit(0)  # with all connections that are still open


if __name__ == "__main__":
    asyncio.run(_serve())
