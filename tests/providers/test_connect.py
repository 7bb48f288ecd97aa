"""A specification becomes a provider, or an error that says what to type instead."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

import statewright_providers
from statewright_providers import ScriptedProvider, connect
from statewright_providers.openai_chat import OpenAIChatProvider
from statewright_states.errors import ConfigurationError

KEY = "sk-sentinel-0123456789"


def refused(spec: str, **options: object) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        connect(spec, **{"environment": {}, **options})  # type: ignore[arg-type]  # wrong types are the point
    assert caught.value.where
    assert caught.value.cure
    return caught.value


def test_the_public_names_are_the_ones_listed() -> None:
    assert statewright_providers.__all__ == ["Delay", "ScriptedProvider", "connect", "load_script"]
    assert all(hasattr(statewright_providers, name) for name in statewright_providers.__all__)


def test_an_openai_model_is_found_with_the_key_of_the_environment() -> None:
    provider = connect("openai:gpt-5-mini", environment={"OPENAI_API_KEY": KEY})
    assert isinstance(provider, OpenAIChatProvider)
    assert provider.model == "openai:gpt-5-mini"


def test_a_model_name_may_hold_colons() -> None:
    assert connect("openai:qwen2.5:0.5b", base_url="http://127.0.0.1:1/v1", environment={}).model == "openai:qwen2.5:0.5b"


def test_the_address_may_come_from_the_environment_and_then_needs_no_key() -> None:
    assert connect("openai:qwen", environment={"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}).model == "openai:qwen"


def test_the_default_address_needs_a_key() -> None:
    error = refused("openai:gpt-5-mini")
    assert "OPENAI_API_KEY" in error.cure
    assert "no key" in error.what


def test_an_unknown_prefix_is_refused_with_the_known_ones_and_the_closest() -> None:
    error = refused("opnai:gpt-5-mini")
    assert "'opnai'" in error.what
    assert error.cure == "did you mean openai:gpt-5-mini? known prefixes: openai:, scripted:"
    assert "did you mean openai:x" in refused("OpenAI:x").cure
    assert refused("zzz:x").cure == "known prefixes: openai:, scripted:"


@pytest.mark.parametrize("spec", ["gpt-5-mini", "", ":x", "openai", "openai:", "openai: "])
def test_half_a_specification_is_refused(spec: str) -> None:
    assert "openai:gpt-5-mini" in refused(spec).cure


@pytest.mark.parametrize(
    "base_url",
    ["localhost:8080/v1", "127.0.0.1:8080", "ftp://h/v1", "http://", "//h/v1", "http://h:port/v1", "http://[::1", "x\n"],
)
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    error = refused("openai:qwen", base_url=base_url)
    assert "base_url" in error.what
    assert "http://" in error.cure


def test_a_transport_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    error = refused("openai:m", base_url="http://127.0.0.1:1/v1", http="curl")
    assert error.where == "http"
    assert "aiohttp or httpx" in error.cure


def test_an_address_with_a_password_is_refused_without_showing_it() -> None:
    assert "hunter2" not in str(refused("openai:qwen", base_url="http://me:hunter2@h/v1"))


@pytest.mark.parametrize("key", ["sk-ünicode", "two words", "line\nbreak"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    assert key not in str(refused("openai:qwen", api_key=key))


def test_a_provider_does_not_show_its_key() -> None:
    assert KEY not in repr(connect("openai:qwen", api_key=KEY, environment={}))


def test_a_scripted_model_follows_its_file(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"replies": [{"content": "5"}]}))
    provider = connect(f"scripted:{file}", environment={})
    assert isinstance(provider, ScriptedProvider)
    assert provider.model == f"scripted:{file}"


def test_a_scripted_model_has_no_use_for_an_address() -> None:
    assert "no server" in refused("scripted:x.json", base_url="http://127.0.0.1:1/v1").what
    assert "no server" in refused("scripted:x.json", client=httpx.AsyncClient()).what


def test_a_script_that_is_missing_is_refused() -> None:
    assert "cannot be read" in refused("scripted:no-such-file.json").what
