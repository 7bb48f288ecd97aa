"""Agents from a file: which layer wins, and what is said about keys that are wrong."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from house import ROOT
from loop_model_server import completion, model_server
from statewright import connect
from statewright.agent.agent_files import NOTHING, Agents, AgentTable, Layer, merged
from statewright.agent.profiles import PROFILES
from statewright.config.settings import AgentConfig
from statewright_states.errors import ConfigurationError

# -- layers ----------------------------------------------------------------------------------------------------------

SCALARS = ("max_steps", "tool_timeout_s", "max_tool_result_chars")
TABLES = {"retry": ("max_attempts", "max_wait_s"), "budget": ("max_model_calls", "max_tool_calls")}
KeyPath = tuple[str, ...]
PATHS: tuple[KeyPath, ...] = (*((key,) for key in SCALARS), *((table, key) for table, keys in TABLES.items() for key in keys))


def layer_of(values: dict[KeyPath, int]) -> dict[str, Any]:
    """A layer with these values at these paths."""
    layer: dict[str, Any] = {}
    for (*tables, key), value in values.items():
        inner = layer
        for table in tables:
            inner = inner.setdefault(table, {})
        inner[key] = value
    return layer


def value_at(config: object, path: KeyPath) -> object:
    for part in path:
        config = getattr(config, part)
    return config


flat_layers = st.dictionaries(st.sampled_from(PATHS), st.integers(1, 10_000))
profiles = st.none() | st.sampled_from(sorted(PROFILES))


@given(profile=profiles, top=flat_layers, own=flat_layers, line=flat_layers)
@settings(max_examples=150)
def test_the_highest_layer_that_sets_a_key_wins(
    profile: str | None, top: dict[KeyPath, int], own: dict[KeyPath, int], line: dict[KeyPath, int]
) -> None:
    table = layer_of(own) | ({"profile": profile} if profile else {})
    agents = Agents.of({**layer_of(top), "agents": {"clerk": table}})
    config = agents.choose("clerk", layer_of(line)).settings
    base: dict[KeyPath, Any] = {(key,): value for key, value in PROFILES[profile].settings.items()} if profile else {}
    for path in PATHS:
        winner = next((layer[path] for layer in (line, own, top, base) if path in layer), value_at(AgentConfig(), path))
        assert value_at(config, path) == winner


@given(top=flat_layers, own=flat_layers)
@settings(max_examples=60)
def test_agents_of_one_file_do_not_see_each_other(top: dict[KeyPath, int], own: dict[KeyPath, int]) -> None:
    alone = Agents.of({**layer_of(top), "agents": {"clerk": {}}})
    beside = Agents.of({**layer_of(top), "agents": {"clerk": {}, "other": layer_of(own)}})
    assert alone.choose("clerk") == beside.choose("clerk")
    assert alone.choose() == beside.choose()


values = st.dictionaries(st.sampled_from("ab"), st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=2))
any_layer = st.builds(lambda own, tables: own | tables, values, st.dictionaries(st.sampled_from("tu"), values))
"""A key is a table everywhere or nowhere: each layer was checked before."""


@given(any_layer, any_layer, any_layer)
@settings(max_examples=80)
def test_layers_can_be_merged_in_any_grouping_and_none_is_changed_by_it(low: Layer, middle: Layer, high: Layer) -> None:
    before = json.dumps([low, middle, high])
    assert merged(low, middle, high) == merged(low, merged(middle, high))
    assert merged(low, NOTHING) == merged(NOTHING, low) == merged(low, low) == low
    assert json.dumps([low, middle, high]) == before


def test_lists_are_replaced_and_not_joined() -> None:
    assert merged({"tools": ["a", "b"]}, {"tools": ["c"]}) == {"tools": ["c"]}


@pytest.mark.parametrize(
    ("top", "own", "line", "expected"),
    [
        ({"model": "openai:a", "base_url": "http://a"}, {}, {}, ("openai:a", "http://a")),
        ({"model": "openai:a", "base_url": "http://a"}, {"model": "openai:b"}, {}, ("openai:b", None)),
        ({"model": "openai:a", "base_url": "http://a"}, {}, {"model": "openai:c"}, ("openai:c", None)),
        ({"model": "openai:a", "base_url": "http://a"}, {"base_url": "http://b"}, {}, ("openai:a", "http://b")),
        ({"base_url": "http://a"}, {}, {}, (None, "http://a")),
    ],
)
def test_an_address_goes_with_the_model_that_is_named_beside_it(
    top: Layer, own: Layer, line: Layer, expected: tuple[str | None, str | None]
) -> None:
    agent = Agents.of({**top, "agents": {"clerk": own}}).choose("clerk", line)
    assert (agent.model, agent.base_url) == expected


def test_a_table_of_a_profiles_name_starts_from_that_profile() -> None:
    agent = Agents.of({"agents": {"plan": {"max_steps": 7}}}).choose("plan")
    assert (agent.profile, agent.settings.max_steps, agent.effects) == ("plan", 7, PROFILES["plan"].settings["effects"])


def test_an_agent_may_say_that_its_profile_is_another_one() -> None:
    agent = Agents.of({"agents": {"plan": {"profile": "review"}}}).choose("plan")
    assert agent.settings.system_prompt == PROFILES["review"].settings["system_prompt"]


def test_the_top_of_a_file_can_widen_no_profile() -> None:
    with pytest.raises(ConfigurationError, match="unknown configuration key 'effects'"):
        Agents.of({"effects": ["irreversible"]})


def test_a_files_agents_come_before_the_built_in_ones() -> None:
    assert Agents.of({"agents": {"clerk": {}, "plan": {}}}).names == ("clerk", "plan", "build", "review", "resume")


def test_the_example_in_python_asks_the_server_that_the_file_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly as it is printed: the data of an agent with a server of its own goes nowhere else."""
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "agents.md").read_text("utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run_example(agents: str) -> dict[str, Any]:
        Path("agents.toml").write_text(agents)
        names: dict[str, Any] = {}
        exec(example, names)
        return names

    async def asked() -> tuple[str | None, int]:
        async with model_server(completion("At your service.")) as server:
            names = run_example(f'[agents.auditor]\nmodel = "openai:stub"\nbase_url = "{server.base_url}"\n')
            state = await names["loop"].run("Hello?")
            await names["loop"].aclose()
            return state.final_output, len(server.seen)

    assert asyncio.run(asked()) == ("At your service.", 1)


def test_an_agent_without_a_model_cannot_be_connected() -> None:
    with pytest.raises(ConfigurationError, match="names no model"):
        connect(Agents().choose("plan"))


def test_an_address_that_is_given_wins_over_that_of_the_agent() -> None:
    agent = Agents.of({"agents": {"clerk": {"model": "openai:m", "base_url": "nonsense"}}}).choose("clerk")
    assert connect(agent, base_url="http://127.0.0.1:1/v1").model == "openai:m"


# -- what is wrong ---------------------------------------------------------------------------------------------------

WRONG = {
    "an unknown key": ("max_stepz = 1", "'max_stepz'", "a.toml", "did you mean 'max_steps'?"),
    "an unknown key of an agent": ("[agents.x]\nmax_stepz = 1", "'max_stepz'", "a.toml, [agents.x]", "effects"),
    "an unknown key inside": ("[agents.x.retry]\nmax = 1", "'max'", "a.toml, [agents.x.retry]", "max_attempts"),
    "a key named like an argument": ("self = 1", "'self'", "a.toml", "known there"),
    "a wrong type": ('max_steps = "many"', "'max_steps'", "a.toml", "its default is 40"),
    "a wrong type inside": ("[agents.x.retry]\nwaits_s = 3", "'waits_s'", "a.toml, [agents.x.retry]", "[1.0, 2.0, 4.0]"),
    "a wrong element": ("[retry]\nwaits_s = [1, -2]", "'waits_s.1'", "a.toml, [retry]", "default"),
    "a value for a table": ("[agents.x]\nretry = 3", "'retry' is a table", "a.toml, [agents.x]", "[agents.x.retry]"),
    "a value for an agent": ("[agents]\nx = 3", "'x' is a table", "a.toml, [agents]", "[agents.x]"),
    "a value for the agents": ("agents = 3", "'agents' is a table", "a.toml", "[agents.NAME]"),
    "an unknown profile": ('[agents.x]\nprofile = "biuld"', "no profile 'biuld'", "a.toml, [agents.x]", "'build'"),
    "an unknown effect": ('[agents.x]\neffects = ["raed"]', "'effects.0'", "a.toml, [agents.x]", "leave it out"),
    "tools that are no list": ('tools = "a:b"', "'tools'", "a.toml", "its default is []"),
    "a name that TOML quotes": ('[agents."a b"]\nx = 1', "'x'", 'a.toml, [agents."a b"]', "known there"),
    "no TOML": ("max_steps = = 1", "not TOML", "a.toml", "mend it"),
    "nested without end": ("a = " + "[" * 100_000, "not TOML", "a.toml", "mend it"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_in_a_file_is_named_with_its_place_and_a_cure(tmp_path: Path, case: str) -> None:
    text, what, where, cure = WRONG[case]
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        Agents.read(path)
    error = caught.value
    assert what in error.what
    assert error.where == where.replace("a.toml", str(path))
    assert cure in error.cure


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be read: No such file"):
        Agents.read("nowhere.toml")


@pytest.mark.parametrize("key", ["api_key", "api-key", "apikey", "OPENAI_API_KEY", "key", "token", "password", "Authorization"])
@pytest.mark.parametrize("table", ["", "[agents.x]", "[agents.x.retry]"])
def test_a_secret_is_refused_wherever_it_stands_and_not_repeated(tmp_path: Path, key: str, table: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f'{table}\n{key} = "sk-sentinel"\n')
    with pytest.raises(ConfigurationError, match="secret") as caught:
        Agents.read(path)
    assert "environment" in caught.value.cure
    assert "sentinel" not in str(caught.value)


def test_no_key_that_is_known_looks_like_a_secret() -> None:
    Agents.of({key: None for key in AgentConfig.model_fields if AgentConfig.model_fields[key].default is None})
    values = AgentConfig().model_dump(mode="json", exclude_none=True)
    assert Agents.of({**values, "agents": {"x": values}}).choose("x").settings == AgentConfig()


@given(key=st.text(min_size=1), table=st.sampled_from(["top", "agent", "inside"]))
@settings(max_examples=50)
def test_no_key_that_is_unknown_is_taken(key: str, table: str) -> None:
    if key in AgentTable.model_fields or key == "agents":
        return
    shapes: dict[str, Layer] = {
        "top": {key: 1},
        "agent": {"agents": {"x": {key: 1}}},
        "inside": {"agents": {"x": {"prompts": {f"{key}?": 1}}}},
    }
    with pytest.raises(ConfigurationError):
        Agents.of(shapes[table])


def test_an_unknown_agent_is_told_the_known_ones() -> None:
    agents = Agents.of({"agents": {"auditor": {}}}, "a.toml")
    with pytest.raises(ConfigurationError, match="no agent 'audtior'") as caught:
        agents.choose("audtior")
    assert caught.value.where == "a.toml"
    assert caught.value.cure == "did you mean 'auditor'? known here: auditor, plan, build, review, resume"
    with pytest.raises(ConfigurationError, match="no agent 'zzz'") as caught:
        Agents().choose("zzz")
    assert caught.value.cure == "use one of: plan, build, review, resume"


def test_layers_that_are_sound_each_and_contradict_each_other_are_found_when_the_agent_is_chosen() -> None:
    agents = Agents.of(
        {"context": {"keep_recent_steps": 6}, "agents": {"x": {"context": {"summarize_after_steps": 5}}}}, "a.toml"
    )
    assert agents.choose().settings.context.keep_recent_steps == 6
    with pytest.raises(ConfigurationError, match=r"^context.keep_recent_steps \(6\) is more than") as caught:
        agents.choose("x")
    assert caught.value.where == "a.toml, agent 'x'"
