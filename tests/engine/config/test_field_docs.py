"""Every field of a configuration says what it is, to whoever asks: ``help()``, an editor, a JSON schema."""

from __future__ import annotations

import inspect
import pydoc
import re
import sys
from typing import Any

import pytest
from pydantic import BaseModel

from statewright import AgentConfig, PromptConfig, RetryConfig
from statewright.config import field_docs as docs
from statewright.config import settings
from statewright.config.configuration import Configuration

MODELS = [model for model in vars(settings).values() if isinstance(model, type) and issubclass(model, Configuration)]
UNITS = {
    "_s": r"(?i)\bseconds\b",
    "_chars": r"(?i)\bcharacters\b",
    "_bytes": r"(?i)\bbytes\b",
    "_tokens": r"(?i)\btokens\b|input and output",
    "_usd": r"US dollars",
}


def fields() -> list[tuple[type[BaseModel], str]]:
    """Every field of every part."""
    return [(model, name) for model in MODELS for name in model.model_fields]


def described(schema: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """The properties of a model in the schema of the whole."""
    return (schema if model is AgentConfig else schema["$defs"][model.__name__])["properties"]


@pytest.mark.parametrize(("model", "name"), fields(), ids=lambda part: getattr(part, "__name__", part))
def test_a_field_says_what_it_is_its_unit_included(model: type[BaseModel], name: str) -> None:
    text = docs.field_docs(model).get(name, "")
    assert len(text) > 10
    unit = next((pattern for end, pattern in UNITS.items() if name.endswith(end)), "")
    assert re.search(unit, text), f"{name}: the text names no unit: {text}"


def test_a_json_schema_has_the_texts_and_the_defaults() -> None:
    schema = AgentConfig.model_json_schema()
    parts = [model for model in MODELS if model is AgentConfig or model.__name__ in schema["$defs"]]
    assert len(parts) >= 8
    for model in parts:
        for name, shape in described(schema, model).items():
            assert shape["description"] == docs.field_docs(model)[name]
    assert described(schema, RetryConfig)["max_attempts"]["default"] == 4
    assert schema["$defs"]["RetryConfig"]["description"] == RetryConfig.__doc__.partition("\n")[0]  # type: ignore[union-attr]


def test_help_lists_each_field_with_its_type_and_default() -> None:
    told = pydoc.plain(pydoc.render_doc(AgentConfig))
    missing = [
        name
        for name, text in docs.field_docs(AgentConfig).items()
        if f" {name}: " not in told or text.split("\n")[0] not in told
    ]
    assert missing == []
    for declared in ("run_timeout_s: Seconds = 600.0", "retry: RetryConfig = RetryConfig()"):
        assert (declared, declared in told) == (declared, True)
    assert "notices: Mapping[StopReason, str] = ..." in (inspect.getdoc(PromptConfig) or "")


def test_a_configuration_of_ones_own_lists_its_fields_too() -> None:
    class Own(RetryConfig):
        """Mine."""

        patience_s: float
        """Seconds until I am annoyed."""

    assert "max_attempts: Positive = 4" in (Own.__doc__ or "")
    assert "patience_s: float\n" in (Own.__doc__ or "")
    assert Own(patience_s=1).max_attempts == 4


def test_without_sources_there_are_no_texts_and_nothing_fails() -> None:
    source = (
        "from statewright.config.configuration import Configuration\nclass Bare(Configuration):\n    a: int = 1\n    'text'"
    )
    names: dict[str, Any] = {"__name__": "nowhere"}
    sys.modules["nowhere"] = type(sys)("nowhere")
    try:
        exec(source, names)
        assert docs.field_docs(names["Bare"]) == {}
        assert names["Bare"].model_json_schema()["properties"]["a"]["default"] == 1
    finally:
        del sys.modules["nowhere"]
