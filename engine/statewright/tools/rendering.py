"""A tool's result as text for the model.

Text stays as it is; anything else becomes compact JSON, so None is ``null``. Binary data becomes a marker with its
size: no model reads it as text. What JSON does not know becomes its ``str()``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from pydantic_core import to_json

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text with NUL and lone surrogates replaced by U+FFFD.

    UTF-8 cannot hold a lone surrogate, PostgreSQL and some services refuse NUL: one such character would otherwise
    stop the run at its next append or request. The number of characters stays the same.
    """
    return _UNSTORABLE.sub(REPLACEMENT, text)


def render(value: object) -> str:
    """The result as text. Raises whatever the value's own methods raise, and ValueError for what cannot be shown."""
    plain = _plain(value)
    if isinstance(plain, str):
        return plain
    return clean_text(to_json(plain, fallback=str, inf_nan_mode="strings", bytes_mode="base64").decode())


def binary_marker(size: int, kind: str = "binary data") -> str:
    """What stands in the place of binary data of ``size`` bytes."""
    return f"[{kind}, {size} bytes]"


def _plain(value: object) -> object:
    """The value with text cleaned and binary data replaced, at any depth of lists and dicts."""
    match value:
        case str():
            return clean_text(str.__str__(value))  # of a subclass, such as a str Enum, its text and not its own str()
        case bytes() | bytearray():
            return binary_marker(len(value))
        case memoryview():
            return binary_marker(value.nbytes)
        case list() | tuple():
            return [_plain(item) for item in cast("list[object]", value)]
        case Mapping():
            items = cast("Mapping[object, object]", value).items()
            return {_plain(key) if isinstance(key, str) else key: _plain(item) for key, item in items}
        case _:
            return value
