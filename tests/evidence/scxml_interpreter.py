"""Another interpreter of our tables: python-statemachine, which reads their SCXML and knows nothing else of them."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO

from statemachine.io import load

from random_lives import Made, Told


class Answers:
    """The data of an event. As in ECMAScript, a property has two spellings: ``data.kind`` and ``data['kind']``."""

    def __init__(self, answers: Mapping[str, bool | str]) -> None:
        self._answers = answers

    def __getattr__(self, name: str) -> bool | str:
        return self._answers[name]

    def __getitem__(self, name: str) -> bool | str:
        return self._answers[name]


class ScxmlInterpreter:
    """A chart, parsed once. Conditions are restricted expressions: nothing in a document is run as Python."""

    name = "python-statemachine"

    def __init__(self, document: str) -> None:
        self._chart = load(document, format="scxml")

    def lives(self, lives: Sequence[Sequence[Told]]) -> Sequence[Sequence[Made]]:
        """What the chart makes of each event of each life, as it says itself. Each life is a machine of its own."""
        return [self._live(life) for life in lives]

    def _live(self, life: Sequence[Told]) -> Sequence[Made]:
        machine = self._chart()
        made: list[Made] = []
        for told in life:
            with redirect_stdout(StringIO()) as said:
                machine.send(told.event, Answers(told.answers))
            made.append(_made(said.getvalue(), ", ".join(machine.configuration_values)))
        return made


def _made(said: str, state: str) -> Made:
    """What a row logs: its id, then its commands, one ``label: 'text'`` a line."""
    logged = [line.partition(": ") for line in said.splitlines()]
    rows = [literal_eval(text) for label, _, text in logged if label == "row"]
    commands = tuple(literal_eval(text) for label, _, text in logged if label == "do")
    return Made(", ".join(rows) or None, commands, state)
