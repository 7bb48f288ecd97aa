"""Changes that somebody could make to a table by mistake: each is refused when it is imported, with rule, row and cure.

What an effect gives is declared by its return annotation. It is compared with the row's end when the table is built, and with
what the effect gives when the row is taken.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from statewright_states.call.commands import CallOutcome
from statewright_states.call.table import CALL, report_stopped, report_timeout
from statewright_states.errors import DeclarationError, InternalError
from statewright_states.form.checks import check_links
from statewright_states.form.question import yes_no
from statewright_states.form.row import Command, Effect, Event, Given, Row, effect, gives
from statewright_states.form.table import Table, Taken
from statewright_states.plan_build.facts import ChildEnd, Ending
from statewright_states.plan_build.table import PLAN_BUILD, finish_as_it_ended
from statewright_states.requirements import TABLES, stated_in
from statewright_states.run.commands import CallModel, FinishRun
from statewright_states.run.effects import call_model, cancel_tools, finish
from statewright_states.run.events import Spending
from statewright_states.run.facts import RunFacts
from statewright_states.run.questions import spent_budget
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL, report_outcome_unknown, report_settled
from statewright_states.words.vocabulary import REASONS, Status, StopReason, StopRequested
from surgery import Stated, operated
from tiny import BURN, HOLD, PULL, PUSH, Creak, Door, DoorFacts, Lit, Pulled, Pushed, creak, door

ROOT = Path(__file__).resolve().parents[2]
STATED: Mapping[str, Stated] = {stated.id: stated for table in TABLES for stated in stated_in(table)}
R = StopReason


def with_effects(table: Table[Any], row: str, *effects: Effect) -> Callable[[], object]:
    whole: Any = STATED[row]
    return lambda: operated(table, {row: replace(whole, do=effects)})


def refusal(build: Callable[[], object]) -> DeclarationError:
    with pytest.raises(DeclarationError) as refused:
        build()
    return refused.value


# -- ends ------------------------------------------------------------------------------------------------------------

ONE_REASON = "have exactly one of its effects give one FinishRun, reason completed, or lead it elsewhere"
ENDS: Sequence[tuple[str, Callable[[], object], str, str]] = [
    (
        "a success at the step limit",
        with_effects(RUN, "RUN-08", finish(R.MAX_STEPS)),
        "RUN-08 leads to success and gives one FinishRun, reason max_steps",
        ONE_REASON,
    ),
    (
        "a partial end that is complete",
        with_effects(RUN, "RUN-26", finish(R.COMPLETED)),
        "RUN-26 leads to partial and gives one FinishRun, reason completed",
        "have exactly one of its effects give one FinishRun, reason max_steps or step_timeout",
    ),
    (
        "an end without a reason",
        with_effects(RUN, "RUN-08"),
        "RUN-08 leads to success and gives nothing that tells of it",
        ONE_REASON,
    ),
    (
        "an end with two reasons",
        with_effects(RUN, "RUN-08", finish(R.COMPLETED), finish(R.COMPLETED)),
        "RUN-08 leads to success and gives one FinishRun, reason completed, then one FinishRun, reason completed",
        ONE_REASON,
    ),
    (
        "a run that is finished and goes on",
        with_effects(RUN, "RUN-40", call_model, finish(R.COMPLETED)),
        "RUN-40 leads to generating, which is no end, and gives one FinishRun, reason completed",
        "lead it to the end that it tells of, or take that effect out of it",
    ),
    (
        "a tool call that returns and tells nobody",
        with_effects(TOOL, "TOOL-20"),
        "TOOL-20 leads to returned and gives nothing that tells of it",
        "have exactly one of its effects give one ReportSettled, or lead it elsewhere",
    ),
    (
        "a tool call that settles twice",
        with_effects(TOOL, "TOOL-20", report_settled, report_settled),
        "TOOL-20 leads to returned and gives one ReportSettled, then one ReportSettled",
        "have exactly one of its effects give one ReportSettled",
    ),
    (
        "a result that is reported as lost",
        with_effects(TOOL, "TOOL-20", report_outcome_unknown),
        "TOOL-20 leads to returned and gives one ReportOutcomeUnknown",
        "have exactly one of its effects give one ReportSettled",
    ),
    (
        "a skipped call that reports to the run that skipped it",
        with_effects(TOOL, "TOOL-23", report_settled),
        "TOOL-23 leads to skipped, which needs no telling after ToolSkipped: its sender ended it, and gives one ReportSettled",
        "take that effect out of it",
    ),
    (
        "a reply that is told to nobody",
        with_effects(CALL, "CALL-03"),
        "CALL-03 leads to replied and gives nothing that tells of it",
        "have exactly one of its effects give one ReportCall, outcome replied",
    ),
    (
        "a timeout that is told as a stop",
        with_effects(CALL, "CALL-14", report_stopped),
        "CALL-14 leads to timed_out and gives one ReportCall, outcome stopped",
        "have exactly one of its effects give one ReportCall, outcome timed_out",
    ),
    (
        "a cancelled call that reports",
        with_effects(CALL, "CALL-15", report_timeout),
        "CALL-15 leads to cancelled, which needs no telling after CancelRequested",
        "take that effect out of it",
    ),
    (
        "a failed build that ends the task as a partial one does",
        with_effects(PLAN_BUILD, "PLAN-10", finish_as_it_ended(Ending.PARTIAL)),
        "PLAN-10 leads to failed and gives one FinishRun, reason max_steps or",
        "have exactly one of its effects give one FinishRun, reason context_full or llm_error or internal_error",
    ),
]


@pytest.mark.parametrize(("build", "what", "cure"), [each[1:] for each in ENDS], ids=[name for name, *_ in ENDS])
def test_an_end_is_told_exactly_once_and_for_a_reason_that_it_may_have(
    build: Callable[[], object], what: str, cure: str
) -> None:
    error = refusal(build)
    assert error.rule == "ends-are-told-once"
    assert what in error.what
    table, row = what.split("-", maxsplit=1)[0].lower().replace("plan", "plan_build"), what.split(" ", maxsplit=1)[0]
    assert error.where == f"table {table}, row {row}"
    assert cure in error.cure


@pytest.mark.parametrize("row", ["RUN-02", "RUN-40"])
def test_a_row_between_live_states_may_give_nothing_and_a_run_that_hangs_on_it_ends_by_another_rule(row: str) -> None:
    assert with_effects(RUN, row)(), "what becomes of such a run: test_loop_stall.py"


# -- ends of any table -----------------------------------------------------------------------------------------------


class Ash(Command):
    pass


class Smoke(Command):
    pass


@effect
def turn_to_ash(facts: DoorFacts, event: Lit) -> Ash:
    return Ash()


@effect
def perhaps_ash(facts: DoorFacts, event: Lit) -> Ash | None:
    return None


@effect
def ash_or_smoke(facts: DoorFacts, event: Event) -> Ash | Smoke:
    return Smoke()


@effect
def all_ash(facts: DoorFacts, event: Lit) -> tuple[Ash, ...]:
    return (Ash(),)


TOLD: Mapping[Any, Given] = {Door.BURNT: gives(Ash)}


def burning(*effects: Effect, final: Any = TOLD, **options: Any) -> Table[DoorFacts]:
    return door((PUSH, HOLD, PULL, replace(BURN, do=effects)), final=final, **options)


def test_a_table_of_anybodys_says_what_tells_of_its_ends_and_is_held_to_it() -> None:
    assert burning(turn_to_ash)
    for wrong in ((), (perhaps_ash,), (all_ash,), (ash_or_smoke,), (turn_to_ash, turn_to_ash)):
        assert refusal(lambda given=wrong: burning(*given)).rule == "ends-are-told-once"  # type: ignore[misc]
    assert burning(unreported=(Lit,))
    assert refusal(lambda: burning(turn_to_ash, unreported=(Lit,))).rule == "ends-are-told-once"
    assert burning(final=(Door.BURNT,)), "where nobody is told of an end, nothing has to tell of it"


# -- functions for another event or another machine ------------------------------------------------------------------


@yes_no
def hard(facts: DoorFacts, event: Pushed) -> bool:
    """Is it pushed hard?"""
    return True


@yes_no
def moved(facts: DoorFacts, event: Pushed | Pulled) -> bool:
    """Is it moved?"""
    return True


@yes_no
def elsewhere(facts: RunFacts, event: Event) -> bool:
    """Is it a run?"""
    return True


class Slammed(Pushed):
    """A kind of push."""


def guarded(row: Row, condition: Any) -> Callable[[], object]:
    other = replace(row, id="DOOR-05", when=(*row.when, condition.question.no))
    rows = tuple(replace(row, when=(*row.when, condition)) if one is row else one for one in (PUSH, HOLD, PULL, BURN))
    return lambda: door((*rows, other))


FUNCTIONS = [
    (guarded(PULL, hard.yes), "row DOOR-03", "the question 'hard' is written for Pushed, and the event is Pulled"),
    (guarded(BURN, moved.yes), "row DOOR-04", "the question 'moved' is written for Pushed or Pulled, and the event is Lit"),
    (
        guarded(PULL, elsewhere.yes),
        "row DOOR-03",
        "the question 'elsewhere' is written for RunFacts, and the facts are DoorFacts",
    ),
    (
        lambda: door((PUSH, HOLD, replace(PULL, do=(turn_to_ash,)), BURN)),
        "row DOOR-03",
        "the effect 'turn_to_ash' is written for Lit, and the event is Pulled",
    ),
    (
        lambda: door((PUSH, HOLD, replace(PULL, do=(cancel_tools,)), BURN)),
        "row DOOR-03",
        "the effect 'cancel_tools' is written for RunFacts, and the facts are DoorFacts",
    ),
    (
        with_effects(RUN, "RUN-02", STATED["RUN-12"].do[0]),  # type: ignore[union-attr]
        "row RUN-02",
        "the effect 'launch_together' is written for ReplyReceived or ToolSettled, and the event is LaneGranted",
    ),
]


@pytest.mark.parametrize(("build", "where", "what"), FUNCTIONS, ids=[what for *_, what in FUNCTIONS])
def test_a_function_that_is_written_for_something_else_is_refused(build: Callable[[], object], where: str, what: str) -> None:
    error = refusal(build)
    assert error.rule == "functions-fit-their-row"
    assert error.what.endswith(what)
    assert error.where.endswith(where)
    assert "widen the annotation" in error.cure


def test_a_function_fits_an_event_of_the_kind_that_it_is_written_for() -> None:
    assert guarded(PUSH, hard.yes)()
    assert guarded(PULL, moved.yes)()
    kind_of_push: Row = replace(PULL, event=Slammed, when=(hard.yes,))
    assert door((PUSH, HOLD, kind_of_push, replace(kind_of_push, id="DOOR-05", when=(hard.no,)), BURN))


def test_annotations_that_nobody_knows_are_refused() -> None:
    class Local(Event):
        pass

    with pytest.raises(DeclarationError, match="annotations-are-known: the annotations of 'local' cannot be read") as refused:

        @yes_no
        def local(facts: object, event: Local) -> bool:
            """Is it known here?"""
            return True

    assert "at its top level" in refused.value.cure


TYPED = """
from statewright_states.form.row import Row
from statewright_states.form.table import Table
from statewright_states.plan_build.table import begun
from statewright_states.run.effects import launch_together, summarise
from statewright_states.run.events import LaneGranted, ReplyReceived, SummaryReady
from statewright_states.run.facts import RunFacts, RunState
from statewright_states.run.questions import drops, kind, steps_left
from statewright_states.tool.table import start

S = RunState
TABLE: Table[RunFacts] = Table(
    "run", S, facts=RunFacts, initial=S.QUEUED, final=(S.FAILED,), fold=lambda facts, event, commands: facts,
    rows=(
        Row("R-1", S.QUEUED, ReplyReceived, S.FAILED, when=(steps_left.yes,), do=(launch_together, summarise)),
        Row("R-2", S.QUEUED, LaneGranted, S.FAILED, do=(launch_together,)),
        Row("R-3", S.QUEUED, LaneGranted, S.FAILED, when=(steps_left.yes, drops.no)),
        Row("R-4", S.QUEUED, LaneGranted, S.FAILED, do=(start,)),
        Row("R-5", S.QUEUED, LaneGranted, S.FAILED, when=(begun.yes,)),
    ),
)
"""


@pytest.mark.parametrize(
    "checker",
    [
        ("mypy", "--strict", "--no-error-summary", "--cache-dir"),
        ("pyright", "--pythonpath", sys.executable),
    ],
    ids=lambda checker: checker[0],
)
def test_type_checkers_see_a_function_that_is_written_for_something_else(checker: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "wrong_rows.py"
    file.write_text(TYPED.lstrip(), encoding="utf-8")
    cache = [str(ROOT / ".mypy_cache")] if checker[-1] == "--cache-dir" else []
    command = [str(Path(sys.executable).with_name(checker[0])), *checker[1:], *cache, str(file)]
    quiet = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    told = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=300, check=False)
    lines = TYPED.lstrip().splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if "Row(" in line and '"R-1"' not in line}
    seen = {number for number in range(1, len(lines) + 1) if f"wrong_rows.py:{number}:" in told.stdout}
    if checker[0] == "pyright":  # for other facts it names the row or the whole tuple of rows
        assert {line for line in wrong if "do=(launch_together,)" in lines[line - 1] or "drops" in lines[line - 1]} <= seen
        assert seen - wrong <= {lines.index("    rows=(") + 1}
        assert told.returncode == 1
    else:
        assert seen == wrong, told.stdout


# -- what effects say ------------------------------------------------------------------------------------------------


def test_an_effect_says_what_it_gives_by_its_return_annotation() -> None:
    assert call_model.gives == (Given((CallModel,)),)
    assert perhaps_ash.gives == (Given((Ash,), least=0),)
    assert all_ash.gives == (Given((Ash,), least=0, most=None),)
    assert ash_or_smoke.gives == (Given((Ash, Smoke)),)
    assert finish(R.MAX_STEPS).gives == (gives(FinishRun, reason=R.MAX_STEPS),)
    assert finish(R.MAX_STEPS) is finish(R.MAX_STEPS)
    assert [str(part) for part in all_ash.gives] == ["any number of Ash"]
    assert [str(part) for part in perhaps_ash.gives] == ["at most one Ash"]


def test_an_effect_that_does_not_say_what_it_gives_is_refused() -> None:
    def nothing_said(facts: DoorFacts, event: Event):  # type: ignore[no-untyped-def]
        return ()

    def any_command(facts: DoorFacts, event: Event) -> Command:
        return Ash()

    def no_command(facts: DoorFacts, event: Event) -> tuple[int, ...]:
        return ()

    for function in (nothing_said, any_command, no_command):
        error = refusal(lambda given=function: effect(given))  # type: ignore[misc]
        assert error.rule == "effects-say-what-they-give"
        assert error.where == f"effect {function.__name__}"
        assert "annotate what it returns" in error.cure


def test_an_effect_cannot_promise_a_field_that_its_commands_do_not_have() -> None:
    def burn(facts: DoorFacts, event: Event) -> Ash:
        return Ash()

    error = refusal(lambda: effect(colour=CallOutcome.FAILED)(burn))
    assert error.rule == "effects-say-what-they-give"
    assert "its commands have no field 'colour'" in error.what


def test_two_effects_of_one_name_that_give_different_commands_are_refused() -> None:
    another = replace(creak, gives=(Given((Ash,)),))
    error = refusal(lambda: door((replace(PUSH, do=(creak,)), HOLD, replace(PULL, do=(another,)), BURN)))
    assert error.rule == "effects-have-one-meaning"
    assert error.where == "table door, row DOOR-03"


def lying(name: str, given: Any, *parts: Given) -> Effect[Any, Any]:
    """An effect whose body is none of what it declares, as a type checker would tell."""
    return Effect(name, parts, lambda facts, event: given)


LIES = [
    (lying("silent", None, Given((Creak,))), "one Creak, and gave ()"),
    (lying("another", Ash(), Given((Creak,))), "one Creak, and gave (<"),
    (lying("twice", (Creak(1), Creak(2)), Given((Creak,))), "one Creak, and gave (Creak(pushes=1), Creak(pushes=2))"),
    (lying("too_many", (Creak(1), Creak(2)), Given((Creak,), 0)), "at most one Creak, and gave (Creak"),
    (lying("mixed", (Creak(1), Ash()), Given((Creak,), 0, None)), "any number of Creak, and gave (Creak"),
    (lying("half", (Creak(1),), Given((Creak,)), Given((Ash,))), "one Creak, then one Ash, and gave (Creak"),
    (lying("turned", (Ash(), Creak(1)), Given((Creak,)), Given((Ash,))), "one Creak, then one Ash, and gave (<"),
    (
        lying("unreasonable", FinishRun(R.COMPLETED), gives(FinishRun, reason=R.MAX_STEPS)),
        "one FinishRun, reason max_steps, and gave (FinishRun(reason=<StopReason.COMPLETED",
    ),
]


@pytest.mark.parametrize(("liar", "words"), LIES, ids=[liar.name for liar, _ in LIES])
def test_an_effect_that_gives_what_it_does_not_declare_is_refused_when_its_row_is_taken(
    liar: Effect[Any, Any], words: str
) -> None:
    table = door((PUSH, HOLD, replace(PULL, do=(liar,)), BURN))
    with pytest.raises(InternalError) as refused:
        table.decide(Door.SHUT, DoorFacts(), Pulled())
    assert refused.value.what.startswith(f"the effect {liar.name} declares to give {words}")
    assert refused.value.where == "table door, row DOOR-03 in shut"


def test_what_is_declared_is_let_through() -> None:
    both = lying("both", (Creak(1), Ash()), Given((Creak,)), Given((Ash,)))
    taken = door((PUSH, HOLD, replace(PULL, do=(both,)), BURN)).decide(Door.SHUT, DoorFacts(), Pulled())
    assert isinstance(taken, Taken)
    assert [type(command) for command in taken.commands] == [Creak, Ash]


# -- links -----------------------------------------------------------------------------------------------------------


def test_every_command_of_a_row_goes_one_way() -> None:
    rows = [("door", door().rows)]
    check_links(rows, [("door", Creak)])
    for links, what in (
        ([], "Creak is given by rows and has no links"),
        ([("door", Creak), ("door", Creak)], "Creak is given by rows and has 2 links"),
        ([("door", Creak), ("door", Ash)], "Ash is given by no row and has 1 links"),
        ([("window", Creak)], "Creak is given by rows and has no links"),
    ):
        error = refusal(lambda given=links: check_links(rows, given))  # type: ignore[misc]
        assert error.rule == "commands-have-one-link"
        assert what in error.what
        assert "declare one link" in error.cure


# -- reasons and costs -----------------------------------------------------------------------------------------------


def test_every_stop_reason_belongs_to_one_end() -> None:
    assert sorted(reason for reasons in REASONS.values() for reason in reasons) == sorted(StopReason)
    assert Status.RUNNING not in REASONS


def test_a_run_cannot_have_ended_for_a_reason_of_another_end() -> None:
    counts: Any = dict.fromkeys(("steps", "model_calls", "tool_calls", "input_tokens", "output_tokens", "cost_microusd"), 0)
    assert ChildEnd("t.plan", Ending.PARTIAL, R.MAX_STEPS, "", "", True, None, **counts)
    with pytest.raises(ValueError, match="no run ends as partial for the reason completed"):
        ChildEnd("t.plan", Ending.PARTIAL, R.COMPLETED, "", "", True, None, **counts)


def test_an_event_that_costs_says_so_by_its_type() -> None:
    fields = ("attempts", "tokens", "cost_microusd")
    for event in RUN.events:
        assert issubclass(event, Spending) == any(name in event.__dataclass_fields__ for name in fields), event
        assert not issubclass(event, Spending) or all(name in event.__dataclass_fields__ for name in fields), event


def test_a_field_of_the_same_name_costs_nothing() -> None:
    class Tries(Event):
        attempts = 5

    facts = RunFacts(settings=replace(RunFacts().settings, max_model_calls=3))
    assert spent_budget(facts, Tries()) is None
    assert spent_budget(facts, StopRequested()) is None
