"""Whoever opens a file is told what it is: modules, public classes and public functions have docstrings."""

from __future__ import annotations

import ast

from house import STATES, Function, Module, modules


def speaks_by_its_name(module: Module) -> bool:
    """Effects and folds of a machine: pure functions whose names stand in the rows beside the reason."""
    return (
        module.path.is_relative_to(STATES) and module.path.parent != STATES and module.path.name in {"effects.py", "table.py"}
    )


def is_overload(node: ast.ClassDef | Function) -> bool:
    """One of the signatures of a function whose docstring stands in its body."""
    return any(getattr(decorator, "id", "") == "overload" for decorator in node.decorator_list)


def silent(module: Module) -> list[str]:
    """The public classes and functions of a module that have no docstring."""
    kinds = (ast.ClassDef,) if speaks_by_its_name(module) else (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    public = [node for node in module.tree.body if isinstance(node, kinds) and not node.name.startswith("_")]
    return [f"{module.place(node)} {node.name}" for node in public if not ast.get_docstring(node) and not is_overload(node)]


def test_every_module_says_what_it_is() -> None:
    assert [module.name for module in modules() if not ast.get_docstring(module.tree)] == []


def test_every_public_class_and_function_says_what_it_is() -> None:
    assert [place for module in modules() for place in silent(module)] == []


def test_annotations_are_never_evaluated_at_import() -> None:
    eager = [
        module.name for module in modules() if module.tree.body[1:] and "from __future__ import annotations" not in module.text
    ]
    assert eager == []
