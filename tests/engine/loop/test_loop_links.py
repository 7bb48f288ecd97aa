"""The map of the machines is what their journals show: every link that is seen is declared, every declared one is seen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from loop_invariants import Talk, shapes_of, talk_in
from loop_other_code import as_by_other_code
from loop_scenarios import Person, asks, call, says
from loop_tools import Bench
from plan_build_scenarios import TASK, play
from statewright import MemoryJournal, MixedModeRunner
from statewright.agent.loop import AgentLoop
from statewright.core.links import LINKS, MACHINES, Link, Party
from statewright.journal.entry import TABLES
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, ScriptedProvider
from statewright_states.call import commands as of_call
from statewright_states.form.row import Command
from statewright_states.plan_build import commands as of_plan_build
from statewright_states.run import commands as of_run
from statewright_states.tool import commands as of_tool
from statewright_states.words.ports import Journal
from test_loop_rows import SCENARIOS, Office, Play, Rows
from test_plan_build_rows import SCENARIOS as TASKS
from test_plan_build_rows import BrokenStore

COMMANDS = {"run": of_run, "call": of_call, "tool": of_tool, "plan_build": of_plan_build}


def talk_of(link: Link) -> set[Talk]:
    """What a journal shows of a link."""
    machine, command = (link.giver.value, link.command.__name__) if link.command else ("", "")
    becomes = {(machine, command, link.taker.value, event.__name__) for event in link.becomes}
    return becomes | {(machine, command, link.giver.value, event.__name__) for event in link.answers}


# -- declared at all -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_every_command_of_a_machine_has_one_link(machine: Party) -> None:
    kinds = vars(COMMANDS[machine]).values()
    commands = {kind.__name__ for kind in kinds if isinstance(kind, type) and issubclass(kind, Command)} - {"Command"}
    assert sorted(link.command.__name__ for link in LINKS if link.giver is machine and link.command) == sorted(commands)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_event_of_a_machine_comes_by_a_link_and_no_other_does(machine: Party) -> None:
    linked = {event for link in LINKS if link.taker is machine for event in link.becomes}
    linked |= {event for link in LINKS if link.giver is machine for event in link.answers}
    assert linked == set(TABLES[machine].events)


def test_commands_are_given_by_machines_and_events_are_for_machines() -> None:
    for link in LINKS:
        assert (link.giver in MACHINES) == (link.command is not None)
        assert link.taker in MACHINES or not link.becomes
        assert link.command is not None or (link.becomes and not link.answers)


# -- seen in journals ------------------------------------------------------------------------------------------------


async def answered_in_the_same_process() -> Rows:
    """A lost outcome, and somebody at hand who is asked about it."""
    place = Office([asks(call("post", seconds=10)), says("done")])
    await place.lost(5)
    return await place.resume(approver=Person())


def taken_up_again() -> set[Talk]:
    """A task whose process is lost while its plan is made."""

    async def lost() -> set[Talk]:
        journal: Journal = Office([]).journal
        script = ScriptedProvider([Delay(10), says("lost"), says("1. save it"), says("done")])
        runner = MixedModeRunner(AgentLoop(script, Bench().tools, journal=journal, clock=VirtualClock()))
        task = asyncio.create_task(runner.run("the task", run_id=TASK))
        await asyncio.sleep(5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        journal = await as_by_other_code(journal, {"plan_build": ("fold",)})
        again = MixedModeRunner(AgentLoop(script, Bench().tools, journal=journal, clock=VirtualClock()))
        await again.resume(TASK, accept_changed_code=True)
        return set(talk_in([shape for shape in await shapes_of(journal, TASK) if shape["kind"] == "event"]))

    return run_virtual(lost())


async def across_records(journal: Journal) -> set[Talk]:
    """What a task's commands are in the records of its runs: a run's header names the command that began it."""
    shapes = await shapes_of(journal, TASK)
    commands: dict[str, dict[str, Any]] = {each["id"]: each for shape in shapes for each in shape.get("commands", ())}
    seen: set[Talk] = set()
    for phase in ("plan", "build"):
        if f"{TASK}.{phase}" not in await journal.run_ids():
            continue
        header, *entries = await shapes_of(journal, f"{TASK}.{phase}")
        uncaused = [shape["event"] for shape in entries if shape["kind"] == "event" and shape["cause"] is None]
        begun_by = commands[header["parent"].removeprefix(f"{TASK}/")]
        seen.add(("plan_build", begun_by["command"], "run", uncaused[0]))
        for name, event in (("StopChild", "StopRequested"), ("CancelChild", "CancelRequested")):
            told_it = [each for each in commands.values() if each["command"] == name and each["data"]["phase"] == phase]
            seen |= {("plan_build", name, "run", event)} if told_it and event in uncaused else set()
    return seen


def seen_in_runs() -> set[Talk]:
    runs = [play_run for _, play_run in SCENARIOS.values()]
    return {talk for play_run in (*runs, answered_in_the_same_process) for talk in run_virtual(talk_after(play_run))}


async def talk_after(play_run: Play) -> frozenset[Talk]:
    return (await play_run()).talk


def seen_in_tasks() -> set[Talk]:
    seen: set[Talk] = set()
    for script, options, _, _ in TASKS.values():
        fresh = {"journal": BrokenStore(MemoryJournal())} if "journal" in options else {}
        played = play(script, Bench().tools, **options | fresh)
        seen |= played.rows.talk | run_virtual(across_records(played.journal))
    return seen | taken_up_again()


def test_every_link_that_is_seen_is_declared_and_every_declared_one_is_seen() -> None:
    seen, declared = seen_in_runs() | seen_in_tasks(), {talk for link in LINKS for talk in talk_of(link)}
    assert sorted(seen - declared) == [], "seen and not declared"
    assert sorted(declared - seen) == [], "declared and never seen"


def test_a_link_that_is_not_declared_would_be_noticed() -> None:
    """The ordinary course shows each of these: taking any one of them out of the declaration leaves it undeclared."""
    seen = run_virtual(talk_after(SCENARIOS["the ordinary course"][1]))
    for command in (of_run.CallModel, of_call.SendRequest, of_tool.ReportSettled):
        others = {talk for link in LINKS if link.command is not command for talk in talk_of(link)}
        assert seen - others
