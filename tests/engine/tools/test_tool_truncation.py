from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright.tools import event_view, truncate_result

LINES = st.lists(st.text(st.characters(exclude_characters="\n…["), max_size=30), min_size=0, max_size=150).map("\n".join)
TEXTS = LINES | st.integers(0, 20_000).map(lambda length: "abcde" * (length // 5))


@given(TEXTS, st.integers(0, 2000))
def test_the_bound_includes_the_marker_and_always_holds(text: str, max_chars: int) -> None:
    cut = truncate_result(text, max_chars)
    if max_chars == 0 or len(text) <= max_chars:
        assert cut == text
    else:
        assert 0 < len(cut) <= max_chars


@given(TEXTS, st.integers(1, 2000))
def test_what_is_kept_is_a_head_and_a_tail_and_the_marker_counts_the_rest(text: str, max_chars: int) -> None:
    cut = truncate_result(text, max_chars)
    marker = re.search(r"\[(?:\.\.\. (?:(\d+) lines, )?(\d+) characters left out \.\.\.|(\d+) left out)\]", cut)
    if marker is None:
        assert cut == text or "…" in cut
        return
    head, tail = cut[: marker.start()], cut[marker.end() :]
    by_lines = marker[1] is not None
    if marker[3] is None and not by_lines:
        head, tail = head[:-1], tail[1:]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) + int(marker[2] or marker[3]) == len(text)
    if by_lines:
        assert (head.count("\n"), tail.count("\n")) == (40, 20)
        assert 60 + int(marker[1]) == len(text.split("\n"))


@given(TEXTS.filter(bool))
def test_exactly_at_the_bound_nothing_is_cut_and_one_below_something_is(text: str) -> None:
    assert truncate_result(text, len(text)) == text
    if len(text) > 1:
        assert truncate_result(text, len(text) - 1) != text


def test_long_text_keeps_its_first_40_and_last_20_lines() -> None:
    text = "\n".join(f"line {number}" for number in range(500))
    cut = truncate_result(text, 1000).split("\n")
    assert cut[:40] == [f"line {number}" for number in range(40)]
    assert cut[40] == "[... 440 lines, 3899 characters left out ...]"
    assert cut[41:] == [f"line {number}" for number in range(480, 500)]


def test_a_text_of_61_lines_leaves_one_out_and_one_of_60_is_cut_by_characters() -> None:
    lines = [f"{number:03d} " + "z" * 60 for number in range(61)]
    assert "[... 1 lines, 64 characters left out ...]" not in truncate_result("\n".join(lines), 3000)
    long = [*lines[:40], "w" * 900, *lines[41:]]
    assert "[... 1 lines, 900 characters left out ...]" in truncate_result("\n".join(long), 4500)
    assert "lines" not in truncate_result("\n".join(lines[:60]), 3000)


def test_the_lines_are_cut_only_where_the_result_fits_and_else_the_characters() -> None:
    text = "\n".join(f"line {number}" for number in range(500))
    by_lines = truncate_result(text, 1000)
    assert truncate_result(text, len(by_lines)) == by_lines
    assert "lines" not in truncate_result(text, len(by_lines) - 1)


@pytest.mark.parametrize("text", ["x" * 3_000_000, "x\n" * 1_500_000, "data:" * 300_000, "data:a/" + "b" * 2_000_000])
def test_millions_of_characters_are_bounded_too(text: str) -> None:
    assert len(truncate_result(text, 16_000)) <= 16_000
    assert len(event_view(text)) <= 8000


def test_a_circle_is_a_view_too() -> None:
    circle: list[object] = []
    circle.append(circle)
    assert event_view(circle) == "[cannot be shown: RecursionError]"


def test_lines_too_long_for_the_bound_are_cut_by_characters() -> None:
    cut = truncate_result("\n".join("x" * 1000 for _ in range(100)), 16_000)
    assert "characters left out" in cut
    assert "lines" not in cut
    assert 15_990 < len(cut) <= 16_000


@pytest.mark.parametrize("max_chars", range(1, 81))
def test_tiny_bounds_hold_and_always_show_that_something_is_missing(max_chars: int) -> None:
    cut = truncate_result("y" * 5000, max_chars)
    assert len(cut) <= max_chars
    assert re.search(r"left out|…", cut)
    if max_chars >= 20:
        assert "left out" in cut


def test_a_negative_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        truncate_result("x", -1)


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "view"),
    [
        ("text", "text"),
        (None, "null"),
        ({"a": [1, 2.5, True]}, '{"a":[1,2.5,true]}'),
        (b"\x00\xff\x01", "[binary data, 3 bytes]"),
        ({"image": b"12345", "n": 1}, '{"image":"[binary data, 5 bytes]","n":1}'),
        (Path("a"), '"a"'),
        (Hostile(), "[cannot be shown: PydanticSerializationError]"),
        ("see data:image/png;base64," + "A" * 400 + "== here", "see [image/png, 300 bytes] here"),
        ("see data:;base64," + "A" * 64, "see [binary data, 48 bytes]"),
        ("see data:text/plain;base64,QUJD", "see data:text/plain;base64,QUJD"),
    ],
)
def test_event_views_are_text_with_binary_data_replaced_by_its_size(value: Any, view: str) -> None:
    assert event_view(value) == view


ANYTHING = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
)


@given(ANYTHING, st.integers(1, 100))
def test_event_views_never_fail_and_keep_their_bound(value: Any, max_chars: int) -> None:
    assert len(event_view(value, max_chars)) <= max_chars
    assert len(event_view("x" * 9000)) <= 8000
    event_view(value).encode()
