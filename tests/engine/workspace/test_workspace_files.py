"""Listing, reading, writing and editing files: what is said, what is kept, and what is refused with which words."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright import ToolEffect
from statewright.tools import truncate_result
from statewright.workspace import Workspace, WorkspaceRefusal
from statewright.workspace.folder import MAX_FILE_BYTES, StoredFile
from statewright.workspace.text_files import TextFile, text_of
from statewright.workspace.walk import Walk
from workspace_folders import Bench, bench_in, fill


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path, {"a.txt": "one\ntwo\nthree\n", "src/b.py": "x = 1\n", "src/deep/c.py": "y = 2\n", "empty": ""})


def test_each_tool_says_what_it_may_do(bench: Bench) -> None:
    declared = {name: (each.effect, each.sensitive, each.parallel) for name, each in bench.tools.items()}
    assert declared == {
        "list_files": (ToolEffect.READ, False, True),
        "read_file": (ToolEffect.READ, False, True),
        "search": (ToolEffect.READ, False, True),
        "write_file": (ToolEffect.IDEMPOTENT, True, False),
        "edit_file": (ToolEffect.IRREVERSIBLE, True, False),
        "run_command": (ToolEffect.IRREVERSIBLE, True, False),
    }


# -- listing ---------------------------------------------------------------------------------------------------------


def test_files_are_listed_by_their_paths(bench: Bench) -> None:
    fill(bench.root, {"hollow/": ""})
    assert bench.use("list_files") == "a.txt\nempty\nhollow/\nsrc/b.py\nsrc/deep/c.py"
    assert bench.use("list_files", path="src/deep/") == "src/deep/c.py"


@pytest.mark.parametrize(
    ("pattern", "listed"), [("*.py", "src/b.py\nsrc/deep/c.py"), ("src/?.py", "src/b.py"), ("*.rs", "[no files]")]
)
def test_a_pattern_chooses_by_name_or_with_a_slash_by_path(pattern: str, listed: str, bench: Bench) -> None:
    assert bench.use("list_files", pattern=pattern) == listed


def test_an_ignored_folder_is_listed_when_it_is_named(bench: Bench) -> None:
    fill(bench.root, {".gitignore": "out/\n*.log\n", "out/x": "", "out/y.log": ""})
    assert "out" not in bench.use("list_files")
    assert bench.use("list_files", path="out") == "out/x"


def test_a_long_listing_shows_the_top_and_says_how_much_is_missing(bench: Bench) -> None:
    fill(bench.root, {f"many/{number:04}": "" for number in range(700)})
    lines = bench.use("list_files").split("\n")
    assert lines[0] == "a.txt"
    assert lines[-1] == "[206 files are not listed: name a folder further inside, or a pattern]"
    assert len(lines) == 500


# -- reading ---------------------------------------------------------------------------------------------------------


def test_a_file_is_read_under_a_heading(bench: Bench) -> None:
    assert bench.use("read_file", path="./a.txt") == "[a.txt: 3 lines]\none\ntwo\nthree"
    assert bench.use("read_file", path="empty") == "[empty: empty]"


def test_some_lines_are_read_and_the_heading_says_how_to_go_on(bench: Bench) -> None:
    said = bench.use("read_file", path="a.txt", start_line=2, end_line=2)
    assert said == "[a.txt: lines 2 to 2 of 3; read on with start_line=3]\ntwo"
    assert bench.use("read_file", path="a.txt", start_line=3, end_line=99) == "[a.txt: lines 3 to 3 of 3]\nthree"


@pytest.mark.parametrize(("first", "last"), [(0, None), (-1, None), (2, 1), (4, None)])
def test_lines_that_are_not_there_are_refused(first: int, last: int | None, bench: Bench) -> None:
    assert "start_line" in bench.refused("read_file", path="a.txt", start_line=first, end_line=last)


def test_a_long_file_is_read_page_by_page_and_no_page_is_cut_by_the_loop(bench: Bench) -> None:
    lines = [f"line {number} {'x' * (number % 90)}" for number in range(1, 2001)]
    fill(bench.root, {"long": "\n".join(lines) + "\n"})
    found: list[str] = []
    while len(found) < len(lines):
        said = bench.use("read_file", path="long", start_line=len(found) + 1)
        assert truncate_result(said, 16_000) == said
        found += said.split("\n")[1:]
    assert found == lines


def test_one_endless_line_is_shortened_with_what_is_missing(bench: Bench) -> None:
    fill(bench.root, {"long": "x" * 100_000})
    said = bench.use("read_file", path="long")
    assert said.endswith("x [... 85000 more characters of this line]")
    assert len(said) < 16_000


def test_only_the_beginning_of_a_huge_file_is_read(bench: Bench) -> None:
    size = MAX_FILE_BYTES + 2
    with (bench.root / "huge").open("wb") as file:
        file.write("\u00e9".encode() * (size // 2))
    assert f"only the beginning of the file, which has {size} bytes" in bench.use("read_file", path="huge")
    assert "too large to edit" in bench.refused("edit_file", path="huge", old_text="\u00e9", new_text="e")


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"\x7fELF\0\1", "binary data (6 bytes)"), (b"caf\xe9", "not UTF-8 text (4 bytes)"), (b"\xc3", "not UTF-8")],
)
def test_what_is_no_text_is_said_to_be_none_with_its_size(data: bytes, words: str, bench: Bench) -> None:
    (bench.root / "data").write_bytes(data)
    assert words in bench.refused("read_file", path="data")
    assert words in bench.refused("edit_file", path="data", old_text="a", new_text="b")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("missing", "there is no such file"),
        ("src", "this is a folder"),
        (".", "this is a folder"),
        ("a.txt/x", "this is not a folder"),
        ("x" * 300, "too long"),
    ],
)
def test_a_path_that_is_no_file_is_refused_with_the_reason(path: str, words: str, bench: Bench) -> None:
    assert words in bench.refused("read_file", path=path)


# -- writing ---------------------------------------------------------------------------------------------------------


def test_a_file_is_written_with_its_folders(bench: Bench) -> None:
    assert bench.use("write_file", path="new/deep/f.txt", content="h\u00e9\n") == "created new/deep/f.txt: 4 bytes"
    assert bench.use("write_file", path="new/deep/f.txt", content="") == "replaced new/deep/f.txt: 0 bytes"
    assert (bench.root / "new/deep/f.txt").read_bytes() == b""


def test_writing_again_gives_the_same_file_and_leaves_nothing_else(bench: Bench) -> None:
    for _ in range(2):
        bench.use("write_file", path="f", content="same")
    assert sorted(os.listdir(bench.root)) == ["a.txt", "empty", "f", "src"]


def test_the_permissions_of_a_file_are_kept(bench: Bench) -> None:
    script = bench.root / "src/b.py"
    script.chmod(0o750)
    bench.use("write_file", path="src/b.py", content="x = 2\n")
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    bench.use("edit_file", path="src/b.py", old_text="2", new_text="3")
    assert stat.S_IMODE(script.stat().st_mode) == 0o750


def test_a_file_marked_as_read_only_is_left_alone(bench: Bench) -> None:
    (bench.root / "a.txt").chmod(0o444)
    assert "read-only (mode 444)" in bench.refused("write_file", path="a.txt", content="")
    assert "read-only" in bench.refused("edit_file", path="a.txt", old_text="one", new_text="1")
    assert (bench.root / "a.txt").read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        ("src", "", "this is a folder"),
        (".", "", "this is a folder"),
        ("a.txt/x", "", "not a folder"),
        ("f", "\ud800", "lone surrogate"),
        ("f", "x" * (MAX_FILE_BYTES + 1), "too many for one file"),
        ("x" * 300, "", "too long"),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_nothing(path: str, content: str, words: str, bench: Bench) -> None:
    before = sorted(str(found) for found in bench.root.rglob("*"))
    assert words in bench.refused("write_file", path=path, content=content)
    assert sorted(str(found) for found in bench.root.rglob("*")) == before


def test_whoever_reads_meanwhile_sees_the_old_contents_or_the_new_ones(bench: Bench) -> None:
    fill(bench.root, {"big": "a" * 300_000})
    written = threading.Event()

    def write() -> None:
        for letter in "bcbcbcbc":
            bench.use("write_file", path="big", content=letter * 300_000)
        written.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not written.is_set():
        text = (bench.root / "big").read_text()
        assert len(text) == 300_000
        assert len(set(text)) == 1
    writer.join()


# -- editing ---------------------------------------------------------------------------------------------------------


def test_text_that_occurs_once_is_replaced(bench: Bench) -> None:
    assert bench.use("edit_file", path="a.txt", old_text="two\n", new_text="") == "edited a.txt at line 2"
    assert (bench.root / "a.txt").read_text() == "one\nthree\n"


@pytest.mark.parametrize(
    ("old", "words"),
    [
        ("four", "does not occur"),
        ("e", "occurs more than once, at lines 1, 3, 3"),
        ("", "no text to replace"),
        ("one\r\ntwo", "does not occur"),
    ],
)
def test_text_that_does_not_occur_once_is_refused_with_what_to_do(old: str, words: str, bench: Bench) -> None:
    assert words in bench.refused("edit_file", path="a.txt", old_text=old, new_text="x")
    assert (bench.root / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_pieces_that_overlap_count_as_two(bench: Bench) -> None:
    fill(bench.root, {"f": "aaa"})
    assert "more than once" in bench.refused("edit_file", path="f", old_text="aa", new_text="b")


def test_windows_line_ends_and_a_byte_order_mark_are_kept(bench: Bench) -> None:
    fill(bench.root, {"f": "\ufeffone\r\ntwo\r\n"})
    assert bench.use("read_file", path="f") == "[f: 2 lines; CRLF line ends, which edit_file keeps]\none\ntwo"
    bench.use("edit_file", path="f", old_text="one\ntwo", new_text="1\n2\n3")
    assert (bench.root / "f").read_bytes() == "\ufeff1\r\n2\r\n3\r\n".encode()


def test_a_last_line_without_an_end_is_told_and_kept(bench: Bench) -> None:
    fill(bench.root, {"f": "one\ntwo"})
    assert "no line end after the last line" in bench.use("read_file", path="f")
    bench.use("edit_file", path="f", old_text="one", new_text="1")
    assert (bench.root / "f").read_bytes() == b"1\ntwo"


def test_an_edit_with_a_lone_surrogate_changes_nothing(bench: Bench) -> None:
    assert "lone surrogate" in bench.refused("edit_file", path="a.txt", old_text="one", new_text="\udc80")
    assert (bench.root / "a.txt").read_text() == "one\ntwo\nthree\n"


@settings(max_examples=300, deadline=None)
@given(text=st.lists(st.sampled_from(["a", "\r", "\n", "\r\n", "\ufeff", "\u00e9", "\x0c"]), max_size=8).map("".join))
def test_decoding_and_encoding_changes_no_byte(text: str) -> None:
    data = text.encode()
    file = text_of(StoredFile(data, len(data), ()), ("f",))
    assert file.encoded(file.text) == data
    assert "\n".join(file.lines()) == file.text.removesuffix("\n")


def test_lines_end_at_line_feeds_alone() -> None:
    assert TextFile("a\x0cb\u2028c\nd\n", crlf=False, bom=False).lines() == ["a\x0cb\u2028c", "d"]


def test_a_file_that_changed_since_it_was_read_is_left_alone(bench: Bench) -> None:
    workspace = Workspace(bench.root)
    read = workspace.read(("a.txt",))
    fill(bench.root, {"a.txt": "by somebody else"})
    with pytest.raises(WorkspaceRefusal, match="changed meanwhile"):
        workspace.write(("a.txt",), b"mine", instead_of=read)
    (bench.root / "a.txt").unlink()
    with pytest.raises(WorkspaceRefusal, match="changed meanwhile"):
        workspace.write(("a.txt",), b"mine", instead_of=read)
    assert sorted(os.listdir(bench.root)) == ["empty", "src"]


def test_a_walk_ends_at_its_bound_and_says_that_it_did(bench: Bench) -> None:
    walk = Walk(Workspace(bench.root), max_entries=2)
    assert [entry.name for entry in walk] == ["a.txt", "empty"]
    assert not walk.complete
