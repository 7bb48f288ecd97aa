"""The texts under the fields of a configuration, for ``help()`` and JSON schemas; editors read them where they stand.

They are read from the source, once for each module: about a millisecond. Pydantic's own way to do so
(``use_attribute_docstrings``) reads it for each class, which takes longer than importing all the rest.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.abc import InspectLoader

from pydantic import BaseModel

HEADING = "\n\nFields:\n\n"
"""Stands in a class's docstring between what is written there and the list of its fields."""
MAX_SHOWN_CHARS = 80
"""A longer default is not shown."""


def field_docs(model: type[BaseModel]) -> Mapping[str, str]:
    """What stands under each field of a model, inherited ones included; empty where there is no source to read."""
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__[: model.__mro__.index(BaseModel)]):
        docs |= _in_module(base.__module__).get(base.__qualname__, {})
    return {name: docs[name] for name in model.model_fields if name in docs}


def with_fields(model: type[BaseModel]) -> str:
    """The docstring of a model with a list of its fields: each with its type, its default and what it means."""
    docs = field_docs(model)
    listed = [f"{name}: {_declared(model, name)}\n{_indented(docs.get(name, ''))}" for name in model.model_fields]
    return inspect.cleandoc(model.__doc__ or "") + HEADING + "\n\n".join(listed)


def without_fields(model: type[BaseModel]) -> str:
    """The docstring as it is written."""
    return (model.__doc__ or "").partition(HEADING)[0]


@cache
def _in_module(name: str) -> Mapping[str, Mapping[str, str]]:
    """The texts under the fields of each class of a module."""
    spec = sys.modules[name].__spec__
    source = spec.loader.get_source(name) if spec is not None and isinstance(spec.loader, InspectLoader) else None
    tree = ast.parse(source or "")  # no source may be installed
    return {node.name: dict(_under_fields(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _under_fields(declared: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, text in zip(declared.body, declared.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as said)):
                yield name, inspect.cleandoc(said)
            case _:
                pass


def _declared(model: type[BaseModel], name: str) -> str:
    field, written = model.model_fields[name], _annotation(model, name)
    if field.is_required():
        return written
    if isinstance(field.default_factory, type):  # not called: that would build the part's own model at import
        shown = f"{field.default_factory.__name__}()"
    else:
        shown = repr(field.default) if field.default_factory is None else "..."
    return f"{written} = {shown if len(shown) <= MAX_SHOWN_CHARS else '...'}"


def _annotation(model: type[BaseModel], name: str) -> str:
    """The annotation as it is written."""
    written = next(base.__annotations__[name] for base in model.__mro__ if name in getattr(base, "__annotations__", {}))
    return written if isinstance(written, str) else inspect.formatannotation(written)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
