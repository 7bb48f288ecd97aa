"""The port through which routing asks for what command and facts do not determine: sizes, digests, the content of replies.

A running engine answers from the messages (``run_surroundings``). A replay takes what was measured from the record. A proof of
run, calls and tool calls together (``statewright_evidence.proofs.composition``) gives every possible answer.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypedDict

from statewright_states.call.commands import ReportCall
from statewright_states.run.commands import CancelTool, SkipTool, StopTool
from statewright_states.run.facts import CutOff, Finish
from statewright_states.words.vocabulary import ToolRequest


class RequestSigns(TypedDict):
    """What a model is about to be shown (``CallRequested``), and how often one model, and how many more, may be tried."""

    max_attempts: int
    fallbacks: int
    transcript: str
    messages: int
    added: tuple[str, ...]


class ReplySigns(TypedDict):
    """What a reply says (``ReplyReceived``)."""

    finish: Finish
    has_text: bool
    message: str
    calls: tuple[ToolRequest, ...]
    calls_digest: str
    context_tokens: int
    cut_off: CutOff
    silent: bool


class VerdictSigns(TypedDict):
    """What a judge said (``VerdictReached``), and whether it can be read."""

    readable: bool
    completed: bool
    confidence: float
    issues: tuple[str, ...]
    suggestion: str


class Remainder(TypedDict):
    """What has to be dropped from the messages, and what is left of them then (``CompactionPlanned``)."""

    dropped: int
    exchanges: int
    context_tokens: int
    before: str
    after: str


class Summary(NamedTuple):
    """What came of a call for a summary: its digest, or None and why it cannot be used."""

    message: str | None
    error: str
    left: Remainder


class Surroundings(Protocol):
    """What routing asks for. Answers describe the run after all events that have been applied so far."""

    def model_request(self) -> RequestSigns:
        """What a model would be shown now; what the run itself ``added`` to the messages is given once."""
        ...

    def context_tokens(self) -> int:
        """The size of the messages, with the tool results so far."""
        ...

    def reply(self, report: ReportCall) -> ReplySigns:
        """What the reply to a generation or closing call says."""
        ...

    def judgement(self, report: ReportCall) -> VerdictSigns:
        """What the judge's reply says."""
        ...

    def summary(self, report: ReportCall) -> Summary:
        """What came of a call for a summary, whether or not there was a reply."""
        ...

    def compaction(self) -> tuple[int, Remainder]:
        """How many messages a summary would stand for, and what would be left without one."""
        ...

    def repeated(self, request: ToolRequest) -> tuple[str, str]:
        """The name of the same call before this one, and the digest of the tool message that gives its result again."""
        ...

    def tool_message(self, command: SkipTool | StopTool | CancelTool) -> str:
        """The digest of the tool message that says that a call was not run."""
        ...
