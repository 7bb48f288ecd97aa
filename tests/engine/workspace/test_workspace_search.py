"""Searching: what is found, what is passed over and said so, and expressions that would never end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from statewright.workspace import WorkspaceRefusal
from statewright.workspace.regex_worker import answer
from statewright.workspace.search import MAX_MATCHES, MAX_SEARCHED_BYTES, MAX_SEARCHED_FILE_BYTES, plain_matches, regex_matches
from workspace_folders import Bench, bench_in, fill

FILES = {
    "a.py": "def one():\n    return 1\n",
    "src/b.py": "def two():\n    return 2\n",
    "src/c.txt": "Return of the a+b\n",
    ".gitignore": "out/\n",
    "out/d.py": "return 3\n",
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path, FILES)


def found(said: str) -> list[str]:
    """The lines that match, without the note at the end."""
    *lines, note = said.split("\n")
    assert note.startswith(f"[lines that match: {len(lines)}; text files searched: ")
    return lines


def test_plain_text_is_found_with_its_place(bench: Bench) -> None:
    assert found(bench.use("search", text="return")) == ["a.py:2: return 1", "src/b.py:2: return 2"]
    assert found(bench.use("search", text="a+b")) == ["src/c.txt:1: Return of the a+b"]
    assert found(bench.use("search", text="nowhere")) == []


def test_capitals_can_be_passed_over(bench: Bench) -> None:
    assert len(found(bench.use("search", text="RETURN", ignore_case=True))) == 3
    assert len(found(bench.use("search", text="^RETURN", ignore_case=True, regex=True))) == 1


def test_an_expression_is_found_line_by_line(bench: Bench) -> None:
    assert found(bench.use("search", text=r"^def \w+\(\):$", regex=True)) == ["a.py:1: def one():", "src/b.py:1: def two():"]
    assert found(bench.use("search", text=r"\n", regex=True)) == []


def test_a_folder_a_file_or_a_kind_of_files_can_be_searched(bench: Bench) -> None:
    assert found(bench.use("search", text="return", path="src")) == ["src/b.py:2: return 2"]
    assert found(bench.use("search", text="return", path="out/d.py")) == ["out/d.py:1: return 3"]
    assert found(bench.use("search", text="e", path="src", files="*.txt")) == ["src/c.txt:1: Return of the a+b"]


def test_a_place_that_cannot_be_searched_is_refused(bench: Bench) -> None:
    assert "no such file" in bench.refused("search", text="x", path="missing")
    assert "nothing to look for" in bench.refused("search", text="")


def test_what_is_no_text_is_passed_over_and_what_is_too_large_is_named(bench: Bench) -> None:
    (bench.root / "data").write_bytes(b"return\0")
    (bench.root / "large").write_bytes(b"return\n" * (MAX_SEARCHED_FILE_BYTES // 7 + 1))
    said = bench.use("search", text="return")
    assert said.count("\n") == 2
    assert f"not searched: 1 files of more than {MAX_SEARCHED_FILE_BYTES} bytes" in said


def test_a_search_ends_at_its_bound_of_bytes_and_says_so(bench: Bench) -> None:
    for number in range(11):
        (bench.root / f"{number:02}").write_bytes(b"\n" * MAX_SEARCHED_FILE_BYTES)
    assert f"not searched: everything after the first {MAX_SEARCHED_BYTES} bytes" in bench.use("search", text="return")


def test_the_number_of_matches_and_the_length_of_lines_are_bounded(bench: Bench) -> None:
    fill(bench.root, {"many": "needle\n" * 1000, "wide": f"needle{'x' * 5000}\n"})
    for regex in (False, True):
        said = bench.use("search", text="needle", regex=regex)
        assert said.startswith("many:1: needle\n")
        assert f"[lines that match: {MAX_MATCHES}; " in said
        assert "there may be more" in said
    assert "[... 4706 more characters of this line]" in bench.use("search", text="needle", path="wide")


def test_a_result_stays_below_what_the_loop_would_cut(bench: Bench) -> None:
    fill(bench.root, {"wide": f"needle{'x' * 250}\n" * 150})
    said = bench.use("search", text="needle")
    assert len(said) < 16_000
    assert "there may be more" in said


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "*", "(?P<a>x)(?P<a>y)", "\\", "(?<=a+)b"])
def test_what_is_no_expression_is_refused_with_the_reason(pattern: str, bench: Bench) -> None:
    assert "no regular expression" in bench.refused("search", text=pattern, regex=True)


def test_an_expression_that_would_never_end_is_stopped() -> None:
    with pytest.raises(WorkspaceRefusal, match="more than 1 s") as refusal:
        regex_matches("(a+)+$", False, ["a" * 5000 + "b"], seconds=1)
    assert "plain text" in refusal.value.cure


def test_an_expression_that_nobody_waits_for_any_more_ends_by_itself() -> None:
    worker = Path(sys.modules[answer.__module__].__file__ or "")
    request = b'{"pattern": "(a+)+$", "ignore_case": false, "max_matches": 1, "texts": ["%sb"]}' % (b"a" * 5000)
    with subprocess.Popen([sys.executable, "-I", "-S", str(worker), "1"], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(request)
        process.stdin.close()
        assert process.wait(timeout=20) < 0


def test_both_ways_of_searching_find_the_same() -> None:
    texts = ["one\ntwo\n", "", "two two\n\ntwo"]
    request = {"pattern": "two", "ignore_case": False, "texts": texts, "max_matches": MAX_MATCHES}
    assert answer(request)["matches"] == plain_matches("two", False, texts) == [(0, 1), (2, 0), (2, 2)]
    assert answer(request | {"max_matches": 1})["matches"] == [(0, 1)]
    assert "unterminated" in answer(request | {"pattern": "("})["error"]
