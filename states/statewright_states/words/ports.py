"""Ports: what the core asks of the outside world, as Protocols. Nothing here does anything.

Whoever writes a provider, a journal store or a clock implements one of these; no base class has to be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, runtime_checkable

from statewright_states.frozen import dataclass
from statewright_states.words.messages import LLMResponse, Message, StreamChunk, ToolSchema

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""Some 200 000 tokens of a stream, in which an event takes 300 bytes for each."""
MAX_CALLS_PER_REPLY = 256

# -- models ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model. ``None`` leaves a parameter to the model's own default; times in seconds."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    stream: bool = False
    temperature: float | None = None
    max_output_tokens: int | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    """Texts at which the reply ends."""
    reasoning_effort: str | None = None
    tool_choice: str | None = None
    """``auto``, ``none``, ``required``, or the name of one of ``tools``; without tools it says nothing."""
    extra_body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further keys of the request as the service knows them, plain JSON values."""
    extra_headers: Mapping[str, str] = field(default_factory=dict[str, str])
    idle_timeout_s: float = 120.0
    """The longest silence allowed while a reply is awaited or arrives (between two pieces of it)."""
    max_reply_bytes: int = MAX_REPLY_BYTES
    """A reply that is longer on the wire is a MalformedReply; no more of it is read."""
    max_calls_per_reply: int = MAX_CALLS_PER_REPLY
    """A reply that asks for more tools is a MalformedReply."""


class ReplyObserver(Protocol):
    """Watches a reply arrive. What it does can never change the run."""

    def began(self) -> None:
        """The service accepted the request and the reply begins (called once per attempt, streamed or not)."""
        ...

    def resent(self) -> None:
        """The request is sent once more: its kept connection was closed before anything of a reply came."""
        ...

    def chunk(self, chunk: StreamChunk) -> None:
        """A piece of text arrived (only when the request asked for a stream)."""
        ...


class Provider(Protocol):
    """A model behind an endpoint. One call of ``complete`` is one attempt: retries live in the ``call`` table alone."""

    @property
    def model(self) -> str:
        """The specification a user would type, for records: ``openai:gpt-5-mini``."""
        ...

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        """The complete reply; raises a ProviderError (and nothing else, cancellation aside)."""
        ...

    async def aclose(self) -> None:
        """Release connections. Safe to call twice."""
        ...


@runtime_checkable
class OverHttp(Protocol):
    """A provider that says over whose connections it speaks HTTP, for records."""

    @property
    def http(self) -> str:
        """``aiohttp``, ``httpx``, or ``given``: those of a client that was handed in."""
        ...


@runtime_checkable
class HoldsSecrets(Protocol):
    """A provider that knows secrets, such as its key, and can say whether a text holds one: what is recorded may hold none."""

    def holds_secret(self, text: str) -> bool:
        """Whether one of them stands in the text."""
        ...


class TokenEstimator(Protocol):
    """Says how many tokens messages take up: a guess until the provider has counted them itself."""

    def estimate(self, messages: Sequence[Message]) -> int:
        """Tokens of these messages, from 0 up. Called on the event loop, once per message: quick, no input or output.

        One that raises, or gives no such number, is replaced by the rule of thumb for the rest of the run; the record
        says so.
        """
        ...


# -- time, chance, names ---------------------------------------------------------------------------------------------


class Timer(Protocol):
    """A pending call that can be called off."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Time: wall time for records, monotonic time and timers for deadlines."""

    def now_us(self) -> int:
        """Wall time in microseconds since 1970-01-01 UTC."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that never go back."""
        ...

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """Call ``callback`` once, after ``delay_s`` seconds, on the running event loop."""
        ...


class Chance(Protocol):
    """Randomness, for jitter only."""

    def jitter(self) -> float:
        """A number in [0, 1)."""
        ...


class Names(Protocol):
    """Fresh identifiers."""

    def run_id(self) -> str:
        """A new run id, unique and safe in a file name."""
        ...


# -- the journal -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry as it is kept: its place in the run, its bytes exactly as hashed, and the hash (64 hexadecimal digits)."""

    seq: int
    data: bytes
    hash: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries that belong together, in sequence, with the payloads they are the first to refer to.

    Written whole or not at all. ``prev_hash`` is the hash of the entry before the first one; ``consumed`` names the
    posted messages (see ``Journal.post``) that these entries carry out and that must disappear with them. ``ends``: the run
    ends with the last of them, and a store refuses whatever is to follow it.
    """

    entries: tuple[StoredEntry, ...]
    prev_hash: str
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    consumed: tuple[int, ...] = ()
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write one run. A higher ``epoch`` fences off every lower one."""

    run_id: str
    epoch: int
    owner: str


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """A message left for a run by somebody who does not hold its lease: a person's decision."""

    id: int
    data: bytes


@dataclass(frozen=True, slots=True)
class SeenOf:
    """How much of a run somebody has seen: the number of its last entry, and the id of the last message left (0: none)."""

    seq: int
    message: int = 0


class Journal(Protocol):
    """A store of runs. Appends are compare-and-swap on (run, head seq, head hash, epoch).

    All methods raise JournalUnavailable when the store cannot be reached and NotAJournal when it is something else.
    """

    @property
    def location(self) -> str:
        """Where it is, for messages to people: a path, an address, or ``memory``."""
        ...

    async def create(self, run_id: str, header: StoredEntry, blobs: Mapping[str, bytes]) -> Lease:
        """Start a run with its header (seq 0) and take its lease. Raises RunExists."""
        ...

    async def acquire(self, run_id: str) -> Lease:
        """Take the lease of an existing run with a higher epoch. Raises RunNotFound, JournalBusy."""
        ...

    async def renew(self, lease: Lease) -> None:
        """Prolong the lease: nothing else does. Raises Fenced when another writer has taken the run."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give the lease back. Never raises for a lease that is lost already."""
        ...

    async def append(self, lease: Lease, batch: Batch) -> None:
        """Write the batch durably (as durable as the store was told to be). Raises Fenced, JournalDamaged."""
        ...

    async def entries(self, run_id: str, after_seq: int = -1) -> Sequence[StoredEntry]:
        """The run's entries with a seq above ``after_seq``, in order. Raises RunNotFound."""
        ...

    async def blob(self, digest: str) -> bytes | None:
        """The payload of this digest, or None when the journal does not hold it. Not checked against the digest."""
        ...

    async def run_ids(self) -> Sequence[str]:
        """All runs, oldest first."""
        ...

    async def post(self, run_id: str, data: bytes, *, seen: SeenOf | None = None) -> bool:
        """Leave a message for whoever writes this run. Raises RunNotFound.

        With ``seen``, only as long as nothing else has come: False where an entry or a message has. Looking and leaving are
        one step, for other processes too. So of two who decide at the same time, the second sees what the first has said.
        """
        ...

    async def posted(self, run_id: str) -> Sequence[PostedMessage]:
        """Messages left for this run that no entry has carried out yet, oldest first."""
        ...

    async def aclose(self) -> None:
        """Finish what is being written and let go of the store. Safe to call twice."""
        ...
