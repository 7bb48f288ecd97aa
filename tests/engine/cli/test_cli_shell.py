"""What a shell and an operator get besides: completions, and the log of a run on stderr."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from command_line import Place, call, on_a_terminal

COMPLETE = """
source "$1"
shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
$(complete -p statewright | sed 's/.*-F \\([^ ]*\\).*/\\1/')
echo "${COMPREPLY[@]}"
"""
FILES = {
    "bash": ".local/share/bash-completion/completions/statewright",
    "zsh": ".zsh/completions/_cyclopts_statewright",
    "fish": ".config/fish/completions/statewright.fish",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("shell", FILES)
def test_completions_are_written_for_each_shell_and_it_is_said_where(place: Place, home: Path, shell: str) -> None:
    done = place.run("--install-completion", shell, HOME=str(home))
    assert (done.code, done.out) == (0, "")
    written = home / FILES[shell]
    assert f"written: {written}; a new shell reads it" in done.err
    for word in ("approve", "max-steps", "why", "hashes"):
        assert word in written.read_text()


def test_bash_completes_commands_and_options(place: Place, home: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    assert place.run("--install-completion", "bash", HOME=str(home)).code == 0

    def completed(*words: str) -> list[str]:
        line = [bash, "--norc", "-c", COMPLETE, "bash", str(home / FILES["bash"]), *words]
        return subprocess.run(line, capture_output=True, text=True, check=True, timeout=60).stdout.split()

    assert completed("statewright", "wh") == ["why"]
    assert completed("statewright", "run", "--max") == ["--max-output-tokens", "--max-steps"]
    assert completed("statewright", "runs", "--status", "ki") == ["killed"]


def test_completions_that_cannot_be_written_are_an_error(place: Place, home: Path) -> None:
    (home / ".config").write_text("in the way")
    done = place.run("--install-completion", "fish", HOME=str(home))
    assert (done.code, "the completions cannot be written" in done.err) == (2, True)
    unknown = place.run("--install-completion", "tcsh", HOME=str(home))
    assert unknown.code == 2


def test_verbose_writes_the_log_beside_the_timeline_and_never_into_the_answer(place: Place) -> None:
    model = place.script(call("add", a=17, b=25), {"content": "It is 42."})
    words = ("run", "x", "--model", model, "--tools", "tools:tools")
    done = place.run(*words, "-v")
    assert (done.code, done.out) == (0, "It is 42.\n")
    logged = re.findall(r"^\d\d:\d\d:\d\d DEBUG run run-\S+ decision (\d+) ", done.err, re.MULTILINE)
    assert logged == [line.split()[0] for line in done.err.splitlines() if re.match(r" +\d+ +[\d.]+s ", line)]
    assert " INFO run " in done.err
    assert " DEBUG " not in place.run(*words).err
    quiet = place.run(*words, "--quiet", "--verbose").err.splitlines()
    assert quiet
    assert all(" DEBUG run " in line or " INFO run " in line for line in quiet)
    with on_a_terminal(place, *words, "--verbose", COLUMNS="80") as shown:
        screen = shown.end().err
    assert screen.count(" DEBUG run ") == len(logged)
