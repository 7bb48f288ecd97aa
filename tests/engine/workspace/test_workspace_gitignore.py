"""What .gitignore ignores. Each case was compared with ``git ls-files --others --exclude-standard`` of git 2.39."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from statewright.workspace import Workspace
from statewright.workspace.walk import EntryKind, Walk
from workspace_folders import fill

CASES: dict[str, tuple[dict[str, str], set[str]]] = {
    "a name, at any depth": ({".gitignore": "x\n", "x": "", "a/x": "", "a/y": ""}, {"a/y"}),
    "a name with a slash before it, at the top alone": ({".gitignore": "/x\n", "x": "", "a/x": ""}, {"a/x"}),
    "a folder alone": ({".gitignore": "x/\n", "x": "", "a/x/f": ""}, {"x"}),
    "all but one": ({".gitignore": "*.log\n!keep.log\n", "a.log": "", "a/keep.log": ""}, {"a/keep.log"}),
    "nothing comes back from an ignored folder": ({".gitignore": "x/\n!x/f\n", "x/f": "", "y": ""}, {"y"}),
    "what a folder holds, all but one": ({".gitignore": "x/*\n!x/f\n", "x/f": "", "x/g": ""}, {"x/f"}),
    "the same with two stars": ({".gitignore": "x/**\n!x/f\n", "x/f": "", "x/g": "", "x/h/f": ""}, {"x/f"}),
    "everything but one kind": (
        {".gitignore": "*\n!*/\n!*.py\n", "a.py": "", "a.txt": "", "d/b.py": "", "d/c": ""},
        {"a.py", "d/b.py"},
    ),
    "two stars in the middle": ({".gitignore": "a/**/z\n", "a/z": "", "a/b/z": "", "a/b/c/z": "", "z": ""}, {"z"}),
    "a deeper file says otherwise": (
        {".gitignore": "*.txt\n", "a/.gitignore": "!*.txt\n", "a/x.txt": "", "x.txt": ""},
        {"a/x.txt"},
    ),
    "a folder that comes back does not bring its contents back": (
        {".gitignore": "*.log\n", "a/.gitignore": "!b/\n", "a/b/x.log": "", "a/b/x.txt": ""},
        {"a/b/x.txt"},
    ),
    "a deeper pattern is bound to its folder": ({"a/.gitignore": "/x\n", "x": "", "a/x": "", "a/b/x": ""}, {"x", "a/b/x"}),
    "escaped signs": ({".gitignore": "\\#a\n\\!b\nc\\ \n#d\n", "#a": "", "!b": "", "c ": "", "d": ""}, {"d"}),
    "Windows line ends and a byte order mark": ({".gitignore": "\ufeffx\r\ny\r\n", "x": "", "y": "", "z": ""}, {"z"}),
    "lines that are no patterns": ({".gitignore": "\\\n!\n[z-a]\n\n   \nx\n", "x": "", "y": ""}, {"y"}),
    "a folder of that name": ({".gitignore/": "", "x": ""}, {"x"}),
}


@pytest.mark.parametrize("case", CASES)
def test_an_entry_is_listed_when_git_would_not_ignore_it(case: str, tmp_path: Path) -> None:
    files, expected = CASES[case]
    listed = {"/".join(entry.parts) for entry in Walk(Workspace(fill(tmp_path, files))) if entry.kind is EntryKind.FILE}
    assert {path for path in listed if ".gitignore" not in path} == expected


def test_a_gitignore_that_is_a_link_is_passed_over_as_git_does(tmp_path: Path) -> None:
    root = fill(tmp_path / "inside", {"x": ""})
    (tmp_path / "patterns").write_text("x\n")
    (root / ".gitignore").symlink_to(tmp_path / "patterns")
    assert [entry.name for entry in Walk(Workspace(root))] == [".gitignore", "x"]


def test_a_pattern_made_to_take_for_ever_does_not() -> None:
    program = """
from statewright.workspace.gitignore import is_ignored, read_gitignore
hostile = read_gitignore(b"*a*a*a*a*a*a*a*a*a*a*a*a*b\\nx\\n", 0)
print(is_ignored([hostile], ("a" * 255,), folder=False), is_ignored([hostile], ("x",), folder=False))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False True\n"


def test_a_name_that_is_not_utf_8_can_be_ignored(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"caf\xe9\n")
    (tmp_path / b"caf\xe9".decode("utf-8", "surrogateescape")).write_text("")
    assert [entry.name for entry in Walk(Workspace(tmp_path))] == [".gitignore"]
