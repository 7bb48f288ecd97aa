"""Scenarios in the language of the tests: what the model says, which tools there are, what happens when, what came of it.

``play`` runs one scenario in virtual time and holds it to everything that is true of every run (``loop_invariants``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from loop_invariants import Rows, check_run, rows_of, well_formed, worst_case_requests
from statewright import AgentConfig, AgentLoop, AgentState, ApprovalDecision, ApprovalRequest, MemoryJournal
from statewright.core.replay import replay
from statewright.runtime.decisions import posted_decision
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import ScriptedProvider
from statewright_states.errors import RunNotFound
from statewright_states.words.messages import LLMResponse, ToolCall, Usage, encode_json
from statewright_states.words.ports import Journal

RUN_ID = "run-under-test"

# -- what the model says ---------------------------------------------------------------------------------------------


def says(text: str | None, finish: str = "stop", *, tokens: int = 0) -> LLMResponse:
    """A reply without tool calls; ``tokens`` is what the provider counts for the request."""
    return LLMResponse(content=text, finish_reason=finish, usage=Usage(input_tokens=tokens) if tokens else None)


def call(name: str, arguments: str | None = None, **values: Any) -> ToolCall:
    """A tool call: its arguments as text exactly as the model wrote it, or as values."""
    return ToolCall("c1", name, encode_json(values).decode() if arguments is None else arguments)


def asks(*calls: ToolCall, text: str | None = None, finish: str = "tool_calls", tokens: int = 0) -> LLMResponse:
    """A reply with tool calls, their ids made different."""
    numbered = [ToolCall(f"c{number}", one.name, one.arguments) for number, one in enumerate(calls, 1)]
    usage = Usage(input_tokens=tokens) if tokens else None
    return LLMResponse(content=text, tool_calls=tuple(numbered), finish_reason=finish, usage=usage)


def judges(completed: bool, confidence: float = 1.0, issues: Sequence[str] = (), suggestion: str = "") -> LLMResponse:
    """A judge's verdict."""
    verdict = {"completed": completed, "confidence": confidence, "issues": list(issues), "suggestion": suggestion}
    return says(encode_json(verdict).decode())


# -- people ----------------------------------------------------------------------------------------------------------


@dataclass
class Person:
    """Answers questions: by the name of the tool, or the same to all; after a while, or never (None)."""

    answer: bool | Mapping[str, bool] = True
    after_s: float = 0.0
    ends_run: bool = False
    absent: bool = False
    silent: bool = False
    asked: list[ApprovalRequest] = field(default_factory=list[ApprovalRequest])

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision | None:
        self.asked.append(request)
        if self.absent:
            return None
        if self.silent:
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(self.after_s)
        approve = self.answer if isinstance(self.answer, bool) else self.answer[request.name]
        return ApprovalDecision(
            approve, "ada", "approved" if approve else "rejected", "", ends_run=self.ends_run and not approve
        )


async def decisions_cross(journal: Journal, call_id: str, *decisions: tuple[bool, str], run_id: str = RUN_ID) -> None:
    """Several people decide in the same moment, each in a process of their own: nobody sees what another leaves."""
    pending = next(open_ for open_ in (await replay(journal, run_id)).state().pending if open_.call_id == call_id)
    for approve, actor in decisions:
        decision = ApprovalDecision(approve, actor, "approved" if approve else "rejected")
        await journal.post(run_id, posted_decision(pending, decision, 0))


# -- what happens meanwhile ------------------------------------------------------------------------------------------

Happening = Callable[[AgentLoop, str], Awaitable[Any]]


async def stop(loop: AgentLoop, run_id: str) -> None:
    """A graceful stop, if the run is still live."""
    with suppress(RunNotFound):
        await loop.stop(run_id)


async def cancel(loop: AgentLoop, run_id: str) -> None:
    """A cancellation, if the run is still live."""
    with suppress(RunNotFound):
        await loop.cancel(run_id)


# -- playing ---------------------------------------------------------------------------------------------------------


@dataclass
class Ended:
    """What came of a run, whatever model it asked."""

    state: AgentState
    journal: Journal
    rows: Rows
    ended_at_s: float

    @property
    def path(self) -> tuple[str, ...]:
        """The rows of the run machine, and what it ignored."""
        return self.rows.of("run")

    @property
    def reason(self) -> str | None:
        return self.state.stop_reason.value if self.state.stop_reason else None

    @property
    def status(self) -> str:
        return self.state.status.value

    @property
    def tool_texts(self) -> list[str]:
        """What the model was told by its tools, in order."""
        return [str(message["content"]) for message in self.state.messages if message["role"] == "tool"]

    @property
    def outcomes(self) -> list[str]:
        """How the tool calls ended, in the order of the request."""
        return [result.outcome for step in self.state.steps for result in step.tool_results]

    @property
    def roles(self) -> str:
        """The transcript's roles by their first letters: ``s`` system, ``u`` user, ``a`` assistant, ``t`` tool."""
        return "".join(message["role"][0] for message in self.state.messages)


@dataclass
class Outcome(Ended):
    """What came of a scenario."""

    provider: ScriptedProvider


def play(script: Sequence[Any], tools: Iterable[Any] = (), config: AgentConfig | None = None, **options: Any) -> Outcome:
    """Play a scenario in virtual time; ``options`` are those of ``playing``."""
    return run_virtual(playing(script, tools, config, **options))


async def playing(
    script: Sequence[Any] | ScriptedProvider,
    tools: Iterable[Any] = (),
    config: AgentConfig | None = None,
    *,
    journal: Journal | None = None,
    prompt: str = "the task",
    history: Sequence[Mapping[str, Any]] = (),
    stream: bool = False,
    at: Sequence[tuple[float, Happening]] = (),
    resume: bool = False,
    accept_changed_code: bool = False,
    run_id: str = RUN_ID,
    on_stream_chunk: Callable[..., Any] | None = None,
    session: str | None = None,
    requested_by: str | None = None,
    **options: Any,
) -> Outcome:
    """Run the script (items of a ScriptedProvider) to its end, or until the run waits for a person, and check the record.

    ``at`` lists what happens meanwhile, by virtual seconds. ``options`` are those of ``AgentLoop``.
    """
    clock = VirtualClock()
    provider = script if isinstance(script, ScriptedProvider) else ScriptedProvider(script)
    journal = journal or MemoryJournal(clock=clock)
    loop = AgentLoop(provider, tools, config, journal=journal, clock=clock, **options)
    happenings = [asyncio.create_task(_happen(after_s, what, loop, run_id)) for after_s, what in at]
    work = (
        loop.resume(run_id, on_stream_chunk=on_stream_chunk, accept_changed_code=accept_changed_code)
        if resume
        else loop.run(
            prompt,
            list(history),
            stream=stream,
            on_stream_chunk=on_stream_chunk,
            run_id=run_id,
            session=session,
            requested_by=requested_by,
        )
    )
    try:
        state = await work
        ended_at_s = clock.monotonic_s()
    finally:
        for happening in happenings:
            happening.cancel()
        await asyncio.gather(*happenings, return_exceptions=True)
    await check_run(journal, state)
    for request in provider.requests:
        well_formed([message.to_dict() for message in request.messages])
    assert len(provider.requests) <= worst_case_requests(loop.config)
    return Outcome(state, journal, await rows_of(journal, run_id), ended_at_s, provider)


async def _happen(after_s: float, what: Happening, loop: AgentLoop, run_id: str) -> None:
    await asyncio.sleep(after_s)
    await what(loop, run_id)
