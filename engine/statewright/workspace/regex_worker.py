"""A regular expression over many texts, in a process of its own.

Python's ``re`` can take longer than the universe for a short pattern, cannot be interrupted, and holds up the whole
process meanwhile. So a process that nobody needs does it: this file, run as a program without anything of ours. It
reads one JSON document and writes one. The system ends it when it takes more than its seconds or its memory, also when
whoever started it is gone.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import islice
from typing import Any

if sys.platform != "win32":
    import resource

MAX_MEMORY_BYTES = 2_000_000_000


def matching_lines(pattern: str, ignore_case: bool, texts: list[str], max_matches: int) -> list[tuple[int, int]]:
    """The matches as (text, line), both counted from 0, at most ``max_matches``. Raises what ``re.compile`` raises."""
    expression = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    found = (
        (number, line_number)
        for number, text in enumerate(texts)
        for line_number, line in enumerate(text.split("\n"))
        if expression.search(line)
    )
    return list(islice(found, max_matches))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """``{"matches": [...]}``, or ``{"error": why the pattern is none}``."""
    try:
        return {"matches": matching_lines(**request)}
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        return {"error": str(error) or type(error).__name__}


def main() -> None:
    """Read the request from stdin, write the answer to stdout."""
    if sys.platform != "win32":
        seconds = int(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    json.dump(answer(json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    main()
