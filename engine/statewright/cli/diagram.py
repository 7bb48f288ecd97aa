"""``diagram``: draw a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.cli.output import one_line, remarks
from statewright.journal.entry import TABLES
from statewright_evidence.drawing import MAP, drawing, map_drawing
from statewright_states.errors import ConfigurationError

Format = Literal["mermaid", "dot", "svg", "markdown", "scxml", "xstate"]


def diagram(
    table: Literal["run", "call", "tool", "plan_build", "map"],
    /,
    *,
    format_name: Annotated[Format, Parameter(name="--format", show_default=True)] = "mermaid",
    out: Path | None = None,
) -> Exit:
    """Draw a table: the states, the rows that lead from one to another, and what each asks. Or the map of all of them.

    Parameters
    ----------
    table
        What to draw: a run, a model call, a tool call, or a task that one run plans and another builds; or the map of how
        these talk with each other and with what is outside.
    format_name
        svg is for looking at: its links lead to the markdown of the same machine, in the same folder. scxml and xstate are
        for other interpreters and editors.
    out
        A file to write (default: stdout).
    """
    drawn = map_drawing(format_name) if table == MAP else drawing(TABLES[table], format_name)
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
