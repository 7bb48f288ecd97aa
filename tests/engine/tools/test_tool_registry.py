from __future__ import annotations

import pytest

from statewright.tools import ToolRegistry, tool
from statewright_states.errors import ConfigurationError, ToolDeclarationError


@tool(effect="read")
def read_file(path: str) -> str:
    """Read a file."""
    return path


def write_file(path: str, text: str) -> None:
    """Write a file."""


def test_declared_and_plain_functions_are_found_by_name() -> None:
    registry = ToolRegistry([read_file, write_file])
    assert registry.names == ("read_file", "write_file")
    assert (len(registry), "read_file" in registry, "delete" in registry) == (2, True, False)
    found = registry.get("write_file")
    assert found is not None
    assert found.function is write_file
    assert registry.get("delete") is None
    assert [known.name for known in registry] == ["read_file", "write_file"]


def test_an_empty_registry_has_nothing_to_offer() -> None:
    registry = ToolRegistry()
    assert (registry.names, registry.schemas(None), registry.suggest("x")) == ((), (), None)


def test_schemas_are_those_allowed_in_the_order_of_the_registry() -> None:
    registry = ToolRegistry([read_file, write_file])
    assert [schema.name for schema in registry.schemas(None)] == ["read_file", "write_file"]
    assert [schema.name for schema in registry.schemas(["write_file", "read_file"])] == ["read_file", "write_file"]
    assert registry.schemas([]) == ()


def test_an_allowed_name_that_does_not_exist_is_a_configuration_error_with_the_likely_one() -> None:
    with pytest.raises(ConfigurationError, match="no tool named 'readfile'") as refused:
        ToolRegistry([read_file, write_file]).schemas(["readfile"])
    assert refused.value.where == "allowed_tools"
    assert "'read_file'" in refused.value.cure


def test_two_tools_of_one_name_are_refused_and_the_first_stays() -> None:
    registry = ToolRegistry([read_file])
    other = tool(name="read_file")(write_file)
    with pytest.raises(ToolDeclarationError, match="two tools are named 'read_file'"):
        registry.add(other)
    assert registry.get("read_file") is read_file


def test_adding_the_same_tool_again_changes_nothing() -> None:
    registry = ToolRegistry([read_file])
    assert registry.add(read_file) is read_file
    assert len(registry) == 1


def test_the_closest_name_is_suggested() -> None:
    registry = ToolRegistry([read_file, write_file])
    assert registry.suggest("ReadFile") == "read_file"
    assert registry.suggest("xyz") is None
