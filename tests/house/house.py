"""The house as the tests of its rules see it: the packages, their modules parsed, the project's own text files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "engine" / "statewright"
EVIDENCE = ROOT / "engine" / "statewright_evidence"
STATES = ROOT / "states" / "statewright_states"
PROVIDERS = ROOT / "providers" / "statewright_providers"
PACKAGES = (ENGINE, EVIDENCE, STATES, PROVIDERS)
OURS = frozenset(package.name for package in PACKAGES)

MADE = {"build", "dist", "__pycache__"}
"""Folders that tools make. Theirs is everything that starts with a dot, too, except what DOTTED names."""
DOTTED = {".ci", ".gitignore"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    """One module of ours: its dotted name, its file, its text and its syntax tree."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    def place(self, node: ast.stmt | ast.expr) -> str:
        """Where a node stands, for messages: ``engine/statewright/runtime/pump.py:12``."""
        return f"{self.path.relative_to(ROOT)}:{node.lineno}"


@cache
def modules(*packages: Path) -> tuple[Module, ...]:
    """Every module of these packages (of all when none is named)."""
    paths = [path for package in packages or PACKAGES for path in sorted(package.rglob("*.py"))]
    return tuple(_read(path) for path in paths)


def _read(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    package = next(package for package in PACKAGES if path.is_relative_to(package))
    parts = path.relative_to(package.parent).with_suffix("").parts
    return Module(".".join(part for part in parts if part != "__init__"), path, text, ast.parse(text, str(path)))


def imports(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Every import below ``tree`` with the name of the module that it names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node, node.module or ""


def top(name: str) -> str:
    """The top-level package of a dotted name."""
    return name.partition(".")[0]


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every function below ``tree``, methods and inner ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@cache
def text_files() -> tuple[tuple[Path, str], ...]:
    """The project's own text files: all that could be committed, whatever their kind, with their text."""
    return tuple((path, text) for path in _own_files(ROOT) if (text := _text_of(path)) is not None)


def _own_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in MADE or (path.name.startswith(".") and path.name not in DOTTED):
            continue
        if path.is_dir():
            yield from _own_files(path)
        else:
            yield path


def _text_of(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
