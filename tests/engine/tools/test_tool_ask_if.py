"""A tool's own question about the arguments of a call: how it is declared, and what its answers mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright import tool
from statewright.core.inputs import ToolCard, card_from
from statewright.tools import Tool
from statewright.tools.ask_if import asked_if, asked_if_in_words
from statewright_states.errors import ToolDeclarationError


def pay(amount: int, account: str = "main") -> str:
    """Pay."""
    return f"{amount} from {account}"


def large(amount: int, account: str = "main") -> bool:
    return amount > 1000


@dataclass(frozen=True)
class AmountOver:
    limit: int

    def __call__(self, amount: int, account: str = "main") -> bool:
        return amount > self.limit


def asking(question: Any) -> Tool:
    declared: Tool = tool(effect="irreversible", ask_if=question)(pay)
    return declared


@pytest.mark.parametrize(
    ("question", "name"),
    [(large, "large"), (AmountOver(1000), "AmountOver(limit=1000)"), (lambda amount, account: amount > 1000, "<lambda>")],
    ids=["function", "object", "lambda"],
)
def test_a_question_is_asked_with_the_parsed_arguments_by_name_and_has_a_name(question: Any, name: str) -> None:
    declared = asking(question)
    card = ToolCard.of(declared)
    assert (card.ask_if, card.sensitive) == (name, False), "the question decides, and not the effect"
    assert card_from(card.shape()) == card
    for text, answer in {'{"amount": 1001}': True, '{"amount": 1000, "account": "other"}': False}.items():
        asked = asked_if(declared, name, "c1", text)
        assert asked is not None
        assert (asked.answer, asked.problem, asked.call_id) == (answer, "", "c1")
        assert asked_if_in_words(asked) == f"{name}: {'yes' if answer else 'no'}"


def test_the_card_of_a_tool_without_a_question_is_recorded_as_it_was() -> None:
    assert "ask_if" not in ToolCard.of(tool(effect="read")(pay)).shape()


def _raise(amount: int, account: str) -> bool:
    raise ZeroDivisionError("by zero")


def _exit(amount: int, account: str) -> bool:
    raise SystemExit(3)


async def _later(amount: int, account: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        (_raise, "it raised ZeroDivisionError: by zero"),
        (_exit, "it raised SystemExit: 3"),
        (lambda amount, account: None, "it answered NoneType, and not True or False"),
        (lambda amount, account: 0, "it answered int, and not True or False"),
        (lambda amount, account: _later(amount, "other"), "it answered coroutine, and not True or False"),
    ],
    ids=["raises", "exits", "says nothing", "says a number", "says something later"],
)
def test_whatever_is_no_clear_answer_is_a_yes_and_says_why(question: Any, problem: str) -> None:
    asked = asked_if(asking(question), "named", "c1", '{"amount": 1}')
    assert asked is not None
    assert (asked.answer, asked.problem) == (True, problem)
    assert asked_if_in_words(asked) == f"named: yes ({problem})"


@given(st.integers() | st.text() | st.none() | st.lists(st.booleans()))
def test_no_answer_but_false_lets_a_call_run_unasked(answer: object) -> None:
    asked = asked_if(asking(lambda amount, account: answer), "named", "c1", '{"amount": 1}')
    assert asked is not None
    assert asked.answer is True


@pytest.mark.parametrize("text", ["{", "[]", '{"amount": "much"}', '{"other": 1}', "{}"])
def test_a_question_is_not_asked_about_arguments_that_do_not_parse(text: str) -> None:
    asked: list[int] = []

    def noted(amount: int, account: str) -> bool:
        asked.append(amount)
        return True

    assert asked_if(asking(noted), "named", "c1", text) is None
    assert asked == []


def test_a_question_that_has_gone_since_the_run_began_is_a_yes() -> None:
    for now in (None, tool(effect="irreversible")(pay)):
        asked = asked_if(now, "large", "c1", '{"amount": 1}')
        assert asked is not None
        assert (asked.answer, asked.problem) == (True, "it is not there any more")


def _other(total: int) -> bool:
    return total > 1000


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"ask_if": _other}, "does not take the tool's parameters"),
        ({"ask_if": lambda amount: True}, "does not take the tool's parameters"),
        ({"ask_if": 1000}, "is int, and not a function"),
        ({"ask_if": _later}, "is asynchronous"),
        ({"ask_if": large, "sensitive": True}, "is of no use beside sensitive=True"),
    ],
    ids=["other names", "too few", "no function", "asynchronous", "sensitive"],
)
def test_a_question_that_could_not_be_asked_is_no_declaration(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ToolDeclarationError, match=problem) as caught:
        tool(effect="irreversible", **options)(pay)
    assert caught.value.cure


def test_a_partial_may_be_a_question() -> None:
    def over(limit: int, amount: int, account: str) -> bool:
        return amount > limit

    declared = asking(partial(over, 5))
    asked = asked_if(declared, ToolCard.of(declared).ask_if, "c1", '{"amount": 6}')
    assert asked is not None
    assert asked.answer


def test_type_checkers_compare_the_question_with_the_function_it_is_about() -> None:
    """mypy reports an ignore that ignores nothing, so both lines are checked by it."""
    typed = tool(effect="irreversible", ask_if=large)(pay)
    assert typed(amount=3, account="other") == "3 from other"
    with pytest.raises(ToolDeclarationError):
        tool(effect="irreversible", ask_if=_other)(pay)  # type: ignore[arg-type]
