"""Hunts mutants of the tables with the tests: for each the first test that fails, or none.

    echo '["RUN-12 dropped"]' | python tests/evidence/mutant_hunt.py          hunt these mutants, and tell what came of each

The tests are collected once, by pytest. Before any of them runs, a process is forked for each mutant; there the shared
table becomes the mutant, and the tests that take the changed row run, in a fixed order, until one fails. Which tests take
which row has been recorded before, by running all of them once on the tables as they are.

Whoever imports a table holds the same object, so changing it in place changes it for everybody in that process. Tests that
start processes of their own meet no mutant there, and kill none.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import zip_longest
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, settings

from statewright.machine import machine_for
from statewright_states.form.row import Event, Row
from statewright_states.form.table import Table, Taken
from statewright_states.requirements import TABLES, stated_in
from surgery import Mutation, MutationKind, mutant, mutations

ROOT = Path(__file__).resolve().parents[2]
LOOP = (
    "approvals",
    "compaction",
    "evaluation",
    "limits",
    "parallel",
    "repeats",
    "replies",
    "retries",
    "stop",
    "timers",
    "tools",
)
FILES = (
    "tests/engine/loop/test_loop_rows.py",
    "tests/engine/loop/test_plan_build_rows.py",
    "tests/states/test_run_decisions.py",
    "tests/states/test_walks.py",
    "tests/contract",
    *(f"tests/engine/loop/test_loop_{name}.py" for name in LOOP),
    "tests/engine/loop/test_plan_build_runner.py",
    "tests/states/test_composition.py",
    "tests/engine/loop/test_loop_sign_off.py",
    "tests/engine/loop/test_loop_context.py",
    "tests/engine/loop/test_loop_hooks.py",
    "tests/engine/loop/test_loop_crashes.py",
    "tests/engine/loop/test_plan_build_crashes.py",
    "tests/engine/loop/test_loop_properties.py",
)
"""Where killers are looked for, in this order: what is quick and says most comes first."""

NOT_COUNTED = (
    "test_a_path_from_the_start_leads_to_every_row",
    "test_every_row_of_every_table_has_been_reached",
    "test_every_row_has_a_scenario_or_a_reason_why_no_run_can_take_it",
    "test_every_row_of_the_table_is_taken_by_a_scenario_or_cannot_be",
    "test_a_process_that_is_killed_in_both_phases_leaves_a_task_that_ends",
)
"""Tests that compare lists of ids: a row that is gone trips them, whatever it did. The last has processes of its own."""

CPU_LIMIT_S = 6
REAL_LIMIT_S = 120
MEMORY_LIMIT_BYTES = 4 << 30
WIDTH = 2
"""How many processes hunt at once."""


@dataclass(frozen=True, slots=True)
class Hunted:
    """What came of one mutant: the test that killed it, if any did, and how; and how many tests ran."""

    mutant: str
    test: str | None
    ended: bool = True
    """False when the test did not fail, but went on for ever (or until the memory was used up)."""
    tests: int = 0


# -- processes -------------------------------------------------------------------------------------------------------

Tell = Callable[[Any], None]


@dataclass
class Child:
    """A forked process and what it has told so far."""

    process: ForkProcess
    inbox: Connection
    told: list[Any] = field(default_factory=list[Any])


def in_children(works: Sequence[Callable[[Tell], None]]) -> Iterator[tuple[int, list[Any], bool]]:
    """Do each work in a process of its own, a few at a time: its number, what it told, and whether it came to its end.

    It did not when a signal ended the process. Raises RuntimeError when the work raised.
    """
    waiting = list(enumerate(works))[::-1]
    running: dict[Connection, tuple[int, Child]] = {}
    while waiting or running:
        while waiting and len(running) < WIDTH:
            number, work = waiting.pop()
            child = _forked(work)
            running[child.inbox] = (number, child)
        for inbox in wait(list(running)):
            assert isinstance(inbox, Connection)
            number, child = running[inbox]
            try:
                child.told.append(inbox.recv())
            except EOFError:
                child.process.join()
                del running[inbox]
                code = child.process.exitcode or 0
                if code > 0:
                    raise RuntimeError(f"work {number} raised in its process, after it had told {child.told[-1:]}") from None
                yield number, child.told, code == 0


def _forked(work: Callable[[Tell], None]) -> Child:
    context = get_context("fork")
    inbox, outbox = context.Pipe(duplex=False)

    def alone() -> None:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        with TemporaryDirectory() as folder:
            os.environ["PYTEST_DEBUG_TEMPROOT"] = folder
            work(outbox.send)

    process = context.Process(target=alone)
    process.start()
    outbox.close()
    return Child(process, inbox)


# -- which tests take which rows -------------------------------------------------------------------------------------


def watch(table: Table[Any], seen: set[str]) -> None:
    """From now on the table tells which cells are asked for, and which rows are taken in which state."""

    class Watched(Table[Any]):
        def cell(self, state: Any, event: Event) -> Any:
            seen.add(f"{type(event).__name__} in {state}")
            return super().cell(state, event)

        def take(self, row: Row, state: Any, facts: Any, event: Event, answers: Any) -> Taken[Any]:
            seen.add(f"{row.id} in {state}")
            return super().take(row, state, facts, event, answers)

    table.__class__ = Watched


def places(mutation: Mutation) -> set[str]:
    """Where a mutant differs from the table: in the cells of an ignore or a guard, else where its row is taken."""
    table = next(table for table in TABLES if table.name == mutation.table)
    stated = next(stated for stated in stated_in(table) if stated.id == mutation.row)
    states = set(stated.sources)
    if mutation.instead is not None and set(mutation.instead.sources) != states:
        states -= set(mutation.instead.sources)
    by_cell = not isinstance(stated, Row) or mutation.kind is MutationKind.ANSWER_FLIPPED
    return {f"{stated.event.__name__ if by_cell else stated.id} in {state}" for state in states}


# -- the hunt --------------------------------------------------------------------------------------------------------


class Hunt:
    """The plugin: what pytest does with the collected tests instead of running them."""

    def __init__(self, jobs: Sequence[Mutation], tell: Callable[[Hunted], None]) -> None:
        self.jobs = jobs
        self.tell = tell
        self._failed = False

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """A failure is enough: no examples are kept for the next run, and none is made smaller."""
        settings.register_profile("hunt", deadline=None, database=None, phases=(Phase.explicit, Phase.generate))
        settings.load_profile("hunt")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.name.partition("[")[0] not in NOT_COUNTED]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        """That it failed is enough: how it looks would take longer than the test."""
        self._failed |= call.excinfo is not None
        assert call.when != "collect"
        return pytest.TestReport(item.nodeid, item.location, {}, "failed" if call.excinfo else "passed", None, call.when)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.collect()
        gc.freeze()  # what is shared with the processes to come stays shared
        taken = self._record(session.items)
        works = [self._work(mutation, [item for item, seen in taken if seen & places(mutation)]) for mutation in self.jobs]
        for number, told, ended in in_children(works):
            tests = [test for test in told if isinstance(test, str)]
            killed = not ended or told[-1] is False
            self.tell(Hunted(self.jobs[number].name, tests[-1] if killed else None, ended, len(tests)))
        return True

    def _record(self, items: Sequence[pytest.Item]) -> list[tuple[pytest.Item, set[str]]]:
        """The tests that pass, and what each takes."""
        parts = [items[part::WIDTH] for part in range(WIDTH)]
        works = [lambda tell, part=part: self._watch_all(part, tell) for part in parts]
        seen: dict[str, set[str]] = {}
        for number, told, ended in in_children(works):
            assert ended, f"a test ended the process in which it was watched: one of part {number}"
            seen |= dict(told)
        return [(item, seen[item.nodeid]) for item in items if item.nodeid in seen]

    def _watch_all(self, items: Sequence[pytest.Item], tell: Tell) -> None:
        seen = set[str]()
        for table in TABLES:
            watch(table, seen)
        for item, following in zip_longest(items, items[1:]):
            seen.clear()
            if self._passes(item, following):
                tell((item.nodeid, set(seen)))

    def _work(self, mutation: Mutation, items: Sequence[pytest.Item]) -> Callable[[Tell], None]:
        def work(tell: Tell) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
            become(mutation)
            for item, following in zip_longest(items, items[1:]):
                tell(item.nodeid)
                _limit()
                if not self._passes(item, following):
                    tell(False)
                    return
            tell(True)

        return work

    def _passes(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        self._failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return not self._failed


def become(mutation: Mutation) -> None:
    """The shared table is the mutant from now on, for everybody in this process."""
    table = next(table for table in TABLES if table.name == mutation.table)
    vars(table).update(vars(mutant(table, mutation)))
    machine_for.cache_clear()


def _limit() -> None:
    """The kernel ends this process when the next test takes too long: no handler, so nothing can catch it."""
    for timer, number, seconds in (
        (signal.ITIMER_PROF, signal.SIGPROF, CPU_LIMIT_S),
        (signal.ITIMER_REAL, signal.SIGALRM, REAL_LIMIT_S),
    ):
        signal.signal(number, signal.SIG_DFL)
        signal.setitimer(timer, seconds)


def hunt(names: Sequence[str], tell: Callable[[Hunted], None], files: Sequence[str] = FILES) -> None:
    """Hunt the mutants of these names in this process, which is not to have run any test before."""
    known: Mapping[str, Mutation] = {mutation.name: mutation for table in TABLES for mutation in mutations(table)}
    os.chdir(ROOT)
    options = (
        "-p",
        "no:terminal",
        "-p",
        "no:cacheprovider",
        "--hypothesis-seed=0",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    )
    code = pytest.main([*options, *files], plugins=[Hunt([known[name] for name in names], tell)])
    assert code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED), f"pytest ended with {code!r}"


def main() -> None:
    """Names as a JSON list on stdin, files to hunt with as arguments; on stdout a JSON list for each mutant: ``Hunted``."""
    hunt(json.load(sys.stdin), lambda hunted: print(json.dumps(astuple(hunted)), flush=True), sys.argv[1:] or FILES)


if __name__ == "__main__":
    main()
