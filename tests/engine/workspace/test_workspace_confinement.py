"""Nothing outside a workspace is read or changed by a file tool: by no path, through no link, in no race."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright import ConfigurationError
from statewright.workspace import WorkspaceRefusal, workspace_tools
from statewright.workspace.folder import Workspace
from workspace_folders import SECRET, Bench, bench_in, fill, link

FILES = {
    "a.txt": "inside\n",
    "d/b.txt": "inside\n",
    ".git/config": SECRET,
    "d/.git/config": SECRET,
    ".statewright/runs.db": SECRET,
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path, FILES)


def uses(path: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Every file tool, each with this path."""
    yield "list_files", {"path": path}
    yield "read_file", {"path": path}
    yield "search", {"path": path, "text": "-stands-"}
    yield "write_file", {"path": path, "content": "written"}
    yield "edit_file", {"path": path, "old_text": "stands", "new_text": "written"}


@pytest.mark.parametrize("path", ["../outside/secret.txt", "d/../../outside/secret.txt", "..", "d/..", "a\0b", "\ud800"])
def test_a_path_that_leads_out_or_is_none_is_refused_by_every_tool(path: str, bench: Bench) -> None:
    for name, arguments in uses(path):
        assert "inside the workspace" in bench.refused(name, **arguments)


def test_an_absolute_path_is_refused_even_of_a_file_inside(bench: Bench) -> None:
    for name, arguments in uses(str(bench.root / "a.txt")):
        assert "the path is absolute" in bench.refused(name, **arguments)


@pytest.mark.parametrize(
    "path", [".git", ".git/config", "d/.git/config", ".GIT/config", ".statewright/runs.db", ".Statewright/x"]
)
def test_what_is_git_s_or_the_journal_s_is_out_of_reach(path: str, bench: Bench) -> None:
    for name, arguments in uses(path):
        assert "out of reach" in bench.refused(name, **arguments)
    assert (bench.root / ".git/config").read_text() == SECRET


def test_a_journal_elsewhere_in_the_workspace_can_be_hidden_with_its_companions(tmp_path: Path) -> None:
    fill(
        tmp_path / "inside",
        {"logs/runs.db": SECRET, "logs/runs.db-wal": SECRET, "logs/runs.db.txt": "other", "private/k": SECRET},
    )
    root = tmp_path / "inside"
    tools = {each.name: each for each in workspace_tools(root, hidden=[root / "logs/runs.db", "private", "../elsewhere"])}
    bench = Bench(root, tmp_path / "outside", tools)
    assert bench.use("list_files") == "logs/runs.db.txt"
    for path in ("logs/runs.db", "logs/runs.db-wal", "private/k", "private/new"):
        assert "out of reach" in bench.refused("write_file", path=path, content="")


def test_links_are_refused_wherever_they_stand_and_lead(bench: Bench) -> None:
    link(bench, "file", bench.outside / "secret.txt")
    link(bench, "folder", bench.outside)
    link(bench, "inner", "a.txt")
    link(bench, "d/up", "../../outside")
    link(bench, "loop", "loop")
    link(bench, "dangling", bench.outside / "new.txt")
    for path in (
        "file",
        "folder",
        "folder/secret.txt",
        "folder/new.txt",
        "inner",
        "d/up/secret.txt",
        "loop",
        "loop/x",
        "dangling",
    ):
        for name, arguments in uses(path):
            assert "symbolic link" in bench.refused(name, **arguments)
    assert bench.everything_outside().keys() == {str(bench.outside / name) for name in ("secret.txt", "deep/secret.txt")}


def test_special_files_are_refused_without_waiting_for_them(bench: Bench) -> None:
    os.mkfifo(bench.root / "pipe")
    for name in ("read_file", "write_file", "edit_file", "search"):
        assert "not a regular file" in bench.refused(name, **dict(uses("pipe"))[name])
    assert "inside" in bench.use("search", text="inside")
    assert stat.S_ISFIFO((bench.root / "pipe").stat().st_mode)


def test_a_hard_link_to_a_file_outside_is_not_written_through(bench: Bench) -> None:
    os.link(bench.outside / "secret.txt", bench.root / "same")
    bench.use("write_file", path="same", content="mine")
    assert (bench.outside / "secret.txt").read_text() == SECRET


# -- any path --------------------------------------------------------------------------------------------------------

WORDS = [
    ".",
    "..",
    "",
    "a.txt",
    "d",
    "b.txt",
    "out",
    "up",
    "file",
    "loop",
    "pipe",
    ".git",
    ".GIT",
    "config",
    "new",
    "~",
    "\n",
    "\u00e9",
]
PATHS = st.lists(
    st.sampled_from([*WORDS, "\0", "\udc80", "x" * 300, "secret.txt", "outside"]) | st.text(max_size=4), max_size=6
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as folder:
        bench = bench_in(Path(folder), FILES)
        link(bench, "out", bench.outside)
        link(bench, "d/up", "../..")
        link(bench, "file", bench.outside / "secret.txt")
        link(bench, "loop", ".")
        os.mkfifo(bench.root / "pipe")
        yield bench


@settings(max_examples=200, deadline=None)
@given(parts=PATHS, absolute=st.sampled_from(["", "", "", "/", "//", "ROOT/", "OUTSIDE/"]))
def test_no_path_reads_or_changes_anything_outside(shared: Bench, parts: list[str], absolute: str) -> None:
    path = absolute.replace("ROOT", str(shared.root)).replace("OUTSIDE", str(shared.outside)) + "/".join(parts)
    before = shared.everything_outside()
    for name, arguments in uses(path):
        try:
            said = shared.use(name, **arguments)
        except WorkspaceRefusal as refusal:
            said = str(refusal)
        assert SECRET not in said
    assert shared.everything_outside() == before
    assert {path.name for path in shared.root.parent.iterdir()} == {"inside", "outside"}
    assert (shared.root / ".git/config").read_text() == SECRET


# -- races -----------------------------------------------------------------------------------------------------------


FOLDER_FOR_LINK = """
os.rename("d", "aside"); os.symlink("../outside", "out"); os.rename("out", "d"); os.unlink("d"); os.rename("aside", "d")
"""
FILE_FOR_LINK = """
os.symlink("../outside/secret.txt", "out"); os.rename("out", "a.txt")
os.close(os.open("new", os.O_WRONLY | os.O_CREAT)); os.rename("new", "a.txt")
"""


@contextmanager
def meanwhile(exchange: str, bench: Bench) -> Iterator[None]:
    """Exchange again and again in another process, so that it happens between any two steps of ours."""
    lines = "".join(f"    {line}\n" for line in exchange.strip().splitlines())
    program = f"import os\nprint(flush=True)\nwhile True:\n{lines}"
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", program], cwd=bench.root, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            assert process.poll() is None
            process.kill()


def outcomes(exchange: str, bench: Bench, use: Callable[[], str]) -> set[str]:
    """What the tool said meanwhile, refusals included."""
    said: set[str] = set()
    with meanwhile(exchange, bench):
        for _ in range(300):
            try:
                said.add(use())
            except WorkspaceRefusal as refusal:
                said.add(refusal.what)
    return said


def test_a_folder_exchanged_for_a_link_is_never_read_through(bench: Bench) -> None:
    fill(bench.root, {"d/secret.txt": "inside\n"})
    said = outcomes(FOLDER_FOR_LINK, bench, lambda: bench.use("read_file", path="d/secret.txt"))
    assert not any(SECRET in each for each in said)


def test_a_folder_exchanged_for_a_link_is_never_listed_through(bench: Bench) -> None:
    said = outcomes(FOLDER_FOR_LINK, bench, lambda: bench.use("list_files", path="d"))
    assert not any("secret" in each for each in said)


def test_a_folder_exchanged_for_a_link_is_never_searched_through(bench: Bench) -> None:
    said = outcomes(FOLDER_FOR_LINK, bench, lambda: bench.use("search", text="s", path="d"))
    assert not any(SECRET in each for each in said)


def test_a_folder_exchanged_for_a_link_is_never_edited_through(bench: Bench) -> None:
    fill(bench.root, {"d/secret.txt": SECRET})
    before = bench.everything_outside()
    outcomes(FOLDER_FOR_LINK, bench, lambda: bench.use("edit_file", path="d/secret.txt", old_text="stands", new_text="stands"))
    assert bench.everything_outside() == before


@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file"])
def test_a_file_exchanged_for_a_link_is_never_used_through(name: str, bench: Bench) -> None:
    arguments = {
        "read_file": {},
        "write_file": {"content": "inside\n"},
        "edit_file": {"old_text": "inside", "new_text": "inside"},
    }[name]
    before = bench.everything_outside()
    said = outcomes(FILE_FOR_LINK, bench, lambda: bench.use(name, path="a.txt", **arguments))
    assert not any(SECRET in each for each in said)
    assert bench.everything_outside() == before


def test_a_system_without_such_paths_is_refused_with_a_cure(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot confine") as caught:
        Workspace(tmp_path, below=os.supports_dir_fd - {os.open})
    assert "POSIX" in caught.value.cure
