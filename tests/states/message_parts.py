"""Messages of every kind of part, as Hypothesis makes them."""

from __future__ import annotations

from base64 import b64encode

from hypothesis import strategies as st

from statewright_states.words.messages import ROLES, Message
from statewright_states.words.parts import (
    Citation,
    FilePart,
    ImagePart,
    OpaquePart,
    Part,
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCall,
)

TEXTS = st.text(st.characters(), max_size=12)  # lone surrogates included
STATES = st.builds(ProviderState, st.sampled_from(["anthropic", "gemini", "", "signed"]), TEXTS)
MAYBE = st.none() | STATES
PLACES = st.none() | st.integers(0, 10**6)
CITATIONS = st.lists(st.builds(Citation, TEXTS, TEXTS, TEXTS, PLACES, PLACES), max_size=2).map(tuple)
DATA = st.binary(min_size=1, max_size=40).map(lambda data: b64encode(data).decode())
MEDIA_TYPES = st.sampled_from(["image/png", "application/pdf", "text/plain;charset=utf-8", "audio/wav"])
URLS = TEXTS.map("https://example.org/".__add__)
IDS = st.text(min_size=1, max_size=6)
PLACED = (
    st.fixed_dictionaries({"media_type": MEDIA_TYPES, "data": DATA})
    | st.fixed_dictionaries({"url": URLS}, optional={"media_type": MEDIA_TYPES})
    | st.fixed_dictionaries({"file_id": IDS})
)
IMAGES = st.builds(lambda place, detail, state: ImagePart(**place, detail=detail, provider_state=state), PLACED, TEXTS, MAYBE)
FILES = st.builds(lambda place, name, state: FilePart(**place, name=name, provider_state=state), PLACED, TEXTS, MAYBE)
CALLS = st.builds(ToolCall, TEXTS, TEXTS, TEXTS, MAYBE)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, TEXTS, CITATIONS, MAYBE),
    st.builds(ReasoningPart, TEXTS, MAYBE),
    IMAGES,
    FILES,
    CALLS,
    st.builds(OpaquePart, STATES),
)
MESSAGES = st.builds(
    lambda role, parts, tool_call_id: Message(role, tool_call_id=tool_call_id, parts=parts),
    st.sampled_from(ROLES),
    st.lists(PARTS, max_size=6),
    st.none() | TEXTS,
)

PLAIN_CALLS = st.lists(st.builds(ToolCall, TEXTS, TEXTS, TEXTS), max_size=3)
PLAIN_IMAGES = st.builds(
    lambda place, detail: ImagePart(**place, detail=detail),
    PLACED.filter(lambda place: "url" not in place or "media_type" not in place),
    st.sampled_from(["", "low"]),
)
PLAIN_FILES = st.builds(
    lambda place, name: FilePart(**place, name=name),
    PLACED.filter(lambda place: "url" not in place or "media_type" not in place),
    TEXTS,
)
ATTACHED = st.lists(st.builds(TextPart, TEXTS) | PLAIN_IMAGES | PLAIN_FILES, max_size=4).filter(
    lambda parts: any(not isinstance(part, TextPart) for part in parts)
)
CHAT_SHAPED = st.builds(
    lambda role, said, calls, tool_call_id: Message(role, tool_call_id=tool_call_id, parts=[*said, *calls]),
    st.sampled_from(ROLES),
    st.just([]) | st.builds(TextPart, TEXTS).map(lambda part: [part]) | ATTACHED,
    PLAIN_CALLS,
    st.none() | TEXTS,
)
"""Messages that the chat shape can hold whole: a text, or texts with images and files, and calls behind them."""
