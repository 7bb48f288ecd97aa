"""``run``: the answer on stdout and nothing else there, everything else on stderr, one exit code per outcome."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from contextlib import aclosing
from tempfile import TemporaryFile
from typing import Any

import pytest

from command_forks import FORKS
from command_line import STATEWRIGHT, Place, call, model_server
from statewright import AgentConfig, SQLiteJournal
from statewright.core.replay import replay

ANSWER = "17 plus 25 is 42."
ADDS = (call("add", a=17, b=25), {"content": ANSWER, "usage": {"input_tokens": 30, "output_tokens": 9}})
WITH_TOOLS = ("--tools", "tools:tools")


def test_the_answer_is_all_that_stdout_gets(place: Place) -> None:
    done = place.run("run", "What is 17 plus 25?", "--model", place.script(*ADDS), *WITH_TOOLS)
    assert (done.code, done.out) == (0, ANSWER + "\n")
    for word in ("RUN-03", "CALL-03", "TOOL-20", "RUN-08", "add", "30 tokens in, 9 out", "success", "completed"):
        assert word in done.err
    assert "\x1b" not in done.err, "no colours where nobody sees them"


def test_what_tools_print_does_not_reach_stdout(place: Place) -> None:
    done = place.run("run", "x", "--model", place.script(call("chatter"), {"content": "done"}), *WITH_TOOLS)
    assert done.out == "done\n"
    assert "printed by a tool" in done.err
    assert "printed by a child" in done.err


def test_json_is_one_document_with_the_whole_state(place: Place) -> None:
    done = place.run("run", "x", "--model", place.script(*ADDS), *WITH_TOOLS, "--json")
    state: dict[str, Any] = json.loads(done.out)
    assert (state["status"], state["stop_reason"], state["final_output"]) == ("success", "completed", ANSWER)
    assert state["steps"][0]["tool_results"][0]["result"] == "42"
    assert state["path"][0] == "RUN-01"


def test_quiet_shows_the_answer_and_nothing_else(place: Place) -> None:
    done = place.run("run", "x", "--model", place.script(*ADDS), *WITH_TOOLS, "--quiet")
    assert (done.code, done.out, done.err) == (0, ANSWER + "\n", "")


def test_a_silent_end_prints_nothing_and_is_a_success(place: Place) -> None:
    done = place.run("run", "x", "--model", place.script({"content": "NO_REPLY"}), "--stream")
    assert (done.code, done.out) == (0, "")
    assert "NO_REPLY" not in done.err
    assert "no reply wanted" in done.err


@pytest.mark.parametrize("words", [("-",), ()], ids=["hyphen", "nothing"])
def test_the_task_may_come_from_stdin(place: Place, words: tuple[str, ...]) -> None:
    state = json.loads(place.run("run", *words, "--json", STATEWRIGHT_MODEL=place.script(*ADDS[1:]), stdin="the task").out)
    assert state["messages"][-2] == {"role": "user", "content": "the task"}


def test_streamed_and_unstreamed_runs_take_the_same_rows(place: Place) -> None:
    with model_server(lambda messages: {"content": "a b c"}) as server:
        paths = [
            json.loads(place.run("run", "x", *server.options, "--json", flag).out)["path"]
            for flag in ("--stream", "--no-stream")
        ]
    assert paths[0] == paths[1]


@pytest.mark.parametrize(
    ("options", "streamed"),
    [((), True), (("--no-stream",), False), (("--json",), False), (("--quiet",), False), (("--json", "--stream"), True)],
    ids=str,
)
def test_text_is_streamed_to_a_terminal_unless_the_options_say_otherwise(
    place: Place, options: tuple[str, ...], streamed: bool
) -> None:
    master, slave = os.openpty()
    with (
        model_server(lambda messages: {"content": "a b c"}) as server,
        TemporaryFile() as nothing,
        TemporaryFile() as out,
        open(master, "rb", buffering=0) as shown,
        open(slave, "wb", buffering=0) as screen,
    ):
        words = ("run", "x", *server.options, *options)
        code = FORKS.run(words, place.folder, place.environment(), [nothing, out, screen])
        assert code == 0, shown.read(9000)
        assert server.streamed == [streamed]


def test_nothing_is_streamed_where_there_is_no_terminal(place: Place) -> None:
    with model_server(lambda messages: {"content": "a b c"}) as server:
        place.run("run", "x", *server.options)
        assert server.streamed == [False]


@pytest.mark.parametrize(
    ("replies", "options", "code", "reason", "out"),
    [
        ([{"content": "all I may say", "finish_reason": "content_filter"}], (), 3, "blocked", "all I may say\n"),
        ([], ("--max-steps", "0"), 3, "max_steps", ""),
        ([{"error": {"type": "AuthenticationFailed", "message": "wrong key"}}], (), 1, "llm_error", ""),
        ([{"content": "too late", "delay_s": 20}], ("--timeout", "0.2"), 3, "run_timeout", ""),
        ([{"content": "too late", "delay_s": 20}], ("--step-timeout", "0.2"), 3, "step_timeout", ""),
    ],
    ids=["blocked", "no steps", "model error", "run timeout", "step timeout"],
)
def test_each_outcome_has_its_exit_code(
    place: Place, replies: list[dict[str, Any]], options: tuple[str, ...], code: int, reason: str, out: str
) -> None:
    done = place.run("run", "x", "--model", place.script(*replies), *options)
    assert (done.code, done.out) == (code, out)
    assert reason in done.err


def test_the_command_line_wins_over_the_file_and_the_file_over_the_defaults(place: Place) -> None:
    (place.folder / "agent.toml").write_text('max_steps = 3\nsystem_prompt = "from the file"\n[evaluation]\nmax_retries = 1\n')
    layers = ("--config", "agent.toml", "--system", "from the line", "--self-eval", "basic")
    verdict = {"content": '{"completed": true, "confidence": 1.0, "issues": [], "suggestion": ""}'}
    state = json.loads(place.run("run", "x", "--model", place.script(ADDS[1], verdict), *layers, "--json").out)
    assert state["messages"][0] == {"role": "system", "content": "from the line"}
    assert (state["status"], state["verified"]) == ("success", True)


def test_parameters_of_a_request_are_options_and_are_recorded(place: Place) -> None:
    choosing = ("--seed", "7", "--top-p", "0.5", "--stop", "END", "--stop", "\n\n")
    given = (*choosing, "--reasoning-effort", "low", "--tool-choice", "add")
    done = place.run("run", "x", "--model", place.script(*ADDS), *WITH_TOOLS, *given, "--journal", "runs.db", "--run-id", "one")
    assert done.code == 0

    async def recorded() -> AgentConfig:
        async with aclosing(SQLiteJournal(place.folder / "runs.db")) as journal:
            return (await replay(journal, "one")).execution.inputs.config

    chosen = AgentConfig(seed=7, top_p=0.5, stop=("END", "\n\n"), reasoning_effort="low", tool_choice="add")
    assert asyncio.run(recorded()) == chosen


def test_a_parameter_that_is_wrong_is_named_by_its_option(place: Place) -> None:
    done = place.run("run", "x", "--model", place.script(*ADDS), "--top-p", "1.5")
    assert (done.code, "--top-p" in done.err, "top_p" in done.err) == (2, True, True)
    done = place.run("run", "x", "--model", place.script(*ADDS), *WITH_TOOLS, "--tool-choice", "ad")
    assert (done.code, "did you mean 'add'?" in done.err) == (2, True)


def test_retries_and_their_waits_are_shown(place: Place) -> None:
    (place.folder / "agent.toml").write_text("[retry]\nwaits_s = [0.05]\n")
    fails = {"error": {"type": "ServerFailed", "message": "overloaded", "status_code": 503}}
    done = place.run("run", "x", "--model", place.script(fails, fails, *ADDS[1:]), "--config", "agent.toml")
    assert done.code == 0
    assert done.err.count("ServerFailed: overloaded, again in about 0.05 s") == 2


def test_the_default_journal_gets_its_folder_and_no_other_one_does(place: Place) -> None:
    assert place.run("run", "x", "--model", place.script(*ADDS[1:])).code == 0
    assert (place.folder / ".statewright" / "runs.db").exists()
    missing = place.run("run", "x", "--model", place.script(*ADDS[1:]), "--journal", "folder/runs.db")
    assert missing.code == 2
    assert not (place.folder / "folder").exists()


def test_what_was_given_is_repeated_in_what_to_type_next(place: Place) -> None:
    done = place.run("run", "x", "--model", place.script(call("post", amount=1)), *WITH_TOOLS, "--journal", "my runs.db")
    assert done.code == 4
    assert "--tools tools:tools --journal 'my runs.db'" in done.err


def test_a_reader_that_has_gone_is_no_error(place: Place) -> None:
    assert place.run("run", "x", "--model", place.script(*ADDS[1:]), "--quiet").code == 0
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*STATEWRIGHT, "show", "last"], cwd=place.folder, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
