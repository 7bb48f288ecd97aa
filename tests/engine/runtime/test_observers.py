"""Event views: what people are shown of an event is bounded text; the record keeps the whole."""

from __future__ import annotations

from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from statewright.runtime.observers import viewed
from statewright_states.form.row import Event
from statewright_states.run.events import ContextBuilt, LaneGranted, VerdictReached
from statewright_states.tool.events import ToolFailed
from statewright_states.words.vocabulary import EngineFailed

DIGEST = "sha256:" + "0" * 64


def test_a_long_text_is_shown_in_8000_characters_and_says_how_much_is_missing() -> None:
    shown = viewed(ToolFailed("x" * 1_000_000, DIGEST))
    assert isinstance(shown, ToolFailed)
    assert len(shown.error) <= 8000
    assert "left out" in shown.error
    assert shown.message == DIGEST
    exactly = EngineFailed("x" * 8000)
    assert viewed(exactly) == exactly


def test_texts_in_a_list_are_bounded_one_by_one() -> None:
    shown = viewed(VerdictReached(True, False, 0.5, ("short", "y" * 9000), "z" * 9000, 1, 1, 0))
    assert isinstance(shown, VerdictReached)
    assert [len(issue) for issue in shown.issues] == [5, len(shown.issues[1])]
    assert len(shown.issues[1]) <= 8000
    assert len(shown.suggestion) <= 8000


def test_binary_data_is_shown_by_its_size() -> None:
    assert viewed(EngineFailed("got data:image/png;base64," + "A" * 400)) == EngineFailed("got [image/png, 300 bytes]")
    assert viewed(EngineFailed("\x00\ud800" * 50)) == EngineFailed("\N{REPLACEMENT CHARACTER}" * 100)


def test_an_event_with_nothing_long_is_shown_as_it_is() -> None:
    for event in (LaneGranted(), ContextBuilt(1, (DIGEST,) * 3, 7), EngineFailed("short")):
        assert viewed(event) is event


@given(st.text(st.characters()), st.lists(st.text(st.characters(), min_size=60)).map(tuple))
def test_every_view_can_be_written(text: str, issues: tuple[str, ...]) -> None:
    event: Event = viewed(VerdictReached(True, True, 1.0, issues, text * 50, 1, 1, 0))
    for field in fields(event):
        value = getattr(event, field.name)
        for shown in value if isinstance(value, tuple) else (value,):
            assert not isinstance(shown, str) or len(shown) <= 80 or shown.encode()
