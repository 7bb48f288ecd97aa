"""Reading a reply: which argument texts end in the middle, which calls are the same, which replies are none."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from statewright.core.replies import calls_digest, cut_off, ends_in_the_middle, is_silent, same_call
from statewright_states.run.facts import CutOff, Finish
from statewright_states.words.messages import ToolCall

NO, STATED, AT_CAP, IN_ARGUMENTS = CutOff

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8),
    st.sampled_from(['"', "\\", "\\u12", "\ud83d", "é", "{", "]", ",", "tru", "\\\\u00"]),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=4), values, max_size=3),
    max_leaves=8,
)
OBJECTS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)


@st.composite
def object_texts(draw: st.DrawFn) -> str:
    """A JSON object as some model may write it: with and without blanks, escapes, line feeds."""
    indent = draw(st.sampled_from([None, None, 0, 2]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :\n ")]))
    text = json.dumps(draw(OBJECTS), ensure_ascii=draw(st.booleans()), indent=indent, separators=separators)
    return draw(st.sampled_from(["", " ", "\n\t"])) + text + draw(st.sampled_from(["", " ", "\r\n"]))


# -- cut off ---------------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(object_texts(), st.data())
def test_every_beginning_of_an_object_that_is_not_a_whole_one_ends_in_the_middle(text: str, data: st.DataObject) -> None:
    beginning = text[: data.draw(st.integers(0, len(text)))]
    whole = beginning.strip().endswith("}") and beginning.strip() == text.strip()
    assert ends_in_the_middle(beginning) == (bool(beginning.strip()) and not whole)


@settings(max_examples=100, deadline=None)
@given(VALUES.map(json.dumps))
def test_no_whole_text_of_json_ends_in_the_middle(text: str) -> None:
    assert not ends_in_the_middle(text)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=30), st.text(alphabet='{}[]":,\\ut0e-.1 \n', max_size=20).map(lambda rest: "{" + rest)))
def test_any_text_is_judged_and_one_that_is_cut_off_can_be_added_to(text: str) -> None:
    if ends_in_the_middle(text):
        assert text.lstrip().startswith("{")
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "", " \n", "{}", '{"a": 1}', '{"a": 1,}', '{"a" 1', "{'a': 1", '{"a": 1}}', "[1, 2", '"text', "null", "nothing",
        '{"a": 01', '{"a": tru e', '{"a": NaN', '{"a": +', '{"a": "\t', '{"a": "\\x', '{"a": 1] ', "{]", '{"a": 1, 2', "}{",
        '{"a": 1} and', '{"a": .', "{" * 100_000 + "]",
    ],
)  # fmt: skip
def test_what_is_whole_blank_or_wrong_in_another_way_does_not_end_in_the_middle(text: str) -> None:
    assert not ends_in_the_middle(text)


@pytest.mark.parametrize(
    "text",
    [
        "{", ' {"', '{"a', '{"a"', '{"a":', '{"a": -', '{"a": 1.', '{"a": 1e', '{"a": 1e+', '{"a": t', '{"a": fals', '{"a":n',
        '{"a": "\\', '{"a": "\\u', '{"a": "\\ud8', '{"\\u00', '{"a": [', '{"a": [1,', '{"a": [{"b": "c"}', '{"a": {},',
        '{"a": 1, "a"', '{"a": "}', '{"a": "\\"', '{"a": "\\\\', "{" + " " * 9, '{"n": ' + "9" * 5000,
    ],
)  # fmt: skip
def test_what_something_can_be_added_to_ends_in_the_middle(text: str) -> None:
    assert ends_in_the_middle(text)


def test_a_long_text_is_judged_in_no_time() -> None:
    body = json.dumps({"text": "x\\" * 200_000, "list": list(range(20_000))})
    assert ends_in_the_middle(body[:-1])
    assert not ends_in_the_middle(body + "}")


def look(arguments: str = "{}") -> ToolCall:
    return ToolCall("c1", "look", arguments)


@pytest.mark.parametrize(
    ("finish", "tokens", "cap", "calls", "found"),
    [
        (Finish.LENGTH, 1, None, (), STATED),
        (Finish.LENGTH, 8, 8, (look("{"),), STATED),
        (Finish.STOP, 8, 8, (), AT_CAP),
        (Finish.STOP, 9, 8, (), AT_CAP),
        (Finish.TOOL_CALLS, 8, 8, (look(),), AT_CAP),
        (Finish.STOP, 7, 8, (), NO),
        (Finish.STOP, 8_000, None, (), NO),
        (Finish.STOP, 0, 8, (), NO),
        (Finish.TOOL_CALLS, 7, 8, (look('{"at": "a'),), IN_ARGUMENTS),
        (Finish.STOP, 0, None, (look(), look('{"at"')), IN_ARGUMENTS),
        (Finish.TOOL_CALLS, 7, 8, (look('{"at": "a'), look()), NO),
        (Finish.TOOL_CALLS, 7, 8, (look(""),), NO),
        (Finish.TOOL_CALLS, 7, 8, (look("at: a"),), NO),
        (Finish.BLOCKED, 8, 8, (look("{"),), NO),
        (Finish.OTHER, 8, 8, (look("{"),), NO),
    ],
)
def test_a_reply_is_cut_off_if_it_says_so_or_shows_it(
    finish: Finish, tokens: int, cap: int | None, calls: tuple[ToolCall, ...], found: CutOff
) -> None:
    assert cut_off(finish, calls, tokens, cap) is found


# -- silent ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "marker", "silent"),
    [
        ("NO_REPLY", "NO_REPLY", True),
        (" NO_REPLY\n", "NO_REPLY", True),
        ("NO_REPLY", " NO_REPLY ", True),
        ("NO_REPLY.", "NO_REPLY", False),
        ("no_reply", "NO_REPLY", False),
        ("The answer is NO_REPLY", "NO_REPLY", False),
        ("", "NO_REPLY", False),
        ("", "", False),
        (" ", " ", False),
    ],
)
def test_only_the_marker_alone_is_silence(text: str, marker: str, *, silent: bool) -> None:
    assert is_silent(Finish.STOP, NO, (), text, marker) is silent


def test_the_marker_of_a_reply_that_is_not_whole_is_text() -> None:
    assert not is_silent(Finish.LENGTH, STATED, (), "NO_REPLY", "NO_REPLY")
    assert not is_silent(Finish.STOP, AT_CAP, (), "NO_REPLY", "NO_REPLY")
    assert not is_silent(Finish.BLOCKED, NO, (), "NO_REPLY", "NO_REPLY")
    assert not is_silent(Finish.STOP, NO, (look(),), "NO_REPLY", "NO_REPLY")


# -- the same calls --------------------------------------------------------------------------------------------------


def shuffled(value: Any, chance: random.Random) -> Any:
    """The value with the names of its objects in another order."""
    if isinstance(value, dict):
        names = list(value)
        chance.shuffle(names)
        return {name: shuffled(value[name], chance) for name in names}
    return [shuffled(item, chance) for item in value] if isinstance(value, list) else value


@settings(max_examples=100, deadline=None)
@given(OBJECTS, st.integers(0, 99))
def test_order_blanks_and_escapes_make_no_other_call(arguments: dict[str, Any], seed: int) -> None:
    written = json.dumps(arguments, separators=(",", ":"))
    otherwise = json.dumps(shuffled(arguments, random.Random(seed)), ensure_ascii=False, indent=1)
    assert same_call("look", written) == same_call("look", otherwise)
    assert same_call("look", written) != same_call("peer", written)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_texts_that_are_not_json_are_compared_as_they_stand(one: str, other: str) -> None:
    assume(not _is_json(one) and not _is_json(other) and one.strip() and other.strip())
    assert (same_call("look", one) == same_call("look", other)) == (one == other)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("", "{}", True),
        (" \n", "{ }", True),
        ('{"a": 1}', '{"a": 1.0}', False),
        ('{"a": 1}', '{"a": "1"}', False),
        ('{"a": 1, "a": 2}', '{"a": 2}', False),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}', True),
        ("[" * 100_000, "[" * 100_000, True),
        ('{"a": ' + "9" * 5000 + "}", '{"a": ' + "9" * 5000 + "}", True),
    ],
)
def test_when_two_calls_are_the_same(one: str, other: str, *, same: bool) -> None:
    assert (same_call("look", one) == same_call("look", other)) is same


def test_a_set_of_calls_has_no_order_and_counts_its_calls() -> None:
    one, other = look(), look('{"at": "b"}')
    assert calls_digest([one, other]) == calls_digest([other, one])
    assert calls_digest([one, one]) != calls_digest([one])
    assert calls_digest([]) == ""
