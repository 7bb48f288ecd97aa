"""Each answer that is an error becomes the error that says what may be done next."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright_providers.http import Peer
from statewright_providers.openai_errors import CODES, CURES, STATUS_CLASSES, STATUSES, TYPES, map_errors, retry_after_s
from statewright_states.errors import (
    AuthenticationFailed,
    ContextOverflow,
    MalformedReply,
    ModelNotFound,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RequestRejected,
    ServerFailed,
)
from transcripts import read_transcript
from wire import JSON, Watcher, completion, receive


def error_of(status: int, body: Any, *, headers: dict[str, str] | None = None, stream: bool = False) -> ProviderError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    watcher = Watcher()
    with pytest.raises(ProviderError) as caught:
        receive(data, status=status, headers={**JSON, **(headers or {})}, stream=stream, watcher=watcher)
    assert watcher.began_count == 0
    return caught.value


def openai_error(message: str = "no", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, openai_error(code="invalid_api_key"), AuthenticationFailed),
        (403, openai_error(), AuthenticationFailed),
        (402, openai_error(), QuotaExhausted),
        (429, openai_error(type="insufficient_quota", code="insufficient_quota"), QuotaExhausted),
        (429, openai_error(type="insufficient_quota"), QuotaExhausted),
        (429, openai_error(code="rate_limit_exceeded"), RateLimited),
        (429, b"slow down", RateLimited),
        (404, openai_error(code="model_not_found"), ModelNotFound),
        (403, openai_error(code="model_not_found"), ModelNotFound),
        (404, b"<html>nginx</html>", ModelNotFound),
        (301, b"", ModelNotFound),
        (408, b"", ServerFailed),
        (409, openai_error(), ServerFailed),
        (500, openai_error(), ServerFailed),
        (502, b"<html>bad gateway</html>", ServerFailed),
        (503, b"", ServerFailed),
        (529, openai_error(), ServerFailed),
        (400, openai_error(), RequestRejected),
        (405, b"", RequestRejected),
        (422, {"detail": [{"loc": ["body"], "msg": "bad"}]}, RequestRejected),
        (413, openai_error(), RequestRejected),
        (400, openai_error(code="context_length_exceeded"), ContextOverflow),
        (413, openai_error(code="context_length_exceeded"), ContextOverflow),
        (422, openai_error(code="context_length_exceeded"), ContextOverflow),
    ],
)
def test_a_status_and_a_typed_code_become_one_kind_of_error(status: int, body: object, kind: type[ProviderError]) -> None:
    for stream in (False, True):
        error = error_of(status, body, stream=stream)
        assert type(error) is kind
        assert error.status_code == status
        assert str(status) in error.what
        assert error.cure == CURES[kind]


@pytest.mark.parametrize("code", [None, 400, "400"], ids=repr)
def test_an_overflow_is_told_by_its_text_only_where_the_server_gives_no_code(code: object) -> None:
    text = "This model's maximum context length is 4096 tokens. However, you requested 9026 tokens."
    assert type(error_of(400, openai_error(text, type="BadRequestError", code=code))) is ContextOverflow
    assert type(error_of(400, openai_error(text, code="invalid_value"))) is RequestRejected
    assert type(error_of(500, openai_error(text, code=code))) is ServerFailed


def test_the_overflow_that_llama_cpp_sends_is_one() -> None:
    body = (
        b'{"error":{"code":400,"message":"request (9026 tokens) exceeds the available context size (4096 tokens)",'
        b'"type":"exceed_context_size_error","n_prompt_tokens":9026,"n_ctx":4096}}'
    )
    assert type(error_of(400, body)) is ContextOverflow


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("chat-19", RequestRejected, "Value must be between"),
        ("err-01", RequestRejected, "parse error"),
        ("err-02", RequestRejected, "'messages' is required"),
        ("err-04", ServerFailed, "Failed to parse tools"),
        ("err-05", RequestRejected, "Invalid tool_choice"),
        ("err-08", ModelNotFound, "File Not Found"),
    ],
)
def test_recorded_errors_become_ours_and_keep_the_services_words(name: str, kind: type[ProviderError], message: str) -> None:
    recorded = read_transcript(name)
    error = error_of(recorded.status, recorded.body)
    assert type(error) is kind
    assert message in error.what


def test_a_message_names_the_model_the_address_the_status_and_the_cure() -> None:
    error = error_of(404, openai_error("The model does not exist", code="model_not_found"))
    assert str(error).splitlines() == [
        "openai:qwen answered 404: The model does not exist",
        "  where: http://model.test/v1/chat/completions",
        "  cure:  check the model's name, and that base_url is the address the API is served at (mostly it ends in /v1)",
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"error": "no such thing"},
        {"message": "no such thing"},
        {"detail": "no such thing"},
        [openai_error("no such thing")],
        b"no such thing",
    ],
)
def test_the_services_message_is_found_in_whatever_shape_it_comes(body: object) -> None:
    assert error_of(400, body).what.endswith(": no such thing")


def test_every_kind_of_error_that_can_come_out_has_a_cure() -> None:
    assert {*CODES.values(), *STATUSES.values(), *STATUS_CLASSES.values(), *TYPES.values()} == set(CURES)


# -- how long to wait ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT", "date": "Wed, 21 Oct 2015 07:28:30 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_the_wait_a_service_asks_for_is_read_in_each_of_its_spellings(headers: dict[str, str], wait_s: float | None) -> None:
    assert retry_after_s(headers) == wait_s


def test_an_error_carries_the_wait() -> None:
    error = error_of(429, openai_error(), headers={"Retry-After": "3"})
    assert error.retry_after_s == 3.0
    assert error_of(503, b"", headers={"retry-after-ms": "250"}).retry_after_s == 0.25


@given(st.datetimes(timezones=st.just(UTC)).filter(lambda date: 1900 < date.year < 9000), st.integers(0, 10_000))
def test_a_date_is_counted_from_the_replys_own_date(now: datetime, wait_s: int) -> None:
    date = now.replace(microsecond=0)
    headers = {
        "date": format_datetime(date, usegmt=True),
        "retry-after": format_datetime(date + timedelta(seconds=wait_s), usegmt=True),
    }
    assert retry_after_s(headers) == wait_s


@given(st.text(max_size=20), st.text(max_size=20))
def test_no_header_however_strange_raises(retry_after: str, date: str) -> None:
    wait_s = retry_after_s({"retry-after": retry_after, "date": date})
    assert wait_s is None or wait_s >= 0


# -- values that no service means ------------------------------------------------------------------------------------

FAR = "Mon, 01 Jan 2029 00:00:00"


@pytest.mark.parametrize("code", ["1" * 400, "-" + "1" * 400, "1e400", "[" * 1000 + "]" * 1000, "18446744073709551616"])
def test_a_code_beyond_all_bounds_is_an_error_of_ours(code: str) -> None:
    body = f'{{"error": {{"message": "no", "code": {code}}}}}'.encode()
    assert error_of(400, body).status_code == 400
    with pytest.raises(ProviderError):
        receive(b"data: " + body + b"\n\n", stream=True)


@given(
    st.one_of(
        st.sampled_from(
            ["9" * 400, "1e308", "1e400", "-1", "nan", "inf", f"{FAR} +99999999999999", f"{FAR} -9999", f"{FAR} +2400"]
        ),
        st.integers().map(str),
        st.floats().map(str),
        st.from_regex(r"[A-Z][a-z]{2}, \d{1,3} [A-Z][a-z]{2} \d{1,6} \d{1,3}:\d{1,3}(:\d{1,3})? [+-]?\d{0,30}", fullmatch=True),
        st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=60),
    ),
    st.sampled_from(["", FAR, f"{FAR} GMT", f"{FAR} +99999999999999"]),
)
def test_no_wish_to_wait_raises_or_is_endless(wish: str, date: str) -> None:
    for name in ("retry-after", "retry-after-ms"):
        wait = retry_after_s({name: wish, "date": date})
        assert wait is None or 0 <= wait <= 365 * 86400


@pytest.mark.parametrize("stream", [False, True])
def test_arguments_as_an_object_nested_without_end_are_a_malformed_reply(stream: bool) -> None:
    for depth in (200, 900, 1000, 100_000):
        arguments = "[" * depth + "]" * depth
        asked = f'{{"tool_calls": [{{"index": 0, "id": "c", "function": {{"name": "f", "arguments": {arguments}}}}}]}}'
        name = "delta" if stream else "message"
        body = f'{{"choices": [{{"index": 0, "finish_reason": "stop", "{name}": {asked}}}]}}'
        with pytest.raises(MalformedReply):
            receive(f"data: {body}\n\n".encode() if stream else body.encode(), stream=stream)


@pytest.mark.parametrize("tokens", ["18446744073709551616", "18446744073709551615", "1" * 400, "-1", "1e400"])
def test_usage_beyond_all_bounds_is_no_usage(tokens: str) -> None:
    body = json.dumps({**completion(content="5"), "usage": {"prompt_tokens": -99}}).replace("-99", tokens)
    usage = receive(body.encode()).usage
    assert usage is not None
    assert usage.input_tokens == 0


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://api.example/v1/chat/completions", "https://api.example/v1/chat/completions"),
        ("/openai/v1/chat/completions", "http://model.test/openai/v1/chat/completions"),
        (
            "https://user:s3cret-word@login.example:8443/start?api-key=s3cret-word#s3cret-word",
            "https://login.example:8443/start",
        ),
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_says_where_it_points_to_and_nothing_secret(status: int, location: str, shown: str) -> None:
    with pytest.raises(ModelNotFound) as caught:
        receive(b"", status=status, headers={"location": location})
    assert f"points to {shown}\n" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "base_url" in caught.value.cure


@pytest.mark.parametrize("location", ["", "http://[", "http://a b/\x00", "javascript:alert(1)", "//", "x" * 100_000])
def test_no_place_of_a_redirect_however_strange_raises(location: str) -> None:
    error = map_errors(Peer("openai:m", "http://model.test/v1/chat/completions"), 302, {"location": location}, b"moved")
    assert isinstance(error, ModelNotFound)
    assert len(str(error)) < 2000
