"""The panes beside a machine's diagram: what each says of a moment, that it is harmless, and that it stays small."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from io import StringIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

from statewright.core.moment import MISSING_FACT, CommandUnderWay, FactChange, InstanceNow, MomentChange, StateChange
from statewright.presentation.conversation import conversation_pane
from statewright.presentation.lines import KeptLines
from statewright.presentation.output import HARMLESS
from statewright.presentation.panes import change_pane, entry_pane, facts_pane, instances_pane, under_way_pane
from statewright_states.frozen import dataclass
from statewright_states.words.messages import Message, Role
from statewright_states.words.parts import (
    Citation,
    ImagePart,
    OpaquePart,
    Part,
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCall,
)
from statewright_states.words.ports import StoredEntry

FOREIGN = "a\x1b[2Jb\u202ec\x07\r\x9bd"
"""Text that would clear a screen, turn what follows around, ring, and go back to the start of the line."""


@dataclass(frozen=True, slots=True)
class Parcel:
    name: str
    open: bool = False


@dataclass(frozen=True, slots=True)
class Shelf:
    parcels: tuple[Parcel, ...] = ()
    weight_g: int = 0
    note: str = ""
    keeper: str | None = None
    locked: bool = False


def shown(pane: RenderableType, width: int = 80, *, terminal: bool = True) -> str:
    """What a pane looks like in so many columns, without colours."""
    console = Console(file=StringIO(), width=width, force_terminal=terminal, color_system=None, highlight=False)
    lines = console.render_lines(pane, pad=False)
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in lines)


def shelf(facts: Shelf | None, name: str = "shelf") -> InstanceNow:
    return InstanceNow(name, "shelf", "stored", False, 0, facts)


def changed(before: object, after: object, field: str = "parcels") -> MomentChange:
    return MomentChange(1, 2, facts=(FactChange("shelf", field, before, after),), known=True)


# -- facts -------------------------------------------------------------------------------------------------------------


def test_what_a_step_changed_stands_first_with_a_mark_and_what_holds_nothing_stands_last() -> None:
    now = Shelf((Parcel("a", True),), weight_g=0)
    lines = shown(facts_pane(shelf(now), changed((Parcel("a"),), now.parcels))).splitlines()
    assert lines == [
        "~ parcels[0].open: no → yes",
        "  weight_g: 0",
        "  nothing yet: note, keeper, locked",
    ]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ((), (Parcel("a"),), "~ shelf.parcels: [] → [Parcel(name a, open no)]"),
        ((Parcel("a"),), (Parcel("a"), Parcel("b")), "~ shelf.parcels[1]: nothing → Parcel(name b, open no)"),
        ((Parcel("a"), Parcel("b")), (Parcel("b"),), "~ shelf.parcels: [Parcel(name a, open no), Parcel(name b, open no)] → "),
        (MISSING_FACT, 3, "~ shelf.parcels: nothing → 3"),
        ({"x": 1}, {"x": 2}, "~ shelf.parcels: [x: 1] → [x: 2]"),
        ("sha256:" + "ab" * 32, None, "~ shelf.parcels: sha256:abababababab… → nothing"),
    ],
)
def test_a_change_of_a_fact_is_told_as_far_inside_as_both_values_have_one_form(
    before: object, after: object, said: str
) -> None:
    assert shown(change_pane(changed(before, after)), 200).startswith(said)


def test_why_facts_are_not_known_is_said() -> None:
    assert shown(facts_pane(shelf(None), problem="the table is not here")) == "facts: the table is not here"
    assert shown(facts_pane(None)) == "facts: not known"


# -- machines, commands, entries, differences --------------------------------------------------------------------------


def test_each_instance_has_its_state_and_says_for_how_long_or_that_it_has_ended() -> None:
    instances = (shelf(None, "run"), InstanceNow("tool-3.1", "tool", "returned", True, 1_000_000))
    assert shown(instances_pane(instances, 3_500_000)).splitlines() == [
        "run       stored  for 3.5 s",
        "tool-3.1  returned  ended 2.5 s ago",
    ]


def command(identity: str, since_us: int, **data: Any) -> CommandUnderWay:
    return CommandUnderWay(identity, "StartTool", data, "tool-3.1", since_us, 10_000_000 - since_us)


def test_commands_under_way_stand_with_their_ages_the_oldest_first() -> None:
    pane = under_way_pane([command("9.0", 8_000_000), command("7.1", 4_000_000, tool="tool-3.1", again=False)])
    assert shown(pane).splitlines() == [
        "7.1 StartTool of tool-3.1, 6.0 s  tool tool-3.1, again no",
        "9.0 StartTool of tool-3.1, 2.0 s",
    ]
    assert shown(under_way_pane([])) == "nothing is under way"


def test_a_difference_says_states_facts_messages_and_commands_each_with_a_mark() -> None:
    change = MomentChange(
        3,
        9,
        states=(
            StateChange("run", "run", "acting", "generating", ("RUN-40",)),
            StateChange("call-4", "call", None, "sending", ("CALL-01",)),
            StateChange("tool-1", "tool", "running", "running", ("TOOL-28",)),
        ),
        facts=(FactChange("run", "step", 3, 4), FactChange("call-4", "send", MISSING_FACT, 1)),
        said=(Message("assistant", "I look.", [ToolCall("call_1", "look", "{}")]),),
        removed=2,
        began=(command("41.1", 1),),
        settled=(command("38.0", 2),),
        known=True,
    )
    assert shown(change_pane(change)).splitlines() == [
        "~ run: acting → generating  RUN-40",
        "+ call-4: began → sending  CALL-01",
        "  tool-1: stays running  TOOL-28",
        "~ run.step: 3 → 4",
        "+ call-4 holds: send 1",
        "- 2 messages of the conversation",
        "+ assistant: I look. → look",
        "+ 41.1 StartTool of tool-3.1, 10.0 s",
        "- 38.0 StartTool of tool-3.1, 10.0 s",
    ]
    assert shown(change_pane(MomentChange(3, 3, known=True))) == "no difference"
    assert "not known" in shown(change_pane(MomentChange(3, 3)))


def test_an_entry_is_shown_with_both_hashes_and_as_json() -> None:
    data = b'{"kind":"decisions","seq":7,"at_us":1}'
    text = shown(entry_pane(StoredEntry(7, data, "f" * 64), "e" * 64, 1_700_000_000_000_000))
    assert text.splitlines()[1:3] == [f"hash   {'f' * 64}", f"after  {'e' * 64}"]
    assert json.loads(text[text.index("{") :]) == json.loads(data)
    assert "38 bytes" in text


@pytest.mark.parametrize("data", [b"\xff\x00{", b'{"a": [', b"[" * 5000])
def test_a_damaged_entry_is_shown_as_it_is(data: bytes) -> None:
    text = shown(entry_pane(StoredEntry(7, data, "f" * 64), "e" * 64, 0))
    assert "entry 7" in text
    assert ("\\xff\\x00{" if data[0] == 255 else data.decode()[:7]) in text


# -- the conversation --------------------------------------------------------------------------------------------------

CALL = ToolCall("call_1", "look_up", '{"word": "state", "exact": true}')
TALK = (
    Message("system", "You look things up.\n" * 40),
    Message("user", "What is a **state**?"),
    Message("assistant", "I look it up:\n\n- once", [CALL]),
    Message("tool", '{"found": "' + "x" * 500 + '"}', tool_call_id="call_1"),
)


def test_a_conversation_has_markdown_and_one_line_for_each_call_result_and_system_prompt() -> None:
    text = shown(conversation_pane(TALK, said=1), 78)
    assert text.splitlines() == [
        "system",
        "  ▸ You look things up. You look things up. You look things up. You look",
        "      things …  800 characters",
        "user",
        "  What is a state?",
        "assistant",
        "  I look it up:",
        "",
        "   • once",
        "  → look_up  word=state, exact=true  call_1",
        "+ tool  look_up  call_1",
        '  ▸ {"found":',
        '      "' + "x" * 67 + " …",
        "      513 characters",
    ]


def test_what_is_unfolded_is_shown_whole_and_the_rest_stays_folded() -> None:
    text = shown(conversation_pane(TALK, unfolded=(2, 3)), 78)
    assert '    {"word": "state", "exact": true}' in text
    assert "".join(text.partition("tool  look_up")[2].split()).count("x") == 500
    assert "▸ You look" in text


class Counting(str):
    """A text that counts how much of it anybody has looked at."""

    __slots__ = ()
    seen = 0

    def __getitem__(self, key: Any) -> str:
        piece = super().__getitem__(key)
        Counting.seen += len(piece)
        return piece

    def __iter__(self) -> Any:
        Counting.seen += len(self)
        return super().__iter__()

    def isprintable(self) -> bool:
        Counting.seen += len(self)
        return super().isprintable()


def test_a_result_of_five_megabytes_is_cut_before_it_is_set() -> None:
    Counting.seen = 0
    roles: tuple[Role, ...] = ("tool", "assistant", "user")
    for role in roles:
        message = Message(role, parts=[TextPart(Counting("word \x1b " * 800_000))])
        for unfolded in ((), (0,)):
            text = shown(conversation_pane([message], unfolded=unfolded))
            assert len(text) < 60_000
            told = "5,600,000 characters" if role == "tool" else "and 5,580,000 more"
            assert told in text[:200] + text[-200:]
    assert Counting.seen < 200_000


def test_a_step_through_a_conversation_sets_what_is_new_alone_and_another_width_sets_all_again() -> None:
    talk = [Message("user", parts=[TextPart(Counting(f"**{number}** " * 30))]) for number in range(20)]
    first = shown(conversation_pane(talk), 78)
    Counting.seen = 0
    assert shown(conversation_pane(talk), 78) == first
    assert Counting.seen == 0
    shown(conversation_pane([*talk, Message("user", parts=[TextPart(Counting("new"))])], said=0), 78)
    assert 0 < Counting.seen < 20
    narrow = shown(conversation_pane(talk), 40)
    assert max(map(cell_len, narrow.splitlines())) <= 40
    assert "".join(narrow.split()) == "".join(first.split())


def test_lines_that_are_kept_are_made_once_for_each_width() -> None:
    made: list[int] = []

    class Told:
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            made.append(options.max_width)
            yield "as wide as may be"

    kept = KeptLines(Told())
    assert [shown(kept, width) for width in (30, 30, 20, 20)] == ["as wide as may be"] * 4
    assert made == [30, 20]


def test_other_parts_are_named_and_not_set() -> None:
    parts: list[Part] = [
        ReasoningPart("so"),
        TextPart("see", (Citation(url="https://example.org/a"),)),
        ImagePart("image/png", "QUJD"),
        OpaquePart(ProviderState("anthropic", "12345")),
    ]
    text = shown(conversation_pane([Message("assistant", parts=parts)]))
    assert [line.strip() for line in text.splitlines()][1:4] == ["so", "see", "[https://example.org/a]"]
    assert "[image: " in text
    assert "[for anthropic: 5 characters]" in text
    assert shown(conversation_pane([])) == "nothing has been said"


# -- whatever is in them -----------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.just(FOREIGN)


def require_harmless(text: str) -> None:
    assert all(char in HARMLESS or unicodedata.category(char)[0] != "C" for char in text), ascii(text)


@settings(max_examples=30)
@given(TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=3), st.integers(20, 120))
def test_no_text_in_a_pane_moves_the_terminal(one: str, two: str, data: Mapping[str, str], width: int) -> None:
    mine = CommandUnderWay(one, two, data, one, 0, 5)
    change = MomentChange(
        0,
        1,
        states=(StateChange(one, two, two, one, (one, two)),),
        facts=(FactChange(one, two, data, Parcel(one)), FactChange(two, one, one, (two, data))),
        said=(Message("user", one), Message("assistant", two, [ToolCall(one, two, one)])),
        began=(mine,),
    )
    talk = [*change.said, Message("tool", two, tool_call_id=one), Message("assistant", parts=[ReasoningPart(one)])]
    for pane in (
        change_pane(change),
        facts_pane(InstanceNow(one, two, one, False, 0, Shelf((Parcel(two),), note=one)), change),
        instances_pane([InstanceNow(one, two, one, False, 0)], 5),
        under_way_pane([mine]),
        entry_pane(StoredEntry(1, one.encode(), two), one, 0),
        conversation_pane(talk),
        conversation_pane(talk, unfolded=range(4), said=2),
    ):
        text = shown(pane, width)
        require_harmless(text)


@given(st.text(st.characters(exclude_categories=["C"]), max_size=300), st.integers(20, 100))
def test_the_conversation_keeps_within_its_width(text: str, width: int) -> None:
    talk = [
        Message("user", text),
        Message("assistant", text, [ToolCall("c", "look", text)]),
        Message("tool", text, tool_call_id="c"),
    ]
    for line in shown(conversation_pane(talk, unfolded=(2,)), width).splitlines():
        assert cell_len(line) <= width


@pytest.mark.parametrize(
    "text", ["> " * 5000, "* " * 5000, "[" * 19_000, "`" * 19_000, "|a" * 9000 + "\n" + "|-" * 9000, "_" * 19_000]
)
def test_markdown_that_is_nested_without_end_is_set_as_far_as_it_can_be(text: str) -> None:
    assert shown(conversation_pane([Message("assistant", text)]), 60)
