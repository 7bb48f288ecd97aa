"""``diagram``: draw a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.journal.entry import TABLES
from statewright.presentation.output import one_line, remarks, stdout_kept_for_the_answer
from statewright.tools.suggestion import did_you_mean
from statewright_evidence.differences.machines import load_table
from statewright_evidence.drawing import MAP, drawing, map_drawing
from statewright_states.errors import ConfigurationError
from statewright_states.form.table import Table

Format = Literal["mermaid", "dot", "svg", "markdown", "scxml", "xstate"]


def diagram(
    table: str,
    /,
    *,
    format_name: Annotated[Format, Parameter(name="--format", show_default=True)] = "mermaid",
    out: Path | None = None,
) -> Exit:
    """Draw a table: the states, the rows that lead from one to another, and what each asks. Or the map of all of them.

    Parameters
    ----------
    table
        What to draw: run, call (a model call), tool (a tool call), plan_build (a task that one run plans and another builds);
        map, which shows how these talk with each other and with what is outside; or a table of yours, as module:TABLE or
        path/to/file.py:TABLE.
    format_name
        svg is for looking at: its links lead to the markdown of the same machine, in the same folder. scxml and xstate are
        for other interpreters and editors.
    out
        A file to write (default: stdout).
    """
    drawn = map_drawing(format_name) if table == MAP else drawing(_named(table), format_name)
    if out is None:
        print(drawn, end="" if drawn.endswith("\n") else "\n")
        return Exit.SUCCESS
    try:
        out.write_bytes(drawn.encode())
    except OSError as error:
        raise ConfigurationError(
            f"the drawing cannot be written: {error.strerror}",
            where=str(out),
            cure="name a file that can be written, with --out",
        ) from error
    remarks().print(Text(f"wrote {one_line(str(out))}"))
    return Exit.SUCCESS


def _named(table: str) -> Table[Any]:
    """The table of this name, or one of the caller's. Raises ConfigurationError."""
    if table in TABLES:
        return TABLES[table]
    if ":" in table:
        with stdout_kept_for_the_answer():  # an import may print
            return load_table(table)
    meant = did_you_mean(table, (*TABLES, MAP))
    raise ConfigurationError(
        f"there is no table {table!r}", where="statewright diagram", cure=f"{meant}; or name a table of yours, module:TABLE"
    )
