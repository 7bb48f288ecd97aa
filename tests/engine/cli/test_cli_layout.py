"""How lines are set at any width: folded between words, commands that a shell reads as one, texts and arguments in brief."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import unicodedata
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from command_line import Place, on_a_terminal
from statewright.presentation.answer import print_answer
from statewright.presentation.layout import arguments_in_brief, command_text, folded, in_brief
from statewright.presentation.output import typed

WORDS = st.lists(st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12), max_size=20)


@given(WORDS, st.integers(8, 60), st.integers(0, 6))
def test_a_folded_line_is_broken_between_words_alone_and_is_no_wider_than_it_may_be(
    words: list[str], width: int, indent: int
) -> None:
    lines = folded(Text(" ".join(words)), width, indent).plain.split("\n")
    assert [word for line in lines for word in line.split()] == " ".join(words).split()
    for line in lines:
        widest = max(map(cell_len, line.split()), default=0)
        assert cell_len(line) <= max(width, widest), "only a word that is wider than a line makes it wider"
    for line in lines[1:]:
        assert len(line) - len(line.lstrip()) in (indent, max(width - cell_len(line.lstrip()), 0))


def test_a_line_goes_on_behind_its_indent_and_keeps_its_styles() -> None:
    text = folded(Text.assemble("  one two ", ("three four", "bold")), 12, 4)
    assert text.plain == "  one two\n    three\n    four"
    assert [text.plain[span.start : span.end] for span in text.spans] == ["three", "four"]


def terminal(width: int) -> Console:
    return Console(file=StringIO(), force_terminal=True, width=width, soft_wrap=True, highlight=False, markup=False)


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "), max_size=25), min_size=1, max_size=8
    ),
    st.integers(20, 100),
)
def test_a_command_in_several_lines_has_the_words_that_it_has_in_one(words: list[str], width: int) -> None:
    command = " ".join(typed(word) for word in ("resume", *words))
    lines = command_text(terminal(width), command, "go on").plain
    assert shlex.split(lines.removeprefix("  go on   ").replace("\\\n", ""))[1:] == ["resume", *words]
    assert command in command_text(Console(file=StringIO()), command).plain, "a pipe gets it on one line"


def test_a_shell_reads_a_command_in_several_lines_as_one() -> None:
    words = [
        "resume",
        "run-20261122-220412-abcdefgh",
        "--tools",
        "my tools.py:tools",
        "--journal",
        "it's here.db",
        "--base-url",
        "x",
    ]
    text = command_text(terminal(40), " ".join(map(typed, words)), "go on").plain
    assert len(text.splitlines()) > 3
    _, _, typed_after_the_program = text.strip().removeprefix("go on").strip().partition(" ")
    script = f"printf '%s\\n' {typed_after_the_program}"
    assert subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines() == words
    assert not [line for line in text.splitlines() if line.strip().rstrip("\\").strip() in ("--tools", "--journal")]


@given(st.text(), st.integers(4, 60))
def test_a_text_in_brief_is_one_harmless_line_of_at_most_so_many_characters(text: str, max_chars: int) -> None:
    line = in_brief(text, max_chars)
    assert len(line) <= max_chars
    assert not {char for char in line if unicodedata.category(char)[0] == "C"} - {"\u200d"}


def test_a_text_in_brief_ends_between_words_and_says_that_more_follows() -> None:
    assert in_brief("one two three", 13) == "one two three"
    assert in_brief("one two three", 12) == "one two …"
    assert in_brief("one\n\ttwo", 12) == "one two"
    assert in_brief("run-20261122-220412-abcdefgh and more", 30) == "run-20261122-220412-abcdefgh …"
    assert in_brief("x" * 1000, 10) == "x" * 8 + " …"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"a": 17, "b": "two words", "c": null, "d": [1, 2], "e": "word"}', 'a=17, b="two words", c=null, d=[1, 2], e=word'),
        ('{"a":', '{"a":'),
        ("[1, 2]", "[1, 2]"),
        ("", ""),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", '{"a": ' + "[" * 72 + " …"),
    ],
)
def test_arguments_in_brief_are_named_values_where_they_are_any(arguments: str, said: str) -> None:
    assert arguments_in_brief(arguments) == said


# -- answers ---------------------------------------------------------------------------------------------------------

ANSWER = """# Sums

It is **42**, see [the report](http://example.com/x), <b>List<int></b> and ![a picture](http://example.com/y.png).

| a | b |
|---|---|
| 1 | 2 |

[reference]: http://example.com/z "defined"

[bold]markup of another library[/bold] \x1b[2J \u202e
"""


def test_an_answer_is_set_as_markdown_on_a_terminal_and_nothing_of_it_is_hidden_or_moves(place: Place) -> None:
    with on_a_terminal(place, "run", "x", "--model", place.script({"content": ANSWER})) as shown:
        screen = shown.end().err.rpartition("RUN-08")[2]
    said = " ".join(screen.split())
    for text in (
        "It is 42, see the report (http://example.com/x), <b>List<int></b> and",
        "a picture (http://example.com/y.png)",
        '[reference]: http://example.com/z "defined"',
        "[bold]markup of another library[/bold] \\x1b[2J \\u202e",
    ):
        assert text in said
    assert "**42**" not in screen
    assert "\x1b[2J" not in shown.screen
    assert "\x1b]8" not in shown.screen, "no text is a link to somewhere else than it says"
    assert place.run("run", "x", "--model", place.script({"content": ANSWER})).out == ANSWER + "\n", "a pipe gets it as it is"


def test_a_dumb_terminal_gets_the_answer_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer("**42**")
    assert capsys.readouterr().out == "**42**\n"


# -- what is printed can be typed ------------------------------------------------------------------------------------


def err_of(line: list[str], folder: Path, environment: dict[str, str]) -> str:
    """What a command line says on stderr."""
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60).stderr


def test_hints_name_the_program_as_it_is_reached_from_here(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    script = tmp_path / ".venv" / "bin" / "statewright"
    code = "import sys; sys.executable = sys.argv.pop(1); from statewright.cli import main; sys.exit(main())"
    python = str(script.with_name("python"))

    def said(path: str) -> str:
        line = [sys.executable, "-c", code, python, "run", "x", "--model", place.script({"content": "4"})]
        environment = place.environment(PATH=path)
        return subprocess.run(
            line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=60
        ).stderr

    assert "  look    .venv/bin/python -m statewright show run-" in said("/usr/bin:/bin")
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert "  look    .venv/bin/statewright show run-" in said("/usr/bin:/bin")
    assert "  look    statewright show run-" in said(f"{script.parent}:/usr/bin:/bin")
    other = tmp_path / "statewright"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    assert "  look    .venv/bin/statewright show run-" in said(f"{tmp_path}:{script.parent}"), "another one is found first"


def test_the_cure_of_an_error_names_the_program_as_it_is_reached_from_here(tmp_path: Path) -> None:
    code = "import sys; sys.executable = 'my own/python'; from statewright.cli import main; sys.exit(main(['show', 'x']))"
    place = Place(tmp_path)
    environment = place.environment(PATH="/usr/bin:/bin")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "`'my own/python' -m statewright run` begins one here" in done.stderr


WORDY = """
from statewright import tool

@tool(effect="irreversible")
def post(amount: int, text: str) -> str:
    "Post."
    return "ok"
"""


def test_the_arguments_that_a_person_is_asked_about_are_folded_between_their_words(place: Place) -> None:
    text = " ".join(f"word{at}" for at in range(40))
    call = {"id": "c", "name": "post", "arguments": {"amount": 1, "text": text}}
    (place.folder / "wordy.py").write_text(WORDY)
    model = place.script({"content": None, "tool_calls": [call]}, {"content": "done"})
    with on_a_terminal(place, "run", "x", "--model", model, "--tools", "wordy.py:post", COLUMNS="80") as asked:
        asked.wait_for("  > ")
        asked.type("y\n")
        screen = asked.end().err
    shown = screen[screen.index("{") : screen.index("digest")]
    assert max(map(len, shown.splitlines())) <= 80
    assert json.loads(" ".join(shown.split())) == {"amount": 1, "text": text}


@pytest.mark.parametrize("words", [("prove", "tool"), ("diff", "run@1", "run@2")], ids=["prove", "diff"])
def test_what_is_said_of_tables_breaks_between_words(place: Place, words: tuple[str, ...]) -> None:
    piped = place.run(*words).out
    with on_a_terminal(place, *words, COLUMNS="80") as shown:
        done = shown.end()
    lines = [line.rstrip() for line in shown.plain.splitlines()]
    assert done.code == place.run(*words).code
    assert max(map(len, lines)) <= 80 < max(map(len, piped.splitlines()))
    spoken = set(piped.split()) - {word for word in piped.split() if any(char.isdigit() for char in word)}
    assert spoken <= set(shown.plain.split())
