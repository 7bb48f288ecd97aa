"""Parts through a run: what a reply brought beside its text stays what it was, wherever a message goes.

A made-up protocol (``signed_protocol``) asks for all that real ones do: its server takes back a turn of its own only byte for
byte. The model thinks, searches by itself, cites, draws and calls tools.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

from loop_invariants import check_run
from loop_model_server import completion, model_server
from loop_scenarios import RUN_ID, call, decisions_cross, play, says
from loop_tools import Bench
from signed_protocol import NAME, SignedProvider, SignedServer, signed_server
from statewright import (
    AgentConfig,
    AgentLoop,
    AgentState,
    Citation,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    FilePart,
    ImagePart,
    LLMResponse,
    Message,
    OpaquePart,
    ProviderState,
    ReasoningPart,
    SQLiteJournal,
    TextPart,
    replay,
    verify,
)
from statewright.context.estimates import IMAGE_TOKENS, RuleOfThumb
from statewright_providers.openai_chat import OpenAIChatProvider
from statewright_states.frozen import replace
from statewright_states.words.messages import encode_json
from statewright_states.words.ports import Journal

PICTURE = b"\x89PNG" + bytes(range(256)) * 8
IN_BASE64 = b64encode(PICTURE).decode()
QUESTION = Message("user", parts=[TextPart("What is on this page?"), ImagePart.of(PICTURE, "image/png")])
ANSWERED = [QUESTION.to_dict(), {"role": "assistant", "content": "A ledger."}]

SEALED = '{"sealed":  "gAAAAA\\u0042=="}'
THOUGHT = '{ "thought": "the rent is due", "signature": "EqoB/\\u002b9v=" }'
SEARCH = '{"own_search": {"q": "rent", "found": ["EuAd\\/Cio"]}, "id": "srv_1"}'
CITED = '{"cites": [{"title": "Lease", "url": "https://lease.example", "key": "Eo8B"}], "text": "The rent is due."}'
DRAWN = f'{{"of": "image/png", "picture": "{IN_BASE64}", "signature": "Aw=="}}'
LOOK = '{"input": "{\\"at\\": \\"the lease\\"}", "call": "toolu_1", "tool": "look", "signature": "CQ=="}'
PAY = '{"input": "{\\"what\\": \\"the rent\\"}", "call": "toolu_2", "tool": "pay", "signature": "CR=="}'
CALLS, DONE, CUT = '{"stop": "tool_calls"}', '{"stop": "stop"}', '{"stop": "length"}'

FIRST = [SEALED, THOUGHT, SEARCH, CITED, LOOK]
LAST = ['{"text":"The rent  is paid."}', DRAWN]


def loop_with(server: SignedServer, journal: Journal, tools: Any = None, config: AgentConfig | None = None) -> AgentLoop:
    return AgentLoop(SignedProvider(server.base_url), tools or Bench().tools, config, journal=journal)


def blobs(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        return [data for (data,) in connection.execute("SELECT data FROM blobs")]


def parts_said(state: AgentState, at: int) -> tuple[Any, ...]:
    return Message.from_dict(state.messages[at]).parts


# -- from a reply into the next request ------------------------------------------------------------------------------


def test_a_reply_goes_back_as_it_came_and_is_on_record_whole(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def scenario() -> None:
        journal = SQLiteJournal(path)
        async with signed_server([*FIRST, CALLS], [*LAST, DONE]) as server:
            loop = loop_with(server, journal)
            state = await loop.run("Go on", ANSWERED, run_id=RUN_ID)
            await loop.aclose()
        assert (state.status, state.final_output) == ("success", "The rent  is paid.")
        assert server.turns()[3] == FIRST
        assert server.turns()[0][1] == f'{{"picture":"{IN_BASE64}","of":"image/png"}}'
        await check_run(journal, state)
        assert (await replay(journal, RUN_ID)).state() == state
        assert (await verify(journal, RUN_ID)).ok
        said = parts_said(state, 3)
        assert [type(part).__name__ for part in said] == [
            "ReasoningPart",
            "ReasoningPart",
            "OpaquePart",
            "TextPart",
            "ToolCall",
        ]
        assert said[3].citations == (Citation("https://lease.example", "Lease"),)
        assert [part.provider_state.data for part in said] == FIRST
        assert state.steps[0].response.parts == said
        await journal.aclose()

    asyncio.run(scenario())
    stored = [
        json.loads(data)["parts"] for data in blobs(path) if data.startswith(b'{"role":"assistant","parts":[{"type":"reas')
    ]
    assert [[part["provider_state"]["data"] for part in parts] for parts in stored] == [FIRST]


def test_the_bytes_of_an_image_are_stored_once_however_often_a_history_brings_them(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def scenario() -> None:
        journal = SQLiteJournal(path)
        async with signed_server(['{"text": "yes"}', DONE], ['{"text": "no"}', DONE]) as server:
            loop = loop_with(server, journal)
            first = await loop.run("Go on", ANSWERED)
            await loop.run("And now?", first.messages)
            await loop.aclose()
        await journal.aclose()

    asyncio.run(scenario())
    assert sum(data.count(IN_BASE64.encode()) for data in blobs(path)) == 1


def test_a_transcript_that_is_handed_in_again_is_what_it_was(tmp_path: Path) -> None:
    async def scenario() -> None:
        journal = SQLiteJournal(tmp_path / "runs.db")
        async with signed_server([*FIRST, CALLS], [*LAST, DONE], ['{"text": "ok"}', DONE]) as server:
            loop = loop_with(server, journal)
            first = await loop.run("What is due?")
            second = await loop.run("And then?", json.loads(json.dumps(first.messages)))
            await loop.aclose()
        assert second.status == "success"
        assert [turn for turn in server.turns() if turn in (FIRST, LAST)] == [FIRST, LAST]
        await journal.aclose()

    asyncio.run(scenario())


def test_a_run_that_is_taken_up_by_another_process_sends_back_what_came(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    asks_to_pay = [SEALED, THOUGHT, PAY]

    async def scenario() -> None:
        async with signed_server([*asks_to_pay, CALLS], [*LAST, DONE]) as server:
            journal = SQLiteJournal(path)
            loop = loop_with(server, journal)
            waiting = await loop.run("Pay", ANSWERED, run_id=RUN_ID)
            assert waiting.waiting
            await loop.aclose()
            await journal.aclose()
            journal = SQLiteJournal(path)
            loop = loop_with(server, journal)
            await decisions_cross(journal, "toolu_2", (True, "ada"))
            state = await loop.resume(RUN_ID)
            await loop.aclose()
            assert state.status == "success"
            assert server.turns()[3] == asks_to_pay
            assert server.turns()[0] == server.turns(0)[0]
            assert (await replay(journal, RUN_ID)).state() == state
            await journal.aclose()

    asyncio.run(scenario())


def test_a_reply_that_was_cut_off_keeps_its_parts_when_it_is_continued(tmp_path: Path) -> None:
    async def scenario() -> None:
        journal = SQLiteJournal(tmp_path / "runs.db")
        async with signed_server([THOUGHT, '{"text" :"half "}', CUT], ['{"text": "and half"}', DONE]) as server:
            loop = loop_with(server, journal)
            state = await loop.run("Go on")
            await loop.aclose()
        assert state.final_output == "half and half"
        assert server.turns()[1] == [THOUGHT, '{"text" :"half "}']
        await journal.aclose()

    asyncio.run(scenario())


def test_another_adapter_never_sees_what_the_first_one_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        journal = SQLiteJournal(tmp_path / "runs.db")
        async with signed_server([*FIRST, CALLS], [*LAST, DONE]) as server, model_server(completion("fine")) as other:
            loop = loop_with(server, journal)
            first = await loop.run("What is due?")
            await loop.aclose()
            chat = AgentLoop(OpenAIChatProvider("m", base_url=other.base_url), Bench().tools, journal=journal)
            second = await chat.run("And then?", first.messages)
            await chat.aclose()
        assert second.status == "success"
        body = other.seen[0].raw.decode()
        for secret in ("gAAAAA", "EqoB", "own_search", "EuAd", "Eo8B", "CQ==", IN_BASE64, NAME):
            assert secret not in body
        shown = other.requests[0]["messages"]
        assert [message["content"] for message in shown if message["role"] == "assistant"] == [
            "The rent is due.",
            f"The rent  is paid.\n[image: image/png, {len(PICTURE)} bytes]",
        ]
        assert Message.from_dict(second.messages[1]).parts == parts_said(first, 1)
        await journal.aclose()

    asyncio.run(scenario())


# -- compaction, judgement, sizes ------------------------------------------------------------------------------------


def test_what_is_summarised_is_told_and_what_is_kept_is_unchanged(tmp_path: Path) -> None:
    again = LOOK.replace("toolu_1", "toolu_9")
    kept = [THOUGHT.replace("rent", "gas"), again]

    async def scenario() -> None:
        journal = SQLiteJournal(tmp_path / "runs.db")
        config = AgentConfig(context=ContextConfig(summarize_after_steps=1, keep_recent_steps=1))
        replies = ([*FIRST[:4], DRAWN, LOOK, CALLS], [*kept, CALLS], ['{"text": "so far"}', DONE], [*LAST, DONE])
        async with signed_server(*replies) as server:
            loop = loop_with(server, journal, config=config)
            state = await loop.run("Go on", ANSWERED, run_id=RUN_ID)
            await loop.aclose()
        assert state.status == "success"
        asked = "\n".join(server.turns(2)[1])
        assert f"[image: image/png, {len(PICTURE)} bytes]" in asked
        for secret in (IN_BASE64, "EqoB", "gAAAAA", "own_search", "the rent is due"):
            assert secret not in asked
        assert server.turns(3)[0] == server.turns(0)[0]
        assert kept in server.turns(3)
        assert not any(THOUGHT in turn for turn in server.turns(3))
        await check_run(journal, state)
        assert (await replay(journal, RUN_ID)).state() == state
        await journal.aclose()

    asyncio.run(scenario())


def test_the_judge_is_told_of_what_was_drawn_and_not_shown_it() -> None:
    answer = LLMResponse(parts=[ReasoningPart("secret"), TextPart("Here."), ImagePart.of(PICTURE, "image/png")])
    verdict = says('{"completed": true, "confidence": 1.0}')
    outcome = play([answer, verdict], config=AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.BASIC)))
    assert outcome.state.verified is True
    asked = outcome.provider.requests[1].messages[-1].content or ""
    assert f"Here.\n[image: image/png, {len(PICTURE)} bytes]" in asked
    assert "secret" not in asked
    assert IN_BASE64 not in asked


def test_an_image_counts_as_an_image_however_many_bytes_it_has() -> None:
    small, large = (Message("user", parts=[ImagePart.of(bytes(size), "image/png")]) for size in (3, 3_000_000))
    assert RuleOfThumb().estimate([small]) == RuleOfThumb().estimate([large])
    assert IMAGE_TOKENS <= RuleOfThumb().estimate([large]) < IMAGE_TOKENS + 30


def test_a_text_file_counts_as_its_text() -> None:
    text = "word " * 1_000
    as_file, as_text = Message("user", parts=[FilePart.of(text.encode(), "text/plain")]), Message("user", text)
    assert 0 < RuleOfThumb().estimate([as_file]) - RuleOfThumb().estimate([as_text]) < 30


def test_an_image_of_a_megabyte_is_no_reason_to_summarise() -> None:
    history = [Message("user", parts=[ImagePart.of(bytes(1_000_000), "image/png")]).to_dict()]
    outcome = play([says("done")], config=AgentConfig(context=ContextConfig(max_context_tokens=4_000)), history=history)
    assert (outcome.status, outcome.state.model_calls) == ("success", 1)


# -- what is an answer -----------------------------------------------------------------------------------------------


def test_an_image_alone_is_an_answer() -> None:
    outcome = play([LLMResponse(parts=[ImagePart.of(PICTURE, "image/png")])])
    assert (outcome.status, outcome.reason, outcome.state.steps_taken) == ("success", "completed", 1)
    assert parts_said(outcome.state, -1) == (ImagePart.of(PICTURE, "image/png"),)


def test_reasoning_alone_is_none() -> None:
    outcome = play([LLMResponse(parts=[ReasoningPart("hm")]), says("five")])
    assert (outcome.reason, outcome.roles) == ("completed", "uua")


def test_a_call_without_an_id_is_named_and_stays_where_it_was() -> None:
    reply = LLMResponse(parts=[call("look"), TextPart("and"), call("look"), ReasoningPart("hm")], finish_reason="tool_calls")
    outcome = play([reply, says("done")], Bench().tools)
    said = parts_said(outcome.state, 1)
    assert [type(part).__name__ for part in said] == ["ToolCall", "TextPart", "ToolCall", "ReasoningPart"]
    assert said[0].id != said[2].id


def test_a_reply_of_something_else_is_a_failed_attempt_and_no_crash() -> None:
    def wrong(request: object) -> LLMResponse:
        parts: Any = ["text"]
        return LLMResponse(parts=parts)

    outcome = play([wrong])
    assert (outcome.status, outcome.reason) == ("failed", "llm_error")
    assert "a message is made of parts, and str is none" in (outcome.state.error or "")


# -- what is on record -----------------------------------------------------------------------------------------------


def test_bytes_are_replaced_by_their_size_where_people_read() -> None:
    outcome = play([says("done")], history=ANSWERED)
    assert IN_BASE64 in encode_json(outcome.state.messages).decode()
    shown = encode_json(outcome.state.to_output_dict()).decode()
    assert IN_BASE64 not in shown
    assert f"data:image/png;base64,({len(PICTURE)} bytes)" in shown


def test_a_history_with_parts_is_mended_by_its_calls_alone() -> None:
    kept = ProviderState(NAME, SEARCH)
    thought, search = ReasoningPart("hm", kept), OpaquePart(kept)
    asking = Message("assistant", parts=[thought, call("look"), TextPart("so"), search])
    the_same_id = Message("assistant", parts=[thought, call("look"), search])
    outcome = play([says("done")], history=[asking.to_dict(), the_same_id.to_dict()])
    first, second = [Message.from_dict(message) for message in outcome.state.messages if message.get("tool_calls")]
    assert first == asking
    assert second == Message("assistant", parts=[thought, replace(call("look"), id="c1-2"), search])
