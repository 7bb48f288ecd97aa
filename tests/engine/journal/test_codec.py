"""Messages and facts become plain data without their defaults, and come back the same; what is not as declared is refused."""

from __future__ import annotations

from dataclasses import MISSING, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.journal.codec import encoder, read, slots_of
from statewright.journal.entry import TABLES, End, Header, decode, encode, message_digests
from statewright_states.call.events import AttemptReplied, ReplyBegan
from statewright_states.form.row import Command, Event
from statewright_states.run.events import ContextBuilt, LaneGranted, RunAdmitted
from statewright_states.run.facts import RunFacts, RunSettings
from statewright_states.tool.events import ToolRequested
from statewright_states.words.messages import Kept, digest_of
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import ToolRequest

KINDS: list[type] = [
    *{event: None for table in TABLES.values() for event in table.events},
    *(each for each in Command.__subclasses__() if is_dataclass(each) and each.__module__.startswith("statewright_states.")),
    *(type(table.new_facts()) for table in TABLES.values()),
]
TEXTS = st.text(max_size=5)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    if get_origin(hint) is Annotated:
        inner, *marks = get_args(hint)
        return TEXTS.map(lambda text: digest_of(text.encode())) if marks[0] in set(Kept) else values(inner)
    if get_origin(hint) in (Union, UnionType):
        return st.one_of([values(each) for each in get_args(hint)])
    if get_origin(hint) is tuple:
        return st.lists(values(get_args(hint)[0]), max_size=2).map(tuple)
    if is_dataclass(hint):
        return instances(hint)  # type: ignore[arg-type]
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    simple: dict[type, st.SearchStrategy[Any]] = {
        str: st.one_of(TEXTS, st.just("\ud800")), int: st.integers(-5, 2**63), bool: st.booleans(), NoneType: st.none(),
        float: st.floats(allow_nan=False, allow_infinity=False),
    }  # fmt: skip
    return simple[hint]


def instances(kind: type) -> st.SearchStrategy[Any]:
    """Instances of a message or of facts; many fields hold their defaults."""

    def of(slot: Any) -> st.SearchStrategy[Any]:
        return values(slot.hint) if slot.default is MISSING else st.one_of(st.just(slot.default), values(slot.hint))

    return st.builds(kind, **{slot.name: of(slot) for slot in slots_of(kind)})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.__module__.split('.')[1]}.{kind.__name__}")
@settings(max_examples=25)
@given(st.data())
def test_what_is_written_is_read_back_and_written_the_same_again(kind: type, pick: st.DataObject) -> None:
    value = pick.draw(instances(kind))
    data = decode(encode(encoder(kind)(value)))
    again = read(kind, data)
    assert again == value
    assert decode(encode(encoder(kind)(again))) == data
    defaults = {slot.key: slot.default for slot in slots_of(kind) if slot.default is not MISSING}
    left_out = {name for name in defaults if name not in data}
    assert left_out == {slot.key for slot in slots_of(kind) if getattr(value, slot.name) == defaults.get(slot.key, MISSING)}


REQUEST = ToolRequest("tool-1.1", "c1", "add", "0" * 64, ToolEffect.READ, person=False, parallel=True)
REQUESTED: dict[str, Any] = encoder(ToolRequested)(ToolRequested(REQUEST, released=True))


def test_only_what_is_no_default_is_written() -> None:
    assert encoder(LaneGranted)(LaneGranted()) == {}
    assert encoder(RunFacts)(RunFacts()) == {}
    assert encoder(RunFacts)(RunFacts(step=2, settings=RunSettings(max_steps=3))) == {"settings": {"max_steps": 3}, "step": 2}
    assert REQUESTED.keys() == {"request", "released"}


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        (LaneGranted, {"mood": 1}, "its field 'mood' is not known to this version"),
        (LaneGranted, [], "an object is expected, and it is []"),
        (ToolRequested, {"released": True}, "its field 'request' is missing"),
        (ToolRequested, {**REQUESTED, "released": 1}, "its field 'released' is not as it should be: true or false is expected"),
        (
            ToolRequested,
            {**REQUESTED, "request": {**REQUESTED["request"], "effect": "none"}},
            "its field 'request.effect' is not as it should be: one of read, idempotent, irreversible",
        ),
        (ToolRequested, {**REQUESTED, "request": {**REQUESTED["request"], "x": 1}}, "its field 'request.x' is not known"),
        (ToolRequested, {**REQUESTED, "rule": {"required": True}}, "'rule.required' is not as it should be: a whole number"),
        (ToolRequested, {**REQUESTED, "rule": {"approvers": ["a", 1]}}, "'rule.approvers.1' is not as it should be: a text"),
        (RunAdmitted, {"settings": {}, "task": "free text"}, "'task' is not as it should be: sha256: and 64 lower-case"),
        (RunAdmitted, {"settings": {"max_steps": 2.5}, "task": digest_of(b"")}, "'settings.max_steps' is not as it should be"),
        (End, {}, "its field 'status' is missing"),
        (Header, {"format": -1}, "its field 'format' is not as it should be: a number from 0 up"),
    ],
)
def test_data_that_is_not_as_declared_is_refused_with_the_field_and_what_it_should_be(
    kind: type, data: object, words: str
) -> None:
    with pytest.raises(ValueError, match=r"its field|is expected") as refused:
        read(kind, data)
    assert words in str(refused.value)


def test_the_messages_that_an_event_names_are_those_of_its_types() -> None:
    one, two = digest_of(b"1"), digest_of(b"2")
    assert list(message_digests(ContextBuilt(1, (one, two), 5, raw=digest_of(b"raw")))) == [one, two]
    assert list(message_digests(AttemptReplied(1, one, two, None, "stop", 0, 0, 0, 0, 0))) == [one]
    assert list(message_digests(LaneGranted())) == []


def test_of_all_events_only_that_a_reply_began_may_wait_for_the_next_entry() -> None:
    events: set[type[Event]] = {event for table in TABLES.values() for event in table.events}
    assert {event for event in events if not event.durable} == {ReplyBegan}
