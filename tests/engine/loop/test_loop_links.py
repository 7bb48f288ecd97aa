"""The map of the machines is what their journals show: every link that is seen is declared, every declared one is seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from flat_records import shapes_of
from loop_families import Family
from loop_invariants import Talk, talk_in
from loop_other_code import as_by_other_code
from loop_scenarios import Person, asks, call, says
from loop_tools import Bench
from plan_build_scenarios import TASK, play
from statewright import AgentConfig, MemoryJournal, MixedModeRunner, ToolRegistry
from statewright.agent import assemble
from statewright.agent.loop import AgentLoop
from statewright.agent.plan_build import Children
from statewright.core.execution import RunExecution
from statewright.core.inputs import RunInputs
from statewright.core.links import LINKS, MACHINES, Link, Participant, Route
from statewright.core.plan_build_execution import PlanBuildExecution
from statewright.core.plan_build_inputs import PlanBuildInputs
from statewright.hooks import Hooks
from statewright.journal.entry import TABLES
from statewright.journal.recorder import Payloads
from statewright.runtime.driver import NOBODY
from statewright.runtime.effects.equipment import Equipment
from statewright.runtime.effects.performer import Performer
from statewright.runtime.lanes import Lanes
from statewright.runtime.observers import Observers
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright.tools import ExecutionEngine
from statewright_providers.scripted import Delay, ScriptedProvider
from statewright_states.call import commands as of_call
from statewright_states.form.row import Command, Event
from statewright_states.plan_build import commands as of_plan_build
from statewright_states.plan_build.facts import Phase
from statewright_states.run import commands as of_run
from statewright_states.tool import commands as of_tool
from statewright_states.words.ports import Journal
from test_loop_child_runs import FAMILY_LIVES
from test_loop_rows import SCENARIOS, Office, Play, Rows
from test_loop_stall import talk_of_stalls
from test_plan_build_rows import SCENARIOS as TASKS
from test_plan_build_rows import BrokenStore, unrecorded_task, waiting_task

COMMANDS = {"run": of_run, "call": of_call, "tool": of_tool, "plan_build": of_plan_build}


def talk_of(link: Link) -> set[Talk]:
    """What a journal shows of a link."""
    machine, command = (link.sender.value, link.command.__name__) if link.command else ("", "")
    becomes = {(machine, command, link.receiver.value, event.__name__) for event in link.becomes}
    return becomes | {(machine, command, link.sender.value, event.__name__) for event in link.answers}


# -- declared at all -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_every_command_of_a_machine_has_one_link(machine: Participant) -> None:
    kinds = vars(COMMANDS[machine]).values()
    commands = {kind.__name__ for kind in kinds if isinstance(kind, type) and issubclass(kind, Command)} - {"Command"}
    assert sorted(link.command.__name__ for link in LINKS if link.sender is machine and link.command) == sorted(commands)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_event_of_a_machine_comes_by_a_link_and_no_other_does(machine: Participant) -> None:
    linked = {event for link in LINKS if link.receiver is machine for event in link.becomes}
    linked |= {event for link in LINKS if link.sender is machine for event in link.answers}
    assert linked == set(TABLES[machine].events)


def test_commands_are_given_by_machines_and_events_are_for_machines() -> None:
    for link in LINKS:
        assert (link.sender in MACHINES) == (link.command is not None)
        assert link.receiver in MACHINES or not link.becomes
        assert link.command is not None or (link.becomes and not link.answers)


# -- carried out -----------------------------------------------------------------------------------------------------


def deliver(machine: str, instance: str, event: Event, cause: str | None) -> None:
    raise AssertionError("nothing is performed here")


def agent_run() -> tuple[RunExecution, Performer]:
    """A run that nobody drives."""
    execution = RunExecution(RunInputs("run", "model", AgentConfig(), "task", (), {}), Payloads())
    clock, chance, hooks = assemble.clock(), assemble.chance(), Hooks(())
    observers, tools = Observers(None, hooks=hooks), ToolRegistry([])
    equipment = Equipment((), tools, ExecutionEngine(), clock, chance, Lanes(), observers, hooks, MemoryJournal())
    return execution, Performer(execution, equipment, deliver, lambda: None)


def planned_task() -> Children:
    """A planned task that nobody drives."""
    loop = AgentLoop(ScriptedProvider([]))
    phases = {phase: RunInputs(f"task.{phase}", "model", AgentConfig(), "task", (), {}) for phase in Phase}
    execution = PlanBuildExecution(PlanBuildInputs("task", phases, accept_partial_plan=False), Payloads())
    return Children(execution, dict.fromkeys(Phase, loop), NOBODY, False, deliver, lambda: None)


def test_each_command_is_carried_out_by_exactly_one_handler_that_its_link_names() -> None:
    execution, performer = agent_run()
    handlers: dict[Route, list[Mapping[type[Command], Any]]] = {
        Route.MESSAGES: [execution.message_handlers],
        Route.EFFECT: [performer.handlers, planned_task().handlers],
    }
    for route, tables in handlers.items():
        commands = [link.command.__name__ for link in LINKS if link.command and link.route is route]
        assert sorted(command.__name__ for table in tables for command in table) == sorted(commands)


def test_what_may_be_answered_at_once_is_what_links_say() -> None:
    _, performer = agent_run()
    assert set(performer.answers) == {link.command for link in LINKS if link.at_once}
    assert [link.command for link in LINKS if link.at_once and link.route is not Route.EFFECT] == []


def test_a_command_to_another_machine_of_the_same_record_is_an_event_at_once() -> None:
    of_a_run = (Participant.RUN, Participant.CALL, Participant.TOOL)
    to_machines = [link for link in LINKS if link.command and link.sender in of_a_run and link.receiver in of_a_run]
    assert len(to_machines) == 16
    assert {link.route for link in to_machines} == {Route.MACHINE}


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
        return set(talk_in([shape for shape in await shapes_of(journal, TASK) if shape["kind"] == "decision"]))

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
        uncaused = [shape["event"] for shape in entries if shape["kind"] == "decision" and shape["cause"] is None]
        begun_by = commands[header["parent"].removeprefix(f"{TASK}/")]
        seen.add(("plan_build", begun_by["command"], "run", uncaused[0]))
        for name, event in (("StopChild", "StopRequested"), ("CancelChild", "CancelRequested")):
            told_it = [each for each in commands.values() if each["command"] == name and each["data"]["phase"] == phase]
            seen |= {("plan_build", name, "run", event)} if told_it and event in uncaused else set()
    return seen


def seen_in_runs() -> set[Talk]:
    runs = [play_run for _, play_run in SCENARIOS.values()]
    seen = {talk for play_run in (*runs, answered_in_the_same_process) for talk in run_virtual(talk_after(play_run))}
    return seen | {talk for _, live in FAMILY_LIVES.values() for talk in run_virtual(talk_of_a_family(live))}


async def talk_of_a_family(live: Callable[[], Awaitable[Family]]) -> frozenset[Talk]:
    return (await (await live()).rows()).talk


async def talk_after(play_run: Play) -> frozenset[Talk]:
    return (await play_run()).talk


def seen_in_tasks() -> set[Talk]:
    seen: set[Talk] = set()
    for script, options, _, _ in TASKS.values():
        fresh = {"journal": BrokenStore(MemoryJournal())} if "journal" in options else {}
        played = play(script, Bench().tools, **options | fresh)
        seen |= played.rows.talk | run_virtual(across_records(played.journal))
    for stands in (waiting_task, unrecorded_task):
        for phase in ("plan", "build"):
            seen |= run_virtual(talk_of_a_task(stands(phase)))
    return seen | taken_up_again()


async def talk_of_a_task(work: Awaitable[Journal]) -> frozenset[Talk]:
    return talk_in([shape for shape in await shapes_of(await work, TASK) if shape["kind"] == "decision"])


def test_every_link_that_is_seen_is_declared_and_every_declared_one_is_seen() -> None:
    seen, declared = seen_in_runs() | seen_in_tasks() | talk_of_stalls(), {talk for link in LINKS for talk in talk_of(link)}
    assert sorted(seen - declared) == [], "seen and not declared"
    assert sorted(declared - seen) == [], "declared and never seen"


def test_a_link_that_is_not_declared_would_be_noticed() -> None:
    """The usual run shows each of these: taking any one of them out of the declaration leaves it undeclared."""
    seen = run_virtual(talk_after(SCENARIOS["the usual run"][1]))
    for command in (of_run.CallModel, of_call.SendRequest, of_tool.ReportSettled):
        others = {talk for link in LINKS if link.command is not command for talk in talk_of(link)}
        assert seen - others
