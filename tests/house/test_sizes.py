"""Nothing is long: a module that grows past its bound is two modules, a function is two functions."""

from __future__ import annotations

import ast

from house import functions, modules

MAX_MODULE_LINES = 390
"""Without the imports at its head: a table names all its questions and effects there, one in a line."""
MAX_FUNCTION_LINES = 60


def test_modules_stay_short() -> None:
    sizes = {module.name: len(module.text.splitlines()) - imported(module.tree) for module in modules()}
    assert {name: size for name, size in sizes.items() if size > MAX_MODULE_LINES} == {}


def imported(tree: ast.Module) -> int:
    """How many lines the imports of a module take."""
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in imports)


def test_functions_stay_short() -> None:
    sizes = {
        f"{module.place(function)} {function.name}": (function.end_lineno or function.lineno) - function.lineno + 1
        for module in modules()
        for function in functions(module.tree)
    }
    assert {name: size for name, size in sizes.items() if size > MAX_FUNCTION_LINES} == {}
