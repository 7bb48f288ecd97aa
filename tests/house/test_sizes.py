"""Nothing is long: a module that grows past its bound is two modules, a function is two functions."""

from __future__ import annotations

from house import functions, modules

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60


def test_modules_stay_short() -> None:
    sizes = {module.name: len(module.text.splitlines()) for module in modules()}
    assert {name: size for name, size in sizes.items() if size > MAX_MODULE_LINES} == {}


def test_functions_stay_short() -> None:
    sizes = {
        f"{module.place(function)} {function.name}": (function.end_lineno or function.lineno) - function.lineno + 1
        for module in modules()
        for function in functions(module.tree)
    }
    assert {name: size for name, size in sizes.items() if size > MAX_FUNCTION_LINES} == {}
