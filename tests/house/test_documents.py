"""What the pages show works as it is printed: Python runs and type-checks, commands are ours, TOML is read. New blocks too.

An example may rely on what its reader would have: a key in the environment, the module ``ledger`` with the tools of the pages'
ledger, and ``agents.toml``, which is what its page shows as TOML. It sees no model: those that answer are scripted.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from documents import Block, blocks, pages, programs
from house import ROOT
from statewright import AgentLoop, LLMResponse, ScriptedProvider, SQLiteJournal
from statewright.agent.agent_files import Agents
from statewright.cli import COMMANDS, app
from statewright.cli.task import with_stdin_named
from type_checkers import Complaints, mypy_says, pyright_says, write

LANGUAGES = {"python", "sh", "toml", "text", "json", "sql", "mermaid"}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LEDGER = "from statewright import Tool\n\ntools: list[Tool] = []\n"
PRINTED = re.compile(r"^ *print\(.*\)  # (.+)$", re.MULTILINE)
USAGE = re.compile(r'^"""Usage: python \S+ ([A-Z ]+)"""')
PLACE = re.compile(r"^[A-Z]+$")
"""A word of a command line that stands for something else."""


def named(block: object) -> str:
    return str(block)


def file_of(block: Block) -> str:
    """A module's name for a block."""
    return f"{re.sub(r'[^a-z]+', '_', block.page.lower())}_{block.line}.py"


def test_every_block_says_which_language_it_is_in() -> None:
    assert [str(block) for block in blocks() if block.language not in LANGUAGES] == []


# -- Python ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every program of the pages."""
    folder = tmp_path_factory.mktemp("pages")
    write(folder, {file_of(block): program for block, program in programs()} | {"ledger.py": LEDGER})
    return folder


@pytest.fixture(scope="module")
def complaints(folder: Path) -> dict[str, Complaints]:
    """What the type checkers say about all of them."""
    return {"mypy": mypy_says(folder), "pyright": pyright_says(folder)}


@pytest.mark.parametrize("block", [block for block, _ in programs()], ids=named)
def test_a_program_of_the_pages_type_checks(complaints: dict[str, Complaints], block: Block) -> None:
    said = {checker: found.get(file_of(block), {}) for checker, found in complaints.items()}
    assert said == {"mypy": {}, "pyright": {}}


@pytest.mark.parametrize("block", [block for block, _ in programs()], ids=named)
def test_a_program_of_the_pages_runs_and_prints_what_it_says(tmp_path: Path, block: Block) -> None:
    program = dict(programs())[block]
    shown = [other.text for other in blocks("toml") if other.page == block.page]
    write(tmp_path, {"example.py": program, "ledger.py": LEDGER, "agents.toml": "\n".join(shown)})
    usage = USAGE.match(program)
    given = [_value_of(place, tmp_path) for place in usage[1].split()] if usage else []
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OPENAI_API_KEY": "the-key-of-the-reader"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith("COVERAGE")}
    command = [sys.executable, "-W", "error", "example.py", *given]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    if expected := PRINTED.findall(program):
        assert done.stdout.splitlines() == expected


def _value_of(place: str, folder: Path) -> str:
    """What stands for a place in a usage line: a journal with a run, or the run's id."""
    if place == "JOURNAL":
        path = folder / "runs.db"
        AgentLoop(ScriptedProvider([LLMResponse("done")]), journal=SQLiteJournal(path)).run_sync("task", run_id="RUN")
        return str(path)
    return place


# -- commands --------------------------------------------------------------------------------------------------------


def command_lines() -> Iterator[tuple[str, str]]:
    """Each command line of a block of shell, with its place."""
    for block in blocks("sh"):
        for number, line in enumerate(block.text.splitlines()):
            if line.strip():
                yield f"{block.page}:{block.line + number + 1}", line


def inline_commands() -> Iterator[tuple[str, str]]:
    """Each command line of ours within a text, with its page."""
    for page, text in pages():
        for line in re.findall(r"`(statewright [^`]+)`", text):
            yield page, re.sub(r"\s+", " ", line)


def require_parsed(words: list[str]) -> None:
    """Raise CycloptsError, or AssertionError, for words after ``statewright`` that are no command line of ours."""
    assert words[0] in COMMANDS, f"there is no command {words[0]!r}"
    app.parse_args(with_stdin_named(words), exit_on_error=False, print_error=False)


@pytest.mark.parametrize(("place", "line"), [*command_lines()])
def test_a_command_line_of_the_pages_is_one(place: str, line: str) -> None:
    program, *words = shlex.split(line.partition(" | ")[0], comments=True)
    match program:
        case "statewright":
            require_parsed(words)
        case "make":
            assert re.search(rf"^{words[0]}:", MAKEFILE, re.MULTILINE)
        case "python" | ".venv/bin/python":
            assert (ROOT / words[0]).is_file()
        case "pip":
            extras = re.findall(r"\[(\w+)\]", words[-1])
            assert words[:-1] == ["install"]
            assert set(extras) <= set(PROJECT["project"]["optional-dependencies"])
        case _:
            pytest.fail(f"nothing checks the command {program!r}")


def test_the_commands_that_texts_mention_are_ours() -> None:
    for page, line in inline_commands():
        command, *words = shlex.split(line)[1:]
        if not PLACE.match(command) and not command.startswith("-"):
            assert (page, command in COMMANDS) == (page, True)
            assert_options(page, command, [word for word in words if word.startswith("--")])


@pytest.mark.parametrize("block", blocks("text"), ids=named)
def test_a_list_of_commands_names_commands_and_options_that_there_are(block: Block) -> None:
    for line in block.text.splitlines():
        if line.startswith("statewright "):
            command = line.split()[1]
            assert command in COMMANDS
            assert_options(str(block), command, re.findall(r"--[a-z][a-z-]+", line))


def assert_options(where: str, command: str, options: list[str]) -> None:
    """Each is an option of this command."""
    known = {name for argument in app[command].assemble_argument_collection() for name in argument.names}
    assert (where, [option for option in options if option not in known | {"--help"}]) == (where, [])


# -- TOML ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", blocks("toml"), ids=named)
def test_a_file_of_the_pages_is_read_and_every_agent_in_it_can_be_chosen(tmp_path: Path, block: Block) -> None:
    path = tmp_path / "agents.toml"
    path.write_text(block.text, encoding="utf-8")
    agents = Agents.read(path)
    assert [agents.choose(name).name for name in agents.names] == list(agents.names)


# -- the rest of the README ------------------------------------------------------------------------------------------


def test_the_readme_names_the_test_command_that_make_runs() -> None:
    recipe = re.search(r"^test:.*\n\t(.+)$", MAKEFILE, re.MULTILINE)
    assert recipe is not None
    assert recipe[1].replace("$(BIN)", ".venv/bin") in dict(pages())["README.md"]


def test_every_make_target_that_a_page_names_exists() -> None:
    declared = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    missing: dict[str, Any] = {page: set(re.findall(r"`make ([a-z]+)", text)) - declared for page, text in pages()}
    assert {page: names for page, names in missing.items() if names} == {}
