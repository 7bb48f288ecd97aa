"""The rules of the table format. A table that breaks one does not exist: importing it raises DeclarationError.

Each rule is one function; its name is the rule's name in the message. The order is from the simple to the deep, so
that the first message is the one to mend first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import combinations

from statewright_states.errors import DeclarationError
from statewright_states.form.question import Answer, Question, show_answer
from statewright_states.form.row import Cell, CellKey, Command, Declaration, Given, Ignore, Row


def check(table: Declaration, cells: Mapping[CellKey, Cell]) -> None:
    """Check every rule; raises DeclarationError for the first one broken."""
    _ids_are_unique(table)
    _rows_serve_a_requirement(table)
    _states_are_declared(table)
    _good_ends_are_final(table)
    _final_states_have_no_exit(table)
    _questions_have_one_meaning(table)
    _questions_are_asked_once(table)
    _effects_have_one_meaning(table)
    _functions_fit_their_row(table)
    for row in table.rows:
        for state in row.sources:
            _ends_are_told_once(table, row, row.target(state))
    for (state, event), cell in cells.items():
        _exactly_one_row_fires(table, f"{state} + {event.__name__}", cell)
    _states_are_reachable(table)
    _no_state_is_a_trap(table)


def _broken(rule: str, table: Declaration, what: str, where: str, cure: str) -> DeclarationError:
    return DeclarationError(rule, what, where=f"table {table.name}, {where}", cure=cure)


def _ids_are_unique(table: Declaration) -> None:
    for identity, count in Counter(declared.id for declared in table.stated).items():
        if count > 1:
            raise _broken(
                "ids-are-unique",
                table,
                f"the id {identity} is used {count} times",
                f"row {identity}",
                "give each row an id of its own; ids of removed rows are not used again",
            )


def _rows_serve_a_requirement(table: Declaration) -> None:
    for declared in table.stated:
        if not declared.req or not declared.why:
            raise _broken(
                "rows-serve-a-requirement",
                table,
                f"{declared.id} has no {'requirement' if not declared.req else 'reason'}",
                f"row {declared.id}",
                "name at least one requirement in req=(...) and say in why= what the row is for",
            )


def _states_are_declared(table: Declaration) -> None:
    named: list[tuple[StrEnum, str]] = [(table.initial, "initial"), *((state, "final") for state in table.final)]
    for declared in table.stated:
        named += [(state, f"row {declared.id}") for state in declared.sources]
    named += [(row.to, f"row {row.id}") for row in table.rows if isinstance(row.to, StrEnum)]
    for state, where in named:
        if state not in table.states:
            raise _broken(
                "states-are-declared",
                table,
                f"the state {state!r} is not one of this table's",
                where,
                f"use one of: {', '.join(table.states)}",
            )


def _good_ends_are_final(table: Declaration) -> None:
    for state in table.good:
        if state not in table.final:
            raise _broken(
                "good-ends-are-final",
                table,
                f"{state} is declared to be a good end, and is no final state",
                "good",
                f"use one of: {', '.join(table.final)}",
            )


def _final_states_have_no_exit(table: Declaration) -> None:
    for row in table.rows:
        leaving = [state for state in row.sources if state in table.final]
        if leaving:
            raise _broken(
                "final-states-have-no-exit",
                table,
                f"{row.id} starts in the final state {leaving[0]}",
                f"row {row.id}",
                f"take {leaving[0]} out of its source; declare an event that may come late as an Ignore",
            )


def _questions_have_one_meaning(table: Declaration) -> None:
    seen: dict[str, Question] = {}
    for declared in table.stated:
        for condition in declared.when:
            known = seen.setdefault(condition.question.name, condition.question)
            if known is not condition.question:
                raise _broken(
                    "questions-have-one-meaning",
                    table,
                    f"two different questions are called {known.name!r}",
                    f"row {declared.id}",
                    "rename one of them: the name is what the journal records",
                )


def _questions_are_asked_once(table: Declaration) -> None:
    for declared in table.stated:
        for name, count in Counter(condition.question.name for condition in declared.when).items():
            if count > 1:
                raise _broken(
                    "questions-are-asked-once",
                    table,
                    f"{declared.id} names the question {name!r} twice",
                    f"row {declared.id}",
                    "join its answers in one condition: is_(...) takes several",
                )


def _effects_have_one_meaning(table: Declaration) -> None:
    seen: dict[str, tuple[Given, ...]] = {}
    for row in table.rows:
        for effect in row.do:
            if seen.setdefault(effect.name, effect.gives) != effect.gives:
                raise _broken(
                    "effects-have-one-meaning",
                    table,
                    f"two effects that give different commands are called {effect.name!r}",
                    f"row {row.id}",
                    "rename one of them: what an effect gives is pinned by its name",
                )


def _functions_fit_their_row(table: Declaration) -> None:
    """Questions and effects are written for the row's event and the table's facts, or for a kind of which these are."""
    for declared in table.stated:
        for condition in declared.when:
            asked = condition.question
            _fits(table, declared, f"question {asked.name!r}", asked.events, asked.facts)
        for effect in declared.do if isinstance(declared, Row) else ():
            _fits(table, declared, f"effect {effect.name!r}", effect.events, effect.facts)


def _fits(table: Declaration, declared: Row | Ignore, what: str, events: tuple[type, ...], facts: tuple[type, ...]) -> None:
    for known, written, verb in ((declared.event, events, "event is"), (table.facts, facts, "facts are")):
        if not issubclass(known, written):
            raise _broken(
                "functions-fit-their-row",
                table,
                f"the {what} is written for {' or '.join(kind.__name__ for kind in written)}, and the {verb} {known.__name__}",
                f"row {declared.id}",
                f"take another, or widen the annotation of its parameter if it means {known.__name__} too",
            )


def _ends_are_told_once(table: Declaration, row: Row, target: StrEnum) -> None:
    """A row into a final state gives exactly one of the commands declared for it, any other none of those of any end.

    None either where the event says that whoever would be told has ended it.
    """
    closing = {kind for end in table.ends.values() for kind in end.kinds}
    given = [part for effect in row.do for part in effect.gives if closing & set(part.kinds)]
    told = ", then ".join(map(str, given)) or "nothing that tells of it"
    end = table.ends.get(target)
    if end is None or issubclass(row.event, table.unreported):
        if given:
            why = "is no end" if end is None else f"needs no telling after {row.event.__name__}: its sender ended it"
            raise _broken(
                "ends-are-told-once",
                table,
                f"{row.id} leads to {target}, which {why}, and gives {told}",
                f"row {row.id}",
                "take that effect out of it" if end else "lead it to the end that it tells of, or take that effect out of it",
            )
    elif len(given) != 1 or (given[0].least, given[0].most) != (1, 1) or not given[0].within(end):
        raise _broken(
            "ends-are-told-once",
            table,
            f"{row.id} leads to {target} and gives {told}",
            f"row {row.id}",
            f"have exactly one of its effects give {end}, or lead it elsewhere",
        )


def check_links(tables: Iterable[tuple[str, Iterable[Row]]], links: Iterable[tuple[str, type[Command]]]) -> None:
    """Every type of command that the rows of a table may give goes one way, and none goes a way that nothing is sent on.

    ``tables`` are names and rows, ``links`` pairs of a table's name and a type of its commands. Raises DeclarationError.
    """
    known = Counter(links)
    parts = ((name, part) for name, rows in tables for row in rows for effect in row.do for part in effect.gives)
    given = dict.fromkeys((name, kind) for name, part in parts for kind in part.kinds)
    for name, kind in (*given, *known):
        if known[name, kind] != 1 or (name, kind) not in given:
            givers = "rows" if (name, kind) in given else "no row"
            raise DeclarationError(
                "commands-have-one-link",
                f"{kind.__name__} is given by {givers} and has {known[name, kind] or 'no'} links",
                where=f"table {name}, command {kind.__name__}",
                cure="declare one link for every command that rows give: what becomes of it, or who carries it out",
            )


def _exactly_one_row_fires(table: Declaration, cell_name: str, cell: Cell) -> None:
    """No gap, no overlap, nothing dead, for every combination of answers; an ignore wins over rows."""
    everything: Answers = {question.name: question.answers for question in cell.questions}
    ignored = [_answers_of(ignore) for ignore in cell.ignores]
    for first, second in combinations(cell.ignores, 2):
        _never_both(table, cell_name, everything, first, second, ())
    for one, other in combinations(cell.rows, 2):
        _never_both(table, cell_name, everything, one, other, ignored)
    gap = uncovered(everything, [*ignored, *(_answers_of(row) for row in cell.rows)]) if cell.rows else None
    if gap is not None:
        raise _broken(
            "no-gap",
            table,
            f"no row fires when {_show(gap)}",
            cell_name,
            "add a row for this case, or widen a guard; an event that means nothing here is an Ignore",
        )
    for row in cell.rows:
        if uncovered(everything | _answers_of(row), ignored) is None:
            raise _broken(
                "no-dead-row",
                table,
                f"{row.id} can never fire: an Ignore always wins",
                cell_name,
                "correct its guard or remove it",
            )


def _never_both(
    table: Declaration,
    cell_name: str,
    everything: Answers,
    one: Row | Ignore,
    other: Row | Ignore,
    excluded: Sequence[Answers],
) -> None:
    both = _intersection(_answers_of(one), _answers_of(other))
    witness = uncovered(everything | both, excluded) if both is not None else None
    if witness is not None:
        raise _broken(
            "no-overlap",
            table,
            f"{one.id} and {other.id} both fire when {_show(witness)}",
            cell_name,
            "narrow the guard of one of them until the other's case is excluded",
        )


Answers = dict[str, tuple[Answer, ...]]
"""A set of cases: for each question the answers it may have. A question that a guard does not name may have any."""


def uncovered(cases: Answers, covers: Sequence[Answers]) -> Answers | None:
    """Cases among ``cases`` (which names every question) that none of ``covers`` contains, or None.

    Splits the cases along one cover's border at a time. Enumerating the whole product was tried: for the widest cell
    it cost a tenth of a second at import.
    """
    touching = [cover for cover in covers if all(set(cases[name]) & set(allowed) for name, allowed in cover.items())]
    if not touching:
        return cases
    name = next((name for name, allowed in touching[0].items() if set(cases[name]) - set(allowed)), None)
    if name is None:
        return None
    allowed = touching[0][name]
    inside = tuple(answer for answer in cases[name] if answer in allowed)
    outside = tuple(answer for answer in cases[name] if answer not in allowed)
    found = uncovered(cases | {name: outside}, touching)
    return found if found is not None else uncovered(cases | {name: inside}, touching)


def _answers_of(stated: Row | Ignore) -> Answers:
    return {condition.question.name: condition.allowed for condition in stated.when}


def _intersection(one: Answers, other: Answers) -> Answers | None:
    both = one | other
    for name in one.keys() & other.keys():
        both[name] = tuple(answer for answer in one[name] if answer in other[name])
        if not both[name]:
            return None
    return both


def _show(cases: Answers) -> str:
    parts = [f"{name} is {' or '.join(show_answer(answer) for answer in answers)}" for name, answers in cases.items()]
    return ", ".join(parts) or "the event arrives"


def _states_are_reachable(table: Declaration) -> None:
    reached = _closure({table.initial}, _edges(table))
    for state in table.states:
        if state not in reached:
            raise _broken(
                "states-are-reachable",
                table,
                f"no path of rows leads from {table.initial} to {state}",
                f"state {state}",
                "add the row that leads there, or remove the state",
            )


def _no_state_is_a_trap(table: Declaration) -> None:
    backwards: dict[StrEnum, set[StrEnum]] = {}
    for source, targets in _edges(table).items():
        for target in targets:
            backwards.setdefault(target, set()).add(source)
    ending = _closure(set(table.final), backwards)
    for state in table.states:
        if state not in ending:
            raise _broken(
                "no-state-is-a-trap",
                table,
                f"no path of rows leads from {state} to a final state",
                f"state {state}",
                f"add a row from {state} towards one of: {', '.join(table.final)}",
            )


def _edges(table: Declaration) -> dict[StrEnum, set[StrEnum]]:
    edges: dict[StrEnum, set[StrEnum]] = {}
    for row in table.rows:
        for state in row.sources:
            edges.setdefault(state, set()).add(row.target(state))
    return edges


def _closure(start: set[StrEnum], edges: Mapping[StrEnum, set[StrEnum]]) -> set[StrEnum]:
    reached, frontier = set(start), list(start)
    while frontier:
        for state in edges.get(frontier.pop(), set()) - reached:
            reached.add(state)
            frontier.append(state)
    return reached
