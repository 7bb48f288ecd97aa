"""Runs inside tools on the command line: their questions are shown with what to type, and the whole is resumed by either id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from command_line import Place, call, on_a_terminal

OTHERS = '''
from statewright import AgentLoop, ToolContext, connect, tool


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay."""
    with open("paid.txt", "a") as paid:
        paid.write(f"{amount}\\n")
    return "done"


@tool(effect="idempotent", timeout_s=0)
async def settle(context: ToolContext[None]) -> str:
    """Have somebody pay."""
    context.progress("asking the clerk")
    clerk = AgentLoop(connect("scripted:clerk.json"), [pay])
    return (await context.run(clerk, "pay the rent")).final_output or ""


@tool(effect="read")
def wants(context: ToolContext[dict[str, int]]) -> str:
    """Want something."""
    return str(context.deps)
'''
CHILD = "mine.tool-1.1.1"


@pytest.fixture
def office(place: Place) -> Place:
    (place.folder / "others.py").write_text(OTHERS)
    return place


def clerk_says(office: Place, *replies: Mapping[str, Any]) -> None:
    """What the clerk's model says from now on."""
    office.script(*replies)
    (office.folder / "script.json").replace(office.folder / "clerk.json")


@pytest.mark.parametrize("named", ["mine", CHILD])
def test_the_question_of_a_child_is_decided_at_the_child_and_either_id_resumes_the_whole(office: Place, named: str) -> None:
    clerk_says(office, call("pay", "call_7", amount=5))
    model = office.script(call("settle", "call_1"), {"content": "all settled"})
    tools = ("--tools", "others:settle")
    waiting = office.run("run", "settle it", "--model", model, *tools, "--run-id", "mine")
    assert (waiting.code, waiting.out) == (4, ""), waiting.err
    assert f"statewright approve {CHILD} call_7" in waiting.err
    assert "statewright resume mine" in waiting.err
    clerk_says(office, {"content": "paid"})
    office.script({"content": "all settled"})
    assert office.run("approve", named, "call_7", "--as", "Ada").code == 0
    resumed = office.run("resume", named, "--model", model, *tools)
    assert (resumed.code, resumed.out) == (0, "all settled\n"), resumed.err
    assert office.lines("paid.txt") == ["5"]
    shown = office.run("show", "mine").out
    assert f"waits for a person in {CHILD}" in shown
    assert f"{CHILD} of tool-1.1 has ended: success" in shown
    for run_id in ("mine", CHILD):
        assert office.run("verify", run_id).code == 0
        assert office.run("replay", run_id).code == 0


def test_a_tool_that_wants_deps_is_refused_with_the_cure(office: Place) -> None:
    done = office.run("run", "x", "--model", office.script({"content": "x"}), "--tools", "others:wants", "--run-id", "mine")
    assert done.code == 2
    assert "the tool 'wants' wants deps of the type dict" in done.err
    assert "Traceback" not in done.err


def test_a_person_at_the_terminal_is_told_which_run_asks(office: Place) -> None:
    clerk_says(office, call("pay", "call_7", amount=5), {"content": "paid"})
    model = office.script(call("settle", "call_1"), {"content": "all settled"})
    words = ("run", "settle it", "--model", model, "--tools", "others:settle", "--run-id", "mine")
    with on_a_terminal(office, *words) as terminal:
        terminal.wait_for(f"call_7, tool-1.1 of {CHILD}")
        terminal.wait_for("> ")
        terminal.type("y\n")
        assert terminal.end().code == 0
    assert office.lines("paid.txt") == ["5"]
