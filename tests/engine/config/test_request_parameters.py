"""Parameters of a request: what they may be, and what the record of a run may not hold."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright import AgentConfig, AgentLoop, ConfigurationError, connect, tool
from statewright.agent.agent_files import Agents
from statewright.config.request_parameters import OUR_KEYS
from statewright_providers import ScriptedProvider

KEY = "a-very-secret-key-of-mine"


def refused(**given: Any) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        AgentConfig(**given)
    assert caught.value.cure
    assert caught.value.where
    return caught.value


@pytest.mark.parametrize(
    "given",
    [
        {"top_p": 1.1},
        {"top_p": float("nan")},
        {"seed": 2**64},
        {"seed": 0.5},
        {"stop": [""]},
        {"stop": 5},
        {"reasoning_effort": ""},
        {"reasoning_effort": "very high"},
        {"tool_choice": " "},
        {"extra_body": {"depth": float("inf")}},
        {"extra_body": {"count": 2**70}},
        {"extra_body": {"set": {1, 2}}},
        {"extra_headers": {"X-Trace": "one\r\nX-Other: two"}},
        {"extra_headers": {"X Trace": "one"}},
        {"extra_headers": {"X-Trace": "é"}},
        {"extra_headers": {"X-Trace": "one", "x-trace": "two"}},
        {"extra_headers": {"Content-Length": "5"}},
    ],
    ids=str,
)
def test_a_parameter_that_no_server_could_take_is_refused_by_its_name_and_with_a_cure(given: dict[str, Any]) -> None:
    assert re.search(next(iter(given)).replace("extra_", "extra_|the "), refused(**given).what + refused(**given).where)


@pytest.mark.parametrize("key", sorted(OUR_KEYS))
def test_extra_body_may_not_set_what_the_run_says_itself(key: str) -> None:
    error = refused(extra_body={"user": "ada", key: 1})
    assert (repr(key) in error.what, error.where) == (True, "extra_body")


def test_one_text_that_ends_a_reply_may_be_given_as_it_is() -> None:
    assert Agents.of({"stop": "END"}).choose().settings.stop == ("END",)


def test_the_messages_and_the_tools_of_a_run_are_among_what_it_says_itself() -> None:
    assert {"model", "messages", "tools", "stream", "tool_choice", "seed", "top_p", "stop", "temperature"} <= OUR_KEYS.keys()


@pytest.mark.parametrize("key", ["max_tokens", "max_completion_tokens"])
def test_the_limit_of_output_tokens_is_set_in_one_place(key: str) -> None:
    assert refused(extra_body={key: 5}, max_output_tokens=6).where == "extra_body"
    assert AgentConfig(extra_body={key: 5}).extra_body == {key: 5}


@pytest.mark.parametrize(
    "given",
    [
        {"extra_headers": {"Authorization": KEY}},
        {"extra_headers": {"api-key": KEY}},
        {"extra_headers": {"Ocp-Apim-Subscription-Key": KEY}},
        {"extra_headers": {"Cookie": KEY}},
        {"extra_headers": {"X-Custom": f"Bearer {KEY}"}},
        {"extra_headers": {"X-Custom": f"sk-{KEY}"}},
        {"extra_headers": {"X-Custom": KEY.encode("utf-16")}},
        {"extra_headers": [f"Authorization: {KEY}"]},
        {"extra_body": {"provider": [{"options": {"api_key": KEY}}]}},
        {"extra_body": {"note": f"sk-{KEY}"}},
        {"extra_body": f"{KEY}"},
    ],
    ids=str,
)
def test_what_looks_like_a_key_is_refused_and_not_told(given: dict[str, Any]) -> None:
    error = refused(**given)
    assert KEY not in f"{error} {error.__cause__}"


@pytest.mark.parametrize(
    "given",
    [
        {"extra_headers": {"HTTP-Referer": "https://example.org/desk", "X-Title": "Desk", "X-Author": "ada"}},
        {"extra_body": {"prompt_cache_key": "desk", "stop_token_ids": [1, 2], "metadata": {"run": "x"}, "parameter": None}},
        {"extra_body": {"response_format": {"schema": {"properties": {"password": {"type": "string"}}}}}},
    ],
    ids=str,
)
def test_what_is_no_key_may_be_named_like_one(given: dict[str, Any]) -> None:
    assert AgentConfig(**given).model_dump(include=set(given)) == given


@pytest.mark.parametrize(
    "given", [{"extra_headers": {"X-Custom": f"say {KEY}"}}, {"extra_body": {"deep": [{"er": KEY}]}}, {"extra_body": {KEY: 1}}]
)
def test_the_key_of_the_model_itself_is_refused_when_the_two_meet(given: dict[str, Any]) -> None:
    provider = connect("openai:m", base_url="http://127.0.0.1:9/v1", api_key=KEY)
    with pytest.raises(ConfigurationError, match="holds the key of the model") as caught:
        AgentLoop(provider, config=AgentConfig(**given))
    assert KEY not in str(caught.value)
    AgentLoop(connect("openai:m", base_url="http://127.0.0.1:9/v1", api_key="another-key"), config=AgentConfig(**given))


@tool(effect="read")
def look(at: str) -> str:
    """Look at something."""
    return at


@tool(effect="idempotent")
def save(text: str) -> str:
    """Save something."""
    return text


@pytest.mark.parametrize(
    ("choice", "allowed", "cure"),
    [
        ("lok", None, "did you mean 'look'"),
        ("save", ("look",), "look, auto, none, required"),
        ("required", (), "auto, none"),
    ],
)
def test_a_call_that_cannot_be_made_is_not_demanded(choice: str, allowed: tuple[str, ...] | None, cure: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        AgentLoop(ScriptedProvider([]), [look, save], AgentConfig(tool_choice=choice, allowed_tools=allowed))
    assert (caught.value.where, cure in caught.value.cure) == ("tool_choice", True)


def test_a_choice_that_demands_nothing_needs_no_tools() -> None:
    for choice in ("auto", "none"):
        AgentLoop(ScriptedProvider([]), config=AgentConfig(tool_choice=choice))


def test_an_agent_file_may_set_each_of_them_and_its_layers_are_merged() -> None:
    top = {"seed": 7, "stop": ["END"], "extra_body": {"user": "ada", "nested": {"a": 1}}}
    own = {"tool_choice": "look", "extra_body": {"nested": {"b": 2}}, "extra_headers": {"X-Title": "Desk"}, "top_p": 0.5}
    settings = Agents.of({**top, "agents": {"clerk": own}}).choose("clerk", {"reasoning_effort": "low"}).settings
    assert settings == AgentConfig(
        seed=7,
        stop=("END",),
        tool_choice="look",
        top_p=0.5,
        reasoning_effort="low",
        extra_body={"user": "ada", "nested": {"a": 1, "b": 2}},
        extra_headers={"X-Title": "Desk"},
    )


def test_an_agent_file_with_a_key_in_its_headers_says_what_to_do_instead() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Agents.of({"agents": {"clerk": {"extra_headers": {"Authorization": f"Bearer {KEY}"}}}}, "agents.toml")
    assert "api_key=" in caught.value.cure
    assert "agents.toml" in caught.value.where
    assert KEY not in f"{caught.value} {caught.value.__cause__}"


@given(
    st.recursive(st.none() | st.integers(-5, 5) | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2), max_leaves=4)
)
def test_what_is_recorded_of_extra_body_is_what_was_given(value: Any) -> None:
    config = AgentConfig(extra_body={"given": value})
    assert AgentConfig(**config.model_dump(mode="json")) == config
    assert config.extra_body == {"given": value}


@pytest.mark.parametrize("set_to", [{"seed": 0}, {"top_p": 0.0}, {"stop": ("END",)}, {"tool_choice": "auto"}], ids=str)
def test_a_parameter_is_recorded_where_it_is_set_and_nowhere_else(set_to: dict[str, Any]) -> None:
    before, recorded = AgentConfig().model_dump(mode="json"), AgentConfig(**set_to).model_dump(mode="json")
    assert recorded.keys() - before.keys() == set_to.keys()
    assert AgentConfig(**recorded) == AgentConfig(**set_to)
