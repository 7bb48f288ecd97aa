"""What reaches a terminal, defects, and the codes of errors."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import Place
from statewright.cli.exits import Exit, exit_for
from statewright.cli.terminal import pretty
from statewright.presentation.output import printable
from statewright_states.errors import (
    ConfigurationError,
    Fenced,
    InternalError,
    JournalBusy,
    JournalDamaged,
    JournalUnavailable,
    NotAJournal,
    RateLimited,
    ReplayDiverged,
    RunNotFound,
    StatewrightError,
)


@given(st.text())
def test_no_control_character_reaches_a_terminal_but_line_feed_tab_and_what_joins_emoji(text: str) -> None:
    left = {char for char in printable(text) if unicodedata.category(char)[0] == "C"}
    assert left <= {"\n", "\t", "\u200d"}


@given(st.text(st.characters(exclude_categories=["C"])))
def test_text_without_control_characters_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_arguments_are_shown_whole_and_in_lines() -> None:
    assert pretty('{"a":1,"b":"\\u202e"}') == '{\n  "a": 1,\n  "b": "\\u202e"\n}'
    assert pretty("not JSON \x1b[2J") == "not JSON \\x1b[2J"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigurationError("x"), Exit.USAGE),
        (JournalUnavailable("x"), Exit.USAGE),
        (NotAJournal("x"), Exit.USAGE),
        (RunNotFound("x"), Exit.USAGE),
        (JournalBusy("x"), Exit.USAGE),
        (Fenced("x"), Exit.FAILED),
        (JournalDamaged("x"), Exit.VERIFICATION_FAILED),
        (ReplayDiverged("x"), Exit.REPLAY_DIVERGED),
        (RateLimited("x"), Exit.FAILED),
        (InternalError("x"), Exit.FAILED),
        (StatewrightError("x"), Exit.FAILED),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: StatewrightError, code: Exit) -> None:
    assert exit_for(error) is code


BROKEN = """
from statewright import ToolRegistry

class Broken(ToolRegistry):
    def __iter__(self):
        raise RuntimeError("this should never happen")

tools = Broken()
"""


def test_a_defect_is_told_in_a_few_lines_and_where_it_is_on_demand(place: Place) -> None:
    (place.folder / "broken.py").write_text(BROKEN)
    words = ("run", "x", "--model", place.script({"content": "x"}), "--tools", "broken:tools")
    done = place.run(*words)
    assert (done.code, done.out) == (1, "")
    assert "RuntimeError: this should never happen" in done.err
    assert "STATEWRIGHT_TRACEBACK=1" in done.err
    process = place.start(*words, environment={"STATEWRIGHT_TRACEBACK": "1"})
    assert "Traceback" in process.communicate()[1]
