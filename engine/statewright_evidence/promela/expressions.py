"""Expressions over whole numbers, written once as in Python, read by two: translated for SPIN, and evaluated here.

Allowed: names, numbers, ``and or not``, one comparison at a time, ``+ -``, and ``a if c else b``. Yes is 1, no is 0.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache

from statewright_states.errors import InternalError

Values = Mapping[str, int]
Value = Callable[[Values], int]

COMPARED: Mapping[type[ast.cmpop], tuple[str, Callable[[int, int], bool]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
COUNTED: Mapping[type[ast.operator], tuple[str, Callable[[int, int], int]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
}


@cache
def in_promela(text: str) -> str:
    """The expression in Promela. Raises InternalError where the text is none."""
    return _promela(_parsed(text))


@cache
def value_of(text: str) -> Value:
    """The expression as a function of the values of its names. Raises InternalError where the text is none."""
    return _value(_parsed(text))


@cache
def names_in(text: str) -> frozenset[str]:
    """The names that an expression speaks of."""
    return frozenset(node.id for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name))


def assignment(text: str) -> tuple[str, str]:
    """``name = expression`` as its two sides."""
    name, _, expression = text.partition(" = ")
    return name.strip(), expression.strip()


def with_values(text: str, values: Values) -> str:
    """The expression with numbers in the place of some names, and what that decides left out."""
    return ast.unparse(_Substitution(values).visit(_parsed(text)))


def _parsed(text: str) -> ast.expr:
    try:  # a fresh tree each time: whoever substitutes changes it
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise InternalError(f"{text!r} is no expression") from error


def _strange(node: ast.expr) -> InternalError:
    return InternalError(f"{ast.unparse(node)!r} is not allowed in an expression")


def _promela(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=int(number)):
            return str(int(number))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return f"!{_promela(inner)}"
        case ast.BoolOp(op=joint, values=parts):
            return "(" + (" && " if isinstance(joint, ast.And) else " || ").join(map(_promela, parts)) + ")"
        case ast.Compare(left=left, ops=[compared], comparators=[right]) if type(compared) in COMPARED:
            return f"({_promela(left)} {COMPARED[type(compared)][0]} {_promela(right)})"
        case ast.BinOp(left=left, op=counted, right=right) if type(counted) in COUNTED:
            return f"({_promela(left)} {COUNTED[type(counted)][0]} {_promela(right)})"
        case ast.IfExp(test=test, body=body, orelse=other):
            return f"({_promela(test)} -> {_promela(body)} : {_promela(other)})"
        case _:
            raise _strange(node)


def _value(node: ast.expr) -> Value:
    match node:
        case ast.Name(id=name):
            return operator.itemgetter(name)
        case ast.Constant(value=int(number)):
            return lambda values: number
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            negated = _value(inner)
            return lambda values: not negated(values)
        case ast.BoolOp(op=joint, values=parts):
            judge, operands = all if isinstance(joint, ast.And) else any, tuple(map(_value, parts))
            return lambda values: judge(operand(values) for operand in operands)
        case ast.Compare(left=left, ops=[compared], comparators=[right]) if type(compared) in COMPARED:
            return _applied(COMPARED[type(compared)][1], left, right)
        case ast.BinOp(left=left, op=counted, right=right) if type(counted) in COUNTED:
            return _applied(COUNTED[type(counted)][1], left, right)
        case ast.IfExp(test=test, body=body, orelse=other):
            asked, yes, no = _value(test), _value(body), _value(other)
            return lambda values: yes(values) if asked(values) else no(values)
        case _:
            raise _strange(node)


def _applied(apply: Callable[[int, int], int], left: ast.expr, right: ast.expr) -> Value:
    one, other = _value(left), _value(right)
    return lambda values: int(apply(one(values), other(values)))


class _Substitution(ast.NodeTransformer):
    """Puts numbers in the place of names, decides comparisons of numbers and what hangs on them."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self.values[node.id]) if node.id in self.values else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        decided = all(isinstance(side, ast.Constant) for side in (node.left, *node.comparators))
        return ast.Constant(int(_value(node)({}))) if decided else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node
