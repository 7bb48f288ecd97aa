"""What is asked of a model with each request, beside the messages and the tools.

All of it is recorded in the header of a run, so nothing here may be a key: what is named like one, or looks like one, is
refused, and so is the key of the model itself, as soon as the two meet. The key is given to ``connect``, or to the environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Annotated, Any, cast

from pydantic import (
    Field,
    GetPydanticSchema,
    JsonValue,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
)

from statewright.config.configuration import Configuration
from statewright_states.errors import ConfigurationError

Json = Annotated[Any, GetPydanticSchema(lambda _, handler: handler.generate_schema(JsonValue))]
"""Any value that JSON knows."""
Word = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[!-~]+$")]

AUTO, NO_TOOL, REQUIRED = "auto", "none", "required"
"""What ``tool_choice`` may be beside the name of a tool."""

SECRET_KEY = re.compile(r"(?i)api.?key|secret|passw|credential|bearer|authorization|(access|auth).?token|^(key|token)$")
"""Names of keys in files and bodies under which a text is taken for a secret."""
SECRET_HEADER = re.compile(r"(?i)key|token|secret|signature|auth(?!ors?\b)|passw|cred|cookie|bearer")
SECRET_VALUE = re.compile(
    r"\b(sk|rk|pk)-[\w-]{16,}|\b(bearer|basic)\s+\S{8,}|\beyJ[\w-]{10,}\.|\bgh[a-z]_\w{20,}|\bAKIA[0-9A-Z]{16}|\bAIza[\w-]{30,}"
    r"|\bhf_\w{20,}|\bxox[a-z]-[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY",
    re.IGNORECASE,
)
"""How keys of known services look, and what stands in a header with a key."""
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
OUR_HEADERS = frozenset(("accept-encoding", "connection", "expect", "host", "keep-alive", "te", "trailer", "upgrade")) | {
    "content-encoding",
    "content-length",
    "content-type",
    "transfer-encoding",
}
"""They say how the request lies on the wire, which is the transport's."""
OUR_KEYS: Mapping[str, str] = {
    **dict.fromkeys(("model", "messages", "tools", "stream"), "the run says it"),
    **dict.fromkeys(("functions", "function_call"), "tools are declared with tools="),
    "n": "one reply is read",
    "stream_options": "it asks for the usage of a stream",
    **{name: f"set {name}= beside it" for name in ("temperature", "top_p", "seed", "stop", "reasoning_effort", "tool_choice")},
}
"""Keys of a request that ``extra_body`` may not set, with the reason."""
LIMIT_KEYS = ("max_tokens", "max_completion_tokens")
"""Names of the limit of output tokens: they may be set in ``extra_body`` where ``max_output_tokens`` is not."""
MAX_DEPTH = 50


class RequestParameters(Configuration):
    """Parameters of a request; None, or nothing, leaves each to the server's own default.

    They go to the model and to every fallback. Summaries and judgements have no tools and want another form of answer, so they
    carry neither ``stop`` nor ``tool_choice``; nor do closing words carry ``tool_choice``.
    """

    top_p: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    """The share of likely words that it chooses from, 0 to 1."""
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    """Makes replies repeatable as far as the server can."""
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Texts at which a reply ends; the text itself is left out. What comes before it is a reply like any other."""
    reasoning_effort: Word | None = None
    """How long a reasoning model thinks, in its own word: ``low``, ``medium``, ``high``, ..."""
    tool_choice: str | None = None
    """``auto``, ``none``, ``required`` (some tool has to be called), or the name of the tool that has to be called.

    A call is demanded in the first step of each attempt at the task alone: demanded in every step, no run could ever answer.
    """
    extra_body: Mapping[str, Json] = Field(default_factory=dict[str, Any])
    """Further keys of the request's JSON, as the server knows them. They are sent with every request of the run, but what
    forms an answer (``response_format`` and the like) not with summaries and judgements."""
    extra_headers: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Further HTTP headers of every request. They are recorded: a key goes to ``connect(..., api_key=...)``."""

    @field_validator("stop", mode="before")
    @classmethod
    def _one_text(cls, given: object) -> object:
        return (given,) if isinstance(given, str) else given

    @field_validator("tool_choice")
    @classmethod
    def _named(cls, given: str | None) -> str | None:
        if given is not None and not given.strip():
            raise ConfigurationError(
                "tool_choice is empty", where="tool_choice", cure="write auto, none, required or a tool's name, or leave it out"
            )
        return given

    @field_validator("extra_headers")
    @classmethod
    def _harmless_headers(cls, given: Mapping[str, str]) -> Mapping[str, str]:
        for name, value in given.items():
            _check_header(name, value)
        if len({name.lower() for name in given}) < len(given):
            raise ConfigurationError("extra_headers names a header twice", where="extra_headers", cure="leave one of them out")
        return given

    @field_validator("extra_body")
    @classmethod
    def _harmless_body(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        for key, why in OUR_KEYS.items():
            if key in given:
                raise ConfigurationError(
                    f"extra_body may not set {key!r}: {why}", where="extra_body", cure=f"take {key!r} out of it"
                )
        for path, value in _leaves(given):
            _check_leaf(path, value)
        return given

    @model_serializer(mode="wrap")
    def _what_is_recorded(self, as_declared: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Where they are set: so a run without them is recorded as it was before there were any."""
        recorded: dict[str, Any] = as_declared(self)
        return {
            name: value for name, value in recorded.items() if value or value == 0 or name not in RequestParameters.model_fields
        }

    @property
    def demands_a_call(self) -> bool:
        """Whether ``tool_choice`` does not leave it to the model to call a tool."""
        return self.tool_choice not in (None, AUTO, NO_TOOL)

    @property
    def extra_texts(self) -> Iterator[str]:
        """Every text among what is extra, names too: where a key could hide."""
        body = (text for path, value in _leaves(self.extra_body) for text in (*path, value) if isinstance(text, str))
        return chain(body, *self.extra_headers.items())


def _check_header(name: str, value: str) -> None:
    problem, cure = "", "write a header as HTTP knows it: a name of letters, digits and hyphens, a value of printable ASCII"
    if not HEADER_NAME.fullmatch(name):
        problem = "has a name that HTTP does not allow"
    elif name.lower() in OUR_HEADERS:
        problem, cure = "belongs to the transport", "leave it out"
    elif SECRET_HEADER.search(name) or SECRET_VALUE.search(value):
        problem = "looks like a key, and the headers are recorded with the run"
        cure = "pass the key as connect(..., api_key=...), or hand in a client that sends it: connect(..., client=...)"
    elif not all(" " <= char <= "~" for char in value) or value != value.strip():
        problem = "has a value that HTTP does not allow"
    if problem:
        raise ConfigurationError(f"the header {name!r} {problem}", where="extra_headers", cure=cure)


def _check_leaf(path: Sequence[str], value: object) -> None:
    where = ".".join(("extra_body", *path))
    if len(path) > MAX_DEPTH:
        raise ConfigurationError(
            f"extra_body is nested more than {MAX_DEPTH} levels deep", where="extra_body", cure="make it flatter"
        )
    if (isinstance(value, float) and not isfinite(value)) or (isinstance(value, int) and not -(2**63) <= value < 2**63):
        raise ConfigurationError("a number in extra_body is none that JSON holds", where=where, cure="give one of 64 bits")
    if isinstance(value, str) and ((path and SECRET_KEY.search(path[-1])) or SECRET_VALUE.search(value)):
        raise ConfigurationError(
            "a value in extra_body looks like a key, and it is recorded with the run",
            where=where,
            cure="pass the key as connect(..., api_key=...), or set it in the environment (OPENAI_API_KEY)",
        )


def _leaves(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """What a JSON value consists of, with the keys that lead there; an item of a list stands under the list's own key."""
    waiting: list[tuple[tuple[str, ...], object]] = [(path, value)]
    while waiting:
        place, each = waiting.pop()
        if isinstance(each, Mapping):
            inner = cast("Mapping[str, Any]", each)
            waiting += [((*place, key), inner[key]) for key in inner]
        elif isinstance(each, list):
            waiting += [((*place, "[]"), item) for item in cast("list[object]", each)]
        yield place, each
