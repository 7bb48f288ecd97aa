"""How a run is to go: one set of options, whoever is asked to run it."""

from __future__ import annotations

import asyncio
from dataclasses import fields

import pytest

from statewright import AgentLoop, ConfigurationError, MixedModeRunner
from statewright.runtime.driver import RunKeywords, RunOptions
from statewright_providers.scripted import ScriptedProvider


def test_what_type_checkers_are_told_is_what_the_options_are() -> None:
    assert set(RunKeywords.__annotations__) == {field.name for field in fields(RunOptions)}
    types = {field.name: field.type for field in fields(RunOptions)}
    assert {name: said.__forward_arg__ for name, said in RunKeywords.__annotations__.items()} == types


def test_a_mistyped_keyword_is_refused_before_anything_is_on_record() -> None:
    loop = AgentLoop(ScriptedProvider([]))
    with pytest.raises(TypeError, match="strem"):
        loop.run_sync("task", strem=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert asyncio.run(loop.journal.run_ids()) == ()


def test_a_planned_task_is_no_part_of_a_session() -> None:
    runner = MixedModeRunner(AgentLoop(ScriptedProvider([])))
    with pytest.raises(ConfigurationError, match="no part of a session"):
        runner.run_sync("task", session="harbour")
    assert asyncio.run(runner.journal.run_ids()) == ()
