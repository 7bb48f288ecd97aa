"""The debugger without a screen: commands are read line by line, and each is answered by text that ends with a line ``> ``.

For scripts, pipes and screen readers. The same commands do the same on the screen.
"""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import AsyncIterator
from threading import Thread

from rich.console import Console
from rich.text import Text

from statewright.debugger.answers import DebugAnswer
from statewright.debugger.commands import carry_out
from statewright.debugger.moving import here
from statewright.debugger.session import DebugSession
from statewright.presentation.layout import print_folded
from statewright.presentation.output import one_line
from statewright_states.errors import StatewrightError

PROMPT = ">"
CHUNK_BYTES = 65_536


async def debug_in_lines(session: DebugSession, lines: AsyncIterator[str], console: Console) -> None:
    """Carry out commands until one leaves, or there are no more."""
    _tell(console, await here(session))
    async for line in lines:
        try:
            answer = await carry_out(session, line)
        except StatewrightError as error:
            print_folded(console, Text(f"{one_line(error.what)} ({one_line(error.where)}); {one_line(error.cure)}"), 2)
            answer = DebugAnswer()
        if answer.leaves:
            return
        _tell(console, answer)


def _tell(console: Console, answer: DebugAnswer) -> None:
    for said in answer.said:
        console.print(said)
    # A person types behind the prompt; a program waits for the end of a line.
    console.print(f"{PROMPT} ", end="" if console.is_terminal else "\n")
    console.file.flush()


async def lines_of(stream: int) -> AsyncIterator[str]:
    """The lines of a file descriptor, each read when it is asked for, while the event loop goes on.

    It is read by a thread that nobody waits for at the end: whoever presses Ctrl-C is not asked for another line. It reads the
    descriptor and not ``sys.stdin``, whose lock such a thread would hold while the process ends.
    """
    decoder, kept = codecs.getincrementaldecoder("utf-8")(errors="replace"), ""
    while True:
        while "\n" in kept:
            line, _, kept = kept.partition("\n")
            yield line
        data = await _read(stream)
        kept += decoder.decode(data, final=not data)
        if not data:
            break
    if kept:
        yield kept


async def _read(stream: int) -> bytes:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bytes] = loop.create_future()

    def given(data: bytes) -> None:
        if not done.done():
            done.set_result(data)

    def read() -> None:
        try:
            data = os.read(stream, CHUNK_BYTES)
        except OSError:  # the terminal has gone
            data = b""
        if not loop.is_closed():
            loop.call_soon_threadsafe(given, data)

    Thread(target=read, daemon=True, name="commands").start()
    return await done
