"""A table in each format. Pure: the same table gives the same text, on every machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from statewright_evidence.drawing.compose import picture
from statewright_evidence.drawing.dot_text import dot_document
from statewright_evidence.drawing.machines import theory_of
from statewright_evidence.drawing.markdown_text import markdown_document
from statewright_evidence.drawing.mermaid_text import mermaid_document
from statewright_evidence.drawing.scxml_text import scxml_document
from statewright_evidence.drawing.svg_text import svg_document
from statewright_evidence.drawing.xstate_text import xstate_document
from statewright_states.errors import ConfigurationError
from statewright_states.form.table import Table


def mermaid(table: Table[Any]) -> str:
    """The table as a Mermaid state diagram."""
    return mermaid_document(picture(table))


def dot(table: Table[Any]) -> str:
    """The table in Graphviz's language."""
    return dot_document(picture(table))


def svg(table: Table[Any]) -> str:
    """The table as a picture."""
    return svg_document(picture(table))


def markdown(table: Table[Any]) -> str:
    """The table as a document: theory of operation, states, questions, and every row."""
    return markdown_document(table, theory_of(table))


def scxml(table: Table[Any]) -> str:
    """The table as a W3C state chart, which other interpreters can walk."""
    return scxml_document(table)


def xstate(table: Table[Any]) -> str:
    """The table as the JSON of an XState v5 machine."""
    return xstate_document(table)


FORMATS: Mapping[str, Callable[[Table[Any]], str]] = {
    "mermaid": mermaid,
    "dot": dot,
    "svg": svg,
    "markdown": markdown,
    "scxml": scxml,
    "xstate": xstate,
}
"""Every format by its name."""

SUFFIXES = {"mermaid": "mmd", "dot": "dot", "svg": "svg", "markdown": "md", "scxml": "scxml", "xstate": "xstate.json"}
"""The file name suffix of each format."""

FOR_PEOPLE = ("mermaid", "svg", "markdown")
"""The formats that people read in a repository; the others are for programs, and are made when somebody asks for them."""


def drawing(table: Table[Any], format_name: str) -> str:
    """The table in one of the ``FORMATS``. Raises ConfigurationError for any other."""
    if format_name not in FORMATS:
        raise ConfigurationError(
            f"there is no drawing format {format_name!r}",
            where=f"the drawing of {table.name}",
            cure=f"use one of: {', '.join(FORMATS)}",
        )
    return FORMATS[format_name](table)
