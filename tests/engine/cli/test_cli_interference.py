"""What the command line says of a run that somebody interfered with, and that it says nothing of any other."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from statewright import AgentLoop, EditedReply, LLMResponse, SQLiteJournal
from statewright.cli import main
from statewright.events import AttemptReplied
from statewright_providers.scripted import ScriptedProvider


async def record(path: Path) -> None:
    async with AgentLoop(ScriptedProvider([LLMResponse("It is blue.")] * 2), journal=SQLiteJournal(path)) as loop:
        await loop.run("Which colour is it?", run_id="alone")
        async with loop.step("Which colour is it?", run_id="edited", by="grace") as stepper:
            held = await stepper.run_to(lambda held: isinstance(held.event, AttemptReplied))
            assert held is not None
            stepper.edit(held, EditedReply("It is green."))
            await stepper.go_on()


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with a run that went by itself, and one whose reply was edited."""
    path = tmp_path_factory.mktemp("interference") / "runs.db"
    asyncio.run(record(path))
    return path


def told(capfd: pytest.CaptureFixture[str], *words: str | Path) -> str:
    assert main([str(word) for word in words]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("command", ["verify", "show", "replay"])
def test_a_run_that_was_interfered_with_is_told_as_such(command: str, journal: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "interfered with 1 time" in " ".join(told(capfd, command, "edited", "--journal", journal).split())
    assert "interfered with" not in told(capfd, command, "alone", "--journal", journal)


def test_show_marks_the_event_itself(journal: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (line,) = [each for each in told(capfd, "show", "edited", "--journal", journal).splitlines() if "[edited: " in each]
    assert "AttemptReplied" in line or "call-1" in line
    assert "[edited: reply, by grace]" in line


def test_the_documents_for_machines_say_it_too(journal: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (verified,) = json.loads(told(capfd, "verify", "edited", "--json", "--journal", journal))
    assert (verified["ok"], verified["interference"]) == (True, 1)
    shown: dict[str, Any] = json.loads(told(capfd, "show", "edited", "--json", "--journal", journal))
    assert shown["run"]["interference"] == 1
    marks = [decision.get("interference") for entry in shown["entries"] for decision in entry.get("decisions", ())]
    assert [mark for mark in marks if mark] == [{"how": "edited", "what": "reply", "by": "grace"}]


def test_a_report_has_it_in_a_place_of_its_own(journal: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = told(capfd, "report", "edited", "--format", "md", "--journal", journal)
    assert "edited: reply, by grace" in text
    assert "edited: reply" not in told(capfd, "report", "alone", "--format", "md", "--journal", journal)
