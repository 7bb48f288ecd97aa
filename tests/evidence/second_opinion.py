"""A second opinion: interpreters that others wrote walk our tables, and must take the way that our machine takes.

    python tests/evidence/second_opinion.py          print what came of it; exit code 1 when there is a difference

Each table is exported as SCXML and as XState JSON. Random lives are lived by our machine (``random_lives``); the others are
told the name of each event and the answers to the questions of its cell, nothing else. They find the row themselves, and
must name the same row, give the same commands and come to the same state, or take none where our machine refuses.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from random import Random
from time import perf_counter
from typing import Protocol

from random_lives import TABLES, Made, Meaning, Step, Told, lives_of
from scxml_interpreter import ScxmlInterpreter
from statewright_evidence.drawing import scxml, xstate
from statewright_evidence.section import Outcome, Section
from statewright_states.requirements import stated_in
from xstate_interpreter import XState, XStateInterpreter, installed

SEED = 1
BATCH = 1_000
BATCHES: Mapping[str, int] = {"run": 4, "tool": 3, "call": 2, "plan_build": 1}
"""How many batches of lives each table gets: 10 000 lives in all."""
PROCESSES = 2
MAX_SHOWN = 5
"""How many differences are told in full."""


class Interpreter(Protocol):
    """Something that walks an exported table."""

    name: str

    def lives(self, lives: Sequence[Sequence[Told]]) -> Sequence[Sequence[Made]]: ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Lives that have something in common (see ``Lives``), and the XState that walks them too, if there is one."""

    table: str
    number: int
    lives: int
    xstate: XState | None


@dataclass(frozen=True, slots=True)
class Findings:
    """What came of some lives of one table. ``differences`` are told in full, each with the whole life."""

    table: str
    lives: int
    meanings: Counter[Meaning]
    covered: frozenset[str]
    differences: tuple[str, ...]

    @property
    def events(self) -> int:
        return self.meanings.total()


# -- one batch -------------------------------------------------------------------------------------------------------


def check(batch: Batch) -> Findings:
    """Live the lives of a batch, and compare."""
    table = TABLES[batch.table]
    lives = lives_of(table)
    lived = [lives.live(Random(f"{SEED} {batch.table} {batch.number} {number}")) for number in range(batch.lives)]
    others: list[Interpreter] = [ScxmlInterpreter(scxml(table))]
    if batch.xstate:
        others.append(XStateInterpreter(xstate(table), batch.xstate))
    steps = [step for life in lived for step in life]
    return Findings(
        batch.table,
        len(lived),
        Counter(step.meaning for step in steps),
        frozenset(step.row for step in steps if step.row),
        tuple(difference for other in others for difference in compare(batch.table, lived, other)),
    )


def compare(table: str, lived: Sequence[Sequence[Step]], other: Interpreter) -> Iterable[str]:
    """Each life in which the other interpreter makes something else of an event, with all that happened up to there."""
    walked = other.lives([[step.told for step in life] for life in lived])
    for number, (life, made) in enumerate(zip(lived, walked, strict=True)):
        at = next((at for at, (step, theirs) in enumerate(zip(life, made, strict=True)) if step.made != theirs), None)
        if at is not None:
            told = [
                f"{table}, life {number}: {other.name} differs at the last of these events.",
                "",
                *(f"{n}. {_told(step)}: {_made(step.made)}" for n, step in enumerate(life[: at + 1], 1)),
                "",
                f"{other.name}: {_made(made[at])}",
            ]
            yield "\n".join(told)


def _told(step: Step) -> str:
    answers = ", ".join(f"{name} = {json.dumps(answer)}" for name, answer in step.told.answers.items())
    return f"{step.told.event} ({answers})" if answers else step.told.event


def _made(made: Made) -> str:
    commands = f", {', '.join(made.commands)}" if made.commands else ""
    return f"{made.row or 'no row'}{commands} → {made.state}"


# -- all of them -----------------------------------------------------------------------------------------------------


def section() -> Section:
    """Check all batches, in two processes."""
    began = perf_counter()
    found = installed()
    xstate_here = found if isinstance(found, XState) else None
    batches = [Batch(table, number, BATCH, xstate_here) for table, count in BATCHES.items() for number in range(count)]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        results = list(pool.map(check, batches))
    return report(results, found, perf_counter() - began)


def report(results: Sequence[Findings], found: XState | str, seconds: float) -> Section:
    """What came of it, for people and as JSON. ``found``: the XState that was asked too, or why none was."""
    tables = [joined([result for result in results if result.table == table]) for table in BATCHES]
    differences = [difference for table in tables for difference in table.differences]
    lives, events = sum(table.lives for table in tables), sum(table.events for table in tables)
    third = f"XState {found.version} too" if isinstance(found, XState) else f"XState was not asked: {found}"
    summary = (
        f"{_figure(lives)} random sequences with {_figure(events)} events, walked by our machine and by "
        f"python-statemachine {version('python-statemachine')} from the SCXML: {len(differences)} differences. {third}."
    )
    data = {
        "seed": SEED,
        "python-statemachine": version("python-statemachine"),
        "transitions": version("transitions"),
        "xstate": found.version if isinstance(found, XState) else None,
        "tables": {table.table: _data(table) for table in tables},
        "differences": differences,
    }
    return Section(
        name="interpreters",
        title="Other interpreters take the same way",
        outcome=Outcome.BROKEN if differences else Outcome.HOLDS,
        summary=summary,
        files={
            "interpreters.md": _document(tables, summary, differences),
            "interpreters.json": json.dumps(data, indent=2, ensure_ascii=False) + "\n",
        },
        seconds=seconds,
        results={"same path": not differences},
    )


def joined(results: Sequence[Findings]) -> Findings:
    """The findings about one table as one."""
    return Findings(
        results[0].table,
        sum(result.lives for result in results),
        sum((result.meanings for result in results), Counter()),
        frozenset().union(*(result.covered for result in results)),
        tuple(difference for result in results for difference in result.differences),
    )


def _data(table: Findings) -> dict[str, object]:
    declared = [stated.id for stated in stated_in(TABLES[table.table])]
    return {
        "sequences": table.lives,
        "events": table.events,
        **{meaning.value: table.meanings[meaning] for meaning in Meaning},
        "rows": len(declared),
        "covered": len(table.covered),
        "not covered": [row for row in declared if row not in table.covered],
    }


def _document(tables: Sequence[Findings], summary: str, differences: Sequence[str]) -> str:
    lines = [
        "# Other interpreters take the same way",
        "",
        summary,
        "",
        "| table | sequences | events | taken | ignored | ignored after the end | refused | rows and ignores covered |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for table in tables:
        declared = len(list(stated_in(TABLES[table.table])))
        figures = (table.lives, table.events, *(table.meanings[meaning] for meaning in Meaning))
        lines += [f"| {table.table} | {' | '.join(map(_figure, figures))} | {len(table.covered)} of {declared} |"]
    lines += [
        "",
        "Our machine is the table, run by the library transitions. The others read its export and nothing else:",
        "python-statemachine reads the SCXML (`statewright diagram run --format scxml`), XState its JSON.",
        "They are told the name of each",
        "event and the answers to the questions of its cell, never the row. Each must name the row that our machine takes, the",
        "commands that it gives and the state that it comes to; where our machine refuses, it must take none and stay.",
        "After its end a machine of theirs has stopped, so what is ignored there by declaration is nothing to it.",
        "",
        "Not compared: the answers themselves. They are given by our questions, from the facts that our fold keeps.",
        "",
        f"Random, with the seed {SEED}: the same each time. One event in six comes from elsewhere, so that it is late or not",
        "declared. Again: `python tests/evidence/second_opinion.py`.",
        "",
    ]
    if differences:
        lines += [f"## Differences: {len(differences)}", "", *(f"{text}\n" for text in differences[:MAX_SHOWN])]
    return "\n".join(lines)


def _figure(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def main() -> int:
    """Print the section."""
    made = section()
    print(next(iter(made.files.values())))
    print(f"{made.outcome}: {made.seconds:.0f} s")
    return 1 if made.outcome is Outcome.BROKEN else 0


if __name__ == "__main__":
    sys.exit(main())
