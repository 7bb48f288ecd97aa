"""Looking at objects of a process: what they are called, what they are made of, and what they may be asked for."""

from __future__ import annotations

import ast
import functools
import json
import sys
import types
from collections.abc import Iterator
from copy import copy
from enum import Enum
from typing import Any

CODE = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
ATTRIBUTES = frozenset(
    name
    for kind in (
        *PLAIN,
        tuple,
        list,
        dict,
        set,
        frozenset,
        range,
        slice,
        BaseException,
        Enum,
        property,
        super,
        types.FunctionType,
    )
    for name in (*dir(kind), "name", "value")  # the last two are those of members
)
"""What any value of the language itself may be asked for."""


def functions_in(value: object) -> Iterator[types.FunctionType]:
    """The functions that an attribute of a class is made of."""
    for part in (value, *(getattr(value, name, None) for name in ("fget", "fset", "fdel", "__func__", "func", "__wrapped__"))):
        if isinstance(part, types.FunctionType):
            yield part


def declared_in(node: ast.AST) -> set[str]:
    """The names that a class, or a statement in one, binds."""
    body = node.body if isinstance(node, ast.ClassDef) else [node]
    stored = [each for statement in body if not isinstance(statement, ast.FunctionDef) for each in ast.walk(statement)]
    return {each.id for each in stored if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


@functools.cache
def asked_of(module: str) -> frozenset[str]:
    """What values may be asked for whose classes a module of the library holds: its functions give such values."""
    if module == "builtins" or module not in sys.modules:
        return frozenset()
    kinds = [value for value in vars(sys.modules[module]).values() if isinstance(value, type)]
    return frozenset(name for kind in kinds for name in dir(kind))


def slots_of(value: object) -> list[str]:
    """The slots of a value that hold something."""
    given = [vars(kind).get("__slots__", ()) for kind in type(value).__mro__]
    names = [name for slots in given for name in ((slots,) if isinstance(slots, str) else slots)]
    return [name for name in names if hasattr(value, name)]


def plain_name(value: Any) -> str:
    """What a function or a class is called, without the functions that it was made in."""
    return str(value.__qualname__).replace("<locals>.", "")


def own_name(value: Any) -> str:
    """The name by which the rule knows a function that it forbids."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", "")
    return name if module == "builtins" else f"{(module or '').removeprefix('_')}.{name}"


def as_bytes(form: object) -> bytes:
    """Plain data as stable bytes."""
    return json.dumps(form, sort_keys=True, separators=(",", ":")).encode()


def undecorated(node: Any) -> Any:
    """The syntax of a function without its decorators: they have run, and what they made is an object of its own."""
    bare = copy(node)
    bare.decorator_list = []
    return bare


def is_code(value: object) -> bool:
    """Whether a value is code that may be called."""
    return isinstance(value, CODE)


def is_tuple(value: object) -> bool:
    """Whether a value is a tuple, of whatever class."""
    return isinstance(value, tuple)


def kind_of(value: object) -> Any:
    """The class of a value."""
    return type(value)


def reduced(value: Any) -> Any:
    """What a value of the library is made of. Raises TypeError where it does not say."""
    parts = value.__reduce_ex__(4)
    if not is_tuple(parts):
        return parts
    return [list(part) if hasattr(part, "__next__") else part for part in parts[1:]]
