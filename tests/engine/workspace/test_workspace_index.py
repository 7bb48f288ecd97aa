"""The file tree: what it lists, what it leaves out and says so, and how it becomes part of a prompt."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright import AgentConfig, ConfigurationError
from statewright.workspace import RepoIndex, workspace_prompt
from workspace_folders import fill


def test_the_tree_lists_folders_with_what_is_in_them(tmp_path: Path) -> None:
    fill(tmp_path, {"b.txt": "", "a/z.py": "", "a/c/d.py": "", "empty/": ""})
    assert RepoIndex(tmp_path).format_tree() == "a/\n  c/\n    d.py\n  z.py\nb.txt\nempty/"


def test_what_is_ignored_hidden_or_git_s_own_is_not_listed(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {".gitignore": "*.log\n", "x.log": "", ".git/config": "", ".statewright/runs.db": "", "a/.git": "", "k.db": ""},
    )
    fill(tmp_path, {"k.db-wal": "", "kept": ""})
    assert RepoIndex(tmp_path, hidden=["k.db"]).format_tree() == ".gitignore\na/\nkept"


def test_links_are_named_and_not_followed(tmp_path: Path) -> None:
    root = fill(tmp_path / "inside", {"real/f": ""})
    fill(tmp_path / "outside", {"secret": ""})
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(".")
    os.mkfifo(root / "pipe")
    tree = RepoIndex(root).format_tree()
    assert tree == f"loop -> .\nout -> {tmp_path}/outside\npipe (special file)\nreal/\n  f"


def test_an_empty_workspace_says_so(tmp_path: Path) -> None:
    assert RepoIndex(tmp_path).format_tree() == "(no files)"


def test_odd_names_stay_on_one_line_and_can_be_encoded(tmp_path: Path) -> None:
    for name in (b"a\nb", b"\x1b[2J", b"caf\xe9", "\u202egpj.exe".encode(), "ok\u00e9 ".encode()):
        (tmp_path / os.fsdecode(name)).write_text("")
    tree = RepoIndex(tmp_path).format_tree()
    assert tree.split("\n") == ["\\x1b[2J", "a\\nb", "caf\\udce9", "ok\u00e9 ", "\\u202egpj.exe"]
    assert tree.encode()


def test_a_tree_with_too_many_files_shows_the_top_of_everything_and_says_what_is_missing(tmp_path: Path) -> None:
    fill(tmp_path, {f"{folder}/{number:02}": "" for folder in "ab" for number in range(20)} | {"c": "", "d": ""})
    tree = RepoIndex(tmp_path, max_files=5).format_tree()
    assert tree == "a/ ...\n  00\n  01\n  02\nb/ ...\nc\nd\n[not listed: 37 files and 0 folders; list_files shows them]"


def test_a_tree_without_room_for_files_shows_none(tmp_path: Path) -> None:
    assert RepoIndex(fill(tmp_path, {"a": "", "b/": ""}), max_files=0).format_tree().startswith("[not listed: 1 files and 1")


TREES = st.dictionaries(
    st.lists(st.sampled_from(["a", "b", "\u00e9\u00e9", "x" * 60]), min_size=1, max_size=4).map(
        lambda parts: "/".join([*parts, "f"])
    ),
    st.just(""),
    max_size=30,
)


@settings(max_examples=40, deadline=None)
@given(files=TREES, max_files=st.integers(0, 30), max_bytes=st.integers(256, 2000))
def test_the_bounds_always_hold_and_the_same_files_give_the_same_text(
    files: dict[str, str], max_files: int, max_bytes: int
) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        fill(Path(one), files)
        fill(Path(other), dict(reversed(files.items())))
        tree = RepoIndex(one, max_files=max_files, max_bytes=max_bytes).format_tree()
        assert tree == RepoIndex(other, max_files=max_files, max_bytes=max_bytes).format_tree()
    listed = [line for line in tree.split("\n") if line.strip() == "f"]
    assert len(tree.encode()) <= max_bytes
    assert len(listed) <= max_files
    assert len(listed) == len(files) or f"[not listed: {len(files) - len(listed)} files" in tree


def test_the_tree_stands_at_the_end_of_the_system_prompt(tmp_path: Path) -> None:
    index = RepoIndex(fill(tmp_path, {"a.py": ""}))
    config = AgentConfig(system_prompt="You are exact.", max_steps=3)
    told = workspace_prompt(config, index, heading="Files:")
    assert told == config.model_copy(update={"system_prompt": "You are exact.\n\nFiles:\n\na.py"})
    assert workspace_prompt(AgentConfig(), index, heading="Files:").system_prompt == "Files:\n\na.py"


@pytest.mark.parametrize(("max_files", "max_bytes"), [(-1, 16_000), (500, 255)])
def test_bounds_that_leave_no_room_are_refused(max_files: int, max_bytes: int, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="not possible"):
        RepoIndex(tmp_path, max_files=max_files, max_bytes=max_bytes)


@pytest.mark.parametrize("root", ["missing", "file", "nul\0"])
def test_a_root_that_is_no_folder_is_refused(root: str, tmp_path: Path) -> None:
    fill(tmp_path, {"file": ""})
    with pytest.raises(ConfigurationError, match="cannot be opened"):
        RepoIndex(f"{tmp_path}/{root}")


def test_without_pathspec_the_error_names_the_extra_and_nothing_else_needs_it() -> None:
    program = (
        "import sys; sys.modules['pathspec'] = None\n"
        "import statewright\n"
        "from statewright.workspace import RepoIndex, workspace_tools\n"
        "for make in (RepoIndex, workspace_tools):\n"
        "    try: make('.')\n"
        "    except statewright.ConfigurationError as error: print(error.cure)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == 'pip install "statewright[workspace]"\n' * 2


def test_importing_the_package_does_not_import_the_extra() -> None:
    program = "import sys, statewright, statewright.workspace; print('pathspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
