"""A reply and its pieces without the secrets that a service said again; see ``redaction``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

from statewright_providers.redaction import Secrets
from statewright_states.frozen import replace
from statewright_states.words.messages import LLMResponse, StreamChunk
from statewright_states.words.ports import ReplyObserver

MAX_HELD_BYTES = 4096
"""What may begin a secret, and does not go on for so long, is none, however many blanks stand in it."""


def redacted(reply: LLMResponse, secrets: Secrets) -> LLMResponse:
    """The reply without the secrets, whatever it holds."""
    if not secrets.plain:
        return reply
    return LLMResponse(
        parts=[_clean(part, secrets) for part in reply.parts],
        finish_reason=secrets.out_of_text(reply.finish_reason),
        usage=reply.usage,
        model=_clean(reply.model, secrets),
        raw=secrets.out_of(reply.raw),
    )


def stands_in_pieces(pieces: Sequence[str], secrets: Secrets) -> bool:
    """Whether the pieces of a text hold a secret, or end with the beginning of one, that no piece of them holds whole."""
    whole = "".join(pieces)
    if not secrets.plain or secrets.out_of_text(whole) is whole:
        return False
    without = b"".join(secrets.out_of_beginning(piece.encode("utf-8", "surrogatepass")) for piece in pieces)
    return secrets.out_of(without) is not without


class RedactingObserver:
    """Passes on what it is told, without the secrets. Text that may begin one is told when it is known to be none."""

    def __init__(self, inner: ReplyObserver, secrets: Secrets) -> None:
        self._inner = inner
        self._secrets = secrets
        self._held: StreamChunk | None = None
        words = [word.decode() for word in (*secrets.plain, *secrets.resolved)]
        begun = [rf"{re.escape(word[0])}(?={re.escape(word[1])}|[^!-~]|\Z)" for word in words]
        self._may_begin = re.compile("|".join([r"[%\\]", *begun])).search if words else None

    def began(self) -> None:
        self._inner.began()

    def resent(self) -> None:
        self._inner.resent()

    def chunk(self, chunk: StreamChunk) -> None:
        """Pass the chunk on, as far as it is known to belong to no secret."""
        if self._held is not None:
            chunk = self._joined(chunk, self._held)
        if self._may_begin is None or not self._may_begin(chunk.data):
            self._inner.chunk(chunk)
            return
        data = self._secrets.out_of_beginning(chunk.data.encode("utf-8", "surrogatepass"))
        held = self._secrets.held_back(data)
        shown = len(data) - (held if held <= MAX_HELD_BYTES else 0)
        self._show(chunk, data[:shown])
        self._held = replace(chunk, data=_text(data[shown:])) if shown < len(data) else None

    def ended(self) -> None:
        """The reply has ended, or broke off: what is held back was no secret, or only the beginning of one."""
        held, self._held = self._held, None
        if held is not None:
            self._inner.chunk(replace(held, data=self._secrets.out_of_text(held.data)))

    def _joined(self, chunk: StreamChunk, held: StreamChunk) -> StreamChunk:
        if held.type == chunk.type:
            self._held = None
            return replace(chunk, data=held.data + chunk.data)
        self.ended()
        return chunk

    def _show(self, chunk: StreamChunk, data: bytes) -> None:
        if data:
            self._inner.chunk(replace(chunk, data=_text(data)))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _clean(value: Any, secrets: Secrets) -> Any:
    """The same value, each text in it without the secrets."""
    if isinstance(value, str):
        return secrets.out_of_text(value)
    if isinstance(value, tuple):
        return tuple(_clean(item, secrets) for item in cast("tuple[object, ...]", value))
    if not is_dataclass(value) or isinstance(value, type):
        return value
    parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return replace(value, **{name: clean for name, part in parts.items() if (clean := _clean(part, secrets)) is not part})
