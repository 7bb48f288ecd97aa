"""What hooks are declared with: their points, what they are shown, and what a guard may answer."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from enum import StrEnum
from types import NoneType
from typing import Any, Literal, TypedDict, TypeVar, Unpack, cast, overload

from statewright.hooks.signature import require_signature
from statewright.views.state import AgentState
from statewright_states.errors import ConfigurationError
from statewright_states.frozen import dataclass, replace
from statewright_states.words.messages import Message
from statewright_states.words.vocabulary import Purpose

TIMEOUT_S = 10.0
"""How long a guard may take, unless it is declared otherwise."""


class HookPoint(StrEnum):
    """Where hooks are called."""

    BEFORE_AGENT_START = "before_agent_start"
    BEFORE_MODEL_CALL = "before_model_call"
    AFTER_MODEL_CALL = "after_model_call"
    BEFORE_TOOL_CALL = "before_tool_call"
    AFTER_TOOL_CALL = "after_tool_call"
    TOOL_RESULT_PERSIST = "tool_result_persist"
    BEFORE_COMPACTION = "before_compaction"
    AFTER_COMPACTION = "after_compaction"
    BEFORE_EVALUATION = "before_evaluation"
    AGENT_END = "agent_end"
    SESSION_START = "session_start"
    SESSION_END = "session_end"


OBSERVED = frozenset(
    (
        HookPoint.AFTER_MODEL_CALL,
        HookPoint.AFTER_TOOL_CALL,
        HookPoint.AFTER_COMPACTION,
        HookPoint.AGENT_END,
        HookPoint.SESSION_START,
        HookPoint.SESSION_END,
    )
)
"""The points at which hooks observe; at all others they decide."""


# -- what a guard may answer -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """No. Final: no further guard is asked. The reason is recorded, and shown to the model where a tool call is blocked."""

    reason: str


@dataclass(frozen=True, slots=True)
class ReplaceContext:
    """Start with another system prompt (None keeps it), and with these messages before the task."""

    system_prompt: str | None = None
    add: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplaceArguments:
    """Run the tool with these arguments (JSON-ready); they are checked, and approved by a person, like the model's own."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Keep this text as the tool's result. The one that it replaces is recorded nowhere."""

    text: str


# -- what a hook is shown --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentStart:
    """before_agent_start: an attempt at the task begins (1, and one more for each correction)."""

    run_id: str
    task: str
    system_prompt: str
    attempt: int
    add: tuple[Message, ...] = ()

    def replaced(self, decision: object) -> AgentStart | None:
        """With what a guard answered; None when that is no answer here."""
        if not isinstance(decision, ReplaceContext):
            return None
        messages = cast("tuple[object, ...]", tuple(decision.add))
        if not all(isinstance(message, Message) and message.role != "system" for message in messages):
            return None
        prompt = cast("object", decision.system_prompt)
        if prompt is not None and not isinstance(prompt, str):
            return None
        return replace(self, system_prompt=self.system_prompt if prompt is None else prompt, add=(*self.add, *decision.add))


@dataclass(frozen=True, slots=True)
class ModelCall:
    """before_model_call, before_compaction (purpose summary) and before_evaluation: a request is about to be sent.

    ``send`` numbers the requests of this call: a retry asks the hooks again.
    """

    run_id: str
    call: str
    send: int
    purpose: Purpose
    model: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]

    def replaced(self, decision: object) -> None:
        """What is sent follows from the record alone, so there is nothing to replace."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """after_model_call: a complete reply is on record."""

    run_id: str
    message: Message
    finish: str
    tokens: int


@dataclass(frozen=True, slots=True)
class ToolUse:
    """before_tool_call: a call that exists, parses and is allowed by policy is about to be run, or put to a person."""

    run_id: str
    tool: str
    call_id: str
    name: str
    effect: str
    arguments: Mapping[str, Any]

    def replaced(self, decision: object) -> ToolUse | None:
        """With what a guard answered; None when that is no answer here."""
        if not isinstance(decision, ReplaceArguments):
            return None
        arguments = cast("object", decision.arguments)
        return replace(self, arguments=decision.arguments) if isinstance(arguments, Mapping) else None


@dataclass(frozen=True, slots=True)
class ToolText:
    """tool_result_persist: the text of a result (or of an error) before it is kept anywhere."""

    run_id: str
    tool: str
    call_id: str
    name: str
    text: str
    failed: bool

    def replaced(self, decision: object) -> ToolText | None:
        """With what a guard answered; None when that is no answer here."""
        if not isinstance(decision, ReplaceText):
            return None
        text = cast("object", decision.text)
        return replace(self, text=text) if isinstance(text, str) else None


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """after_tool_call: a call has settled. ``outcome`` is the final state of its machine, ``text`` what the model is shown."""

    run_id: str
    tool: str
    call_id: str
    name: str
    outcome: str
    text: str


@dataclass(frozen=True, slots=True)
class Compaction:
    """after_compaction: old exchanges were summarised, or were not (``error`` says why)."""

    run_id: str
    exchanges: int
    context_tokens: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """agent_end: the run has ended."""

    state: AgentState


@dataclass(frozen=True, slots=True)
class SessionPoint:
    """session_start: the first run of this session in this loop begins. session_end: the loop is closed."""

    session: str


# -- declaring -------------------------------------------------------------------------------------------------------

HookFunction = Callable[[Any], Any]
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Guard = Callable[[Asked], Answer | Awaitable[Answer | None] | None]
"""A function that decides, synchronous or not."""
Observer = Callable[[Asked], Awaitable[None] | None]
"""A function that is told, synchronous or not."""

SHAPES: Mapping[HookPoint, tuple[type, tuple[type, ...]]] = {
    HookPoint.BEFORE_AGENT_START: (AgentStart, (Block, ReplaceContext, NoneType)),
    HookPoint.BEFORE_MODEL_CALL: (ModelCall, (Block, NoneType)),
    HookPoint.AFTER_MODEL_CALL: (ModelReply, (NoneType,)),
    HookPoint.BEFORE_TOOL_CALL: (ToolUse, (Block, ReplaceArguments, NoneType)),
    HookPoint.AFTER_TOOL_CALL: (ToolOutcome, (NoneType,)),
    HookPoint.TOOL_RESULT_PERSIST: (ToolText, (Block, ReplaceText, NoneType)),
    HookPoint.BEFORE_COMPACTION: (ModelCall, (Block, NoneType)),
    HookPoint.AFTER_COMPACTION: (Compaction, (NoneType,)),
    HookPoint.BEFORE_EVALUATION: (ModelCall, (Block, NoneType)),
    HookPoint.AGENT_END: (RunEnd, (NoneType,)),
    HookPoint.SESSION_START: (SessionPoint, (NoneType,)),
    HookPoint.SESSION_END: (SessionPoint, (NoneType,)),
}
"""What a hook of each point is shown, and what it may answer. The overloads of ``hook`` say the same to type checkers."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A declared hook. Still callable as the function it was made from."""

    name: str
    point: HookPoint
    function: HookFunction = field(repr=False)
    priority: int = 0
    optional: bool = False
    timeout_s: float = TIMEOUT_S

    def __call__(self, subject: Any) -> Any:
        return self.function(subject)

    @property
    def card(self) -> HookCard:
        """What a run's header keeps of it."""
        return HookCard(self.name, self.point.value, self.priority, self.optional)


@dataclass(frozen=True, slots=True)
class HookCard:
    """What a run knows about a hook without having its function."""

    name: str
    point: str
    priority: int
    optional: bool


class HookKeywords(TypedDict, total=False):
    """The keywords of ``hook``, for type checkers; ``hook`` says what they mean."""

    name: str | None
    priority: int
    optional: bool
    timeout_s: float


BeforeModel = Literal[
    "before_model_call",
    "before_compaction",
    "before_evaluation",
    HookPoint.BEFORE_MODEL_CALL,
    HookPoint.BEFORE_COMPACTION,
    HookPoint.BEFORE_EVALUATION,
]
OfSession = Literal["session_start", "session_end", HookPoint.SESSION_START, HookPoint.SESSION_END]


@overload
def hook(
    point: Literal["before_agent_start", HookPoint.BEFORE_AGENT_START], **how: Unpack[HookKeywords]
) -> Callable[[Guard[AgentStart, Block | ReplaceContext]], Hook]: ...
@overload
def hook(point: BeforeModel, **how: Unpack[HookKeywords]) -> Callable[[Guard[ModelCall, Block]], Hook]: ...
@overload
def hook(
    point: Literal["after_model_call", HookPoint.AFTER_MODEL_CALL], **how: Unpack[HookKeywords]
) -> Callable[[Observer[ModelReply]], Hook]: ...
@overload
def hook(
    point: Literal["before_tool_call", HookPoint.BEFORE_TOOL_CALL], **how: Unpack[HookKeywords]
) -> Callable[[Guard[ToolUse, Block | ReplaceArguments]], Hook]: ...
@overload
def hook(
    point: Literal["after_tool_call", HookPoint.AFTER_TOOL_CALL], **how: Unpack[HookKeywords]
) -> Callable[[Observer[ToolOutcome]], Hook]: ...
@overload
def hook(
    point: Literal["tool_result_persist", HookPoint.TOOL_RESULT_PERSIST], **how: Unpack[HookKeywords]
) -> Callable[[Callable[[ToolText], Block | ReplaceText | None]], Hook]: ...
@overload
def hook(
    point: Literal["after_compaction", HookPoint.AFTER_COMPACTION], **how: Unpack[HookKeywords]
) -> Callable[[Observer[Compaction]], Hook]: ...
@overload
def hook(
    point: Literal["agent_end", HookPoint.AGENT_END], **how: Unpack[HookKeywords]
) -> Callable[[Observer[RunEnd]], Hook]: ...
@overload
def hook(point: OfSession, **how: Unpack[HookKeywords]) -> Callable[[Observer[SessionPoint]], Hook]: ...
@overload
def hook(point: HookPoint, **how: Unpack[HookKeywords]) -> Callable[[HookFunction], Hook]: ...
def hook(
    point: HookPoint | str,
    *,
    name: str | None = None,
    priority: int = 0,
    optional: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Callable[[HookFunction], Hook]:
    """Declare a plain function, synchronous or not, as a hook of ``point``.

    ``SHAPES`` says what it is shown and what it may answer. ``optional`` passes a guard over that fails. ``timeout_s`` bounds
    an asynchronous guard; a synchronous one runs on the event loop and must be quick. Raises ConfigurationError for a point
    that does not exist, for a function that takes or answers something else (as far as its annotations tell), and for an
    asynchronous one at ``tool_result_persist``, which stands between a result and its record.
    """

    def declare(function: HookFunction) -> Hook:
        named = name or str(getattr(function, "__name__", type(function).__name__))
        at = _point(point, named)
        if at is HookPoint.TOOL_RESULT_PERSIST and inspect.iscoroutinefunction(function):
            raise ConfigurationError(
                "a hook that changes results before they are kept cannot wait",
                where=f"hook {named}",
                cure="make it a plain function (def, not async def)",
            )
        require_signature(function, f"hook {named} of {at}", *SHAPES[at])
        if timeout_s <= 0:
            raise ConfigurationError(f"timeout_s is {timeout_s:g}", where=f"hook {named}", cure="give seconds above 0")
        return Hook(named, at, function, priority, optional, timeout_s)

    return declare


def _point(point: HookPoint | str, name: str) -> HookPoint:
    try:
        return HookPoint(point)
    except ValueError:
        known = ", ".join(HookPoint)
        raise ConfigurationError(f"there is no point {point!r}", where=f"hook {name}", cure=f"one of: {known}") from None
