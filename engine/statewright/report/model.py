"""What a report says, before any format. Everything in it is plain data; texts are as recorded, and bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from statewright.core.explanation import Explanation
from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class BoundedText:
    """A text, or its beginning: ``left_out`` characters of it are not here. ``markdown``: whether it may be set as such."""

    text: str
    left_out: int = 0
    markdown: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """Something about a run in two words: what it is, and its value. ``code``: a value that is read letter by letter."""

    label: str
    value: str
    code: bool = False


@dataclass(frozen=True, slots=True)
class ReportedOutcome:
    """How the run stands. ``sentence`` says it in one; ``reason`` is why the last row exists; ``decision`` is that of it.

    ``word`` is success, partial or failed, or of a run that has not ended: waiting, running, interrupted, killed.
    """

    word: str
    stop_reason: str | None
    sentence: str
    reason: str
    row: str | None
    decision: int | None
    output: BoundedText | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class PersonSaid:
    """A statement of a person: who, when, with which meaning, about what. Times in microseconds since 1970.

    ``heard_us`` is when the run heard of it. ``counted`` says what the tables made of it.
    """

    actor: str
    meaning: str
    said_us: int
    heard_us: int
    comment: str
    about: str
    digest: str
    counted: str
    decision: int


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A call that waits for a person."""

    run_id: str
    tool: str
    call_id: str
    arguments: BoundedText
    digest: str
    remark: str


@dataclass(frozen=True, slots=True)
class Noted:
    """Something out of the ordinary: what, where, and in which words."""

    decision: int
    at_us: int
    what: str
    text: str


@dataclass(frozen=True, slots=True)
class OutOfOrder:
    """What an undisturbed run has none of, each kind in a place of its own.

    ``interference`` is for decisions about events that were put in from outside the ordinary course of a run.
    """

    interference: tuple[Noted, ...] = ()
    resumptions: tuple[Noted, ...] = ()
    refused: tuple[Noted, ...] = ()
    ignored: tuple[Noted, ...] = ()
    faults: tuple[Noted, ...] = ()
    """Attempts that failed, deadlines, stops, messages that nobody could read, and the like."""


@dataclass(frozen=True, slots=True)
class MachineStep:
    """A decision by a row: its number, the state before it, the row, the state after it."""

    number: int
    instance: str
    source: str
    row: str
    target: str


@dataclass(frozen=True, slots=True)
class MachinePath:
    """A machine that the run is pinned to, and the rows that its instances took. ``rows`` counts those that it has."""

    name: str
    label: str
    fingerprint: str
    rows: int
    steps: tuple[MachineStep, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """A time in which the run waited for somebody or something. Microseconds since 1970.

    ``kind`` is model, tool, person, backoff, run (another one), nobody (no process drove it), or state (an own table's).
    ``ended_us`` is None for a wait that had not ended when the record ends.
    """

    kind: str
    what: str
    began_us: int
    ended_us: int | None
    decision: int


@dataclass(frozen=True, slots=True)
class ReportedMessage:
    """A message of the conversation, as it came: ``role``, its texts and calls in order, and with which entry."""

    entry: int
    role: str
    name: str
    parts: tuple[BoundedText | CallSaid, ...]
    left_out: str = ""
    """What of it is not shown here, such as an image, in words."""


@dataclass(frozen=True, slots=True)
class CallSaid:
    """A tool call as the model asked for it."""

    call_id: str
    name: str
    arguments: BoundedText


@dataclass(frozen=True, slots=True)
class ReportedTool:
    """A tool call: what was asked, what it may do, how it ended, and what came of it."""

    instance: str
    name: str
    call_id: str
    effect: str
    outcome: str
    arguments: BoundedText
    changed: BoundedText | None
    result: BoundedText | None
    note: str
    first: int
    last: int
    ran_us: int | None


@dataclass(frozen=True, slots=True)
class ReportedCall:
    """A request to a model with its attempts: who asked, what it used, what it cost (millionths of a US dollar)."""

    instance: str
    purpose: str
    step: int
    model: str
    attempts: int
    outcome: str
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    reasoning_tokens: int
    estimated: bool
    cost_microusd: int
    first: int
    began_us: int
    ended_us: int | None


@dataclass(frozen=True, slots=True)
class Used:
    """What a run used, with the runs that its tools began. Cost in millionths of a US dollar."""

    steps: int
    attempt_steps: int
    """Of the attempt at the task that took most."""
    model_calls: int
    tool_calls: int
    tokens: int
    cost_microusd: int
    estimated_tokens: int = 0


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """A limit beside what was used. ``limit`` is None where there is none; ``share`` is what was used of it, from 0."""

    what: str
    used: str
    limit: str | None
    share: float | None = None
    said_in: str = ""
    """The field of the configuration that sets it."""


@dataclass(frozen=True, slots=True)
class ReportedDecision:
    """A decision in words. ``outcome``: taken, ignored or refused. ``why`` is None where it is not told here."""

    number: int
    entry: int
    at_us: int
    instance: str
    event: str
    id: str
    source: str
    target: str
    outcome: str
    words: str
    why: Explanation | None


@dataclass(frozen=True, slots=True)
class RecordCheck:
    """The result of a verification, and when it was made."""

    ok: bool
    made_us: int
    entries: int
    decisions: int
    payloads: int
    head_hash: str
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """Another run that this one belongs to or has begun. ``page`` is the file of its page beside this one, if there is one."""

    run_id: str
    relation: str
    standing: str
    page: str | None = None


@dataclass(frozen=True, slots=True)
class RunReport:
    """All that a report says of one run, in the order in which it is read. Times in microseconds since 1970."""

    run_id: str
    machine: str
    title: str
    task: BoundedText
    began_us: int
    last_us: int
    outcome: ReportedOutcome
    facts: tuple[Fact, ...]
    damage: tuple[str, ...]
    """What is wrong with the record, and what could not be told for that reason."""
    people: tuple[PersonSaid, ...]
    questions: tuple[OpenQuestion, ...]
    out_of_order: OutOfOrder
    paths: tuple[MachinePath, ...]
    waits: tuple[Wait, ...]
    conversation: tuple[ReportedMessage, ...]
    tools: tuple[ReportedTool, ...]
    calls: tuple[ReportedCall, ...]
    used: Used
    budget: tuple[BudgetLine, ...]
    decisions: tuple[ReportedDecision, ...]
    digests: tuple[Fact, ...]
    checked: RecordCheck
    related: tuple[Related, ...]
    part_of: str
    """The run that began this one; empty where none did."""
    again: str
    """The words behind a command of this program that name the same journal, each with a blank before it."""
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many of what are not in the report, because there are too many."""
