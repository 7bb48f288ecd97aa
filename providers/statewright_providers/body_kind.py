"""What a body is, told by its first bytes.

Servers and proxies send pages and plain replies where a stream was asked for, and streams that they call something else. JSON
and HTML begin with a bracket or a quote, which no field of an event stream does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

from statewright_providers.sse import BYTE_ORDER_MARK

BodyKind = Literal["events", "document", "words"]
"""An event stream; JSON or a page; neither, as far as its beginning says."""

FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
BRACKETS = (b"{", b"[", b"<", b'"')


def body_kind(beginning: bytes) -> BodyKind | None:
    """The kind of a body that begins like this; None where more of it has to be seen."""
    if len(beginning) < len(BYTE_ORDER_MARK) and BYTE_ORDER_MARK.startswith(beginning):
        return None
    said = beginning.removeprefix(BYTE_ORDER_MARK).lstrip()
    if said.startswith(FIELDS):
        return "events"
    if said.startswith(BRACKETS):
        return "document"
    return None if any(field.startswith(said) for field in FIELDS) else "words"


async def read_beginning(pieces: AsyncIterator[bytes]) -> bytes:
    """As many pieces as it takes to tell the kind of the body; all of them where even the whole body does not."""
    beginning = b""
    while body_kind(beginning) is None:
        piece = await anext(pieces, None)
        if piece is None:
            break
        beginning += piece
    return beginning
