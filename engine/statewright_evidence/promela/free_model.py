"""The free model of a table in Promela: every event at any time, every question answered in any way.

It is a text for SPIN and for people. Each row and ignore is a macro, its guard as declared, under its reason. Each cell is an
option of one loop: nature answers the questions of the cell, then exactly one row (or ignore) has to admit the answers, then
it fires. What holds here holds whatever the data does, because data can only forbid what is possible here.

A state that no end can be reached from shows itself by the mark ``home``: it may be set at any time, and from then on only
the rows are taken that lead nearer to an end, one in each state; a state without such a row is a trap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from statewright_evidence.promela.identifiers import Identifiers, quoted, remark
from statewright_evidence.proofs.table_claims import RowInState
from statewright_states.form.question import Answer, Condition, Question
from statewright_states.form.row import Cell, Declaration, Event, Ignore, Row

ENDS_STAY = "ends_stay"
END_IN_REACH = "end_in_reach"
FREE_CLAIMS = {
    ENDS_STAY: ("[] (ended -> [] ended)", "an end is for ever"),
    END_IN_REACH: ("[] (home -> <> ended)", "from every state that can be reached, rows lead to an end"),
}
"""The claims about paths, by name: the formula, and what it says."""

SAFETY = ("-O0", "-w", "-DNOREDUCE", "-DNOCLAIM", "-DSAFETY")
"""How SPIN's checker is compiled to check assertions and dead ends."""
LIVENESS = ("-O0", "-w", "-DNOREDUCE")
"""How it is compiled to check claims about paths. Optimising would take longer than the search."""
SUMMANDS = 6
"""How many guards are counted in one statement: SPIN keeps the text of a statement in buffers of fixed length."""


@dataclass(frozen=True, slots=True)
class Promela:
    """A model: its text, and which line is which row in which state (lines are counted from 1)."""

    name: str
    text: str
    places: dict[int, RowInState]


class RowLine(str):
    """A line of a model that is a row or an ignore in a state."""

    place: RowInState


def free_model(declared: Declaration, at_once: Sequence[type[Event]] = ()) -> Promela:
    """The free model of a declaration, checked or not. An event of ``at_once`` has to end the machine wherever it lives."""
    lines = tuple(_Writer(declared, tuple(at_once)).lines())
    places = {number: line.place for number, line in enumerate(lines, 1) if isinstance(line, RowLine)}
    return Promela(declared.name, "".join(f"{line}\n" for line in lines), places)


@dataclass(slots=True)
class _Writer:
    """Writes one model, from the head to the claims."""

    declared: Declaration
    at_once: tuple[type[Event], ...]
    names: Identifiers = field(default_factory=Identifiers)

    def lines(self) -> Iterator[str]:
        yield from self._head()
        yield from self._questions()
        yield from self._guards()
        yield from self._loop()
        for name, (formula, text) in FREE_CLAIMS.items():
            yield from ("", f"/* {text} */", f"ltl {name} {{ {formula} }}")

    # -- names -------------------------------------------------------------------------------------------------------

    def _state(self, state: StrEnum) -> str:
        return self.names.of("state", state.name)

    def _row(self, stated: Row | Ignore) -> str:
        return self.names.of("row", stated.id)

    def _question(self, question: Question) -> str:
        return self.names.of("question", question.name)

    def _answer(self, question: Question, answer: Answer) -> str:
        if isinstance(answer, bool):
            return "true" if answer else "false"
        return self.names.of("answer", f"{question.name}_{answer.name.lower()}")

    # -- what stands before the loop ---------------------------------------------------------------------------------

    def _head(self) -> Iterator[str]:
        states = ", ".join(self._state(state) for state in self.declared.states)
        ends = " || ".join(f"state == {self._state(state)}" for state in self.declared.final) or "false"
        name = remark(self.declared.name)
        yield f"/* The {name} machine, generated from its table: every event at any time, every answer possible."
        yield "   Each row is a macro (its guard), in each of its states a label, and printed by its id when it fires."
        yield ""
        yield f"   To check it:      spin -a -o3 FILE && gcc {' '.join(SAFETY)} -o pan pan.c && ./pan"
        for name in FREE_CLAIMS:
            yield f"                     gcc {' '.join(LIVENESS)} -o pan pan.c && ./pan -a -N {name}"
        yield "   To read a trail:  spin -t -T -B FILE */"
        yield ""
        yield f"mtype:states = {{ {states} }};"
        yield f"mtype:states state = {self._state(self.declared.initial)};"
        yield f"#define ended ({ends})"
        yield ""
        yield "bool home;   /* from now on, only the rows that lead nearer to an end */"
        yield "byte fired;  /* how many rows admit the answers */"

    def _questions(self) -> Iterator[str]:
        asked = {condition.question.name: condition.question for stated in self.declared.stated for condition in stated.when}
        for question in asked.values():
            name = self._question(question)
            answers = [self._answer(question, answer) for answer in question.answers]
            yield from ("", f"/* {remark(question.text)} */")
            if _is_yes_no(question):
                yield f"bool {name};"
            else:
                yield f"mtype:{name}_answers = {{ {', '.join(answers)} }};"
                yield f"mtype:{name}_answers {name};"
            yield f"inline ask_{name}() {{ if {' '.join(f':: {name} = {answer}' for answer in answers)} fi }}"

    def _guards(self) -> Iterator[str]:
        yield from ("", "/* -- the guard of each row, as declared -- */")
        for stated in self.declared.stated:
            effects = ", ".join(effect.name for effect in stated.do) if isinstance(stated, Row) else "ignored"
            yield f"/* {remark(stated.id)}: {remark(stated.why)} [{remark(', '.join(stated.req))}] {remark(effects)} */"
            yield f"#define {self._row(stated)} {self._guard(stated)}"

    def _guard(self, stated: Row | Ignore) -> str:
        return "(" + (" && ".join(map(self._condition, stated.when)) or "true") + ")"

    def _condition(self, condition: Condition) -> str:
        question, name = condition.question, self._question(condition.question)
        if len(condition.allowed) == len(question.answers):
            return "true"
        if _is_yes_no(question):
            return name if condition.allowed == (True,) else f"!{name}"
        either = " || ".join(f"{name} == {self._answer(question, answer)}" for answer in condition.allowed)
        return f"({either})" if len(condition.allowed) > 1 else either

    # -- the loop ----------------------------------------------------------------------------------------------------

    def _loop(self) -> Iterator[str]:
        yield from ("", "active proctype machine()", "{", "    do")
        yield "    :: ended -> break"
        yield '    :: atomic { !home && !ended -> home = true; printf("| from here on, only rows towards an end\\n") }'
        cells = self.declared.cells()
        for state in self.declared.states:
            yield from ("", f"    /* -- {self._state(state)} -- */")
            for (at, event), cell in cells.items():
                if at is state:
                    yield from self._cell(state, event, cell)
            yield from self._missing_ends(state, {event for at, event in cells if at is state})
            if state not in self.declared.final:
                yield self._way_home(state)
        yield from ("    od", "}")

    def _cell(self, state: StrEnum, event: type[Event], cell: Cell) -> Iterator[str]:
        yield f"    :: atomic {{ !home && state == {self._state(state)} -> {self._said(state, event, cell)}"
        if cell.ignores:
            yield from self._counted(cell.ignores, "fired <= 1")
            yield "        if"
            yield from (self._option(state, ignore) for ignore in cell.ignores)
            if all(ignore.when for ignore in cell.ignores):  # else there is always one, and nothing comes to this line
                yield "        :: else ->" + ("" if cell.rows else ' printf("| refused\\n")')
        if cell.rows:
            yield from self._counted(cell.rows, "fired == 1")
            yield "        if"
            yield from (self._option(state, row) for row in cell.rows)
            yield "        fi;"
        if cell.ignores:
            yield "        fi;"
        if event in self.at_once and state not in self.declared.final:
            yield f"        assert(ended);  /* {event.__name__} ends the machine at once */"
        forgotten = "".join(f" {self._question(question)} = 0;" for question in cell.questions)
        yield f"       {forgotten} fired = 0 }}"

    def _said(self, state: StrEnum, event: type[Event], cell: Cell) -> str:
        """Ask every question of the cell, and print the event with the answers."""
        asked = " ".join(f"ask_{self._question(question)}();" for question in cell.questions)
        shown = "".join(f" {quoted(question.name)}={'%d' if _is_yes_no(question) else '%e'}" for question in cell.questions)
        values = "".join(f", {self._question(question)}" for question in cell.questions)
        printed = f'printf("| {self._state(state)} + {quoted(event.__name__)}:{shown}\\n"{values});'
        return f"{asked} {printed}".strip()

    def _counted(self, stated: Sequence[Row | Ignore], demanded: str) -> Iterator[str]:
        """Count the guards that hold, a few in each statement, and demand the number."""
        names = [self._row(one) for one in stated]
        for at in range(0, len(names), SUMMANDS):
            before = "fired + " if at else ""
            yield f"        fired = {before}{' + '.join(names[at : at + SUMMANDS])};"
        yield f"        assert({demanded});"

    def _option(self, state: StrEnum, stated: Row | Ignore) -> RowLine:
        """One option on one line, so that a line which SPIN never reaches is a row that never fires."""
        name, done = self._row(stated), f'printf("| [{quoted(stated.id)}] ignored\\n")'
        if isinstance(stated, Row):
            to = self._state(stated.target(state))
            done = f'printf("| [{quoted(stated.id)}] {to}\\n"); state = {to}'
        line = RowLine(f"        :: {name} -> {name}_{self._state(state)}: {done}")
        line.place = RowInState(state, stated.id)
        return line

    def _missing_ends(self, state: StrEnum, declared: set[type[Event]]) -> Iterator[str]:
        """An event that has to end the machine and is refused here: the machine lives on."""
        if state in self.declared.final:
            return
        for event in self.at_once:
            if event not in declared:
                said = f'printf("| {self._state(state)} + {quoted(event.__name__)}: refused\\n")'
                yield f"    :: atomic {{ !home && state == {self._state(state)} -> {said}; assert(ended) }}"

    def _way_home(self, state: StrEnum) -> str:
        row = _nearer_to_an_end(self.declared).get(state)
        here = f"    :: atomic {{ home && state == {self._state(state)} ->"
        if row is None:
            return f'{here} printf("| no rows lead from {self._state(state)} to an end\\n"); assert(false) }}'
        to = self._state(row.target(state))
        return f'{here} printf("| [{quoted(row.id)}] {to}\\n"); state = {to} }}'


def _is_yes_no(question: Question) -> bool:
    return all(isinstance(answer, bool) for answer in question.answers)


def _nearer_to_an_end(declared: Declaration) -> dict[StrEnum, Row]:
    """For each state that rows lead to an end from, the first row of a shortest way there."""
    near, chosen = set(declared.final), dict[StrEnum, Row]()
    while True:
        steps = [(state, row) for row in declared.rows for state in row.sources if row.target(state) in near]
        found = {state: row for state, row in reversed(steps) if state not in near}
        if not found:
            return chosen
        chosen |= found
        near |= found.keys()
