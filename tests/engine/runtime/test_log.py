"""The log of runs: ids, rows, states and durations for whoever asks for them, and no word of what was said."""

from __future__ import annotations

import logging
import re
import subprocess
import sys

import pytest

from statewright import AgentLoop, LLMResponse, MemoryJournal, ToolCall, tool
from statewright.runtime.observers import Observers
from statewright.testing.virtual_time import run_virtual
from statewright_providers.scripted import ScriptedProvider
from statewright_states.errors import RequestRejected
from statewright_states.words.ports import Journal

SECRET = "hunter2"


@tool(effect="read")
def look(word: str) -> str:
    """Look a word up."""
    return f"result {word}"


@tool(effect="read")
def fail(word: str) -> str:
    """Fail with a word."""
    raise ValueError(f"error {word}")


async def carried_out(*replies: LLMResponse | Exception, journal: Journal | None = None) -> list[str]:
    """Run a task whose every text holds the secret; gives the rows that were taken, as observers saw them."""
    rows: list[str] = []
    loop = AgentLoop(
        ScriptedProvider(list(replies)), [look, fail], journal=journal, on_event=lambda _, told: rows.append(told["row"])
    )
    await loop.run(f"task {SECRET}", run_id="mine")
    await loop.aclose()
    return rows


def said(*calls: str) -> LLMResponse:
    asked = [ToolCall(f"id {SECRET} {name}", name, f'{{"word": "{SECRET}"}}') for name in calls]
    return LLMResponse(f"text {SECRET}", tool_calls=asked, finish_reason="tool_calls" if calls else "stop")


def test_every_decision_is_a_line_with_ids_rows_states_and_durations_and_nothing_that_was_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG, logger="statewright"):
        rows = run_virtual(carried_out(said("look", "fail"), said()))
    lines = [record.getMessage() for record in caplog.records if record.name == "statewright"]
    decided = [re.match(r"run mine decision (\d+) ([\w.-]+): (\w+), ([A-Z]+-\d+) (\w+) -> (\w+)", line) for line in lines[:-1]]
    assert [found[4] for found in decided if found] == rows
    assert [int(found[1]) for found in decided if found] == list(range(1, len(rows) + 1))
    assert re.fullmatch(r"run mine ended: success, completed, steps: 2, \d+\.\d{3} s", lines[-1])
    assert {record.levelno for record in caplog.records[:-1]} == {logging.DEBUG}
    ends = [line for line in lines if "-> returned" in line or "-> replied" in line or "-> failed" in line]
    assert len(ends) == 4
    assert all(re.search(r", \d+\.\d{3} s$", line) for line in ends)
    assert SECRET not in caplog.text


def test_a_failed_attempt_has_the_kind_of_its_error_and_a_failed_run_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="statewright"):
        run_virtual(carried_out(RequestRejected(f"no {SECRET}")))
    (attempt,) = [record.getMessage() for record in caplog.records if "AttemptFailed" in record.getMessage()]
    assert "RequestRejected" in attempt
    assert (caplog.records[-1].levelno, "ended: failed, llm_error" in caplog.records[-1].getMessage()) == (
        logging.WARNING,
        True,
    )
    assert SECRET not in caplog.text


def test_ends_alone_are_logged_where_no_more_is_asked_for_and_decisions_cost_nothing_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger="statewright"):
        assert not Observers().watching, "no view of a decision is built for a log that does not want it"
        run_virtual(carried_out(said(), journal=MemoryJournal()))
    assert [record.levelno for record in caplog.records if record.name == "statewright"] == [logging.INFO]
    with caplog.at_level(logging.DEBUG, logger="statewright"):
        assert Observers().watching


def test_a_program_that_sets_up_no_log_hears_nothing() -> None:
    program = """
from statewright import AgentLoop
from statewright_providers.scripted import ScriptedProvider
from statewright_states.errors import RequestRejected
print(AgentLoop(ScriptedProvider([RequestRejected("no")])).run_sync("x").status)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("failed\n", "")
