"""The document of the requirements, made from their list and the tables; as a program, it prints it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from statewright_states.form.table import Table
from statewright_states.requirements import REQUIREMENTS, TABLES, rows_by_requirement


def requirements_markdown(tables: Sequence[Table[Any]] = TABLES) -> str:
    """The document: each requirement with its text, its source, and the rows that serve it."""
    served = rows_by_requirement(tables)
    lines = [
        "# Requirements\n",
        "What the loop promises, and the rows that keep each promise. Generated from `requirements.py` and the tables:",
        "`python -m statewright_states.requirements_document > docs/requirements.md`.\n",
        "| id | requirement | source | served by |",
        "|---|---|---|---|",
    ]
    for identity, requirement in REQUIREMENTS.items():
        by = ", ".join(served.get(identity, ())) or requirement.elsewhere
        lines.append(f"| {identity} | {requirement.text} | {requirement.source} | {by} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(requirements_markdown())
