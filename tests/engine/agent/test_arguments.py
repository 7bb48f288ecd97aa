"""Wrong types from Python are errors of ours that name the argument and the cure, before anything is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import statewright
from statewright import AgentLoop, CallerError, ConfigurationError, LLMResponse, MemoryJournal
from statewright.agent.arguments import require_run_id
from statewright_providers import ScriptedProvider

UNTYPED: Any = statewright
"""The package as callers without a type checker see it."""


def agent(**given: Any) -> Any:
    """An agent with one argument that is wrong; of no type, as callers without a type checker have none."""
    return AgentLoop(**{"provider": ScriptedProvider([LLMResponse("fine")]), **given})


def running(*given: Any, **keywords: Any) -> Callable[[], object]:
    return lambda: agent().run_sync(*given, **keywords)


def deciding(**keywords: Any) -> Callable[[], object]:
    given: dict[str, Any] = {"run_id": "x", "call_id": "y", "approve": True, "actor": "Ada", **keywords}
    return lambda: asyncio.run(agent().decide(given.pop("run_id"), given.pop("call_id"), given.pop("approve"), **given))


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "provider text": (lambda: agent(provider="openai:gpt"), "connect"),
    "provider None": (lambda: agent(provider=None), "connect"),
    "provider class": (lambda: agent(provider=ScriptedProvider), "connect"),
    "config {}": (lambda: agent(config={}), "AgentConfig"),
    "config dict": (lambda: agent(config={"max_steps": 3}), "AgentConfig"),
    "config text": (lambda: agent(config="agents.toml"), "AgentConfig"),
    "journal text": (lambda: agent(journal="x.db"), "SQLiteJournal"),
    "journal empty": (lambda: agent(journal=""), "SQLiteJournal"),
    "journal class": (lambda: agent(journal=MemoryJournal), "SQLiteJournal"),
    "journal in part": (lambda: agent(journal=type("Half", (), {"create": None})()), "SQLiteJournal"),
    "clock": (lambda: agent(clock=5), "clock"),
    "approver": (lambda: agent(approver=input), "approver"),
    "token_estimator": (lambda: agent(token_estimator=len), "token_estimator"),
    "shutdown": (lambda: agent(shutdown=True), "shutdown"),
    "on_event": (lambda: agent(on_event=5), "on_event"),
    "on_error": (lambda: agent(on_error="print"), "on_error"),
    "on_build_context": (lambda: agent(on_build_context=[]), "on_build_context"),
    "on_tool_check": (lambda: agent(on_tool_check=0), "on_tool_check"),
    "on_progress": (lambda: agent(on_progress="print"), "on_progress"),
    "tools text": (lambda: agent(tools="add"), "tools=[add]"),
    "tools function": (lambda: agent(tools=print), "tools=[add]"),
    "tools number": (lambda: agent(tools=5), "tools=[add]"),
    "tools of numbers": (lambda: agent(tools=[5]), "function"),
    "hooks function": (lambda: agent(hooks=print), "hooks"),
    "hooks of functions": (lambda: agent(hooks=[print]), "hook"),
    "registry": (lambda: UNTYPED.ToolRegistry(5), "tools"),
    "path": (lambda: UNTYPED.SQLiteJournal(5), "SQLiteJournal"),
    "prompt": (running(5), "prompt"),
    "history text": (running("x", "abc"), "the history is str"),
    "history empty text": (running("x", ""), "the history is str"),
    "history message": (running("x", {"role": "user", "content": "x"}), "the history is dict"),
    "history number": (running("x", 5), "history"),
    "history of texts": (running("x", ["abc"]), "history"),
    "history of numbers": (running("x", [5]), "history"),
    "stream": (running("x", stream="no"), "stream"),
    "on_stream_chunk": (running("x", on_stream_chunk=5), "on_stream_chunk"),
    "run_id": (running("x", run_id=5), "run_id"),
    "session": (running("x", session=5), "session"),
    "session empty": (running("x", session=""), "session"),
    "requested_by": (running("x", requested_by=["Ada"]), "requested_by"),
    "agent": (running("x", agent=5), "agent"),
    "equipment text": (running("x", equipment="--tools"), "equipment"),
    "equipment number": (running("x", equipment=5), "equipment"),
    "equipment of numbers": (running("x", equipment=[5]), "equipment"),
    "resume": (lambda: asyncio.run(agent().resume(5)), "run_id"),
    "decide run": (deciding(run_id=5), "run_id"),
    "decide call": (deciding(call_id=5), "call_id"),
    "decide approve": (deciding(approve="no"), "approve"),
    "decide ends_run": (deciding(ends_run="no"), "ends_run"),
    "decide actor": (deciding(actor=5), "actor"),
    "mixed build": (lambda: UNTYPED.MixedModeRunner("x"), "build"),
    "mixed plan": (lambda: UNTYPED.MixedModeRunner(agent(), {}), "plan"),
    "mixed decide": (lambda: asyncio.run(UNTYPED.MixedModeRunner(agent()).decide(5, "y", True, actor="Ada")), "run_id"),
    "mixed on_event": (lambda: UNTYPED.MixedModeRunner(agent(), on_event=5), "on_event"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_type_is_an_error_that_names_it_and_the_cure(case: str) -> None:
    wrong, named = WRONG[case]
    with pytest.raises(CallerError) as caught:
        wrong()
    assert caught.value.cure
    assert named in str(caught.value)


@pytest.mark.parametrize("run_id", ["", "last", "-x", "a\x1b[2J", "a\nb", "a\u202eb", "\udcff", "x" * 201, 5, b"x"], ids=ascii)
def test_a_run_that_nobody_could_name_again_is_not_begun(run_id: Any) -> None:
    loop = agent()
    with pytest.raises(ConfigurationError, match=r"run.id"):
        loop.run_sync("x", run_id=run_id)
    assert asyncio.run(loop.journal.run_ids()) == ()


@given(st.text(max_size=250))
def test_a_run_id_that_is_taken_can_be_read_and_typed(run_id: str) -> None:
    try:
        require_run_id(run_id)
    except ConfigurationError:
        return
    assert run_id.isprintable()
    assert run_id.encode()
    assert not run_id.startswith("-")
    assert run_id not in ("", "last")
    assert len(run_id) <= 200


def test_a_journal_that_is_empty_is_the_one_that_is_used() -> None:
    class Counted(MemoryJournal):
        def __len__(self) -> int:
            return 0

    journal = Counted()
    assert agent(journal=journal).journal is journal
