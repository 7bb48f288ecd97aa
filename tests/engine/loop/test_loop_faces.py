"""The faces of a run: awaited, synchronous, as a stream; sessions; and observers, who can change nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from flat_records import shapes_of
from loop_invariants import check_run
from loop_journals import PassingJournal
from loop_scenarios import RUN_ID, asks, call, play, playing, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    AgentState,
    EventPayload,
    LLMResponse,
    MemoryJournal,
    MixedModeRunner,
    RunEvent,
    StreamChunk,
    tool,
)
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, ScriptedProvider
from statewright_states.errors import ConfigurationError, HistoryError, JournalUnavailable, RunExists, RunNotFound, ServerFailed
from statewright_states.words.ports import Lease, ModelRequest, StoredEntry

# -- run_sync --------------------------------------------------------------------------------------------------------


def test_a_run_can_be_synchronous() -> None:
    loop = AgentLoop(ScriptedProvider([asks(call("look")), says("done")]), Bench().tools)
    assert loop.run_sync("task").final_output == "done"


def test_a_synchronous_run_works_inside_a_running_event_loop() -> None:
    async def inside() -> AgentState:
        return AgentLoop(ScriptedProvider([says("done")])).run_sync("task")

    assert asyncio.run(inside()).final_output == "done"


@pytest.mark.parametrize("inside", [False, True])
def test_what_a_synchronous_run_raises_reaches_the_caller(inside: bool) -> None:
    loop = AgentLoop(ScriptedProvider([says("one"), says("two")]))
    loop.run_sync("task", run_id="same")

    async def again() -> None:
        loop.run_sync("task", run_id="same")

    with pytest.raises(RunExists, match="same"):
        asyncio.run(again()) if inside else loop.run_sync("task", run_id="same")


# -- stream ----------------------------------------------------------------------------------------------------------


def test_a_stream_gives_entries_and_text_as_they_happen_and_the_state_last() -> None:
    async def scene() -> None:
        script = [asks(call("look"), text="Let me look."), says("All is well.")]
        loop = AgentLoop(ScriptedProvider(script), Bench().tools, clock=VirtualClock())
        happened = [one async for one in loop.stream("task", run_id=RUN_ID)]
        state = happened[-1]
        assert isinstance(state, AgentState)
        await check_run(loop.journal, state)
        entries = [one for one in happened if isinstance(one, RunEvent)]
        assert [one.seq for one in entries] == list(range(1, len(entries) + 1))
        assert tuple(one.row for one in entries if one.machine == "run") == state.path
        assert "".join(one.data for one in happened if isinstance(one, StreamChunk)) == "Let me look.All is well."

    run_virtual(scene())


def test_a_stream_that_is_closed_early_leaves_a_run_that_can_be_resumed() -> None:
    async def scene() -> None:
        loop = AgentLoop(ScriptedProvider([Delay(10), says("one"), says("two")]), clock=VirtualClock())
        stream = loop.stream("task", run_id=RUN_ID)
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        assert (await loop.resume(RUN_ID)).status == "success"

    run_virtual(scene())


def test_a_stream_raises_what_the_run_raises() -> None:
    async def scene() -> None:
        loop = AgentLoop(ScriptedProvider([says("one")]), clock=VirtualClock())
        await loop.run("task", run_id=RUN_ID)
        with pytest.raises(RunExists):
            _ = [one async for one in loop.stream("task", run_id=RUN_ID)]

    run_virtual(scene())


# -- observers -------------------------------------------------------------------------------------------------------

SCRIPT = [asks(call("look"), text="Let me look."), ServerFailed("down"), says("All is well.")]


def _raise(*_: object) -> None:
    raise RuntimeError("the observer is broken")


async def _raise_later(*_: object) -> None:
    await asyncio.sleep(1)
    raise RuntimeError("the observer is broken")


async def _never(*_: object) -> None:
    await asyncio.get_running_loop().create_future()


def _not_awaitable(*_: object) -> object:
    return object()


@pytest.mark.parametrize("observer", [_raise, _raise_later, _never, _not_awaitable])
def test_an_observer_that_breaks_changes_nothing(observer: Callable[..., Any]) -> None:
    quiet = play(SCRIPT, Bench().tools, stream=True)
    watched = play(SCRIPT, Bench().tools, stream=True, on_event=observer, on_stream_chunk=observer)
    assert watched.rows == quiet.rows
    assert watched.state.messages == quiet.state.messages


def test_observers_see_what_is_on_record_and_in_order() -> None:
    seen: list[tuple[str, EventPayload]] = []

    async def observe(kind: str, payload: EventPayload) -> None:
        await asyncio.sleep(0.1)
        seen.append((kind, payload))

    outcome = play(SCRIPT, Bench().tools, on_event=observe)
    assert [payload["seq"] for _, payload in seen] == list(range(1, len(seen) + 1))
    assert [payload["row"] for _, payload in seen] == [row for _, row in outcome.rows.taken]
    assert seen[0][0] == "run.RunAdmitted"


def test_an_entry_is_on_record_before_an_observer_sees_it() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        unrecorded: list[int] = []

        async def observe(kind: str, payload: EventPayload) -> None:
            if len(await shapes_of(journal, RUN_ID)) <= payload["seq"]:
                unrecorded.append(payload["seq"])

        await playing(SCRIPT, Bench().tools, journal=journal, on_event=observe)
        assert unrecorded == []

    run_virtual(scene())


def test_tool_calls_are_never_chunks() -> None:
    shown: list[str] = []
    play(SCRIPT, Bench().tools, stream=True, on_stream_chunk=lambda chunk: shown.append(f"{chunk.type}:{chunk.data}"))
    assert shown == ["content:Let ", "content:me ", "content:look.", "content:All ", "content:is ", "content:well."]


def test_errors_on_their_way_out_are_told_to_on_error() -> None:
    async def scene() -> None:
        told: list[tuple[str, str]] = []
        loop = AgentLoop(
            ScriptedProvider([]), clock=VirtualClock(), on_error=lambda error, where: told.append((type(error).__name__, where))
        )
        with pytest.raises(RunNotFound):
            await loop.resume("no such run")
        assert told == [("RunNotFound", "resume")]
        broken = AgentLoop(ScriptedProvider([]), journal=Closed(MemoryJournal()), on_error=_raise, clock=VirtualClock())
        with pytest.raises(JournalUnavailable):
            await broken.run("task")

    run_virtual(scene())


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"prompt": 5}, ConfigurationError),
        ({"prompt": "task", "history": [{"role": "robot"}]}, HistoryError),
        ({"prompt": "task", "colour": "red"}, TypeError),
    ],
    ids=["prompt", "history", "keyword"],
)
@pytest.mark.parametrize("face", ["run", "run_sync", "stream", "mixed"])
def test_bad_input_is_told_to_on_error_on_every_face(face: str, arguments: dict[str, Any], kind: type[Exception]) -> None:
    told: list[tuple[type[Exception], str]] = []
    loop = AgentLoop(ScriptedProvider([]), on_error=lambda error, where: told.append((type(error), where)))

    async def streamed() -> None:
        async for _ in loop.stream(**arguments):
            pass

    with pytest.raises(kind):
        match face:
            case "run":
                asyncio.run(loop.run(**arguments))
            case "run_sync":
                loop.run_sync(**arguments)
            case "stream":
                asyncio.run(streamed())
            case _:
                asyncio.run(MixedModeRunner(loop).run(**arguments))
    assert told == [(kind, "stream" if face == "stream" else "run")]


def test_an_error_of_a_streamed_run_is_told_to_on_error_once() -> None:
    async def scene() -> None:
        told: list[tuple[str, str]] = []
        loop = AgentLoop(
            ScriptedProvider([]),
            journal=Closed(MemoryJournal()),
            on_error=lambda error, where: told.append((type(error).__name__, where)),
            clock=VirtualClock(),
        )
        with pytest.raises(JournalUnavailable):
            async for _ in loop.stream("task"):
                pass
        assert told == [("JournalUnavailable", "stream")]

    run_virtual(scene())


WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


@pytest.mark.parametrize("inside", [False, True], ids=["no loop", "inside a loop"])
def test_run_sync_keeps_the_context_variables_of_its_caller(inside: bool) -> None:
    @tool(effect="read")
    async def who() -> str:
        """Say who asks."""
        return WHO.get()

    @tool(name="who_on_a_thread", effect="read")
    def who_on_a_thread() -> str:
        """Say who asks, from a thread."""
        return WHO.get()

    def asked() -> list[str]:
        WHO.set("Ada")
        model = ScriptedProvider([asks(call("who"), call("who_on_a_thread")), says("done")])
        state = AgentLoop(model, [who, who_on_a_thread]).run_sync("task")
        return [result.result for step in state.steps for result in step.tool_results]

    async def scene() -> list[str]:
        return asked()

    assert (asyncio.run(scene()) if inside else copy_context().run(asked)) == ["Ada", "Ada"]


class Closed(PassingJournal):
    """A journal that begins no run."""

    async def create(self, run_id: str, header: StoredEntry, blobs: Mapping[str, bytes]) -> Lease:
        raise JournalUnavailable("closed")


# -- sessions --------------------------------------------------------------------------------------------------------


class Busy:
    """A model that takes ten seconds for each reply, and notes how many runs ask at the same time."""

    model = "busy:1"

    def __init__(self) -> None:
        self.asking = 0
        self.most = 0
        self.order: list[str] = []

    async def complete(self, request: ModelRequest, observer: object) -> LLMResponse:
        self.order.append(str(request.messages[-1].content))
        self.asking += 1
        self.most = max(self.most, self.asking)
        await asyncio.sleep(10)
        self.asking -= 1
        if request.messages[-1].content == "fail":
            raise ValueError("as asked")
        return says("done")

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize(("session", "most", "seconds"), [("one", 1, 30), (None, 3, 10)])
def test_runs_of_one_session_go_one_after_another_in_order(session: str | None, most: int, seconds: float) -> None:
    async def scene() -> None:
        busy, clock = Busy(), VirtualClock()
        loop = AgentLoop(busy, clock=clock)
        states = await asyncio.gather(*(loop.run(task, session=session) for task in ("a", "fail", "c")))
        assert [state.status for state in states] == ["success", "failed", "success"]
        assert (busy.order, busy.most, clock.monotonic_s()) == (["a", "fail", "c"], most, seconds)
        for state in states:
            await check_run(loop.journal, state)

    run_virtual(scene())


def test_sessions_run_beside_each_other() -> None:
    async def scene() -> None:
        busy, clock = Busy(), VirtualClock()
        loop = AgentLoop(busy, clock=clock)
        await asyncio.gather(*(loop.run("task", session=session) for session in ("a", "b", "a", "b")))
        assert (busy.most, clock.monotonic_s()) == (2, 20)

    run_virtual(scene())


@pytest.mark.parametrize("kind", ["async", "sync"])
def test_a_run_that_would_wait_for_its_own_lane_is_refused_and_the_model_is_told(kind: str) -> None:
    """A tool of a run begins a run in the same session of the same agent, and waits for it."""

    async def scene() -> None:
        @tool(effect="read", name="ask_again")
        async def nested() -> str:
            return str((await loop.run("the same", session="s")).final_output)

        @tool(effect="read", name="ask_again")
        def nested_sync() -> str:
            return str(loop.run_sync("the same", session="s").final_output)

        script = [asks(call("ask_again")), says("done")]
        loop = AgentLoop(ScriptedProvider(script), [nested if kind == "async" else nested_sync])
        state = await asyncio.wait_for(loop.run("the task", session="s"), 20)
        (result,) = state.steps[0].tool_results
        assert (state.status, result.outcome) == ("success", "failed")
        assert "would wait for its own end" in str(result.result)
        await loop.aclose()

    asyncio.run(scene())


def test_a_tool_may_begin_a_run_of_another_session_or_of_none() -> None:
    async def scene() -> None:
        @tool(effect="read")
        async def ask_another(session: str) -> str:
            return str((await loop.run("another", session=session or None)).final_output)

        script = [
            asks(call("ask_another", session="t"), call("ask_another", session="")),
            says("inner"),
            says("inner"),
            says("done"),
        ]
        loop = AgentLoop(ScriptedProvider(script), [ask_another], AgentConfig(parallel_tools=False))
        state = await asyncio.wait_for(loop.run("the task", session="s"), 20)
        assert [result.result for result in state.steps[0].tool_results] == ["inner", "inner"]

    asyncio.run(scene())


@pytest.mark.parametrize("end", ["stop", "cancel"])
def test_a_queued_run_can_be_ended_and_the_lane_goes_on(end: str) -> None:
    async def scene() -> None:
        busy = Busy()
        loop = AgentLoop(busy, clock=VirtualClock())
        runs = [asyncio.create_task(loop.run(name, session="s", run_id=name)) for name in ("a", "b", "c")]
        await asyncio.sleep(5)
        await getattr(loop, end)("b")
        states = [await run for run in runs]
        assert [state.status for state in states] == ["success", "partial", "success"]
        assert busy.order == ["a", "c"]
        await check_run(loop.journal, states[1])

    run_virtual(scene())


def test_the_time_in_the_queue_is_not_under_the_run_deadline() -> None:
    async def scene() -> None:
        loop = AgentLoop(Busy(), config=AgentConfig(run_timeout_s=15), clock=VirtualClock())
        states = await asyncio.gather(*(loop.run(str(number), session="s") for number in range(4)))
        assert {state.status for state in states} == {"success"}

    run_virtual(scene())


def test_synchronous_runs_of_one_session_may_come_from_several_threads() -> None:
    """Each run has an event loop of its own; the lane is theirs together."""
    order: list[str] = []

    async def slow(request: ModelRequest) -> LLMResponse:
        order.append("asked")
        await asyncio.sleep(0.05)
        order.append("answered")
        return says("done")

    loop = AgentLoop(ScriptedProvider([slow] * 4))
    states: list[AgentState] = []
    threads = [threading.Thread(target=lambda: states.append(loop.run_sync("task", session="s"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [str(state.status) for state in states] == ["success"] * 4
    assert order == ["asked", "answered"] * 4


def test_many_runs_may_be_live_in_one_loop() -> None:
    async def scene() -> None:
        loop = AgentLoop(Busy(), clock=VirtualClock())
        states = await asyncio.gather(*(loop.run(str(number)) for number in range(50)))
        assert len({state.run_id for state in states}) == 50
        assert {state.status for state in states} == {"success"}

    run_virtual(scene())
