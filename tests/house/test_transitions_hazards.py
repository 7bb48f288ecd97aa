"""One module uses the transitions library and one module sets a status; its dangerous doors stay shut."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from house import Module, imports, modules, top

MACHINE = "statewright.machine"
SHUT = {
    "AsyncMachine": "cancels the trigger that is running when another one comes",
    "HierarchicalAsyncMachine": "cancels the trigger that is running when another one comes",
    "add_model": "lets a model's state be set from outside",
    "on_exception": "swallows KeyboardInterrupt",
}
STATUS_NAMES = {"_state", "state", "status"}


def names(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Every name, attribute and imported name below ``tree``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node, node.id
        elif isinstance(node, ast.Attribute):
            yield node, node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from ((node, alias.name) for alias in node.names)


def assigned(tree: ast.AST) -> Iterator[ast.expr]:
    """Every target of an assignment below ``tree``, unpacked."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [getattr(node, "target", None)]
        for target in targets:
            if isinstance(target, ast.expr):
                yield from (part for part in ast.walk(target) if isinstance(part, ast.expr))


def set_by_name(tree: ast.AST) -> Iterator[ast.Call]:
    """Every call of ``setattr``, ``object.__setattr__`` or ``set_state`` below ``tree`` that could set a status."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
        named = {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
        if called == "set_state" or (called in {"setattr", "__setattr__"} and named & STATUS_NAMES):
            yield node


def others() -> list[Module]:
    return [module for module in modules() if module.name != MACHINE]


def test_only_the_machine_imports_transitions() -> None:
    importing = {module.name for module in modules() for _, name in imports(module.tree) if top(name) == "transitions"}
    assert importing <= {MACHINE}


@pytest.mark.parametrize("name", SHUT)
def test_a_dangerous_door_of_transitions_stays_shut(name: str) -> None:
    used = [module.place(node) for module in modules() for node, used in names(module.tree) if used == name]
    assert used == [], f"{name} {SHUT[name]}"


def test_no_machine_queues_its_triggers() -> None:
    queued = [
        module.place(node.value)
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.keyword) and node.arg == "queued"
        if not (isinstance(node.value, ast.Constant) and node.value.value is False)
    ]
    assert queued == [], "a queued machine answers True for a refused guard"


def test_only_the_machine_assigns_a_status() -> None:
    setting = [
        module.place(target)
        for module in others()
        for target in assigned(module.tree)
        if isinstance(target, ast.Attribute) and target.attr in STATUS_NAMES
    ]
    assert setting == [], "a status changes by a declared transition and in no other way"


def test_only_the_machine_sets_a_status_by_name() -> None:
    assert [module.place(call) for module in others() for call in set_by_name(module.tree)] == []
