from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from statewright.tools import as_tool
from statewright.tools.docstring import parse_docstring

SENTINEL = object()


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    """Where somebody lives."""

    title: str
    city: str


@dataclass
class Money:
    amount: int
    currency: str = "EUR"


def schema_of(function: Any) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(as_tool(function).schema.parameters_json)
    return schema


def test_hints_and_defaults_become_a_closed_object() -> None:
    def search(text: str, limit: int = 10, exact: bool = False, tags: list[str] | None = None) -> None: ...

    assert schema_of(search) == {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "limit": {"type": "integer", "default": 10},
            "exact": {"type": "boolean", "default": False},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None},
        },
        "required": ["text"],
        "additionalProperties": False,
    }


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    def now() -> None: ...

    assert schema_of(now) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_choices_constraints_and_maps_are_described() -> None:
    def paint(
        colour: Colour,
        finish: Literal["matt", "gloss"],
        layers: Annotated[int, Field(ge=1, description="how many")],
        extra: dict[str, float],
    ) -> None:
        """Paint.

        Args:
            layers: not this, the hint says it
        """

    schema = schema_of(paint)
    assert schema["properties"]["finish"] == {"type": "string", "enum": ["matt", "gloss"]}
    assert schema["properties"]["layers"] == {"type": "integer", "minimum": 1, "description": "how many"}
    assert schema["properties"]["extra"] == {"type": "object", "additionalProperties": {"type": "number"}}
    assert schema["$defs"]["Colour"] == {"type": "string", "enum": ["red", "blue"]}


def test_nested_types_are_described_and_only_generated_titles_are_gone() -> None:
    def move(address: Address, rent: Money, title: str) -> None: ...

    schema = schema_of(move)
    assert schema["$defs"]["Address"] == {
        "type": "object",
        "description": "Where somebody lives.",
        "properties": {"title": {"type": "string"}, "city": {"type": "string"}},
        "required": ["title", "city"],
    }
    assert schema["properties"]["title"] == {"type": "string"}
    assert schema["$defs"]["Money"]["properties"]["currency"] == {"type": "string", "default": "EUR"}


def test_parameters_may_have_names_that_pydantic_reserves() -> None:
    def strange(model_config: int, copy: int, _x: int, json: int, self_: int) -> None: ...

    assert schema_of(strange)["required"] == ["model_config", "copy", "_x", "json", "self_"]


@pytest.mark.filterwarnings("error")
def test_a_default_that_json_cannot_carry_is_left_out() -> None:
    def call(x: Any = SENTINEL) -> None: ...

    assert schema_of(call)["properties"] == {"x": {}}


def test_the_same_declaration_gives_the_same_bytes() -> None:
    def move(address: Address, money: Money, colour: Colour = Colour.RED) -> None: ...

    assert as_tool(move).schema == as_tool(move).schema


GOOGLE = """Move money
    between accounts.

    More words.

    Args:
        source (str): where it
            comes from

        amount (Optional[dict(str, int)]): how much: in cents
        *rest: unused

    Returns:
        amount: not this
    """

NUMPY = """Move money
    between accounts.

    Parameters
    ----------
    source : str
        where it
        comes from
    amount, limit : int, optional
        how much: in cents

    Returns
    -------
    source
        not this
    """

REST = """Move money
    between accounts.
    :param str source: where it
        comes from
    :param amount: how much: in cents
    :returns: nothing
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_docstrings_of_each_style_describe_the_function_and_its_parameters(text: str) -> None:
    read = parse_docstring(text)
    assert read.description == "Move money between accounts."
    assert read.parameters["source"] == "where it comes from"
    assert read.parameters["amount"] == "how much: in cents"


def test_descriptions_reach_the_schema() -> None:
    def move(source: str, amount: int) -> None: ...

    move.__doc__ = GOOGLE
    declared = as_tool(move)
    assert declared.description == declared.schema.description == "Move money between accounts."
    assert schema_of(move)["properties"]["amount"] == {"type": "integer", "description": "how much: in cents"}


@pytest.mark.parametrize(
    "text", [None, "", "   \n  ", "Args:\n    x: y", "Parameters\n----------\nx : int\n    y", ":param x: y"]
)
def test_a_docstring_without_a_first_paragraph_describes_nothing(text: str | None) -> None:
    assert parse_docstring(text).description == ""


@given(st.text(alphabet=st.sampled_from("ab:*- \n\t()Args,")) | st.text())
def test_no_docstring_is_an_error(text: str) -> None:
    read = parse_docstring(text)
    assert "\n" not in read.description
    assert all(read.parameters.values())
