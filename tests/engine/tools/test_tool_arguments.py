from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_validator

from statewright.tools import BadArguments, as_tool, parse_arguments


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Money:
    amount: int
    currency: str = "EUR"


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str


class Explosive(BaseModel):
    text: str

    @field_validator("text")
    @classmethod
    def explode(cls, text: str) -> str:
        raise KeyError(text)


def add(a: int, b: int = 2) -> int:
    return a + b


def now() -> str:
    return "noon"


def mixed(
    text: str,
    ratio: float,
    day: date,
    colour: Colour,
    money: Money,
    finish: Literal["matt", "gloss"] = "matt",
    tags: list[str] | None = None,
    *,
    extra: Annotated[dict[str, float], Field(default_factory=dict)],
) -> None: ...


ADD, NOW, MIXED = as_tool(add), as_tool(now), as_tool(mixed)


def message_for(tool: Any, text: str) -> str:
    with pytest.raises(BadArguments) as bad:
        parse_arguments(tool, text)
    return bad.value.message


def test_arguments_become_keyword_arguments_with_the_defaults() -> None:
    assert parse_arguments(ADD, '{"a": 1}') == {"a": 1, "b": 2}


@pytest.mark.parametrize("text", ["", " \n", "{}"])
def test_no_text_stands_for_no_arguments(text: str) -> None:
    assert parse_arguments(NOW, text) == {}
    assert message_for(ADD, text) == "a: is required and missing"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1', "Expecting ',' delimiter at line 1 column 8 (character 7)"),
        ("{'a': 1}", "Expecting property name enclosed in double quotes at line 1 column 2 (character 1)"),
        ('{"a": 1} and more', "Extra data at line 1 column 10 (character 9)"),
        ("```json\n{}\n```", "Expecting value at line 1 column 1 (character 0)"),
    ],
)
def test_text_that_is_not_json_is_answered_with_the_position_and_never_repaired(text: str, problem: str) -> None:
    assert message_for(ADD, text) == f"the arguments are not valid JSON: {problem}\nthe arguments were: {text}"


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}'])
def test_what_an_adapter_could_not_send_back_as_arguments_is_quoted(text: str) -> None:
    assert text in message_for(ADD, text)


def test_of_long_arguments_the_part_around_the_fault_is_quoted() -> None:
    text = '{"a": "' + "x" * 5000 + '", here: 1, "b": "' + "y" * 5000 + '"}'
    quoted = message_for(ADD, text).splitlines()[1]
    assert quoted.endswith("yyy...")
    assert '", here: 1' in quoted
    assert len(quoted) < 600


@pytest.mark.parametrize("text", ["[]", "3", "null", '"a"', "true"])
def test_arguments_are_an_object(text: str) -> None:
    assert message_for(ADD, text).startswith("the arguments must be one JSON object, not ")


def test_a_name_given_twice_is_refused_at_any_depth() -> None:
    assert message_for(ADD, '{"a": 1, "a": 2}').startswith("a: this name is given more than once")
    assert message_for(MIXED, '{"extra": {"k": 1, "k": 1}}').startswith("k: this name is given more than once")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000])
def test_numbers_are_finite_and_of_a_reasonable_length(number: str) -> None:
    assert message_for(ADD, f'{{"a": {number}}}')


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "[" * 500 + "]" * 500, '{"a":' + "[" * 500 + "]" * 500 + "}"]
)
def test_nesting_without_end_is_an_answer_and_not_a_crash(text: str) -> None:
    assert message_for(ADD, text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"a": "5"}', 'a: Input should be a valid integer, not "5"'),
        ('{"a": true}', "a: Input should be a valid integer, not true"),
        ('{"a": 5.0}', "a: Input should be a valid integer, not 5.0"),
        ('{"a": null}', "a: Input should be a valid integer, not null"),
        ('{"a": 1, "c": 3}', "c: is not an argument of this tool; its arguments are: a, b"),
        ("{}", "a: is required and missing"),
    ],
)
def test_each_problem_is_one_line_with_path_and_expectation(text: str, line: str) -> None:
    assert message_for(ADD, text) == line


def test_all_problems_are_told_at_once_up_to_a_bound() -> None:
    assert message_for(ADD, '{"b": "x", "c": 1}').splitlines() == [
        "a: is required and missing",
        'b: Input should be a valid integer, not "x"',
        "c: is not an argument of this tool; its arguments are: a, b",
    ]
    many = message_for(NOW, json.dumps({f"k{index}": 1 for index in range(50)})).splitlines()
    assert len(many) == 11
    assert many[-1] == "... and 40 more problems"


def test_paths_lead_into_nested_values() -> None:
    text = '{"text": "", "ratio": 1, "day": "2026-01-02", "colour": "red", "money": {"amount": "1"}, "tags": [1]}'
    assert [line.split(":")[0] for line in message_for(MIXED, text).splitlines()] == ["money.amount", "tags.0"]


def test_a_nested_type_that_forbids_unknown_keys_is_obeyed() -> None:
    def run(payload: Closed) -> None: ...

    assert message_for(as_tool(run), '{"payload": {"text": "", "x": 1}}') == "payload.x: is not known here; leave it out"


def test_an_integer_is_a_number_and_text_is_a_date_where_json_has_no_better() -> None:
    text = '{"text": "", "ratio": 1, "day": "2026-01-02", "colour": "blue", "money": {"amount": 1}}'
    kwargs = parse_arguments(MIXED, text)
    assert (kwargs["ratio"], kwargs["day"], kwargs["colour"]) == (1.0, date(2026, 1, 2), Colour.BLUE)
    assert kwargs["money"] == Money(1)


def test_an_answer_quotes_what_was_sent_in_text_that_can_be_stored() -> None:
    assert message_for(ADD, '{"\\ud800": 1, "\\ud800": 2}').startswith("\N{REPLACEMENT CHARACTER}: this name is given")
    assert len(message_for(ADD, '{"a": 1, "b\\nc": 2}').splitlines()) == 1


def test_long_values_are_not_sent_back_whole() -> None:
    assert len(message_for(ADD, json.dumps({"a": "x" * 10_000}))) < 200


def test_a_validator_that_breaks_is_an_answer_too() -> None:
    def run(payload: Explosive) -> None: ...

    assert "KeyError" in message_for(as_tool(run), '{"payload": {"text": "boom"}}')


TEXT = st.text()
FINITE = st.floats(allow_nan=False, allow_infinity=False)
REQUIRED: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXT,
    "ratio": FINITE,
    "day": st.dates(),
    "colour": st.sampled_from(Colour),
    "money": st.builds(Money, st.integers(), TEXT),
}
OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "finish": st.sampled_from(["matt", "gloss"]),
    "tags": st.none() | st.lists(TEXT),
    "extra": st.dictionaries(TEXT, FINITE),
}


def as_json(value: Any) -> Any:
    match value:
        case Money():
            return asdict(value)
        case Colour():
            return value.value
        case date():
            return value.isoformat()
        case _:
            return value


@settings(max_examples=150)
@given(st.fixed_dictionaries(REQUIRED, optional=OPTIONAL), st.booleans())
def test_valid_arguments_come_back_as_they_were_meant(kwargs: dict[str, Any], ascii_only: bool) -> None:
    text = json.dumps({name: as_json(value) for name, value in kwargs.items()}, ensure_ascii=ascii_only)
    assert parse_arguments(MIXED, text) == {"finish": "matt", "tags": None, "extra": {}} | kwargs


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "text", "money", "amount"]) | TEXT, inner, max_size=4)
    ),
)


@settings(max_examples=400)
@given(st.text(st.characters()) | st.text('{}[]":,\\au019e- ') | JSON.map(json.dumps), st.sampled_from([ADD, NOW, MIXED]))
def test_any_text_gives_keyword_arguments_or_an_answer_for_the_model(text: str, tool: Any) -> None:
    try:
        kwargs = parse_arguments(tool, text)
    except BadArguments as bad:
        bad.message.encode()
        return
    assert set(kwargs) == set(tool.parameters.names.values())
    json.loads(text if text.strip() else "{}")
