"""Events of the tool machine: what can happen to it."""

from __future__ import annotations

from statewright_states.form.row import Event
from statewright_states.frozen import dataclass
from statewright_states.tool.facts import Assessment
from statewright_states.words.approval import ApprovalRule, SignOff, WithoutAPerson
from statewright_states.words.messages import MessageDigest, PayloadDigest
from statewright_states.words.vocabulary import AskedIf, HookDecision, ToolRequest


@dataclass(frozen=True, slots=True)
class ChildQuestion:
    """A question to a person about a call of a run that a tool has begun, or of one further below.

    ``run`` is the run whose call it is: decisions are made there. ``tool`` names the call in that run's journal; ``asked`` are
    its arguments, as text; ``digest`` names exactly what is to be decided about. ``outcome_lost`` asks how to go on after a
    lost outcome. ``signed`` says where its sign-off stands, None where one person may decide; ``remark`` is for that person.
    """

    run: str
    tool: str
    call_id: str
    name: str
    asked: str
    digest: str
    outcome_lost: bool = False
    signed: SignOff | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class ToolRequested(Event):
    """The model asked for this call. ``released`` says that it may run as soon as it is found to be in order.

    ``rule`` says what its approval takes, should it need one; None: one person, whoever it is. ``without_a_person`` says
    what happens where nobody can be asked.
    """

    request: ToolRequest
    released: bool
    rule: ApprovalRule | None = None
    without_a_person: WithoutAPerson = WithoutAPerson.WAIT


@dataclass(frozen=True, slots=True)
class ToolAssessed(Event):
    """The call was resolved, parsed and authorised. ``arguments`` is the digest of what would be executed.

    ``message`` is the digest of the tool message for the model when the call is refused, and ``reason`` says why it is.
    ``changed`` is that of the call (an assistant message that holds it alone) when guards replaced its arguments, and
    ``decisions`` are theirs; ``asked_if`` is what the tool's ``ask_if`` said of the new ones.
    """

    assessment: Assessment
    arguments: str
    message: MessageDigest | None = None
    changed: MessageDigest | None = None
    decisions: tuple[HookDecision, ...] = ()
    reason: str = ""
    asked_if: AskedIf | None = None


@dataclass(frozen=True, slots=True)
class ToolReleased(Event):
    """The run says: this call's turn has come."""


@dataclass(frozen=True, slots=True)
class ApprovalGiven(Event):
    """A person made a statement. ``arguments`` is the digest of exactly what was shown to that person.

    ``meaning`` is reviewed, approved or rejected; ``ends_run`` says that the rejection is meant to end the run;
    ``message`` is the digest of the tool message for the model when the call is rejected; ``decided_at_us`` is when the
    statement was made, by the clock where it was made (the entry's own time is when the run heard of it).
    """

    approve: bool
    actor: str
    meaning: str
    comment: str
    arguments: str
    ends_run: bool = False
    message: MessageDigest | None = None
    decided_at_us: int = 0


@dataclass(frozen=True, slots=True)
class NobodyToAsk(Event):
    """There is no way to ask a person. ``message`` is the tool message that says so, for a call that is denied then."""

    message: MessageDigest


@dataclass(frozen=True, slots=True)
class ToolReturned(Event):
    """The tool returned. ``message`` is the digest of the tool message; ``result`` that of the full result if it was cut.

    ``decisions`` are those of the guards of what is kept of a result.
    """

    result: PayloadDigest | None
    message: MessageDigest
    decisions: tuple[HookDecision, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolFailed(Event):
    """The tool raised. ``message`` is the digest of the tool message with the error."""

    error: str
    message: MessageDigest
    decisions: tuple[HookDecision, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolDeadline(Event):
    """The tool's time is up."""

    message: MessageDigest


@dataclass(frozen=True, slots=True)
class ToolWaits(Event):
    """The runs that the tool has begun, and that have not ended, wait for persons: only these can carry the tool on.

    ``questions`` are all that are open in those runs. None: they wait no longer. Where they are not driven here any more, the
    tool is given up when nothing else is under way, and runs again when the run is taken up.
    """

    questions: tuple[ChildQuestion, ...]


@dataclass(frozen=True, slots=True)
class ToolSkipped(Event):
    """The run will not run this call. ``request`` is given when the call has not been requested yet."""

    reason: str
    message: MessageDigest
    request: ToolRequest


@dataclass(frozen=True, slots=True)
class ToolRepeated(Event):
    """The same call was made too often in a row. ``earlier`` names the call whose result ``message`` gives again."""

    earlier: str
    message: MessageDigest
    request: ToolRequest


@dataclass(frozen=True, slots=True)
class ToolStopped(Event):
    """A stop was asked for after this call's turn had come. ``message`` is shown to the model if it never began."""

    message: MessageDigest


@dataclass(frozen=True, slots=True)
class ToolCancelled(Event):
    """The run is over: whatever this call does, its result is not wanted any more."""

    message: MessageDigest
    request: ToolRequest


@dataclass(frozen=True, slots=True)
class ToolResumed(Event):
    """The run was taken up again from its journal. ``message`` is shown to the model if the outcome is lost."""

    epoch: int
    message: MessageDigest
