"""One name, one class: who reads a name in one place has not to ask which of two it is."""

from __future__ import annotations

import ast
from collections import Counter

from house import modules

BY_MACHINE = {"FinishRun"}
"""A command of ``run`` and one of ``plan_build``: each ends its own run, and both stand in records under this name."""


def test_a_class_has_a_name_of_its_own() -> None:
    classes = Counter(node.name for module in modules() for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))
    assert {name for name, count in classes.items() if count > 1} == BY_MACHINE
