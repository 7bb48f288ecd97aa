"""JSON from servers is read leniently, and no value of it can raise while it is read by type."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright_providers.foreign_json import count, joined, mapping, parse, sequence, text, whole_number
from statewright_states.words.messages import encode_json
from wire import JSON_VALUES


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'"\\ud83d"', "\ud83d"),
        (b'"\xff"', "�"),
        (b"[Infinity]", [float("inf")]),
        (b"\xef\xbb\xbf{}", {}),
    ],
)
def test_what_servers_send_beyond_the_standard_is_read(data: bytes, value: object) -> None:
    assert parse(data) == value


@pytest.mark.parametrize("data", [b"", b"{", b"<html>", b"[" * 100_000])
def test_what_is_not_json_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(data)


@pytest.mark.parametrize("depth", [99, 100, 101, 500, 1000, 5000])
def test_what_is_nested_too_deeply_is_no_json_here(depth: int) -> None:
    for opened, closed in (("[", "]"), ('{"a":', "}")):
        data = (opened * depth + "1" + closed * depth).encode()
        if depth <= 100:
            assert encode_json(parse(data)) == data
        else:
            with pytest.raises(ValueError, match=r"nested too deeply|recursion"):
                parse(data)
    assert parse(b"[" + b'[],"[[{",' * 500 + b"{}]"), "only depth counts"


@given(JSON_VALUES | st.sampled_from([10**400, -(10**400), 2**64, 1e308, "9" * 19]))
def test_any_value_can_be_read_as_any_type(value: object) -> None:
    assert isinstance(mapping(value), dict)
    assert len(sequence(value)) >= 0
    assert isinstance(text(value), str)
    assert 0 <= count(value) <= 2**53


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (10**400, None),
        (2**64, None),
        (1e308, None),
        ("9" * 19, None),
        (2**53, 2**53),
        (429, 429),
        ("429", 429),
        (4.0, 4),
        (True, None),
        (float("nan"), None),
        ("4x", None),
    ],
    ids=repr,
)
def test_a_number_is_read_however_it_is_spelled(value: object, number: int | None) -> None:
    assert whole_number(value) == number


def test_a_character_cut_in_two_by_the_sender_is_whole_again() -> None:
    halves = [json.loads('"a\\ud83d"'), json.loads('"\\ude00b"')]
    assert joined(halves) == "a😀b"
    assert joined(halves[:1]) == "a\ud83d"
