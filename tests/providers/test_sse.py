"""The event stream parser keeps to the WHATWG format in whatever pieces the bytes come."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright_providers.sse import ServerSentEvent, SSEParser
from wire import one_byte_at_a_time

LINE_ENDS = ("\n", "\r", "\r\n")
DATA_LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=8)
EVENTS = st.lists(st.tuples(st.sampled_from(["", "error", "delta"]), st.lists(DATA_LINES, min_size=1, max_size=3)), max_size=4)


def parse(pieces: Iterable[bytes]) -> list[ServerSentEvent]:
    parser = SSEParser()
    return [event for piece in pieces for event in parser.feed(piece)] + parser.close()


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\n", [b"a"]),
        (b"data:a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:  two spaces\n\n", [b" two spaces"]),
        (b"data: one\ndata: two\n\n", [b"one\ntwo"]),
        (b"data\n\n", [b""]),
        (b"data: a\r\n\r\n", [b"a"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b": ping\n\ndata: a\n: ping\ndata: b\n\n:\n\n", [b"a\nb"]),
        (b"id: 7\nretry: 10\nunknown: x\nnothing\ndata: a\n\n", [b"a"]),
        (b"event: empty\n\ndata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data: \xe2\x82\xac\n\n", ["€".encode()]),
        ("data: a\u2028b\x0bc\x85\n\n".encode(), ["a\u2028b\x0bc\x85".encode()]),
        (b"", []),
        (b"\n\n\n", []),
    ],
)
def test_the_format_is_read_whole_and_one_byte_at_a_time(stream: bytes, expected: list[bytes]) -> None:
    assert [event.data for event in parse([stream])] == expected
    assert [event.data for event in parse(one_byte_at_a_time(stream))] == expected


def test_an_event_has_the_type_it_names_and_the_next_one_does_not_inherit_it() -> None:
    assert parse([b"event: error\ndata: a\n\ndata: b\n\n"]) == [ServerSentEvent(b"a", b"error"), ServerSentEvent(b"b")]


def test_an_event_is_given_as_soon_as_its_blank_line_ends_even_when_that_is_a_lone_cr() -> None:
    parser = SSEParser()
    assert parser.feed(b"data: a\r\n\r") == [ServerSentEvent(b"a")]
    assert parser.feed(b"\ndata: b\n\n") == [ServerSentEvent(b"b")]


@pytest.mark.parametrize("stream", [b"data: a", b"data: a\n", b"data: a\r", b"data: a\r\n"])
def test_an_event_without_its_last_newlines_is_given_at_the_close(stream: bytes) -> None:
    parser = SSEParser()
    assert parser.feed(stream) == []
    assert parser.close() == [ServerSentEvent(b"a")]
    assert parser.close() == []


@given(EVENTS, st.sampled_from(LINE_ENDS), st.data())
def test_what_is_written_is_read_back_however_it_is_cut(
    events: list[tuple[str, list[str]]], line_end: str, data: st.DataObject
) -> None:
    written = "".join(
        (f"event: {kind}{line_end}" if kind else "") + "".join(f"data: {line}{line_end}" for line in lines) + line_end
        for kind, lines in events
    ).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=6)))
    pieces = [written[start:end] for start, end in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    assert parse(pieces) == [ServerSentEvent("\n".join(lines).encode(), kind.encode()) for kind, lines in events]


@given(st.binary(max_size=60))
def test_no_bytes_are_too_strange_and_none_are_read_differently_in_pieces(stream: bytes) -> None:
    assert parse([stream]) == parse(one_byte_at_a_time(stream))
