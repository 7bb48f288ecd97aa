"""Recorded exchanges with a real llama.cpp server: request line, headers, body, then the response the same way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RECORDINGS = Path(__file__).parent / "recordings"
SEPARATOR = re.compile(rb"\n=====RESPONSE (\d+) \([^)]*\)=====\n")


@dataclass(frozen=True)
class Transcript:
    name: str
    request: bytes
    status: int
    content_type: str
    body: bytes

    @property
    def is_stream(self) -> bool:
        return self.content_type.startswith("text/event-stream")


def read_transcript(name: str) -> Transcript:
    (path,) = RECORDINGS.glob(f"{name}-*.http")
    request, status, response = SEPARATOR.split(path.read_bytes())
    head, _, body = response.partition(b"\n\n")
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
    return Transcript(path.stem, request.partition(b"\n\n")[2].strip(), int(status), headers["content-type"], body)
