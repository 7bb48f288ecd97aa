"""``--mode`` and ``--workspace``: plan alone, build alone, plan and then build; in a folder that the agent works in."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from command_line import TOOLS, Done, Messages, Place, asks_for, call, model_server
from statewright.agent.profiles import PROFILES
from statewright.cli.options import AgentOptions, ModelOptions
from statewright_states.errors import ConfigurationError


def carried_out(place: Place, lines: Sequence[Sequence[str]]) -> list[Done]:
    """Command lines, carried out one after another in one process."""
    driver = [sys.executable, str(Path(__file__).parent / "many_command_lines.py"), json.dumps(lines)]
    done = subprocess.run(
        driver, cwd=place.folder, env=place.environment(), stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    return [Done(*outcome) for outcome in json.loads(done.stdout)]


# -- plan, then build ------------------------------------------------------------------------------------------------


def plans_then_posts(messages: Messages) -> dict[str, Any]:
    """A model that plans when it is told to, asks to post when it is given the plan, and says so at the end."""
    if messages[0]["content"].startswith("You plan"):
        return {"content": "1. Post 3."}
    return {"content": "posted"} if messages[-1]["role"] == "tool" else asks_for("post", "call_1", amount=3)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, dict[str, Done]]:
    """A task that waits for a person in its build, is approved by its own name, and resumed by the name of a part."""
    place = Place(tmp_path_factory.mktemp("task"))
    (place.folder / "tools.py").write_text(TOOLS)
    with model_server(plans_then_posts) as server:
        again = ("--base-url", server.options[3], "--tools", "tools:tools")
        lines = {
            "run": ("run", "Close the month.", "--mode", "mixed", "--run-id", "task", *server.options, *again[2:]),
            "runs": ("runs", "--json"),
            "approve": ("approve", "task", "call_1", "--as", "ada"),
            "resume": ("resume", "task.build", *again),
            "show": ("show", "last"),
            "replay": ("replay", "tas"),
            "verify": ("verify", "--all"),
            "json": ("resume", "task", "--json"),
        }
        return place, dict(zip(lines, carried_out(place, list(lines.values())), strict=True))


def test_a_task_is_planned_then_built_and_both_are_shown_by_their_names(task: tuple[Place, dict[str, Done]]) -> None:
    _, done = task
    shown = done["run"].err
    assert shown.index("agent plan  openai:stub") < shown.index("PLAN-02") < shown.index("agent build  openai:stub")
    assert "plan: success, 1 step" in shown


def test_a_task_that_waits_says_what_to_type_and_its_list_says_so(task: tuple[Place, dict[str, Done]]) -> None:
    _, done = task
    assert (done["run"].code, done["run"].out) == (4, "")
    assert "statewright approve task.build call_1" in done["run"].err
    assert "statewright resume task --base-url" in done["run"].err
    status = {run["run_id"]: run["status"] for run in json.loads(done["runs"].out)}
    assert status == {"task": "waiting", "task.plan": "success", "task.build": "waiting"}


def test_a_task_is_decided_about_by_its_own_name_and_goes_on_as_a_whole(task: tuple[Place, dict[str, Done]]) -> None:
    place, done = task
    assert done["approve"].code == 0
    assert (done["resume"].code, done["resume"].out) == (0, "posted\n")
    assert "PLAN-08" in done["resume"].err, "resuming the build alone would leave the task open"
    assert place.lines("posted.txt") == ["3"]


def test_a_task_is_shown_replayed_and_verified_like_any_run(task: tuple[Place, dict[str, Done]]) -> None:
    _, done = task
    assert done["show"].out.startswith("task  agent build  openai:stub")
    for text in (
        "PLAN-02",
        "build: success, 2 steps",
        "statewright show task.plan",
        "success  completed · 3 steps",
    ):
        assert text in done["show"].out
    assert "same" in done["replay"].out
    assert done["verify"].out.count("verified  task") == 3


def test_a_tasks_outcome_is_one_document_with_both_runs(task: tuple[Place, dict[str, Done]]) -> None:
    _, done = task
    outcome = json.loads(done["json"].out)
    assert (outcome["status"], outcome["final_output"], outcome["steps_taken"]) == ("success", "posted", 3)
    assert outcome["plan"]["messages"][0]["content"] == PROFILES["plan"].settings["system_prompt"]
    assert outcome["build"]["messages"][0]["content"] == PROFILES["build"].settings["system_prompt"]
    assert "1. Post 3." in outcome["build"]["messages"][1]["content"]


# -- a folder --------------------------------------------------------------------------------------------------------


def test_a_workspace_is_in_the_prompt_and_its_tools_are_bound_by_the_agents_policy(place: Place) -> None:
    folder = place.folder / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("remember the milk")
    reads, writes = call("read_file", "a", path="notes.txt"), call("write_file", "b", path="notes.txt", content="gone")
    options = ("--workspace", "project", "--journal", "project/mine.db")
    model = place.script(reads, writes, {"content": "done"})
    planned, posted, missing = carried_out(
        place,
        [
            ("run", "x", "--mode", "plan", *options, "--model", model, "--json"),
            ("run", "x", "--mode", "build", *options, "--model", model),
            ("run", "x", "--workspace", "nowhere", "--model", model),
        ],
    )
    state = json.loads(planned.out)
    system = state["messages"][0]["content"]
    assert system.startswith("You plan")
    assert "notes.txt" in system
    assert "mine.db" not in system, "the record is out of the agent's reach"
    results = [result for step in state["steps"] for result in step["tool_results"]]
    assert [(result["tool_name"], result["outcome"]) for result in results] == [
        ("read_file", "returned"),
        ("write_file", "denied"),
    ]
    assert "remember the milk" in results[0]["result"]
    assert posted.code == 4
    assert "--workspace project" in posted.err
    assert missing.code == 2
    assert "nowhere" in missing.err
    assert (folder / "notes.txt").read_text() == "remember the milk"


# -- which agent -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "agent", "expected"),
    [
        (None, None, None),
        (None, "review", "review"),
        ("plan", None, "plan"),
        ("plan", "plan", "plan"),
        ("build", None, "build"),
        ("build", "resume", "resume"),
        ("mixed", None, "build"),
        ("mixed", "review", "review"),
    ],
)
def test_the_mode_names_the_agent_that_works_unless_another_one_is_named(
    mode: Any, agent: str | None, expected: str | None
) -> None:
    assert AgentOptions(mode=mode, agent=agent).resolved().name == expected


def test_the_mode_plan_with_another_agent_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="another one is named") as caught:
        AgentOptions(mode="plan", agent="build").resolved()
    assert "--mode mixed --agent build" in caught.value.cure


def test_the_planner_keeps_its_prompt_and_is_not_judged_while_limits_hold_for_both() -> None:
    options = AgentOptions(mode="mixed", system="You are exact.", self_eval="full", max_steps=5)
    planner, builder = options.planner(), options.resolved()
    assert planner.settings.system_prompt == PROFILES["plan"].settings["system_prompt"]
    assert builder.settings.system_prompt == "You are exact."
    assert (planner.settings.evaluation.mode, builder.settings.evaluation.mode) == ("off", "full")
    assert planner.settings.max_steps == builder.settings.max_steps == 5


def test_a_session_cannot_hold_a_task_of_two_runs(place: Place) -> None:
    (done,) = carried_out(place, [("run", "x", "--mode", "mixed", "--session", "s", "--model", place.script())])
    assert done.code == 2
    assert "no part of a session" in done.err


def test_what_names_tools_and_addresses_is_typed_again_and_nothing_else(tmp_path: Path) -> None:
    options = AgentOptions(config=Path("my agents.toml"), mode="build", max_steps=3)
    assert options.again() == " --config 'my agents.toml' --agent build"
    assert AgentOptions(mode="build").again() == ""
    assert ModelOptions(workspace=Path("here"), model="openai:x").again() == " --workspace here"
