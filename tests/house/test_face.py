"""The face of the package: what ``import statewright`` gives is what it says it gives."""

from __future__ import annotations

from types import ModuleType

import statewright
from house import ENGINE, modules

DECLARED: frozenset[str] = frozenset(getattr(statewright, "__all__", ()))


def is_public(name: str) -> bool:
    return not name.startswith("_") and name != "annotations" and not isinstance(getattr(statewright, name), ModuleType)


def test_what_the_package_declares_is_what_it_has() -> None:
    assert {name for name in vars(statewright) if is_public(name)} == {name for name in DECLARED if not name.startswith("__")}


def test_everything_declared_can_be_imported() -> None:
    namespace: dict[str, object] = {}
    exec("from statewright import *", namespace)
    assert namespace.keys() >= DECLARED


def test_the_face_only_passes_things_on() -> None:
    face = next(module for module in modules(ENGINE) if module.name == "statewright")
    assert [type(node).__name__ for node in face.tree.body if type(node).__name__ in {"ClassDef", "FunctionDef"}] == []
