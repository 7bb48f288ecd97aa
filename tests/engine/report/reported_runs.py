"""Runs of every kind in one journal, recorded in virtual time, so that their reports are the same each time."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import sqlite3
from contextlib import closing
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from golden_runs import restored, scripts
from orders import ORDER, OrderPlaced, PickedUp, Till
from statewright import (
    AgentConfig,
    AgentLoop,
    ApprovalConfig,
    ApprovalDecision,
    ApprovalRequest,
    BudgetConfig,
    ContextConfig,
    EditedReply,
    LLMResponse,
    ModelPrice,
    SQLiteJournal,
    ToolCall,
    ToolContext,
    Usage,
    tool,
)
from statewright.events import AttemptReplied
from statewright.report.html_page import html_page
from statewright.report.reading import Asked, ReadRun, read_report
from statewright.tables import MachineRunner
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers import ScriptedProvider
from statewright_providers.scripted import Delay
from statewright_states.errors import ServerFailed

MADE = Asked(1_800_000_000_000_000, " --journal runs.db")
HOSTILE = (
    "<script>document.title='taken'</script><img src=x onerror=alert(1)>\x1b[2J\x1b]0;taken\x07\u202eevil\u202c</pre></details>"
)
ANSWER = """# Done

**All** is [well](https://example.org/elsewhere), and [safe](javascript:alert(1)).

| a | b |
|--:|---|
| 1 | 2 |
"""
BIG_CHARS = 5_000_000


@tool(effect="read", parallel=True)
async def look(at: str) -> str:
    """Look at something that somebody else has written."""
    await asyncio.sleep(2)
    return HOSTILE


@tool(effect="read")
async def dump() -> str:
    """Give very much."""
    return "0123456789abcdef " * (BIG_CHARS // 17)


@tool(effect="irreversible", sensitive=True)
async def pay(cents: int) -> str:
    """Pay."""
    await asyncio.sleep(0.5)
    return f"paid {cents}"


@tool(effect="read")
async def fail() -> str:
    """Fail."""
    raise ValueError(f"no such thing {HOSTILE}")


@tool(effect="read")
async def research(context: ToolContext[None]) -> str:
    """Have somebody else look."""
    reader = AgentLoop(ScriptedProvider([replies(text="It is blue.")]), clock=VirtualClock())
    return str((await context.run(reader, "What colour has the sea?")).final_output)


def replies(*calls: ToolCall, text: str | None = None) -> LLMResponse:
    """A reply that costs something."""
    finish = "tool_calls" if calls else "stop"
    return LLMResponse(text, calls, finish, Usage(1_000, 50, cached_input_tokens=400), "model-x")


class Ada:
    """A person who needs a day."""

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        await asyncio.sleep(86_400)
        return ApprovalDecision(True, "Ada <b>Lovelace</b>", "approved", "fine & checked")


PRICES = {"scripted:list": ModelPrice(input_usd=2, output_usd=10)}
BUDGET = BudgetConfig(max_model_calls=12, max_total_tokens=20_000, max_cost_usd=1, prices=PRICES)


async def record(path: Path) -> None:
    """Make the runs: one in which much happens, one with a very long result, one that is taken up, a family, and orders."""
    journal = SQLiteJournal(path, durability="memory", clock=VirtualClock())
    busy: list[Any] = [
        ServerFailed("the service is out of order", where="scripted:list"),
        Delay(3.0),
        replies(
            ToolCall("c1", "look", '{"at": "the sea"}'), ToolCall("c2", "look", f'{{"at": "{"<b>" * 3}"}}'), text="I look."
        ),
        Delay(1.0),
        replies(ToolCall("c3", "pay", '{"cents": 4200}')),
        replies(ToolCall("c4", "fail", "{}")),
        replies(text=ANSWER),
    ]
    config = AgentConfig(system_prompt="You are exact.", budget=BUDGET, approval=ApprovalConfig(required=1))
    loop = AgentLoop(ScriptedProvider(busy), [look, pay, fail], config, journal=journal, clock=VirtualClock(), approver=Ada())
    await loop.run(f"Pay the bill. {HOSTILE}", run_id="busy", requested_by="Grace", agent="clerk")
    many = [replies(ToolCall("c1", "dump", "{}")), *(replies(ToolCall(f"d{at}", "look", "{}")) for at in range(4))]
    stopped = AgentConfig(max_steps=3, max_tool_result_chars=0, context=ContextConfig(max_context_tokens=0))
    await AgentLoop(ScriptedProvider(many), [dump, look], stopped, journal=journal, clock=VirtualClock()).run(
        "Give much.", run_id="big"
    )
    asking = [replies(ToolCall("c1", "pay", '{"cents": 1}'))]
    first = AgentLoop(ScriptedProvider(asking), [pay], journal=journal, clock=VirtualClock())
    await first.run("Pay.", run_id="resumed")
    second = AgentLoop(ScriptedProvider([replies(text="Done.")]), [pay], journal=journal, clock=VirtualClock())
    await second.decide("resumed", "c1", approve=False, actor="Ada", comment="too much")
    await second.resume("resumed")
    boss = AgentLoop(
        ScriptedProvider([replies(ToolCall("c1", "research", "{}")), replies(text="All done.")]),
        [research],
        journal=journal,
        clock=VirtualClock(),
    )
    await boss.run("Have it looked up.", run_id="boss")
    await _orders(journal)
    one = AgentLoop(ScriptedProvider([replies(text="Blue.")]), journal=journal, clock=VirtualClock())
    async with one.step("Which colour is it?", run_id="edited", by="Grace <i>Hopper</i>") as stepper:
        held = await stepper.run_to(lambda held: isinstance(held.event, AttemptReplied))
        assert held is not None
        stepper.edit(held, EditedReply("Green."))
        await stepper.go_on()
    await journal.aclose()


async def _orders(journal: SQLiteJournal) -> None:
    till = Till(charge_s=0, pack_s=0.01)
    async with MachineRunner(ORDER, till.handlers, journal=journal, clock=VirtualClock()) as machine:
        run = await machine.start("order-1", OrderPlaced(4200))
        await run.send(PickedUp())
        await run.wait_until_at_rest(timeout_s=30)
        await run.send(PickedUp("parcel 9"), key="scan 1")
        await machine.start("order-2", OrderPlaced(1))


@cache
def journal_path() -> Path:
    """The journal with all of these runs, and those that are kept for ever. Made once in a process; nobody writes into it."""
    folder = Path(mkdtemp(prefix="reported"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = restored(scripts()[-1], folder)
    run_virtual(record(path))
    return path


async def _read(path: Path, run_id: str, asked: Asked) -> ReadRun:
    journal = SQLiteJournal(path, clock=VirtualClock())
    try:
        return await read_report(journal, run_id, asked)
    finally:
        await journal.aclose()


def read_of(run_id: str, path: Path | None = None, asked: Asked = MADE) -> ReadRun:
    """The report of a run, and what can be drawn of it."""
    return _kept(run_id) if path is None and asked is MADE else asyncio.run(_read(path or journal_path(), run_id, asked))


@cache
def _kept(run_id: str) -> ReadRun:
    return asyncio.run(_read(journal_path(), run_id, MADE))


def page_of(run_id: str, path: Path | None = None) -> str:
    """The page of a run."""
    read = read_of(run_id, path)
    return html_page(read.report, read.tables)


def changed(folder: Path, *statements: str) -> Path:
    """A copy of the journal in this folder, with its file changed from outside."""
    path = folder / "changed.db"
    with closing(sqlite3.connect(journal_path())) as kept, closing(sqlite3.connect(path)) as copy:
        kept.backup(copy)
        for statement in statements:
            assert copy.execute(statement).rowcount, statement
        copy.commit()
    return path


def entry_id(run_id: str, number: int) -> str:
    """The place of an entry in the file of a journal, as SQL."""
    return f"(SELECT key << 32 | {number} FROM runs WHERE run_id = '{run_id}')"


class Structure(HTMLParser):
    """What a page consists of: its elements in order with their attributes, its texts, and whether each is closed."""

    VOID = frozenset(("meta", "input", "br", "hr", "link", "img"))

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.texts: list[str] = []
        self.text_in: dict[str, list[str]] = {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        for tag in self.open[-1:]:
            self.text_in.setdefault(tag, []).append(data)

    @property
    def text(self) -> str:
        """All of the text."""
        return "".join(self.texts)

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of each element of this name."""
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def ids(self) -> list[str]:
        """The ids of all elements."""
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]
