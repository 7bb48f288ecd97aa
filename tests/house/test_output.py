"""stdout is the answer: only the command line, what it shows, and the demo print, and only they end the process."""

from __future__ import annotations

import ast

from house import modules

FACES = (
    "statewright.cli",
    "statewright.presentation",
    "statewright.demo",
    "statewright_evidence.drawing.__main__",
    "statewright.__main__",
)


def test_only_the_faces_print() -> None:
    printing = [
        module.place(node)
        for module in modules()
        if not module.name.startswith(FACES)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert printing == []
