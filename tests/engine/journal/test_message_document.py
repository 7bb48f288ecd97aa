"""What the document of the journal format says of a stored message is how messages are stored."""

from __future__ import annotations

import dataclasses
import re

from statewright_states.words.messages import Message
from statewright_states.words.parts import KINDS, Citation, ProviderState
from test_verify_document import listed, section

TEXT = section("### Messages")


def test_the_example_is_stored_as_it_is_printed() -> None:
    (printed,) = re.findall(r"```json\n(.*?)\n```", TEXT, re.DOTALL)
    message = Message.from_encoded(printed.encode())
    assert message.encoded == printed.encode()
    assert [type(part).__name__ for part in message.parts] == ["ReasoningPart", "TextPart", "ToolCall"]


def test_every_type_of_part_is_listed_with_its_fields_in_their_order() -> None:
    assert [name for name in listed(TEXT) if name in KINDS] == list(KINDS)
    cited = [field.name for field in dataclasses.fields(Citation)]
    for name, kind in KINDS.items():
        (row,) = re.findall(rf"^\| `{name}` \| (.*) \|$", TEXT, re.MULTILINE)
        told = [field for field in re.findall(r"`(\w+)`", row) if name != "text" or field == "text" or field not in cited]
        assert told == [field.name for field in dataclasses.fields(kind)]
        assert name != "text" or [field for field in re.findall(r"`(\w+)`", row) if field in cited] == cited


def test_the_fields_of_a_message_and_of_a_provider_state_are_named() -> None:
    assert [name for name in listed(TEXT) if name not in KINDS] == ["role", "parts", "tool_call_id", "type"]
    assert all(f"`{field.name}`" in TEXT for field in dataclasses.fields(ProviderState))
