"""What the demo says: the introduction, the controller's questions, and the account of the run at its end."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.text import Text

from statewright import AgentState, ApprovalRequest, RetryConfig
from statewright.cli.outcome import summary
from statewright.journal.verify import Verification
from statewright.presentation.event_words import counted
from statewright.presentation.layout import command_text, print_folded
from statewright.presentation.output import printable, typed
from statewright.presentation.timeline import TimelineWriter, live_event
from statewright.runtime.observers import EventPayload
from statewright_states.frozen import replace
from statewright_states.run.table import RUN

INTRODUCTION = (
    "A small company keeps a ledger of its bank account, and the bank sends a statement. For June 2025 the two disagree. "
    "An agent reconciles them: it reads both, posts what the posting rules allow (a controller is asked first), writes a "
    "report, and its answer is judged before it counts. The agent's status changes only by declared rows of a table, such as "
    "RUN-12; each row it takes is in the journal before anything is done about it."
)

REASONS = {row.id: row.why for row in RUN.rows}


class DemoScreen:
    """Prints on one console: in colour on a terminal, plain elsewhere. What a model says cannot steer the terminal."""

    def __init__(self, console: Console, retry: RetryConfig) -> None:
        self._console = console
        self._timeline = TimelineWriter(retry)

    # -- while the run goes on ---------------------------------------------------------------------------------------

    def introduction(self, model: str, books: Path, journal: str) -> None:
        """What is about to happen, on which model and files."""
        self._heading("Statewright demo: an agent reconciles a bank account", first=True)
        self._print(INTRODUCTION)
        self._print()
        for name, value in (("model", model), ("books", f"{books} (a working copy)"), ("journal", journal)):
            self._print(f"  {name:<8} {value}")
        self._heading("The run")

    def event(self, kind: str, payload: EventPayload) -> None:
        """A decision on record: the line of the command line's timeline, and for a newcomer when tools start, and why."""
        line = self._timeline.follow(live_event(kind, payload), payload["message"])
        entry = line.event
        starts = entry.target == "running" != entry.source
        if not line.telling and not starts:
            return
        if not line.words or entry.source == entry.target:
            line = replace(line, words=REASONS.get(entry.row, line.words))
        self._console.print(line.text(self._console.width if self._console.is_terminal else None))

    def question(self, actor: str, request: ApprovalRequest) -> None:
        """What somebody is asked to allow."""
        self._print(
            f"  {actor} is asked: {request.name} is {request.effect}; may exactly this call run?", style="bold yellow", indent=4
        )
        self._print(f"    {request.arguments}", indent=8)
        self._print(f"  digest {request.digest}", style="dim")

    # -- when it has ended -------------------------------------------------------------------------------------------

    def path(self, state: AgentState) -> None:
        """The rows that the run machine took, in order, each with its reason from the table."""
        self._heading("The path: the rows that the run took, and why each of them exists")
        for row, times in ((row, len(list(same))) for row, same in groupby(state.path)):
            again = f" ({times} times)" if times > 1 else ""
            print_folded(self._console, Text.assemble("  ", (f"{row:<8}", "bold cyan"), REASONS[row], again), 10)

    def outcome(self, state: AgentState) -> None:
        """How it ended, what it used, and the answer."""
        self._heading("The outcome")
        tool_calls = counted(sum(len(step.tool_results) for step in state.steps), "tool call")
        print_folded(self._console, Text.assemble("  ", summary(state)), 4)
        self._print(f"  {counted(state.model_calls, 'model call')}, {tool_calls}")
        self._quote(state.final_output or "there is no answer")

    def report(self, path: Path) -> None:
        """The report that the agent wrote."""
        written = path.exists()
        self._heading(f"The report: {path}" if written else "The report")
        self._quote(path.read_text(encoding="utf-8") if written else "the agent wrote none")

    def verification(self, verification: Verification) -> None:
        """What checking the record gave."""
        self._heading("The record")
        if verification.ok:
            counted = (
                f"{verification.decisions} decisions in {verification.entries} entries, and {verification.payloads} payloads"
            )
            self._print(
                f"  verified   {counted}: the chain of hashes is whole, each decision follows from its table",
                style="green",
                indent=13,
            )
        for problem in verification.problems:
            self._print(f"  PROBLEM    {problem.where}: {problem.what}", style="bold red", indent=13)

    def replayed(self, decisions: int) -> None:
        """The replay came to the same decisions."""
        self._print(f"  replayed   {decisions} decisions without a model or a tool: each the same", style="green")

    def next(self, run_id: str, journal: str) -> None:
        """What to type next."""
        run = f"{run_id} --journal {typed(journal)}"
        lines = (
            (f"show {run}", "what happened, row by row"),
            (f"why {run}", "why it ended as it did"),
            (f"debug {run} --plain", "move along it, step by step; without --plain on a screen"),
            (f"report {run} --html report.html", "the same as a page"),
            (f"verify {run}", "check the record again"),
            ("diagram run --format svg --out run.svg", "the table of the run, drawn"),
            ('run "What is 17 plus 25?" --model openai:gpt-5-mini', "a run of your own; its key is in OPENAI_API_KEY"),
        )
        self._heading("What to type next")
        self._commands(lines)

    def left(self, run_id: str, journal: str) -> None:
        """What was left before its end, and what to type to look at it."""
        self._heading("Left before its end")
        self._commands([(f"debug {run_id} --journal {typed(journal)} --plain", "what is on record of it")])

    # -- inside ------------------------------------------------------------------------------------------------------

    def _commands(self, lines: Iterable[tuple[str, str]]) -> None:
        for line, purpose in lines:
            self._console.print(command_text(self._console, line, remark=f"# {purpose}"))

    def _heading(self, text: str, *, first: bool = False) -> None:
        if not first:
            self._print()
        self._print(text, style="bold underline")

    def _quote(self, text: str) -> None:
        self._print()
        for line in text.strip().splitlines():
            self._print(f"    {line}" if line else "", indent=6)

    def _print(self, text: str = "", *, style: str = "", indent: int = 0) -> None:
        print_folded(self._console, Text(printable(text), style=style), indent)
