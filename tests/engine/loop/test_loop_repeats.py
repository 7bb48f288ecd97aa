"""The same calls again and again: run as often as allowed, then answered with the earlier result, then the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from flat_records import shapes_of
from loop_scenarios import RUN_ID, Outcome, Person, asks, call, cancel, play, playing, says
from loop_tools import Bench
from statewright import AgentConfig, BudgetConfig, ContextConfig, LLMResponse, MemoryJournal, OnLimit, PromptConfig, fork
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import ScriptedProvider

LOOK = asks(call("look"))


def allowing(number: int, **options: Any) -> AgentConfig:
    return AgentConfig(max_identical_calls=number, **options)


@pytest.mark.parametrize("allowed", [1, 2, 3, 5])
def test_the_same_calls_run_as_often_as_allowed_and_then_get_the_earlier_result_and_a_note(allowed: int) -> None:
    bench = Bench()
    outcome = play([LOOK] * (allowed + 1) + [says("done")], bench.tools, allowing(allowed))
    assert (outcome.status, outcome.state.final_output) == ("success", "done")
    assert outcome.outcomes == ["returned"] * allowed + ["repeated"]
    assert bench.count("look it") == allowed
    note, _, result = outcome.tool_texts[-1].partition("\n")
    assert str(allowed + 1) in note
    assert result == outcome.tool_texts[0] == "look it"


@pytest.mark.parametrize("allowed", [1, 3])
def test_the_same_calls_after_the_note_end_the_run_and_are_settled(allowed: int) -> None:
    bench = Bench()
    outcome = play([LOOK] * (allowed + 2), bench.tools, allowing(allowed))
    assert (outcome.status, outcome.reason) == ("partial", "repeating")
    assert outcome.outcomes == ["returned"] * allowed + ["repeated", "skipped"]
    assert bench.count("look it") == allowed


def test_something_else_after_the_note_breaks_the_circle() -> None:
    bench = Bench()
    script = [LOOK, LOOK, asks(call("look", at="else")), LOOK, says("done")]
    outcome = play(script, bench.tools, allowing(1))
    assert outcome.outcomes == ["returned", "repeated", "returned", "returned"]
    assert outcome.status == "success"


def test_none_of_this_happens_where_it_is_switched_off() -> None:
    config = allowing(0, max_steps=9, context=ContextConfig(summarize_after_steps=0))
    outcome = play([LOOK] * 9, Bench().tools, config)
    assert outcome.outcomes == ["returned"] * 9
    assert outcome.reason == "max_steps"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"at": "a", "seconds": 0}', '{"seconds":0,"at":"\\u0061"}', True),
        ("", "{}", True),
        ('{"at": "a"}', '{"at": "b"}', False),
        ('{"at": "a"}', '{"at": "a", "seconds": 0}', False),
    ],
)
def test_arguments_are_compared_as_json(one: str, other: str, *, same: bool) -> None:
    script = [asks(call("look", one)), asks(call("look", other)), says("done")]
    outcome = play(script, Bench().tools, allowing(1))
    assert outcome.outcomes == ["returned", "repeated" if same else "returned"]


def test_the_order_of_the_calls_makes_no_difference_and_each_gets_its_own_result() -> None:
    here, there = call("look", at="here"), call("look", at="there")
    outcome = play([asks(here, there), asks(there, here), says("done")], Bench().tools, allowing(1))
    assert outcome.outcomes == ["returned", "returned", "repeated", "repeated"]
    assert [text.splitlines()[-1] for text in outcome.tool_texts] == ["look here", "look there", "look there", "look here"]


def test_one_call_more_is_another_set_of_calls() -> None:
    here, there = call("look", at="here"), call("look", at="there")
    outcome = play([asks(here), asks(here, there), asks(here), says("done")], Bench().tools, allowing(1))
    assert outcome.outcomes == ["returned"] * 4


def test_a_call_that_failed_is_answered_with_its_failure() -> None:
    outcome = play([asks(call("nobody"))] * 2 + [says("done")], Bench().tools, allowing(1))
    assert outcome.outcomes == ["failed", "repeated"]
    assert outcome.tool_texts[1].endswith(outcome.tool_texts[0])


def test_nobody_is_asked_about_a_call_that_will_not_run() -> None:
    person = Person()
    outcome = play([asks(call("pay"))] * 2 + [says("done")], Bench().tools, allowing(1), approver=person)
    assert outcome.outcomes == ["returned", "repeated"]
    assert len(person.asked) == 1


def test_calls_that_were_cut_off_neither_count_nor_give_a_result() -> None:
    cut = asks(call("look"), finish="length")
    outcome = play([LOOK, cut, LOOK, says("done")], Bench().tools, allowing(1))
    assert outcome.outcomes == ["returned", "skipped", "repeated"]
    assert outcome.tool_texts[-1].endswith("look it")
    assert play([cut, LOOK, says("done")], Bench().tools, allowing(1)).outcomes == ["skipped", "returned"]


def test_the_bound_of_a_result_holds_with_the_note() -> None:
    config = allowing(1, max_tool_result_chars=400)
    outcome = play([asks(call("count", n=5000))] * 2 + [says("done")], Bench().tools, config)
    assert [len(text) <= 400 for text in outcome.tool_texts] == [True, True]
    assert outcome.tool_texts[1].startswith("[You have made")


def test_the_note_can_be_put_in_other_words_and_takes_the_result_as_it_is() -> None:
    config = allowing(1, prompts=PromptConfig(repeated="Schon {count} Mal:"))
    outcome = play([asks(call("look", at="{count}"))] * 2 + [says("done")], Bench().tools, config)
    assert outcome.tool_texts[1] == "Schon 2 Mal:\nlook {count}"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_steps": 2}, "max_steps"),
        ({"max_steps": 2, "on_limit": OnLimit.CLOSE}, "max_steps"),
        ({"budget": BudgetConfig(max_model_calls=2)}, "budget_exceeded"),
    ],
)
def test_the_limits_hold_after_a_note_as_after_any_call(options: dict[str, Any], reason: str) -> None:
    outcome = play([LOOK, LOOK, says("last words")], Bench().tools, allowing(1, **options))
    assert (outcome.status, outcome.reason) == ("partial", reason)
    assert outcome.outcomes == ["returned", "repeated"]


def test_a_repeated_call_is_no_call_for_the_budget_of_tool_calls() -> None:
    outcome = play([LOOK, LOOK, says("done")], Bench().tools, allowing(1, budget=BudgetConfig(max_tool_calls=1)))
    assert (outcome.status, outcome.outcomes) == ("success", ["returned", "repeated"])


def test_a_summary_may_follow_and_the_earlier_result_outlives_it() -> None:
    context = ContextConfig(summarize_after_steps=1, keep_recent_steps=1)
    script = [LOOK, LOOK, says("a summary"), LOOK, says("another"), says("done")]
    outcome = play(script, Bench().tools, allowing(2, context=context))
    assert outcome.outcomes == ["returned", "returned", "repeated"]
    assert outcome.tool_texts[-1].endswith("look it")


def test_the_journal_names_the_call_whose_result_stands_for_it() -> None:
    outcome = play([asks(call("look"), call("save"))] * 2 + [says("done")], Bench().tools, allowing(1))
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    repeated = [shape for shape in shapes if shape.get("event") == "ToolRepeated"]
    assert [(shape["instance"], shape["data"]["earlier"]) for shape in repeated] == [
        ("tool-2.1", "tool-1.1"),
        ("tool-2.2", "tool-1.2"),
    ]
    reply = [shape for shape in shapes if shape.get("event") == "ReplyReceived"][1]
    assert (reply["row"], reply["answers"]["repeating"]) == ("RUN-111", "again")


def test_a_run_may_be_cancelled_after_a_note() -> None:
    slow = asks(call("look", seconds=9))
    outcome = play([LOOK, LOOK, slow], Bench().tools, allowing(1), at=[(5, cancel)])
    assert (outcome.reason, outcome.outcomes) == ("cancelled", ["returned", "repeated", "cancelled"])


def test_a_run_that_is_forked_at_any_entry_goes_on_to_the_same_end() -> None:
    both = asks(call("look"), call("save"))

    async def story() -> list[tuple[list[str], list[str]]]:
        journal = MemoryJournal(clock=VirtualClock())
        first = await playing([both, both, says("done")], Bench().tools, allowing(1), journal=journal)
        length = len(await journal.entries(RUN_ID))
        ends = [_told(first)]
        for seq in range(1, length - 1):
            await fork(journal, RUN_ID, seq, f"fork-{seq}")
            outcome = await playing(
                _script_from(await shapes_of(journal, f"fork-{seq}"), [both, both, says("done")]),
                Bench().tools, allowing(1), journal=journal, resume=True, run_id=f"fork-{seq}",
            )  # fmt: skip
            ends.append(_told(outcome))
            await asyncio.sleep(0)
        return ends

    ends = run_virtual(story())
    assert all(end == ends[0] for end in ends), ends


def _told(outcome: Outcome) -> tuple[list[str], list[str]]:
    return outcome.outcomes, outcome.tool_texts


def _script_from(shapes: list[dict[str, Any]], script: list[LLMResponse]) -> ScriptedProvider:
    """What is left of the script for a record that ends here."""
    replied = sum(shape.get("event") == "AttemptReplied" for shape in shapes)
    return ScriptedProvider(script[replied:])
