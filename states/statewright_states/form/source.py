"""Where code stands: the syntax tree of a module, and in it the function or the class that a process runs."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from functools import cache
from types import CodeType
from typing import Any

from statewright_states.form.syntax import refuse
from statewright_states.frozen import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
CURE = "run it from its source, and start the process anew when that has changed"


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed file: its functions by the line that they begin at and their name, its classes by their qualified name."""

    tree: ast.Module
    functions: dict[tuple[int, str], list[Function]]
    classes: dict[str, list[ast.ClassDef]]

    def lambdas(self, line: int) -> list[Function]:
        """The functions without a name that begin in a line."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Lambda) and node.lineno == line]


class Sources:
    """The sources of this process, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, Source] = {}

    def of(self, file: str, module: str) -> Source:
        """The source of a file. Raises DeclarationError when there is none to be read."""
        if file not in self._known:
            self._known[file] = _read(file, module)
        return self._known[file]

    def function(self, code: CodeType, module: str, label: str) -> Function:
        """The syntax of a function that this process runs. Raises DeclarationError when its source is not what runs."""
        source, line = self.of(code.co_filename, module), code.co_firstlineno
        found = source.lambdas(line) if code.co_name == "<lambda>" else source.functions.get((line, code.co_name), [])
        where = f"{code.co_filename}:{line}, {label}"
        if len(found) > 1:
            refuse("two functions without a name begin in one line", where, "give each a line of its own")
        if not found:
            refuse("the source is not what this process runs", where, CURE)
        return found[0]

    def class_(self, cls: type, label: str) -> tuple[ast.ClassDef, str]:
        """The syntax of a class, and its file. Raises DeclarationError when it is not declared in a source."""
        file = str(getattr(sys.modules.get(cls.__module__), "__file__", "") or "")
        found = self.of(file, cls.__module__).classes.get(cls.__qualname__, []) if file else []
        if len(found) != 1:
            what = "is declared twice" if found else "is not declared by a class statement"
            refuse(f"the class {cls.__qualname__} {what}", f"{file or cls.__module__}, {label}", "declare it once, in a module")
        return found[0], file


def _read(file: str, module: str) -> Source:
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file, getattr(sys.modules.get(module), "__dict__", None)))
    if not text:
        refuse(f"the source of {module} is not there", file, CURE)
    try:
        return _parsed(text)
    except (SyntaxError, ValueError) as error:
        refuse(f"the source of {module} cannot be read: {error}", file, CURE)


@cache
def _parsed(text: str) -> Source:
    tree = ast.parse(text)
    functions: dict[tuple[int, str], list[Function]] = {}
    classes: dict[str, list[ast.ClassDef]] = {}
    for name, node in _declared(tree, ""):
        if isinstance(node, ast.ClassDef):
            classes.setdefault(name, []).append(node)
        else:
            functions.setdefault((_first_line(node), node.name), []).append(node)
    return Source(tree, functions, classes)


def _declared(node: ast.AST, around: str) -> Iterator[tuple[str, Any]]:
    """Every class and every function with a name, by its qualified name. Only statements are looked at: they are few."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()):
            match child:
                case ast.ClassDef():
                    yield around + child.name, child
                    yield from _declared(child, f"{around}{child.name}.")
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    yield around + child.name, child
                    yield from _declared(child, f"{around}{child.name}.<locals>.")
                case _:
                    yield from _declared(child, around)


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Where a process says that a function begins: at its first decorator."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
