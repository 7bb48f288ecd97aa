"""A table with its abstracted data in Promela: limits are counted, marks are kept, and events come when they can come.

Each event that can come is an option of one loop. Nature chooses what comes with it; then any row may fire whose guard holds
as far as the variables answer it (what they do not answer is left open), and the event's and the effects' assignments follow.
With ``-DLIST`` the checker prints each state that it finds, for the comparison with our own explorer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product

from statewright_evidence.promela.abstraction import Abstraction, Happening, answer_name
from statewright_evidence.promela.expressions import assignment, in_promela, value_of, with_values
from statewright_evidence.promela.identifiers import Identifiers, quoted, remark
from statewright_evidence.promela.model import COURSES, SAFETY, Line, Place, Promela, written
from statewright_evidence.proofs.properties import Kind
from statewright_states.form.question import Condition, Question
from statewright_states.form.row import Cell, Declaration, Ignore, Row

ENDS = "ends"
STOP_ENDS = "stop_ends"
BOUNDED_CLAIMS = {
    ENDS: ("([]<> due) -> <> ended", "if what is due goes on happening, the machine ends"),
    STOP_ENDS: (
        "[] ((stop && []<> due) -> <> (ended || !stop))",
        "after a stop, if what is due goes on happening, it ends, or is taken up again",
    ),
}
"""The claims about courses, by name: the formula, and what it says."""


def bounded_model(declared: Declaration, data: Abstraction) -> Promela:
    """The bounded model of a declaration, checked or not. Raises InternalError where the data does not fit to it."""
    return written(f"{declared.name}, bounded", _Writer(declared, data).lines())


@dataclass(slots=True)
class _Writer:
    """Writes one model, from the head to the claims."""

    declared: Declaration
    data: Abstraction
    names: Identifiers = field(default_factory=Identifiers)
    labels: int = 0

    def lines(self) -> Iterator[Line]:
        for part in (self._head(), self._numbers(), self._variables(), self._questions(), self._guards(), self._what_follows()):
            yield from map(Line, part)
        yield from self._loop()
        for name, (formula, text) in BOUNDED_CLAIMS.items():
            yield from map(Line, ("", f"/* {text} */", f"ltl {name} {{ {formula} }}"))

    # -- names -------------------------------------------------------------------------------------------------------

    def _state(self, state: StrEnum) -> str:
        return self.names.of("state", state.name)

    def _row(self, stated: Row | Ignore) -> str:
        return self.names.of("row", stated.id)

    def _happening(self, happening: Happening) -> str:
        return self.names.of("happening", f"{happening.event.__name__}_{self.data.happenings.index(happening)}")

    def _effect(self, name: str) -> str:
        return self.names.of("effect", f"do_{name}")

    # -- what stands before the loop ---------------------------------------------------------------------------------

    def _head(self) -> Iterator[str]:
        name = remark(self.declared.name)
        bounds = " ".join(f"-D{one}={value}" for one, value in self.data.bounds.items())
        yield f"/* The {name} machine with its data in small, generated from its table and its abstraction."
        yield "   Each row is a macro: its guard, as far as the variables answer it; what they do not answer is left open."
        yield ""
        yield f"   To check it:      spin -a -o3 FILE && gcc {' '.join(SAFETY)} -o pan pan.c && ./pan"
        yield from (f"{' ' * 21}gcc {' '.join(COURSES)} -o pan pan.c && ./pan -a -N {one}" for one in BOUNDED_CLAIMS)
        yield f"   Other bounds:     spin -a -o3 {bounds} FILE"
        yield "   To read a trail:  spin -t -T -B FILE"
        yield "   To list states:   spin -a -o3 -DLIST FILE, and on as above */"

    def _numbers(self) -> Iterator[str]:
        yield ""
        for name, value in self.data.bounds.items():
            yield from (f"#ifndef {name}", f"#define {name} {value}", "#endif")
        yield from ("", *(f"#define {self._state(state)} {number}" for number, state in enumerate(self.declared.states)), "")
        yield from (f"#define {name} {value}" for name, value in self.data.constants.items())
        yield f"#define ended ({' || '.join(f'state == {self._state(state)}' for state in self.declared.final) or 'false'})"

    def _variables(self) -> Iterator[str]:
        yield from ("", f"byte state = {self._state(self.declared.initial)};")
        for one in self.data.variables:
            yield f"byte {one.name} = {one.first};  /* {remark(one.about)}; at most {one.last} */"
        yield "bit due;  /* whether the last event was one that is due */"
        yield "bit it_waits, no_person;  /* that something is waited for; that after a stop no person is */"
        yield from ("", "/* what nature chooses with an event */")
        late = {choice.name for happening in self.data.happenings for choice in happening.choices}
        for choice in self.data.choices:
            yield f"byte {choice.name};"
            if choice.name not in late:
                continue
            counted = f"do :: {choice.name} < {in_promela(choice.last)} -> {choice.name}++ :: break od"
            body = counted if choice.matters == "1" else f"if :: {in_promela(choice.matters)} -> {counted} :: else fi"
            yield f"inline choose_{choice.name}() {{ {choice.name} = {choice.first}; {body} }}"
        yield from ("", "#ifdef LIST  /* the checker prints each state that it finds */")
        listed = ("state", *(one.name for one in self.data.variables))
        values = ", ".join(f"now.{name}" for name in listed)
        yield f'#define met c_code {{ printf("={" %d" * len(listed)}\\n", {values}); }}'
        yield from ("#else", "#define met skip", "#endif")

    def _questions(self) -> Iterator[str]:
        asked = {condition.question.name: condition.question for stated in self.declared.stated for condition in stated.when}
        yield from ("", "/* -- what the variables answer -- */")
        for question in asked.values():
            text = self.data.answered(question) if self._is_asked(question) else None
            if text is not None and text != question.name:
                yield f"#define {question.name} ({in_promela(text)})  /* {remark(question.text)} */"

    def _is_asked(self, question: Question) -> bool:
        """Whether a row asks it that can fire for one of the happenings."""
        events = {happening.event for happening in self.data.happenings}
        stated = (one for one in self.declared.stated if one.event in events)
        return any(condition.question is question for one in stated for condition in one.when)

    def _guards(self) -> Iterator[str]:
        yield from ("", "/* -- the guard of each row, as far as the variables answer it -- */")
        events = {happening.event for happening in self.data.happenings}
        for stated in self.declared.stated:
            if stated.event in events:
                left_open = [one for one in stated.when if self.data.answered(one.question) is None]
                said = f" (left open: {', '.join(map(str, left_open))})" if left_open else ""
                yield f"/* {remark(stated.id)}: {remark(stated.why)}{remark(said)} */"
                held = " && ".join(self._condition(one) for one in stated.when if one not in left_open)
                yield f"#define {self._row(stated)} ({held or 'true'})"

    def _condition(self, condition: Condition) -> str:
        name, allowed = condition.question.name, condition.allowed
        if len(allowed) == len(condition.question.answers):
            return "true"
        if isinstance(allowed[0], bool):
            return name if allowed[0] else f"!{name}"
        return "(" + " || ".join(f"{name} == {answer_name(condition.question, one)}" for one in allowed) + ")"

    def _what_follows(self) -> Iterator[str]:
        yield from ("", "/* -- what events and effects do to the variables -- */")
        for happening in self.data.happenings:
            if happening.then:
                yield f"inline after_{self._happening(happening)}() {{ {_assigned(happening.then)} }}"
        for name, then in self.data.effects.items():
            yield f"inline {self._effect(name)}() {{ {_assigned(then)} }}"
        yield from ("", f"#define something_is_due {self._possible(Kind.DUE)}")
        yield f"#define somebody_is_asked {self._possible(Kind.PERSON)}"
        yield from ("", "/* after each event: limits are kept, and something is waited for; after a stop, no person */")
        yield from ("inline check()", "{")
        yield "    if"
        yield "    :: ended ->  /* nothing depends on the data of a machine that has ended */"
        yield f"        {'; '.join(f'{one.name} = {one.first}' for one in self.data.variables)}"
        yield "    :: else ->"
        yield from (f"        assert({one.name} <= {in_promela(one.last)});" for one in self.data.variables)
        yield "        it_waits = (something_is_due || somebody_is_asked); assert(it_waits);"
        yield f"        no_person = (!{self.data.stop} || something_is_due); assert(no_person)"
        yield "    fi;"
        yield f"    it_waits = 0; no_person = 0; {'; '.join(f'{choice.name} = 0' for choice in self.data.choices)}"
        yield "}"

    def _possible(self, kind: Kind) -> str:
        """Whether an event of this kind can come."""
        cases = [
            f"({self._in_one_of(happening.states)} && {in_promela(when)})"
            for happening in self.data.happenings
            if happening.kind is kind
            for _, when in self._cases(happening)
        ]
        return f"({' || '.join(cases) or 'false'})"

    def _in_one_of(self, states: Sequence[StrEnum]) -> str:
        return "(" + " || ".join(f"state == {self._state(state)}" for state in states) + ")"

    def _cases(self, happening: Happening) -> Iterator[tuple[dict[str, int], str]]:
        """What an event may be about, and when it can come then."""
        numbers = {**self.data.constants, **self.data.bounds}
        ranges = [range(one.first, value_of(one.last)(numbers) + 1) for one in happening.about]
        for values in product(*ranges):
            about = {one.name: value for one, value in zip(happening.about, values, strict=True)}
            yield about, with_values(happening.when, about)

    # -- the loop ----------------------------------------------------------------------------------------------------

    def _loop(self) -> Iterator[Line]:
        yield from map(Line, ("", "active proctype machine()", "{", "    do", "    :: ended -> met; break"))
        yield Line("    :: atomic { !ended -> met; if")
        cells, empty = self.declared.cells(), Cell((), (), ())
        for state in self.declared.states:
            yield from map(Line, ("", f"    /* -- {self._state(state)} -- */"))
            for happening in self.data.happenings:
                if state in happening.states:
                    for about, when in self._cases(happening):
                        yield from self._event(state, happening, about, when, cells.get((state, happening.event), empty))
        yield from map(Line, ("    fi; check() }", "    od", "}"))

    def _event(self, state: StrEnum, happening: Happening, about: dict[str, int], when: str, cell: Cell) -> Iterator[Line]:
        can = "" if when == "1" else f" && {in_promela(when)}"
        chosen = "".join(f" {name} = {value};" for name, value in about.items())
        chosen += "".join(f" choose_{choice.name}();" for choice in happening.choices)
        shown = [*about, *(choice.name for choice in happening.choices)]
        said = f"{self._state(state)} + {quoted(happening.event.__name__)}:{''.join(f' {name}=%d' for name in shown)}"
        printed = f'printf("| {said}\\n"{"".join(f", {name}" for name in shown)});'
        due = f"due = {int(happening.kind in (Kind.DUE, Kind.TIMER))};"
        yield Line(f"    :: state == {self._state(state)}{can} -> {due}{chosen} {printed}")
        yield Line("        if")
        yield from self._options(state, happening, cell)
        yield Line('        :: else -> printf("| refused: the event is lost\\n"); assert(false)')
        ends = f"; assert(ended)  /* {happening.event.__name__} ends it at once */" if happening.ends else ""
        yield Line(f"        fi{ends}")

    def _options(self, state: StrEnum, happening: Happening, cell: Cell) -> Iterator[Line]:
        for ignore in cell.ignores:
            yield self._option(state, ignore, self._row(ignore), f'printf("| [{quoted(ignore.id)}] ignored\\n")')
        decided = [one for one in cell.ignores if all(self.data.answered(condition.question) for condition in one.when)]
        unless = "".join(f"!{self._row(one)} && " for one in decided)
        for row in cell.rows:
            to = row.target(state)
            then = [f"after_{self._happening(happening)}()"] if happening.then else []
            effects = [effect.name for effect in row.do if self.data.effects.get(effect.name)]
            then += [f"{self._effect(name)}()" for name in effects]
            if to in self.declared.final:
                then = []  # its data is forgotten
            else:
                self.data.done(row)  # raises where an effect is not known
            done = "; ".join((f'printf("| [{quoted(row.id)}] {self._state(to)}\\n")', *then, f"state = {self._state(to)}"))
            yield self._option(state, row, unless + self._row(row), done)

    def _option(self, state: StrEnum, stated: Row | Ignore, guard: str, done: str) -> Line:
        self.labels += 1
        label = self.names.of(f"label {self.labels}", f"{self._row(stated)}_{self._state(state)}")
        return Line(f"        :: {guard} -> {label}: {done}", Place(state.value, stated.id))


def _assigned(texts: Sequence[str]) -> str:
    """Assignments in Promela."""
    sides = (assignment(text) for text in texts)
    return "; ".join(f"{name} = {in_promela(expression)}" for name, expression in sides)
