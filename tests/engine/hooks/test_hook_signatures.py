"""A hook is what its point asks for: type checkers say so where it is written, and a declaration refuses what it can read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import NoneType
from typing import Any

import pytest

from statewright import (
    AgentStart,
    Block,
    ConfigurationError,
    HookPoint,
    Message,
    ModelCall,
    ReplaceArguments,
    ReplaceContext,
    ReplaceText,
    ToolText,
    ToolUse,
    hook,
)
from statewright.hooks import OBSERVED
from statewright.hooks.declaration import SHAPES
from statewright_states.words.vocabulary import Purpose
from type_checkers import mypy_says, pyright_says, write

# -- for type checkers -----------------------------------------------------------------------------------------------

NAMES = {point: (subject.__name__, [answer.__name__ for answer in answers]) for point, (subject, answers) in SHAPES.items()}
ANSWERS = ("Block", "ReplaceContext", "ReplaceArguments", "ReplaceText")


def cases() -> dict[str, str]:
    """A file for each point: right functions first, and after them, marked, wrong ones."""
    return {f"{point}.py": "\n".join(_case(point)) for point in HookPoint}


def _case(point: HookPoint) -> list[str]:
    subject, answers = NAMES[point]
    given = " | ".join("None" if answer == "NoneType" else answer for answer in answers)
    other = "ToolText" if subject != "ToolText" else "ToolUse"
    wrong = [answer for answer in (*ANSWERS, "str") if answer not in answers]
    head = [
        f"from statewright import Block, HookPoint, ReplaceArguments, ReplaceContext, ReplaceText, hook, {subject}, {other}",
        "",
    ]
    awaited = point is not HookPoint.TOOL_RESULT_PERSIST
    right = [
        *_function(f'"{point}"', f"subject: {subject}", given, "right"),
        *_function(
            f"HookPoint.{point.name}", f"subject: {subject}", given, "named", "priority=3, optional=True, timeout_s=1.0"
        ),
        *(_function(f'"{point}"', f"subject: {subject}", given, "later", asynchronous=True) if awaited else ()),
        f'hook("{point}", name="short")(lambda subject: None)',
    ]
    marked = [
        *_function(f'"{point}"', f"subject: {other}", given, "other"),
        *_function(f'"{point}"', "", given, "unasked"),
        *_function(f'"{point}x"', f"subject: {subject}", given, "nowhere"),
        *(line for each in wrong for line in _function(f'"{point}"', f"subject: {subject}", f"{each} | None", f"as_{each}")),
        *(() if awaited else _function(f'"{point}"', f"subject: {subject}", given, "later", asynchronous=True)),
    ]
    return [*head, *right, *(f"{line}  # wrong" if line.startswith("@") else line for line in marked)]


def _function(
    point: str, argument: str, answer: str, name: str, how: str = "", *, asynchronous: bool = False
) -> tuple[str, str, str, str]:
    declared = f"{'async ' if asynchronous else ''}def {name}({argument}) -> {answer}:"
    return (f"@hook({point}{', ' if how else ''}{how})", declared, "    raise NotImplementedError", "")


@pytest.mark.parametrize("says", [mypy_says, pyright_says])
def test_type_checkers_accept_the_right_functions_of_each_point_and_no_wrong_one(tmp_path: Any, says: Any) -> None:
    files = cases()
    write(tmp_path, files)
    complained = {name: set(lines) for name, lines in says(tmp_path).items()}
    marked = {
        name: {number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# wrong")}
        for name, text in files.items()
    }
    assert complained == marked


# -- where it is declared --------------------------------------------------------------------------------------------

SUBJECTS: dict[HookPoint, Any] = {
    HookPoint.BEFORE_AGENT_START: AgentStart("r", "task", "prompt", 1),
    HookPoint.BEFORE_MODEL_CALL: ModelCall("r", "call-1", 1, Purpose.GENERATION, "m", (), ()),
    HookPoint.BEFORE_TOOL_CALL: ToolUse("r", "tool-1.1", "c1", "pay", "read", {}),
    HookPoint.TOOL_RESULT_PERSIST: ToolText("r", "tool-1.1", "c1", "pay", "text", False),
}
GIVEN = [ReplaceContext("other", (Message("user", "x"),)), ReplaceArguments({"a": 1}), ReplaceText("x"), "yes", 5]


@pytest.mark.parametrize("point", SUBJECTS)
def test_an_answer_is_declared_exactly_where_it_is_taken(point: HookPoint) -> None:
    subject, answers = SHAPES[point]
    assert isinstance(SUBJECTS[point], subject)
    for given in GIVEN:
        assert (SUBJECTS[point].replaced(given) is not None) == isinstance(given, answers)


def test_every_point_has_a_shape_and_observers_answer_nothing() -> None:
    assert set(SHAPES) == set(HookPoint)
    assert {point for point, (_, answers) in SHAPES.items() if answers == (NoneType,)} == OBSERVED


def wrong_subject(call: ToolText) -> None:
    raise NotImplementedError


def wrong_answer(call: ToolUse) -> Block | ReplaceText | None:
    raise NotImplementedError


async def wrong_answer_later(call: ToolUse) -> bool:
    raise NotImplementedError


def wrong_awaitable(call: ToolUse) -> Awaitable[ReplaceText]:
    raise NotImplementedError


def nothing_asked() -> None:
    raise NotImplementedError


def two_asked(call: ToolUse, other: object) -> None:
    raise NotImplementedError


class WrongObject:
    """An object that can be called, with the wrong thing."""

    def __call__(self, call: ToolText) -> None:
        raise NotImplementedError


WRONG: dict[str, tuple[Callable[..., Any], str, str]] = {
    "another subject": (wrong_subject, "it takes ToolText, and is shown ToolUse", "call: ToolUse"),
    "another subject of an object": (WrongObject(), "it takes ToolText, and is shown ToolUse", "call: ToolUse"),
    "another answer": (wrong_answer, "it answers ReplaceText", "Block | ReplaceArguments | None"),
    "another answer, awaited": (wrong_answer_later, "it answers bool", "Block | ReplaceArguments | None"),
    "another answer, given to be awaited": (wrong_awaitable, "it answers ReplaceText", "Block | ReplaceArguments | None"),
    "no argument": (nothing_asked, "it cannot be called with one argument", "ToolUse"),
    "two arguments": (two_asked, "it cannot be called with one argument", "ToolUse"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_function_that_declares_something_else_is_refused_with_the_cure(case: str) -> None:
    function, what, cure = WRONG[case]
    with pytest.raises(ConfigurationError) as refused:
        hook(HookPoint("before_tool_call"))(function)
    assert what in refused.value.what
    assert "before_tool_call" in refused.value.where
    assert cure in refused.value.cure


def test_an_observer_that_declares_an_answer_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="observers give nothing"):
        hook(HookPoint("after_tool_call"))(lambda_of(Block))


def lambda_of(answer: type) -> Callable[[Any], Any]:
    def observe(outcome: Any) -> Any:
        raise NotImplementedError

    observe.__annotations__["return"] = answer
    return observe


def test_annotations_that_cannot_be_read_say_nothing() -> None:
    class Here(ToolUse):
        """A name that is known in this function alone."""

    def judged(call: Here) -> Block | None:
        return Block("no")

    declared = hook(HookPoint("before_tool_call"))(judged)
    assert declared(None) == Block("no")
    assert hook(HookPoint("agent_end"), name="seen")([].append).name == "seen"
