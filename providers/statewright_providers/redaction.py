r"""Secrets taken out of what a service sends, before any of it is stored, shown or cut.

A service may say our key again: in an error, in the headers that a proxy echoes, in the reply of a model that was told it.
There it stands as JSON or a URL writes it, once or several times over (``sk\/x``, ``\u0073k``, ``%73k``, ``sk%252Fx``), or
broken over lines. So data is searched in two forms that these have in common: printable ASCII alone, as it stands, and with
its escapes resolved. A search is a pass over the data; only where a secret is found, its place is worked out.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import field
from itertools import compress, count

from statewright_states.frozen import dataclass

MIN_SECRET_CHARS = 8
"""Shorter keys are placeholders for local servers ("x", "none"): blotting them out would only garble what is said."""
MARK = b"[key]"

_PRINTABLE = range(0x21, 0x7F)
_OTHERS = bytes(code for code in range(256) if code not in _PRINTABLE)
_IS_PRINTABLE = bytes(code in _PRINTABLE for code in range(256))
_ESCAPE = re.compile(rb"\\++(?:u([0-9a-fA-F]{4})|[nrtbf])?|%(?:25)*([0-9a-fA-F]{2})")
_VOID_ESCAPE = re.compile(rb"\\++(?!u[0-9a-fA-F]{4})[nrtbf]?")
"""Most of those that JSON holds, which stand for nothing that is searched for."""
_BEGUN_ESCAPE = re.compile(rb"(?:\\+(?:u[0-9a-fA-F]{0,3})?|%(?:25)*[0-9a-fA-F]?)\Z")


@dataclass(frozen=True, slots=True)
class Secrets:
    """What must not be seen; see ``secrets_of``. Without any, everything passes as it is."""

    plain: tuple[bytes, ...] = field(default=(), repr=False)
    resolved: tuple[bytes, ...] = field(default=(), repr=False)

    def out_of(self, data: bytes, *, cut: bool = False) -> bytes:
        """The data with ``[key]`` in the place of each secret, and of a beginning of one that the data ends with.

        A beginning counts from 8 characters on; from the first on where the data was ``cut`` off there.
        """
        return self._out_of(data, 1 if cut else MIN_SECRET_CHARS)

    def out_of_beginning(self, data: bytes) -> bytes:
        """The same for data that goes on: what its end begins is not known yet, see ``held_back``."""
        return self._out_of(data, 0)

    def _out_of(self, data: bytes, shortest: int) -> bytes:
        if self.plain:
            data = _without(self.plain, data, shortest, escapes=False)
            if self._may_be_escaped(data):
                data = _without(self.resolved, data, shortest, escapes=True)
        return data

    def out_of_text(self, text: str) -> str:
        """The same for text."""
        if not self.plain or not text:
            return text
        data = text.encode("utf-8", "surrogatepass")
        clean = self.out_of(data)
        return text if clean is data else clean.decode("utf-8", "surrogatepass")

    def held_back(self, data: bytes) -> int:
        """How many bytes at the end of data that goes on may belong to a secret, and are not to be shown yet."""
        held = _held_back(self.plain, data, escapes=False) if self.plain else 0
        if self.plain and self._may_be_escaped(data):
            begun = _BEGUN_ESCAPE.search(data)
            whole = data[: begun.start()] if begun else data
            held = max(held, len(data) - len(whole) + _held_back(self.resolved, whole, escapes=True))
        return held

    def _may_be_escaped(self, data: bytes) -> bool:
        return b"\\" in data or b"%" in data or self.resolved != self.plain


NOTHING_SECRET = Secrets()


def secrets_of(*words: str) -> Secrets:
    """These secrets, as far as they are long enough to be any."""
    plain = sorted({word.encode() for word in words}, key=len, reverse=True)
    long = [word for word in plain if len(_resolved(word)) >= MIN_SECRET_CHARS]
    return Secrets(tuple(long), tuple(_resolved(word) for word in long))


def _without(secrets: tuple[bytes, ...], data: bytes, shortest: int, *, escapes: bool) -> bytes:
    printable = data.translate(None, _OTHERS)
    form = _resolved(_VOID_ESCAPE.sub(b"", printable)) if escapes else printable
    if not _begun(secrets, form, shortest) and not any(secret in form for secret in secrets):
        return data
    form = _resolved(printable) if escapes else printable
    start_of, end_of = _places(data, escapes=escapes)
    pieces: list[bytes] = []
    done = 0
    for start, end in _spans(secrets, form, _begun(secrets, form, shortest)):
        pieces += data[done : start_of[start]], MARK
        done = end_of(end - 1)
    return b"".join([*pieces, data[done:]])


def _held_back(secrets: tuple[bytes, ...], data: bytes, *, escapes: bool) -> int:
    printable = data.translate(None, _OTHERS)
    length = _begun(secrets, _resolved(printable) if escapes else printable, 1)
    return len(data) - _places(data, escapes=escapes)[0][-length] if length else 0


def _spans(secrets: tuple[bytes, ...], form: bytes, begun: int) -> Iterator[tuple[int, int]]:
    """Where the secrets stand, and the one that the form ends with the beginning of; none overlaps another."""
    done = 0
    for found in re.finditer(b"|".join(map(re.escape, secrets)), form):
        yield found.span()
        done = found.end()
    if (rest := min(begun, len(form) - done)) > 0:
        yield len(form) - rest, len(form)


def _begun(secrets: tuple[bytes, ...], form: bytes, shortest: int) -> int:
    """How many characters of a secret the form ends with, if not fewer than this; 0 asks for none."""
    longest = 0
    for secret in secrets if shortest else ():
        start = max(len(form) - len(secret) + 1, 0)
        while (start := form.find(secret[:shortest], start)) >= 0 and not secret.startswith(form[start:]):
            start += 1
        if start >= 0:
            longest = max(longest, len(form) - start)
    return longest


def _resolved(printable: bytes) -> bytes:
    """The escapes resolved."""
    return _ESCAPE.sub(_meant, printable) if b"\\" in printable or b"%" in printable else printable


def _meant(escape: re.Match[bytes]) -> bytes:
    """The character that an escape stands for; nothing for others than printable ASCII, and for a backslash."""
    digits = escape[1] or escape[2]
    code = int(digits, 16) if digits else 0
    return bytes((code,)) if code in _PRINTABLE and code != ord("\\") else b""


def _places(data: bytes, *, escapes: bool) -> tuple[array[int], Callable[[int], int]]:
    """Where each character of the searched form begins in the data, and what tells where it ends."""
    kept = array("Q", compress(count(), data.translate(_IS_PRINTABLE)))
    starts, ends_of_escapes, done = array("Q"), dict[int, int](), 0
    for found in _ESCAPE.finditer(data.translate(None, _OTHERS)) if escapes else ():
        starts += kept[done : found.start()]
        done = found.end()
        if _meant(found):
            ends_of_escapes[len(starts)] = kept[done - 1] + 1
            starts.append(kept[found.start()])
    starts += kept[done:]
    return starts, lambda at: ends_of_escapes.get(at, starts[at] + 1)
