"""Copies of the package of tables with changed code, and the digests that another process finds in them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from house import STATES

PRINT = """
import json
from statewright_states.requirements import TABLES
print(json.dumps({table.name: [table.code_digest, dict(table.code)] for table in TABLES}))
"""
STEPS_LEFT = (
    "run/questions.py",
    "facts.attempt_steps < facts.settings.max_steps",
    "facts.attempt_steps <= facts.settings.max_steps",
)
FORGETS_TO_COUNT = ("run/effects.py", "continuations=facts.continuations + 1", "continuations=facts.continuations")
OTHER_COMMAND = ("run/effects.py", "    return BuildContext(facts.attempt)", "    return BuildContext(facts.attempt + 2)")

Change = tuple[str, str, str]
"""A file of the package, what stands in it once, and what shall stand there."""


def copied_tree(folder: Path, *changes: Change) -> Path:
    """A copy of the package of tables in ``folder``, changed; gives what has to be on the path."""
    shutil.copytree(STATES, folder / STATES.name, ignore=shutil.ignore_patterns("__pycache__"))
    for change in changes:
        apply(folder, change)
    return folder


def apply(tree: Path, change: Change) -> None:
    """Change a file of a copied package."""
    name, old, new = change
    path = tree / STATES.name / name
    text = path.read_text("utf-8")
    assert text.count(old) == 1, f"{name} holds this {text.count(old)} times: {old}"
    path.write_text(text.replace(old, new), "utf-8")


def digests_in(tree: Path, *, python: str = sys.executable, seed: int = 0) -> Mapping[str, Any]:
    """For each table its digest and the digests of its parts, as a process finds them that imports this tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONHASHSEED": str(seed), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([python, "-c", PRINT], env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def different(one: Mapping[str, str], other: Mapping[str, str]) -> set[str]:
    """The parts that are not the same in two tables."""
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
