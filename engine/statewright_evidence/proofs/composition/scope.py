"""A scope: one small configuration and the surroundings in which it is explored whole. Data, and nothing else."""

from __future__ import annotations

from statewright_states.errors import Fault
from statewright_states.frozen import dataclass
from statewright_states.run.facts import CutOff, Finish, RunSettings, Verdict
from statewright_states.tool.facts import Assessment
from statewright_states.words.approval import WithoutAPerson
from statewright_states.words.tool_effects import ToolEffect


@dataclass(frozen=True, slots=True)
class ToolKind:
    """A tool that a reply may call: what it declares, and what may come of assessing a call of it."""

    name: str
    effect: ToolEffect = ToolEffect.READ
    person: bool = False
    """Whether policy wants a person to allow it."""
    parallel: bool = True
    assessments: tuple[Assessment, ...] = ()
    """Empty: what policy wants, and nothing else."""

    @property
    def assessed(self) -> tuple[Assessment, ...]:
        """What may come of assessing a call."""
        return self.assessments or ((Assessment.PERSON if self.person else Assessment.CLEAR),)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that the model may give. ``name`` is what witnesses call it; ``calls`` are the tools that it asks for."""

    name: str
    calls: tuple[ToolKind, ...] = ()
    finish: Finish = Finish.STOP
    cut_off: CutOff = CutOff.NO
    text: bool = True
    silent: bool = False


FINAL = Reply("a final answer")


@dataclass(frozen=True, slots=True)
class Said:
    """A statement that a person may make: who, and reviewed, approved or rejected."""

    actor: str
    meaning: str
    ends_run: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What could be done about messages that are too long: what a summary would stand for, what would be dropped."""

    old: int
    dropped: int


SMALL = RunSettings(max_steps=2, max_continuations=0, max_identical_calls=0, summarize_after_exchanges=0)
"""Small limits, so that each of them is met; everything else is off."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One configuration and its surroundings. Everything that its fields allow is explored, in every order.

    In each scope a stop, a cancellation, the run deadline, a failing engine, results that come late or twice, and
    statements that nobody asked for may come at any moment; ``deaths`` bounds how often the process may die.
    """

    name: str
    text: str
    settings: RunSettings = SMALL
    replies: tuple[Reply, ...] = (FINAL,)
    """What a call for generation may come back with."""
    closing: tuple[Reply, ...] = (FINAL,)
    """What a closing call may come back with."""
    verdicts: tuple[Verdict, ...] = (Verdict.PASSED, Verdict.FAILED, Verdict.UNREADABLE)
    """What the judge may say."""
    summaries: tuple[bool, ...] = (True, False)
    """Whether a reply to a request for a summary is one."""
    max_attempts: int = 1
    fallbacks: int = 0
    faults: tuple[Fault, ...] = (Fault.REJECTED,)
    """How a request may fail."""
    sizes: tuple[int, ...] = (1,)
    """What the transcript may come to, in tokens, each time that somebody looks."""
    plans: tuple[Plan, ...] = (Plan(3, 0),)
    dropped: tuple[int, ...] = (0,)
    """How many messages have to go beside or in place of a summary."""
    said: tuple[Said, ...] = ()
    """What persons may say, when asked, unasked, and again."""
    nobody: WithoutAPerson | None = None
    """What the run is told to do where nobody can be asked; None: somebody always can."""
    at_once: bool = True
    """Whether the lane, the context and the assessment of a call wait for nobody outside."""
    start_fails: bool = False
    """Whether the first messages of an attempt may fail to be built, or be denied."""
    children: bool = False
    """Whether a tool that may run again may begin a run of its own: it ends, or waits for persons, once in each start."""
    streamed: bool = False
    """Whether the beginning of a reply is seen before its end."""
    deaths: int = 0
