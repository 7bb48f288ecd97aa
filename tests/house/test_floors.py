"""Who may import whom, beyond what the import-linter contracts in pyproject.toml say."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Container
from pathlib import Path

from house import ENGINE, OURS, PROVIDERS, STATES, functions, imports, modules, top

FOR_TYPE_CHECKERS = "typing_extensions"
"""Type variables with a default are newer than the oldest Python; every type checker brings them along under this name."""


def importers(package: Path, named: Container[str]) -> list[str]:
    """The modules of a package that import a top-level package out of ``named``."""
    return [module.name for module in modules(package) for _, name in imports(module.tree) if top(name) in named]


def test_states_import_the_standard_library_and_themselves() -> None:
    found = {top(name) for module in modules(STATES) for _, name in imports(module.tree)}
    assert found <= sys.stdlib_module_names | {"statewright_states", FOR_TYPE_CHECKERS}


def test_what_states_import_for_type_checkers_is_not_imported_when_they_run() -> None:
    told = f"import sys, statewright_states.requirements; sys.exit({FOR_TYPE_CHECKERS!r} in sys.modules)"
    subprocess.run([sys.executable, "-S", "-c", told], cwd=STATES.parent, timeout=60, check=True)


def test_providers_do_not_know_the_engine() -> None:
    assert importers(PROVIDERS, {"statewright"}) == []


def test_only_assemble_names_a_provider() -> None:
    assert set(importers(ENGINE, {"statewright_providers"})) <= {"statewright.agent.assemble"}


def test_nothing_of_ours_is_imported_relatively() -> None:
    relative = [
        module.place(node)
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


def test_nothing_of_ours_is_imported_inside_a_function() -> None:
    hidden = [
        module.place(node)
        for module in modules()
        for function in functions(module.tree)
        for node, name in imports(function)
        if top(name) in OURS
    ]
    assert hidden == []


def test_nothing_of_ours_is_imported_for_the_type_checker_alone() -> None:
    branches = [
        module.place(node)
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if any(top(name) in OURS for _, name in imports(node))
    ]
    assert branches == [], "a type that can only be imported under TYPE_CHECKING stands on the wrong floor"
