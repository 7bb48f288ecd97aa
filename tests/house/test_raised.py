"""One module holds every error that callers can meet: ``statewright.errors``."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

import statewright_states.errors
from house import modules
from statewright import errors

INSIDE = {
    "BadArguments": "becomes the result of a tool call",
    "LeftAlone": "of the pump: a message that a run cannot take stays where it is",
    "OutputLost": "the command line's own: it becomes an exit code",
    "ResultNotShown": "becomes the result of a tool call",
    "StoodStill": "of the tests' own time: virtual time cannot go on",
    "ToolRaised": "becomes the result of a tool call",
    "Undecided": "of the proofs: becomes a finding",
}
"""What no caller meets, and why."""
BUILTIN = {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)}


def classes() -> Iterator[tuple[str, set[str]]]:
    """Every class of ours, and the names of its bases."""
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                yield node.name, {ast.unparse(base).rpartition(".")[2] for base in node.bases}


def exceptions() -> set[str]:
    """The classes of ours that can be raised."""
    declared, found = dict(classes()), set[str]()
    while more := {name for name, bases in declared.items() if bases & (found | BUILTIN)} - found:
        found |= more
    return found


def test_every_class_that_can_be_raised_is_an_error_for_callers_or_says_why_not() -> None:
    assert exceptions() == {*errors.__all__, *INSIDE} - {"Fault"}


def test_an_error_of_the_face_is_that_of_the_tree() -> None:
    assert {name: getattr(errors, name) for name in errors.__all__} == {
        name: value for name, value in vars(statewright_states.errors).items() if name in errors.__all__
    }
