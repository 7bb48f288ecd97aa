"""Paths about which a person is asked: which names are sensitive, however they are written, and what is declared of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright import tool
from statewright.tools.sensitive_paths import SENSITIVE_NAMES, is_sensitive, sensitive_argument
from statewright_states.errors import ToolDeclarationError

KEYS = [".env", ".env.local", "prod.env", ".ssh", "id_rsa", "id_ed25519.bak", "server.pem", "tls.key", ".aws", ".netrc"]
OTHERS = ["env", "a.txt", ".env.example", "id_rsa.pub", "environment.py", "keys.md", ".github", "src", "monkey"]
PARTS = st.lists(st.sampled_from(OTHERS), max_size=3)


@given(
    before=PARTS,
    name=st.sampled_from(KEYS),
    after=PARTS,
    end=st.sampled_from([[], [""]]),
    capitals=st.lists(st.booleans(), min_size=20),
)
def test_a_path_with_a_sensitive_name_is_sensitive_wherever_it_stands_and_however_written(
    before: list[str], name: str, after: list[str], end: list[str], capitals: list[bool]
) -> None:
    written = "".join(each.upper() if capital else each for each, capital in zip(name, capitals + [False] * 20, strict=False))
    for odd in (written, f"\N{ZERO WIDTH JOINER}{written}"):
        assert is_sensitive("/".join([".", *before, odd, *after, *end]), SENSITIVE_NAMES)


@given(parts=PARTS)
def test_a_path_of_other_names_is_not(parts: list[str]) -> None:
    assert not is_sensitive("/".join(parts), SENSITIVE_NAMES)


VALUES = st.recursive(
    st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("path"), inner)
)


@given(value=VALUES | st.fixed_dictionaries({"path": st.text()}, optional={"other": VALUES}))
def test_arguments_of_any_shape_are_judged(value: object) -> None:
    path = value.get("path") if isinstance(value, dict) else None
    sensitive = path if isinstance(path, str) else None
    assert sensitive_argument(json.dumps(value), {"path": ["*"]}) == sensitive


@pytest.mark.parametrize("text", ["", " ", "{", "[" * 100_000, "[]", '{"path": 1}', '{"other": ".env"}'])
def test_arguments_that_are_not_in_order_name_nothing(text: str) -> None:
    assert sensitive_argument(text, {"path": SENSITIVE_NAMES}) is None


def show(path: str) -> str:
    """Show a file."""
    return path


def test_only_parameters_have_sensitive_paths_and_patterns_are_a_list() -> None:
    assert tool(effect="read", sensitive_paths={"path": ["*.pem"]})(show).sensitive_paths == {"path": ("*.pem",)}
    with pytest.raises(ToolDeclarationError, match="'pat', which is no parameter"):
        tool(sensitive_paths={"pat": ["*.pem"]})(show)
    with pytest.raises(ToolDeclarationError, match="are one text"):
        tool(sensitive_paths={"path": "*.pem"})(show)
