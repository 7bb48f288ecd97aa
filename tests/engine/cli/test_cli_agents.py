"""Agents on the command line: by name, from a file, and what ``doctor`` says of the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import TOOLS, Done, Place, call
from statewright.cli.options import AgentOptions, ModelOptions
from statewright_states.errors import ConfigurationError

AGENTS = """
model = "scripted:script.json"
tools = ["tools:tools"]
max_steps = 9

[agents.auditor]
profile = "review"

[agents.clerk]
system_prompt = "You keep the books."
evaluation.max_retries = 1
"""
BROKEN = """
[agents.auditor]
tools = ["tools:nothing"]

[agents.clerk.context]
summarize_after_steps = 2
"""
CONFIG = ("--config", "agents.toml")
LINES: dict[str, tuple[str, ...]] = {
    "plan": ("run", "x", *CONFIG, "--agent", "plan", "--json"),
    "auditor": ("run", "x", *CONFIG, "--agent", "auditor"),
    "clerk": ("run", "x", *CONFIG, "--agent", "clerk"),
    "dry run": ("run", "x", *CONFIG, "--agent", "clerk", "--dry-run"),
    "dry run, shown": ("show", "last"),
    "a typing error": ("run", "x", *CONFIG, "--agent", "clark"),
    "a value out of bounds": ("run", "x", *CONFIG, "--agent", "clerk", "--max-steps", "-1"),
    "doctor": ("doctor", *CONFIG),
    "doctor, broken": ("doctor", "--config", "broken.toml"),
    "doctor, unreadable": ("doctor", "--config", "unreadable.toml"),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """All command lines, carried out one after another in one process."""
    place = Place(tmp_path_factory.mktemp("agents"))
    place.script(call("post", amount=1), {"content": "finished"})
    for name, text in {"tools.py": TOOLS, "agents.toml": AGENTS, "broken.toml": BROKEN, "unreadable.toml": "= 3"}.items():
        (place.folder / name).write_text(text)
    driver = [sys.executable, str(Path(__file__).parent / "many_command_lines.py"), json.dumps(list(LINES.values()))]
    done = subprocess.run(
        driver, cwd=place.folder, env=place.environment(), stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    posted = place.lines("posted.txt")
    assert posted == [], "no tool ran that nobody allowed"
    return {name: Done(*outcome) for name, outcome in zip(LINES, json.loads(done.stdout), strict=True)}


def test_a_built_in_agent_brings_its_prompt_and_its_tool_policy(outcomes: dict[str, Done]) -> None:
    state = json.loads(outcomes["plan"].out)
    assert state["messages"][0]["content"].startswith("You plan; you change nothing.")
    assert state["steps"][0]["tool_results"][0]["outcome"] == "denied"
    assert state["status"] == "success"


def test_an_agent_of_the_file_is_shown_with_its_name_and_keeps_its_profiles_bounds(outcomes: dict[str, Done]) -> None:
    done = outcomes["auditor"]
    assert (done.code, done.out) == (0, "finished\n")
    assert "agent auditor  scripted:script.json" in done.err
    assert "denied" in done.err


def test_what_the_file_gave_is_repeated_in_what_to_type_next(outcomes: dict[str, Done]) -> None:
    done = outcomes["clerk"]
    assert done.code == 4
    assert "statewright resume run-" in done.err
    assert "--config agents.toml --agent clerk" in done.err


def test_a_dry_run_asks_nobody_and_executes_nothing(outcomes: dict[str, Done]) -> None:
    done = outcomes["dry run"]
    assert (done.code, done.out) == (0, "finished\n")  # and nothing was posted: see the fixture


def test_a_dry_run_is_headed_as_one_live_and_afterwards(outcomes: dict[str, Done]) -> None:
    assert "  dry run" in outcomes["dry run"].err.splitlines()[0]
    assert outcomes["dry run, shown"].out.splitlines()[0].endswith("  dry run")
    assert "dry run" not in outcomes["clerk"].err


def test_a_name_that_nobody_has_is_an_error_with_the_names_there_are(outcomes: dict[str, Done]) -> None:
    done = outcomes["a typing error"]
    assert (done.code, done.out) == (2, "")
    assert "did you mean 'clerk'? known here: auditor, clerk, plan" in done.err


def test_a_value_out_of_bounds_is_blamed_on_its_option(outcomes: dict[str, Done]) -> None:
    done = outcomes["a value out of bounds"]
    assert done.code == 2
    assert "where: --max-steps" in done.err


def test_doctor_says_which_agents_a_file_defines_and_what_they_may_use(outcomes: dict[str, Done]) -> None:
    done = outcomes["doctor"]
    assert done.code == 0
    assert "✓ agents     agents.toml defines auditor, clerk; built in: plan, build, review, resume" in done.out
    assert (
        "auditor: profile review · effects read · tools add, chatter (kept out: post, slow) · scripted:script.json · 9 steps"
        in done.out
    )
    assert "clerk: no profile · any effect · tools add, chatter, post, slow" in done.out


def test_doctor_finds_what_is_wrong_with_each_agent(outcomes: dict[str, Done]) -> None:
    done = outcomes["doctor, broken"]
    assert done.code == 1
    assert "✓ agents     broken.toml defines auditor, clerk" in done.out
    assert "✗ agent      auditor: tools has no attribute 'nothing'" in done.out
    assert "✗ agent      clerk: context.keep_recent_steps (4) is more than" in done.out


def test_doctor_finds_a_file_that_is_wrong_as_a_whole(outcomes: dict[str, Done]) -> None:
    done = outcomes["doctor, unreadable"]
    assert done.code == 1
    assert "✗ agents     the configuration is not TOML" in done.out


def test_the_command_line_is_the_highest_layer(tmp_path: Path) -> None:
    path = tmp_path / "agents.toml"
    path.write_text(AGENTS)
    options = AgentOptions(config=path, agent="clerk", max_steps=3, self_eval="full", dry_run=True, step_timeout=5, timeout=60)
    agent = options.resolved(ModelOptions(model="openai:other", tools=("mine",)))
    assert (agent.model, agent.tools) == ("openai:other", ("mine",))
    assert (agent.settings.max_steps, agent.settings.dry_run) == (3, True)
    assert (agent.settings.step_timeout_s, agent.settings.run_timeout_s) == (5, 60)
    assert (agent.settings.evaluation.mode, agent.settings.evaluation.max_retries) == ("full", 1)
    assert agent.settings.system_prompt == "You keep the books."


def test_a_wrong_value_on_the_command_line_is_blamed_on_it_and_not_on_the_file(tmp_path: Path) -> None:
    path = tmp_path / "agents.toml"
    path.write_text(AGENTS)
    with pytest.raises(ConfigurationError) as caught:
        AgentOptions(config=path, timeout=float("inf")).resolved()
    assert caught.value.where == "--timeout"
