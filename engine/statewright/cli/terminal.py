"""The terminal's approver: shows exactly what would run, and asks the person who sits there."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from threading import Thread

from rich.console import Console
from rich.text import Text

from statewright.cli.screen import Screen
from statewright.presentation.layout import print_folded
from statewright.presentation.output import one_line, printable
from statewright.runtime.decisions import OBJECTIONS, progress
from statewright.views.approvals import ApprovalDecision, ApprovalRequest
from statewright_states.words.approval import Standing, Statement

try:
    import termios
except ImportError:  # not a Unix: what was typed before the question cannot be thrown away
    termios = None  # type: ignore[assignment]

STDIN = 0
MAX_LINE_BYTES = 4096
MAX_GROWTH = 10
"""Arguments that indenting makes longer than this many times are nested so deeply that nobody could read them indented."""
MEANINGS = {"y": "yes, run it", "r": "reviewed, not decided", "n": "no", "q": "no, and end the run"}
STATEMENTS = {"y": Statement.APPROVED, "r": Statement.REVIEWED, "n": Statement.REJECTED, "q": Statement.REJECTED}
LOST_OUTCOME = "It had begun when the process died, and nobody knows how it ended. Look first; it is not run again."
AFTER_A_LOST_OUTCOME = {"y": "go on", "n": "end the run"}


class TerminalApprover:
    """Asks on the terminal, one question at a time. ``actor`` is recorded with each decision.

    ``run_id`` is the run that the screen shows: of a call of any other, such as one that a tool has begun, the run is named.

    The terminal is read on a daemon thread of its own, by the system call: a reader that still waits when the process
    ends holds no lock that could hold up the exit. An end of input (Ctrl-D) means that nobody is there to be asked.
    """

    def __init__(self, actor: str, screen: Screen, run_id: str) -> None:
        self._actor = actor
        self._run_id = run_id
        self._screen = screen
        self._turn = asyncio.Lock()
        self._line: asyncio.Future[str | None] | None = None
        self._reader: Thread | None = None

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """The decision; None at the end of input, and where whoever sits here may decide nothing."""
        answers = self._answers(request)
        if not answers:
            return None
        async with self._turn:
            with self._screen.paused() as console:
                _discard_what_was_typed_before()
                of_run = "" if request.run_id == self._run_id else f" of {one_line(request.run_id)}"
                _show(console, request, of_run, answers, self._remark(request, answers))
                try:
                    return await self._answer(console, answers)
                except asyncio.CancelledError:
                    self._screen.close_line()
                    raise

    def _answers(self, request: ApprovalRequest) -> dict[str, str]:
        """What this person may say: whatever would count now. A review that nobody wants is not offered here."""
        sign_off, asked = request.sign_off, AFTER_A_LOST_OUTCOME if request.outcome_lost else MEANINGS
        standing = sign_off.rule.hears if request.outcome_lost else sign_off.standing
        counted = {key: meaning for key, meaning in asked.items() if standing(self._actor, STATEMENTS[key]) is Standing.COUNTS}
        return {key: meaning for key, meaning in counted.items() if key != "r" or sign_off.rule.review_required}

    def _remark(self, request: ApprovalRequest, answers: dict[str, str]) -> str:
        """Where the sign-off stands, where it takes more than this person's yes."""
        sign_off = request.sign_off
        if request.outcome_lost or (sign_off.rule.required == 1 and "y" in answers):
            return ""
        standing = sign_off.standing(self._actor, Statement.APPROVED)
        objection = "" if standing is Standing.COUNTS else f"; {self._actor} {OBJECTIONS[standing]}"
        return f"{progress(sign_off)}{objection}. Others may decide meanwhile, from anywhere; Ctrl-D leaves it waiting."

    async def _answer(self, console: Console, answers: dict[str, str]) -> ApprovalDecision | None:
        while True:
            console.print(Text("  > ", style="bold"), end="")
            line = await self._next_line()
            if line is None:
                console.print()
                return None
            word, _, comment = line.strip().partition(" ")
            if word in answers:
                return ApprovalDecision(
                    approve=word in ("y", "r"),
                    actor=self._actor,
                    meaning=STATEMENTS[word],
                    comment=comment.strip(),
                    ends_run=word == "q",
                )
            print_folded(console, _choices(answers), 2)

    async def _next_line(self) -> str | None:
        loop = asyncio.get_running_loop()
        self._line = loop.create_future()
        if self._reader is None:
            self._reader = Thread(target=self._read, args=(loop,), name="terminal reader", daemon=True)
            self._reader.start()
        return await self._line

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """On the thread: hand over each line, until the input ends."""
        line: str | None = ""
        while line is not None:
            try:
                data = os.read(STDIN, MAX_LINE_BYTES)
            except OSError:  # the terminal has gone
                data = b""
            line = data.decode(errors="replace") if data else None
            with suppress(RuntimeError):  # the loop has ended: nobody waits
                loop.call_soon_threadsafe(self._hand_over, line)
        self._reader = None

    def _hand_over(self, line: str | None) -> None:
        """A line that nobody waits for answers nothing."""
        if self._line is not None and not self._line.done():
            self._line.set_result(line)


def somebody_is_there() -> bool:
    """Whether a person can be asked here: input and remarks are a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _discard_what_was_typed_before() -> None:
    """Keys that were pressed before the question was seen must not answer it."""
    if termios is not None:
        with suppress(termios.error):
            termios.tcflush(STDIN, termios.TCIFLUSH)


def _show(console: Console, request: ApprovalRequest, of_run: str, answers: dict[str, str], remark: str) -> None:
    title = "the outcome of a call is lost" if request.outcome_lost else "a call needs your approval"
    console.print()
    console.print(Text.assemble(("  ● ", "yellow"), (title, "bold yellow")))
    about = f"  {request.effect}  {one_line(request.call_id)}, {one_line(request.tool)}{of_run}"
    print_folded(console, Text.assemble("  ", (one_line(request.name), "bold"), about), 4)
    for line in pretty(request.arguments).splitlines():
        print_folded(console, Text(f"    {line}"), 8)
    console.print(Text(f"  digest {request.digest}", style="dim"))
    lost = LOST_OUTCOME if request.outcome_lost else ""
    for said in (lost, request.remark, remark):
        if said:
            print_folded(console, Text(f"  {one_line(said)}"), 2)
    print_folded(console, _choices(answers), 2)


def _choices(answers: dict[str, str]) -> Text:
    said = [part for key, meaning in answers.items() for part in ((key, "bold"), f" {meaning}   ")]
    return Text.assemble("  ", *said, ("a comment may follow the letter", "dim"))


def pretty(arguments: str) -> str:
    """The arguments for a person, every character that could deceive spelled out."""
    try:
        indented = json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return printable(arguments)
    return printable(indented if len(indented) <= MAX_GROWTH * max(len(arguments), 80) else arguments)
