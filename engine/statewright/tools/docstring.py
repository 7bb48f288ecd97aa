"""What a docstring says about a function and its parameters: Google, NumPy and reST styles.

The three styles are one shape: a line that names a parameter opens an entry, lines indented deeper continue it, any
other line ends it. They differ in which lines belong to the section and in what an opening line looks like.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from statewright_states.frozen import dataclass

_NAME = r"\*{0,2}\w+"
_REST_ENTRY = re.compile(rf":(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?(?P<names>{_NAME})\s*:(?P<text>.*)")
_GOOGLE_ENTRY = re.compile(rf"(?P<names>{_NAME})\s*(?:\(.*?\))?\s*:(?P<text>.*)")
_NUMPY_ENTRY = re.compile(rf"(?P<names>{_NAME}(?:\s*,\s*{_NAME})*)\s*(?::.*)?(?P<text>)$")
_REST_FIELD = re.compile(r":\w+[^:]*:")
_GOOGLE_HEADER = re.compile(r"(Args|Arguments|Parameters|Params|Returns?|Yields?|Raises|Examples?|Notes?|Attributes):\s*$")
_GOOGLE_PARAMETERS = re.compile(r"(Args|Arguments|Parameters|Params):\s*$")
_NUMPY_PARAMETERS = re.compile(r"(Other )?Parameters\s*$")
_NUMPY_RULE = re.compile(r"-{3,}\s*$")


@dataclass(frozen=True, slots=True)
class Docstring:
    """The first paragraph on one line, and the description of each parameter that has one."""

    description: str
    parameters: Mapping[str, str]


def parse_docstring(text: str | None) -> Docstring:
    """Read a docstring; what it does not say is left empty, and nothing is an error."""
    lines = inspect.cleandoc(text or "").splitlines()
    return Docstring(
        " ".join(line.strip() for line in _first_paragraph(lines)),
        _entries(lines, _REST_ENTRY)
        | _entries(_google_section(lines), _GOOGLE_ENTRY)
        | _entries(_numpy_section(lines), _NUMPY_ENTRY),
    )


def _first_paragraph(lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if not line or _REST_FIELD.match(line) or _GOOGLE_HEADER.match(line) or _is_numpy_header(lines, number):
            return
        yield line


def _is_numpy_header(lines: Sequence[str], number: int) -> bool:
    return number + 1 < len(lines) and _NUMPY_RULE.match(lines[number + 1]) is not None


def _google_section(lines: Sequence[str]) -> list[str]:
    """The lines indented below ``Args:``, moved to the left."""
    section: list[str] = []
    inside = False
    for line in lines:
        if line and not line[0].isspace():
            inside = _GOOGLE_PARAMETERS.match(line) is not None
        elif inside:
            section.append(line)
    return textwrap.dedent("\n".join(section)).splitlines()


def _numpy_section(lines: Sequence[str]) -> list[str]:
    """The lines below an underlined ``Parameters``, up to the next underlined header."""
    section: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        if _is_numpy_header(lines, number):
            inside = _NUMPY_PARAMETERS.match(line) is not None
        elif inside and not _NUMPY_RULE.match(line):
            section.append(line)
    return section


def _entries(lines: Sequence[str], opening: re.Pattern[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        match = opening.match(line)
        if match:
            current = [match["text"].strip()]
            found |= dict.fromkeys(re.findall(r"\w+", match["names"]), current)
        elif line[:1].isspace():
            current.append(line.strip())
        elif line:
            current = []
    return {name: description for name, texts in found.items() if (description := " ".join(filter(None, texts)))}
