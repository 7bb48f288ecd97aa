"""The built-in profiles: what each may do, and that its bounds hold when a call is executed and not only when it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright import AgentLoop, AgentState, ConfigurationError, LLMResponse, ToolCall, ToolEffect, ToolRegistry, tool
from statewright.agent.agent_files import Agents
from statewright.agent.profiles import PROFILES, tools_within
from statewright_providers import ScriptedProvider

DONE: list[str] = []


@tool(effect="read")
def look() -> str:
    """Look."""
    DONE.append("look")
    return "seen"


@tool(effect="idempotent")
def note() -> str:
    """Note."""
    DONE.append("note")
    return "noted"


@tool(effect="irreversible", sensitive=False)
def post() -> str:
    """Post."""
    DONE.append("post")
    return "posted"


@tool(sensitive=False)
def mystery() -> str:
    """Nobody declared what it does, but that it may run unasked."""
    DONE.append("mystery")
    return "done"


REGISTRY = ToolRegistry([look, note, post, mystery])
MAY_RUN = {
    "plan": ["look"],
    "review": ["look"],
    "resume": ["look", "note", "post"],
    "build": ["look", "note", "post", "mystery"],
}


def run_asking_for_everything(agent: str) -> tuple[AgentState, ScriptedProvider]:
    calls = tuple(ToolCall(f"call-{name}", name, "{}") for name in REGISTRY.names)
    model = ScriptedProvider([LLMResponse(tool_calls=calls, finish_reason="tool_calls"), LLMResponse("finished")])
    DONE.clear()
    return AgentLoop(model, REGISTRY, Agents().choose(agent).config_for(REGISTRY)).run_sync("task"), model


def test_there_is_a_line_here_for_every_profile() -> None:
    assert PROFILES.keys() == MAY_RUN.keys()


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_executes_no_tool_beyond_its_effects(name: str) -> None:
    state, model = run_asking_for_everything(name)
    assert sorted(DONE) == sorted(MAY_RUN[name])
    outcomes = {result.tool_name: result.outcome for result in state.steps[0].tool_results}
    assert outcomes == {each: "returned" if each in MAY_RUN[name] else "denied" for each in REGISTRY.names}
    assert [schema.name for schema in model.requests[0].tools] == MAY_RUN[name]
    assert (state.status, state.final_output) == ("success", "finished")


def test_the_document_of_the_profiles_says_what_they_are() -> None:
    document = (Path(__file__).parents[3] / "docs" / "agents.md").read_text("utf-8")
    built_in = document.partition("## Built in")[2].partition("## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in built_in.splitlines() if line.startswith("| `")]
    described = {name.strip("`"): (effects.replace("`", ""), steps, time) for name, _, effects, steps, time in rows}
    for name in PROFILES:
        agent = Agents().choose(name)
        effects = "all" if agent.effects is None else ", ".join(agent.effects)
        assert described.pop(name) == (effects, str(agent.settings.max_steps), f"{agent.settings.run_timeout_s:g} s")
    assert described == {}


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_is_sound_and_says_what_it_is_for(name: str) -> None:
    agent = Agents().choose(name)
    assert PROFILES[name].purpose
    assert agent.settings.system_prompt
    assert agent.settings.confirm_mode != "yolo"
    assert 0 < agent.settings.max_steps <= 40


def test_only_the_plan_asks_not_to_be_streamed() -> None:
    assert {name: Agents().choose(name).stream for name in PROFILES} == dict.fromkeys(PROFILES) | {"plan": False}


def test_without_a_name_there_is_no_profile_and_no_bound() -> None:
    agent = Agents().choose()
    assert (agent.name, agent.profile, agent.effects) == (None, None, None)
    assert agent.config_for(REGISTRY).allowed_tools is None
    assert agent.settings.system_prompt == ""


def test_an_allowed_tool_that_does_not_exist_is_found_before_the_effects_are_looked_at() -> None:
    agent = Agents().choose("plan", {"allowed_tools": ["lok"]})
    with pytest.raises(ConfigurationError, match="no tool named 'lok'") as caught:
        agent.config_for(REGISTRY)
    assert caught.value.cure == "did you mean 'look'?"


@given(
    effects=st.none() | st.frozensets(st.sampled_from(ToolEffect)),
    named=st.none() | st.frozensets(st.sampled_from(REGISTRY.names)),
)
@settings(max_examples=60)
def test_names_and_effects_both_bound_the_tools(effects: frozenset[ToolEffect] | None, named: frozenset[str] | None) -> None:
    allowed = tools_within(REGISTRY, effects, named)
    usable = set(REGISTRY.names if allowed is None else allowed)
    for each in REGISTRY:
        expected = (effects is None or each.effect in effects) and (named is None or each.name in named)
        assert (each.name in usable) is expected
