"""The key goes to the service and nowhere else: not into a reply, a record, an error, or onto the screen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from statewright_providers import connect
from statewright_providers.http import MAX_ERROR_BODY_BYTES
from statewright_providers.openai_chat import OpenAIChatProvider
from statewright_providers.redacted_reply import RedactingObserver
from statewright_providers.redaction import secrets_of
from statewright_providers.shown_address import shown_address
from statewright_states.errors import ConfigurationError, ProviderError
from statewright_states.words.messages import LLMResponse, StreamChunk
from statewright_states.words.ports import ModelRequest
from wire import QUESTION, Watcher, completion, delta, provider_for, receive, sse

KEY = "sk-proj/Sentinel+0123456789=abcd"
SECRETS = secrets_of(KEY)

CHARACTER_FORMS: tuple[Callable[[str], str], ...] = (
    str,
    lambda char: f"\\u{ord(char):04x}",
    lambda char: f"\\u{ord(char):04X}",
    lambda char: f"\\\\u{ord(char):04x}",
    lambda char: f"%{ord(char):02x}",
    lambda char: f"%{ord(char):02X}",
    lambda char: f"%25{ord(char):02X}",
    lambda char: f"\\{char}" if char in '/"' else char,
    lambda char: f"\\\\\\{char}" if char in '/"' else char,
)
GAPS = ("", "", "", "", "", "\n", "\\n", "\\r\\n", " ", "\u200b", "%0A", "\\u000a")
KEYS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="\\%"), min_size=8, max_size=60)
SURROUNDINGS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\\%"), max_size=40)


def leaked(key: str, shown: str) -> str:
    """The longest piece of the key that is still to be seen, if it is long enough to be any."""
    pieces = (key[start:end] for start in range(len(key)) for end in range(start + 8, len(key) + 1))
    return max((piece for piece in pieces if piece in shown), key=len, default="")


@st.composite
def encoded_keys(draw: st.DrawFn) -> tuple[str, str]:
    """A key, and the same as some service may write it."""
    key = draw(KEYS)
    return key, "".join(draw(st.sampled_from(CHARACTER_FORMS))(char) + draw(st.sampled_from(GAPS)) for char in key)


# -- wherever it stands, however it is written -----------------------------------------------------------------------


@given(encoded_keys(), SURROUNDINGS, SURROUNDINGS)
def test_a_key_is_found_in_each_way_in_which_json_and_urls_write_it(keys: tuple[str, str], before: str, behind: str) -> None:
    key, written = keys
    clean = secrets_of(key).out_of_text(before + written + behind)
    assert written.rstrip() not in clean
    assert "[key]" in clean
    assert clean.startswith(before.rstrip()) or key in before + key, "nothing else is taken away"


@given(st.text(max_size=300), st.lists(st.integers(0, 300), max_size=4))
@example(f"{KEY}{KEY}", [])
@example(KEY * 2, [3])
@example(f"\\u0073k-proj\\/{KEY}", [])
def test_text_without_a_key_is_left_as_it_is_and_a_key_goes_in_any_number(text: str, at: list[int]) -> None:
    assert secrets_of("\u00fc" * 8).out_of_text(text) == text
    for position in at:
        text = text[:position] + KEY + text[position:]
    assert KEY not in SECRETS.out_of_text(text)


def test_a_beginning_of_the_key_at_the_end_goes_too() -> None:
    assert SECRETS.out_of(f"wrong key: {KEY[:-3]}".encode()) == b"wrong key: [key]"
    assert SECRETS.out_of(f"wrong key: {KEY[:7]}".encode()) == f"wrong key: {KEY[:7]}".encode(), "too short to be any"
    assert SECRETS.out_of(f"wrong key: {KEY[:2]}".encode(), cut=True) == b"wrong key: [key]"


@pytest.mark.parametrize("key", ["", "x", "none", "ollama", "local"])
def test_a_placeholder_is_no_key(key: str) -> None:
    assert secrets_of(key).out_of_text("x none ollama local") == "x none ollama local"


def test_work_is_linear_in_what_is_searched() -> None:
    """Shown by sizes at which a quadratic search would take hours."""
    for piece in (KEY, "\\", "%25", "s", KEY[:-1], "\\u0073", KEY + "\n"):
        assert KEY.encode() not in SECRETS.out_of(piece.encode() * (2_000_000 // len(piece)))


# -- replies ---------------------------------------------------------------------------------------------------------

CALL = {"id": KEY, "type": "function", "function": {"name": KEY, "arguments": json.dumps({"sent": f"a {KEY} b"})}}
EVERYWHERE = {
    **completion(content=f"I was told {KEY}.", tool_calls=[CALL], reasoning_content=f"{KEY}!"),
    "id": KEY,
    "model": KEY,
    "debug": {"headers": {"authorization": f"Bearer {KEY}", "x-url": KEY.replace("/", "%2F").replace("+", "%2b")}},
}


def everything_in(reply: LLMResponse) -> str:
    return f"{reply!r} {reply.raw.decode()}"


@pytest.mark.parametrize("escape", [str, lambda body: body.replace("/", "\\/"), lambda body: body.replace("k", "\\u006b")])
@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_that_holds_the_key_everywhere_is_kept_without_it(escape: Callable[[str], str], stream: bool) -> None:
    watcher = Watcher()
    message = EVERYWHERE["choices"][0]["message"]
    chunk = {**EVERYWHERE, "choices": [{"delta": message, "finish_reason": KEY}]}
    body = sse(json.loads(json.dumps(chunk))) if stream else json.dumps(EVERYWHERE).encode()
    reply = receive(escape(body.decode()).encode(), stream=stream, watcher=watcher, api_key=KEY)
    assert leaked(KEY, everything_in(reply) + watcher.text() + watcher.text("reasoning")) == ""
    assert reply.content == "I was told [key]."
    assert json.loads(reply.tool_calls[0].arguments) == {"sent": "a [key] b"}
    assert reply.raw.count(b"[key]") >= 7


def in_pieces(kind: str, pieces: list[str]) -> list[dict[str, Any]]:
    """A stream that says these pieces as text, reasoning or arguments."""
    deltas: Mapping[str, Callable[[str], dict[str, Any]]] = {
        "content": lambda piece: delta(content=piece),
        "reasoning": lambda piece: delta(reasoning_content=piece),
        "details": lambda piece: delta(content="", reasoning_details=[{"text": piece}]),
        "refusal": lambda piece: delta(refusal=piece),
        "arguments": lambda piece: delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": piece}}]),
        "name": lambda piece: delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": piece}}]),
    }
    return [*map(deltas[kind], pieces), delta("stop", content="!")]


@pytest.mark.parametrize("kind", ["content", "reasoning", "details", "refusal", "arguments", "name"])
@given(cuts=st.sets(st.integers(1, len(KEY) - 1), min_size=1), whole_first=st.booleans())
def test_a_key_in_the_pieces_of_a_stream_is_neither_kept_nor_shown(kind: str, cuts: set[int], whole_first: bool) -> None:
    at = [0, *sorted(cuts), len(KEY)]
    pieces = [KEY[start:end] for start, end in pairwise(at)]
    watcher = Watcher()
    events = in_pieces(kind, [f"{KEY} " if whole_first else "so: ", *pieces])
    reply = receive(sse(*events), stream=True, watcher=watcher, api_key=KEY)
    assert leaked(KEY, everything_in(reply)) == ""
    assert leaked(KEY, watcher.text() + watcher.text("reasoning")) == ""
    assert b"left out" in reply.raw


@given(st.lists(st.sampled_from([*KEY, KEY[:9], KEY[9:], "s", "%", "%7", "\\", "\\u00", "73", "\n", "a word "]), max_size=60))
def test_what_is_shown_of_a_stream_is_the_reply_without_the_key(pieces: list[str]) -> None:
    watcher = Watcher()
    observer = RedactingObserver(watcher, SECRETS)
    for piece in pieces:
        observer.chunk(StreamChunk("content", piece))
    observer.ended()
    assert watcher.text() == SECRETS.out_of_text("".join(pieces))


def test_a_stream_without_the_key_is_shown_in_order_and_kept_as_it_came() -> None:
    watcher = Watcher()
    body = sse(delta(reasoning_content="thinks"), delta(content="100%"), delta(content=" of it s"), delta("stop"))
    reply = receive(body, stream=True, watcher=watcher, api_key=KEY)
    assert [(chunk.type, chunk.data) for chunk in watcher.chunks[:2]] == [("reasoning", "think"), ("reasoning", "s")]
    assert watcher.text() == reply.content == "100% of it s"
    assert reply.raw.decode() == "\n".join(line[6:] for line in body.decode().splitlines() if line)


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_that_was_cut_off_within_the_key_is_kept_without_the_beginning_of_it(stream: bool) -> None:
    content = f"I was told {KEY[:-4]}"
    body = sse(delta("length", content=content)) if stream else json.dumps(completion("length", content=content)).encode()
    reply = receive(body, stream=stream, api_key=KEY)
    assert leaked(KEY, everything_in(reply)) == ""
    assert reply.content == "I was told [key]"


def test_what_was_held_back_of_a_stream_that_breaks_off_is_shown_as_far_as_it_is_no_key() -> None:
    for piece, shown in (("the answers", "the answers"), (f"it is {KEY[:-1]}", "it is [key]")):
        watcher = Watcher()
        with pytest.raises(ProviderError):
            receive(sse(delta(content=piece), done=False), stream=True, watcher=watcher, api_key=KEY)
        assert watcher.text() == shown


# -- errors ----------------------------------------------------------------------------------------------------------


def refusal_of(body: bytes, *, status: int = 401, stream: bool = False) -> str:
    with pytest.raises(ProviderError) as caught:
        receive(body, status=status, stream=stream, api_key=KEY)
    return str(caught.value)


@given(encoded_keys(), st.integers(0, 2100))
def test_no_error_shows_a_key_however_it_is_written_and_wherever_it_is_cut(keys: tuple[str, str], filling: int) -> None:
    key, written = keys
    peer = provider_for(lambda _: httpx.Response(200), api_key=key)._endpoint.peer
    assert leaked(key, peer.quote("." * filling + written)) == ""
    assert leaked(key, peer.quote(("." * filling + written).encode())) == ""


@pytest.mark.parametrize("seen", range(1, len(KEY)))
def test_an_error_page_that_is_cut_within_the_key_does_not_show_a_character_of_it(seen: int) -> None:
    """A key that is broken over the whole page becomes one mark: so what is read last, up to the cut, is quoted too."""
    broken = f"{KEY[:1]}{' ' * (MAX_ERROR_BODY_BYTES - seen - len(KEY))}{KEY[1:]}"
    assert refusal_of(f"{broken}{KEY}".encode()).splitlines()[0].endswith(" answered 401: [key][key]")


@pytest.mark.parametrize("at", range(1960, 2010, 7))
def test_a_reply_that_is_none_is_quoted_without_the_key(at: int) -> None:
    assert leaked(KEY, refusal_of(b" " * at + KEY.encode(), status=200)) == ""
    assert leaked(KEY, refusal_of(sse("{" + " " * at + KEY, done=False), status=200, stream=True)) == ""


def test_an_error_within_a_stream_does_not_show_the_key() -> None:
    message = refusal_of(sse({"error": {"message": f"bad key {KEY}"}}), status=200, stream=True)
    assert "bad key [key]" in message


# -- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("https://h/v1?api-version=2024-10-21", "https://h/v1?api-version=2024-10-21"),
        (f"https://me:{KEY}@h/v1", "https://[key]"),
        ("https://me:hunter2@h/v1", "https://[key]@h/v1"),
        ("me:hunter2@h/v1", "[key]@h/v1"),
        ("https://me:hunter2/v1", "https://me:[key]/v1"),
        ("https//me:hunter2@h", "https//[key]@h"),
        ("https:/me:hunter2@h", "[key]"),
        (f"https://h/v1?api-version=2024-10-21&api-key={KEY}", "https://h/v1?api-version=2024-10-21&api-key=[key]"),
        ("https://h/v1?key=short", "https://h/v1?key=[key]"),
        ("https://h/v1?0123456789", "https://h/v1?[key]"),
        ("https://h/v1#0123456789", "https://h/v1#[key]"),
        ("openai:gpt-5-mini", "openai:gpt-5-mini"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret_in_it(address: str, shown: str) -> None:
    assert shown_address(address) == shown


@given(KEYS.map("k{}".format), st.sampled_from(["http://", "https://", "ftp://", "https//", "https:/", "", "//"]))
def test_no_address_that_is_refused_shows_its_password(password: str, scheme: str) -> None:
    for address in (f"{scheme}me:{password}@h/v1", f"{scheme}h:port/v1?api-key={password.replace('&', '').replace(';', '')}"):
        for spec, base_url in (("openai:m", address), (address, None)):
            with pytest.raises(ConfigurationError) as caught:
                connect(spec, base_url=base_url, environment={})
            assert leaked(password, str(caught.value)) == ""
            assert caught.value.__cause__ is None, "a traceback would show what an exception before it says"


def test_a_key_in_the_address_is_sent_and_never_comes_back() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return httpx.Response(200, json=completion(content=f"{request.url} of 2024-10-21"))

    base_url = "https://h/v1?api-version=2024-10-21&api-key=0123456789abc"
    reply = asyncio.run(provider_for(answer, base_url=base_url).complete(ModelRequest(QUESTION), Watcher()))
    assert "api-key=0123456789abc" in seen[0]
    assert "0123456789abc" not in everything_in(reply)
    assert "of 2024-10-21" in everything_in(reply), "a version is no secret"


def test_a_key_in_the_headers_of_a_given_client_never_comes_back() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, text=f"no such key: {request.headers['x-api-key']} {request.headers['authorization']}")

    headers = {"x-api-key": "0123456789abc", "authorization": f"Bearer {KEY}"}
    client = httpx.AsyncClient(transport=httpx.MockTransport(answer), headers=headers)
    provider = OpenAIChatProvider("m", base_url="http://h/v1", client=client)
    with pytest.raises(ProviderError) as caught:
        asyncio.run(provider.complete(ModelRequest(QUESTION), Watcher()))
    assert "no such key: [key] Bearer [key]" in str(caught.value)
