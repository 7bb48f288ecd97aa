"""A model that follows a script: the whole loop runs without a server, a key or chance."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence

from statewright_states.errors import ConfigurationError, RequestRejected
from statewright_states.frozen import dataclass
from statewright_states.words.messages import LLMResponse, StreamChunk
from statewright_states.words.ports import ModelRequest, ReplyObserver


@dataclass(frozen=True, slots=True)
class Delay:
    """A wait before the next item of the script, as a slow model would make one."""

    seconds: float


Answer = Callable[[ModelRequest], LLMResponse | Awaitable[LLMResponse]]
Item = LLMResponse | Exception | Delay | Answer

WORD = re.compile(r"\s*\S+\s*|\s+")


class ScriptedProvider:
    """Gives the items of ``script`` in order, one reply per request, whoever asks.

    An item is an ``LLMResponse``, an exception to raise (as it is), a ``Delay`` before the next item, or a function from
    the request to a reply, plain or async. ``requests`` holds every request received. When a stream is asked for, the
    text arrives word by word. An item is used up when it is taken, also if the attempt is then cancelled. A request
    beyond the script's end raises RequestRejected, which is not retried. Raises ConfigurationError for any other item.
    """

    def __init__(self, script: Sequence[Item], *, model: str = "scripted:list") -> None:
        self._script = tuple(script)
        for position, item in enumerate(self._script, 1):
            if not isinstance(item, LLMResponse | Exception | Delay) and not callable(item):
                raise ConfigurationError(
                    f"item {position} of the script is {type(item).__name__}",
                    where=model,
                    cure="give an LLMResponse, an exception, a Delay, or a function from the request to an LLMResponse",
                )
        self._taken = 0
        self._model = model
        self.requests: list[ModelRequest] = []

    @property
    def model(self) -> str:
        return self._model

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        """The script's next reply; raises its next error instead where that is what comes next."""
        self.requests.append(request)
        item = self._next_item()
        while isinstance(item, Delay):
            await asyncio.sleep(item.seconds)
            item = self._next_item()
        if isinstance(item, Exception):
            raise item
        reply = item if isinstance(item, LLMResponse) else await _ask(item, request)
        observer.began()
        if request.stream:
            await _speak(reply.content or "", observer)
        return reply

    async def aclose(self) -> None:
        """Nothing to release."""

    def assert_used_up(self) -> None:
        """Raises AssertionError when items of the script were not asked for."""
        left = self._script[self._taken :]
        if left:
            raise AssertionError(f"{self._model}: {len(left)} of {len(self._script)} items were not used, next is {left[0]!r}")

    def _next_item(self) -> Item:
        if self._taken == len(self._script):
            raise RequestRejected(
                f"the script of {len(self._script)} items is at its end, and request {len(self.requests)} asks for one more",
                where=self._model,
                cure="add the missing reply to the script, or find out why the run asks more often than planned",
            )
        self._taken += 1
        return self._script[self._taken - 1]


async def _ask(answer: Answer, request: ModelRequest) -> LLMResponse:
    reply = answer(request)
    return reply if isinstance(reply, LLMResponse) else await reply


async def _speak(content: str, observer: ReplyObserver) -> None:
    for word in WORD.findall(content):
        observer.chunk(StreamChunk("content", word))
        await asyncio.sleep(0)  # a stream gives others their turn, and can be cancelled between two words
