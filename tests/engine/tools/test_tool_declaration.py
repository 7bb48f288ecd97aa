from __future__ import annotations

import functools
import inspect
from typing import Any

import pytest

from statewright.tools import Tool, ToolRegistry, as_tool, tool
from statewright_states.errors import ToolDeclarationError
from statewright_states.words.tool_effects import ToolEffect


def define(source: str) -> Any:
    """The last thing that the source defines, as if it stood in the file ``callers.py``."""
    namespace: dict[str, Any] = {"__name__": "callers"}
    exec(compile(source, "callers.py", "exec", dont_inherit=True), namespace)
    return list(namespace.values())[-1]


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@tool(effect="irreversible", timeout_s=5)
async def post(amount: float) -> str:
    """Post an amount."""
    return f"posted {amount}"


def test_a_declared_tool_is_still_called_like_the_function() -> None:
    assert add(2, 3) == 5
    assert add(a=2, b=3) == 5
    assert str(inspect.signature(add)) == "(a: 'int', b: 'int') -> 'int'"


def test_a_tool_that_declares_no_effect_is_asked_about_and_not_parallel_unless_said_otherwise() -> None:
    assert (add.name, add.description) == ("add", "Add two integers.")
    assert (add.effect, add.sensitive, add.parallel, add.timeout_s) == (ToolEffect.UNDECLARED, True, False, None)
    relaxed = tool(sensitive=False, parallel=True)(add.function)
    assert (relaxed.effect, relaxed.sensitive, relaxed.parallel) == (ToolEffect.UNDECLARED, False, True)
    assert not add.is_async


def test_an_irreversible_tool_is_sensitive_and_not_parallel_unless_said_otherwise() -> None:
    assert (post.effect, post.sensitive, post.parallel, post.timeout_s) == (ToolEffect.IRREVERSIBLE, True, False, 5)
    assert post.is_async
    relaxed = tool(effect="irreversible", sensitive=False, parallel=True)(add.function)
    assert (relaxed.sensitive, relaxed.parallel) == (False, True)


@pytest.mark.parametrize("effect", ["read", "idempotent"])
def test_repeatable_tools_are_parallel_and_not_sensitive(effect: Any) -> None:
    declared = tool(effect=effect)(add.function)
    assert (declared.sensitive, declared.parallel) == (False, True)


def test_a_tool_may_have_another_name_than_its_function() -> None:
    renamed = tool(name="sum-of_2")(add.function)
    assert (renamed.name, renamed.schema.name) == ("sum-of_2", "sum-of_2")


def test_a_bound_method_becomes_a_tool_without_self() -> None:
    class Ledger:
        def __init__(self) -> None:
            self.total = 0

        def book(self, amount: int) -> int:
            """Book an amount."""
            self.total += amount
            return self.total

    declared = as_tool(Ledger().book)
    assert declared.name == "book"
    assert list(declared.parameters.names.values()) == ["amount"]
    assert (declared(amount=2), declared(amount=3)) == (2, 5)


def test_a_decorated_function_keeps_its_signature() -> None:
    @functools.lru_cache
    def square(n: int) -> int:
        """Square a number."""
        return n * n

    declared = as_tool(square)
    assert (declared.name, declared.description) == ("square", "Square a number.")
    assert declared(n=4) == 16


def test_declaring_a_tool_again_through_the_registry_keeps_it() -> None:
    assert as_tool(add) is add
    assert ToolRegistry([add]).get("add") is add


def test_hints_of_the_result_are_of_no_concern() -> None:
    declared = as_tool(define("def f(x: int) -> 'NoSuchType': ..."))
    assert isinstance(declared, Tool)


BROKEN = {
    "no hint": ("def pay(amount, to: str): ...", "'amount' has no type hint"),
    "self": ("class A:\n    def pay(self, x: int): ...\nf = A.pay", "'self' has no type hint"),
    "args": ("def pay(*amounts: int): ...", "'*amounts' cannot be given by name"),
    "kwargs": ("def pay(**amounts: int): ...", "'**amounts' cannot be given by name"),
    "positional only": ("def pay(amount: int, /): ...", "'amount' cannot be given by name"),
    "lambda": ("f = lambda: 1", "a lambda has no name"),
    "name not ascii": ("def zählen(x: int): ...", "'zählen'"),
    "name too long": (f"def {'a' * 65}(x: int): ...", "a" * 65),
    "unknown type": ("def pay(amount: 'Money'): ...", "name 'Money' is not defined"),
    "broken hint": ("def pay(amount: 'int['): ...", "cannot be resolved"),
    "no schema": ("class Money: ...\ndef pay(x: int, amount: Money): ...", "'amount' cannot be described"),
    "no json": ("from collections.abc import Callable\ndef pay(x: int, f: Callable[[], int]): ...", "'f' cannot be described"),
    "nan default": ("def pay(x: float = float('nan')): ...", "'x' cannot be described"),
    "field as default": ("from pydantic import Field\ndef pay(x: int = Field(3, ge=1)): ...", "'x' is a pydantic Field"),
    "generator": ("def pay(x: int):\n    yield x", "a generator has no single result"),
    "class": ("class Pay:\n    x: int", "is not a function"),
    "partial": ("from functools import partial\ndef pay(x: int): ...\nf = partial(pay, 1)", "a partial has no name"),
    "builtin": ("f = len", "is not a function"),
}


@pytest.mark.parametrize(("source", "problem"), BROKEN.values(), ids=BROKEN)
def test_what_cannot_become_a_tool_is_refused_with_the_cure(source: str, problem: str) -> None:
    with pytest.raises(ToolDeclarationError) as refused:
        tool(define(source))
    assert problem in refused.value.what
    assert refused.value.where
    assert refused.value.cure


def test_a_refusal_names_file_line_and_function() -> None:
    with pytest.raises(ToolDeclarationError) as refused:
        tool(define("\n\ndef pay(amount): ..."))
    assert refused.value.where == "callers.py:3 pay"


def test_a_type_local_to_a_function_is_refused_with_the_cure_for_postponed_hints() -> None:
    class Local: ...

    def pay(amount: Local) -> None: ...

    with pytest.raises(ToolDeclarationError, match="'amount' cannot be resolved") as refused:
        tool(pay)
    assert "module level" in refused.value.cure


@pytest.mark.parametrize("function", [None, 3, "read", add])
def test_only_functions_are_declared(function: Any) -> None:
    with pytest.raises(ToolDeclarationError, match="cannot become a tool"):
        tool(effect="read")(function)


def test_an_unknown_effect_is_refused_with_the_likely_one() -> None:
    effect: Any = "ireversible"
    with pytest.raises(ToolDeclarationError, match="no effect 'ireversible'") as refused:
        tool(effect=effect)(add.function)
    assert "'irreversible'" in refused.value.cure
    effect = "zzz"
    with pytest.raises(ToolDeclarationError) as refused:
        tool(effect=effect)(add.function)
    assert "read, idempotent, irreversible" in refused.value.cure


@pytest.mark.parametrize("name", ["", "a b", "a.b", "ä", "a\n", 3])
def test_a_name_is_one_that_every_vendor_accepts(name: Any) -> None:
    with pytest.raises(ToolDeclarationError, match="models cannot call"):
        tool(name=name)(add.function)


@pytest.mark.parametrize("timeout_s", [-1, float("nan"), float("inf"), "5"])
def test_a_time_limit_is_a_number_of_seconds(timeout_s: Any) -> None:
    with pytest.raises(ToolDeclarationError, match="timeout_s"):
        tool(timeout_s=timeout_s)(add.function)
    assert tool(timeout_s=0)(add.function).timeout_s == 0
