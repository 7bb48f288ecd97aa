from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from statewright.tools import load_tools
from statewright_states.errors import ConfigurationError, ToolDeclarationError

MODULE = '''
from __future__ import annotations
from dataclasses import dataclass
from statewright.tools import ToolRegistry, tool

@dataclass
class Point:
    x: int

@tool(effect="read")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b

@tool
def shift(point: Point) -> int:
    return point.x

plus = add

def plain(x: int) -> int:
    return x

registry = ToolRegistry([add, plain])
several = [add, plain]
number = 3
'''


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory, with a module of tools; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    paths, before = list(sys.path), set(sys.modules)
    sys.path[:] = [entry for entry in paths if entry]
    (tmp_path / "ledger_tools.py").write_text(MODULE)
    yield tmp_path
    sys.path[:] = paths
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("attribute", "names"),
    [
        ("", ("add", "shift")),
        (":registry", ("add", "plain")),
        (":several", ("add", "plain")),
        (":add", ("add",)),
        (":plain", ("plain",)),
    ],
)
@pytest.mark.parametrize("source", ["ledger_tools", "ledger_tools.py", "./ledger_tools.py"])
def test_tools_are_loaded_from_a_module_or_a_file(directory: Path, source: str, attribute: str, names: tuple[str, ...]) -> None:
    assert load_tools(source + attribute).names == names


def test_a_file_elsewhere_finds_its_neighbours_and_is_loaded_once(directory: Path) -> None:
    elsewhere = directory / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "neighbour_of_tools.py").write_text("LIMIT = 3\n")
    (elsewhere / "json.py").write_text(MODULE + "import neighbour_of_tools\n")
    loaded = load_tools("elsewhere/json.py:add")
    assert loaded.get("add") is load_tools(str(elsewhere / "json.py") + ":add").get("add")


def test_a_module_inside_a_package_is_found_in_the_current_directory(directory: Path) -> None:
    package = directory / "tools_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text(MODULE)
    assert load_tools("tools_package.inner:add").names == ("add",)


@pytest.mark.parametrize(
    "source", ["no_such_module", "no_such_module:x", "no/such/file.py", "no/such/file.py:x", "", ":x", "ledger_tools.sub:x"]
)
def test_a_module_that_is_not_there_is_a_configuration_error(directory: Path, source: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be imported") as refused:
        load_tools(source)
    assert source in refused.value.where
    assert refused.value.cure
    assert "Traceback" not in str(refused.value)


@pytest.mark.parametrize(
    ("source", "last_line", "line"),
    [
        ("import json\nraise ValueError('no key')\n", "ValueError: no key", 2),
        ("import json\n\nimport no_such_thing\n", "ModuleNotFoundError: No module named 'no_such_thing'", 3),
        ("import sys\nsys.exit('bye')\n", "SystemExit: bye", 2),
        ("def broken(:\n", "SyntaxError: invalid syntax", 1),
    ],
)
@pytest.mark.parametrize("name", ["broken_tools", "broken_tools.py"])
def test_a_module_that_fails_is_told_in_one_line_with_its_place(
    directory: Path, name: str, source: str, last_line: str, line: int
) -> None:
    (directory / "broken_tools.py").write_text(source)
    with pytest.raises(ConfigurationError) as refused:
        load_tools(name)
    assert last_line in refused.value.what
    assert f"broken_tools.py:{line}" in refused.value.where
    assert not any("broken_tools" in module for module in sys.modules)


def test_a_missing_attribute_is_told_with_the_likely_one(directory: Path) -> None:
    with pytest.raises(ConfigurationError, match="no attribute 'regstry'") as refused:
        load_tools("ledger_tools:regstry")
    assert "'registry'" in refused.value.cure


@pytest.mark.parametrize("attribute", ["number", "Point"])
def test_an_attribute_of_the_wrong_kind_is_refused(directory: Path, attribute: str) -> None:
    with pytest.raises(ConfigurationError, match="neither a tool nor a collection"):
        load_tools(f"ledger_tools:{attribute}")


def test_a_module_without_tools_is_refused(directory: Path) -> None:
    (directory / "empty_tools.py").write_text("x = 1\n")
    with pytest.raises(ConfigurationError, match="declares no tools"):
        load_tools("empty_tools")


def test_a_function_that_cannot_become_a_tool_keeps_its_own_error(directory: Path) -> None:
    (directory / "bad_tools.py").write_text("from statewright.tools import tool\n\n@tool\ndef pay(amount): ...\n")
    with pytest.raises(ToolDeclarationError, match="'amount' has no type hint") as refused:
        load_tools("bad_tools")
    assert "bad_tools.py:3 pay" in refused.value.where
