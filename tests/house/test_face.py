"""The face of the package: what ``import statewright`` gives is what it says it gives, and nothing before it is asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

import pytest

import statewright
from house import ENGINE

STUB = ast.parse((ENGINE / "__init__.pyi").read_text("utf-8"))
IMPORTED = {
    alias.asname or alias.name: node.module or ""
    for node in STUB.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
"""What type checkers read: each public name, and the module it is from."""


def declared() -> Iterator[str]:
    """The names in the stub's ``__all__``."""
    for node in STUB.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield from ast.literal_eval(node.value)


def test_the_stub_declares_what_it_imports() -> None:
    assert sorted(declared()) == sorted(IMPORTED)


def test_the_package_has_the_names_that_its_stub_has() -> None:
    assert sorted(statewright.__all__) == sorted(IMPORTED)


@pytest.mark.parametrize("name", sorted(IMPORTED))
def test_a_name_is_what_its_stub_says(name: str) -> None:
    assert getattr(statewright, name) is getattr(import_module(IMPORTED[name]), name)


@pytest.mark.parametrize("name", sorted(IMPORTED))
def test_no_module_hides_a_name(name: str) -> None:
    # Importing a module makes it an attribute of its package, and the name would then never be asked for.
    assert find_spec(f"statewright.{name}") is None


def test_everything_declared_can_be_imported() -> None:
    namespace: dict[str, object] = {}
    exec("from statewright import *", namespace)
    assert namespace.keys() >= IMPORTED.keys()


@pytest.mark.parametrize("name", ["AgentLop", "__wrong__"])
def test_a_name_that_does_not_exist_is_refused_as_everywhere(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'statewright' has no attribute '{name}'"):
        getattr(statewright, name)


def test_the_names_are_listed_before_any_is_asked_for() -> None:
    assert said_by("import statewright; print(set(statewright.__all__) <= set(dir(statewright)))") == "True"


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    ours = "sorted(name for name in sys.modules if name.startswith(('statewright', 'pydantic', 'httpx', 'transitions')))"
    assert said_by(f"import sys, statewright; print({ours})") == "['statewright']"


def said_by(program: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
