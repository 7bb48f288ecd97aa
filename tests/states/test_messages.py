"""Messages: made of parts, encoded once in a neutral form of their own, and named by it."""

from __future__ import annotations

import dataclasses
import gc
import json
import weakref
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings

from message_parts import MESSAGES, PARTS
from statewright_states import frozen
from statewright_states.errors import HistoryError, JournalDamaged
from statewright_states.words.messages import LLMResponse, Message, StreamChunk, ToolSchema, Usage, digest_of, encode_json
from statewright_states.words.parts import (
    KINDS,
    Citation,
    FilePart,
    ImagePart,
    OpaquePart,
    Part,
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCall,
    described,
    own_state,
    part_from,
    stored,
)

CALL = ToolCall("call_1", "add", '{"a": 1')
SIGNED = ProviderState("signed", "c2lnbmF0dXJl")
IMAGE = ImagePart.of(b"\x89PNG", "image/png")

EVERY_PART: list[tuple[Part, dict[str, Any]]] = [
    (TextPart("hello"), {"type": "text", "text": "hello"}),
    (
        TextPart("it is so", (Citation("https://a.example", "A", "so", 0, 5), Citation(title="B")), SIGNED),
        {
            "type": "text",
            "text": "it is so",
            "citations": [{"url": "https://a.example", "title": "A", "quote": "so", "start": 0, "end": 5}, {"title": "B"}],
            "provider_state": {"adapter": "signed", "data": "c2lnbmF0dXJl"},
        },
    ),
    (ReasoningPart("hm"), {"type": "reasoning", "text": "hm"}),
    (ReasoningPart(), {"type": "reasoning"}),
    (IMAGE, {"type": "image", "media_type": "image/png", "data": "iVBORw=="}),
    (ImagePart(url="https://a.example/1", detail="low"), {"type": "image", "url": "https://a.example/1", "detail": "low"}),
    (
        FilePart.of(b"a,b", "text/csv", "ledger.csv"),
        {"type": "file", "media_type": "text/csv", "data": "YSxi", "name": "ledger.csv"},
    ),
    (FilePart(file_id="file-7"), {"type": "file", "file_id": "file-7"}),
    (CALL, {"type": "tool_call", "id": "call_1", "name": "add", "arguments": '{"a": 1'}),
    (OpaquePart(SIGNED), {"type": "opaque", "provider_state": {"adapter": "signed", "data": "c2lnbmF0dXJl"}}),
]


# -- bytes -----------------------------------------------------------------------------------------------------------


def test_json_is_compact_and_keeps_what_utf8_can_hold() -> None:
    assert encode_json({"a": [1, "ä"]}) == '{"a":[1,"ä"]}'.encode()


def test_text_that_utf8_cannot_hold_is_escaped() -> None:
    assert encode_json("ä\ud800") == '"ä\\ud800"'.encode()


def test_a_pair_of_surrogates_is_the_character_that_it_stands_for() -> None:
    assert encode_json("\ud83d\ude00 \ude00") == '"\N{GRINNING FACE} \\ude00"'.encode()


def test_a_digest_names_its_algorithm() -> None:
    assert digest_of(b"abc") == "sha256:" + sha256(b"abc").hexdigest()


# -- stored ----------------------------------------------------------------------------------------------------------


def test_the_stored_form_of_a_message_is_this() -> None:
    assert Message("user", "hello").encoded == b'{"role":"user","parts":[{"type":"text","text":"hello"}]}'
    assert Message("assistant").encoded == b'{"role":"assistant"}'
    result = b'{"role":"tool","parts":[{"type":"text","text":""}],"tool_call_id":"call_1"}'
    assert Message("tool", "", tool_call_id="call_1").encoded == result


@pytest.mark.parametrize(("part", "shape"), EVERY_PART)
def test_the_stored_form_of_a_part_is_this(part: Part, shape: dict[str, Any]) -> None:
    assert stored(part) == shape
    assert list(stored(part)) == list(shape)
    assert part_from(json.loads(json.dumps(shape))) == part


def test_every_kind_of_part_is_shown_above() -> None:
    assert {type(part) for part, _ in EVERY_PART} == set(KINDS.values())


@settings(deadline=None)
@given(MESSAGES)
def test_a_message_comes_back_whole_from_its_bytes(message: Message) -> None:
    again = Message.from_encoded(message.encoded)
    assert again.encoded == message.encoded
    assert message.digest == again.digest == digest_of(message.encoded)
    assert Message.from_encoded(again.encoded) == again


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"[]", "its role, parts or tool_call_id"),
        (b"{", "Expecting property name"),
        (b'{"role":"bot"}', "its role, parts or tool_call_id"),
        (b'{"role":"user","mood":"good"}', "the field 'mood', which this version does not know"),
        (b'{"role":"user","parts":["x"]}', "an object was expected, and not 'x'"),
        (b'{"role":"user","parts":[{"type":"smell","text":"x"}]}', "there is no part of the type 'smell'"),
        (b'{"role":"user","parts":[{"type":["text"]}]}', "a text was expected"),
        (b'{"role":"user","parts":[{"type":"text","text":"x","mood":"good"}]}', "mood"),
        (b'{"role":"user","parts":[{"type":"text"}]}', "text"),
        (b'{"role":"user","parts":[{"type":"text","text":7}]}', "a text was expected, and not 7"),
        (b'{"role":"user","parts":[{"type":"text","text":"x","citations":{}}]}', "a list was expected"),
        (b'{"role":"user","parts":[{"type":"text","text":"x","citations":[{"start":true}]}]}', "a whole number was expected"),
        (b'{"role":"user","parts":[{"type":"text","text":"x","provider_state":{"adapter":"a"}}]}', "data"),
        (b'{"role":"user","parts":[{"type":"image"}]}', "says in no one way where its bytes are"),
        (b'{"role":"user","tool_call_id":7}', "its role, parts or tool_call_id"),
    ],
)
def test_stored_bytes_that_this_version_does_not_know_whole_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(JournalDamaged, match=problem) as refused:
        Message.from_encoded(data)
    assert refused.value.where == f"payload {digest_of(data)}"
    assert "the version named in the run's header" in refused.value.cure


def test_what_a_message_or_reply_shows_of_itself_holds_no_bytes() -> None:
    message = Message("user", parts=[IMAGE, OpaquePart(SIGNED)])
    assert IMAGE.data not in repr(message)
    assert SIGNED.data not in repr(message)
    assert "secret" not in repr(LLMResponse("x", raw=b"secret"))


# -- made ------------------------------------------------------------------------------------------------------------


def test_text_and_calls_are_parts_in_this_order() -> None:
    message = Message("assistant", "I add", [CALL])
    assert message.parts == (TextPart("I add"), CALL)
    assert (message.content, message.tool_calls) == ("I add", (CALL,))
    assert (Message("assistant").content, Message("assistant", "").content) == (None, "")


def test_the_content_of_parts_is_their_text_joined() -> None:
    message = Message("assistant", parts=[ReasoningPart("hm"), TextPart("a"), CALL, TextPart("b"), IMAGE])
    assert (message.content, message.tool_calls, message.attachments) == ("ab", (CALL,), (IMAGE,))


def test_what_is_no_part_and_what_is_said_twice_is_refused() -> None:
    wrong: Any = ["text"]
    with pytest.raises(TypeError, match="str is none"):
        Message("user", parts=wrong)
    with pytest.raises(TypeError, match="and not both"):
        Message("user", "text", parts=[TextPart("text")])
    with pytest.raises(TypeError, match="and not both"):
        LLMResponse(tool_calls=[CALL], parts=[CALL])


@pytest.mark.parametrize(
    ("part", "says_something"),
    [
        (TextPart(" \n"), False),
        (ReasoningPart("hm", SIGNED), False),
        *[(part, True) for part in (TextPart("x"), IMAGE, FilePart(file_id="f"), CALL, OpaquePart(SIGNED))],
    ],
)
def test_blanks_and_reasoning_say_nothing(part: Part, says_something: bool) -> None:
    assert Message("assistant", parts=[ReasoningPart(), part]).says_something is says_something


@pytest.mark.parametrize("replace", (frozen.replace, dataclasses.replace))
def test_a_message_or_reply_with_other_parts_is_named_anew(replace: Any) -> None:
    message = Message("tool", "a", tool_call_id="call_1")
    assert replace(message, parts=(TextPart("b"),)) == Message("tool", "b", tool_call_id="call_1")
    assert replace(message, parts=(TextPart("b"),)).digest == Message("tool", "b", tool_call_id="call_1").digest
    assert replace(LLMResponse("a", model="m"), model="n") == LLMResponse("a", model="n")


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({}, "in no one way"),
        ({"data": "AA==", "media_type": "image/png", "url": "https://a.example"}, "in no one way"),
        ({"url": "https://a.example", "file_id": "f"}, "in no one way"),
        ({"data": "AA=="}, "without a media type"),
        ({"url": "data:image/png;base64,AA=="}, "the bytes themselves"),
    ],
)
def test_an_image_or_file_is_in_exactly_one_place(wrong: dict[str, Any], problem: str) -> None:
    for kind in (ImagePart, FilePart):
        with pytest.raises(HistoryError, match=problem) as refused:
            kind(**wrong)
        assert refused.value.where == kind.__name__


def test_an_image_or_file_is_told_by_its_name_type_and_size() -> None:
    assert described(IMAGE) == "image/png, 4 bytes"
    assert described(FilePart.of(b"12345", "application/pdf", "report.pdf")) == "report.pdf, application/pdf, 5 bytes"
    assert described(ImagePart(url="https://a.example/1.png")) == "https://a.example/1.png"
    assert described(FilePart(file_id="file-7", name="x.txt")) == "x.txt, file-7"


@given(PARTS)
def test_the_state_of_a_part_is_its_own_adapters(part: Part) -> None:
    state = part.provider_state
    assert own_state(part, "nobody") is None
    if state is not None:
        assert own_state(part, state.adapter) == state.data


# -- on the wire -----------------------------------------------------------------------------------------------------


def test_a_message_is_encoded_once_by_each_adapter_and_forgotten_with_it() -> None:
    made: list[str] = []

    def shout(message: Message) -> bytes:
        made.append("shout")
        return (message.content or "").upper().encode()

    def count(message: Message) -> bytes:
        made.append("count")
        return b"%d" % len(message.parts)

    message = Message("user", "hi")
    assert [message.encoded_by(encode) for encode in (shout, count, shout, count)] == [b"HI", b"1", b"HI", b"1"]
    assert made == ["shout", "count"]
    assert frozen.replace(message, parts=(TextPart("ho"),)).encoded_by(shout) == b"HO"
    alive = weakref.ref(shout)
    del message, shout
    gc.collect()
    assert alive() is None


# -- replies, usage, schemas -----------------------------------------------------------------------------------------


def test_usage_adds_up() -> None:
    total = Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40)
    assert total == Usage(11, 22, 33, 44)
    assert total.total_tokens == 33


def test_a_reply_says_what_it_is_made_of() -> None:
    reply = LLMResponse(tool_calls=[CALL])
    assert (reply.parts, reply.tool_calls, reply.content) == ((CALL,), (CALL,), None)
    assert (reply.finish_reason, reply.usage, reply.model, reply.raw) == ("stop", None, None, b"")
    whole = LLMResponse(parts=[ReasoningPart("hm", SIGNED), TextPart("a"), TextPart("b")])
    assert (whole.content, len(whole.parts)) == ("ab", 3)


def test_chunks_and_schemas_are_plain_values() -> None:
    assert StreamChunk("content", "a") == StreamChunk("content", "a")
    assert ToolSchema("add", "adds", b"{}").parameters_json == b"{}"
