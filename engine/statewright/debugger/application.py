"""The debugger on a screen: panes beside and below each other, and the keys of the table of commands.

Nothing is decided here: a key carries out the command that is typed in ``--plain``, and what is shown is what it answers.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static
from textual.worker import Worker

from statewright.debugger.acting import without_web_fonts, write_new
from statewright.debugger.answers import DebugAnswer, waiting_lines
from statewright.debugger.commands import COMMANDS, DebugCommand, carry_out, command_of, help_lines
from statewright.debugger.dialogs import CommandLine, TextDialog
from statewright.debugger.entry_list import EntryList, entry_line
from statewright.debugger.looking import (
    all_facts_pane,
    commands_pane,
    machine_pane,
    messages_pane,
    short_why_pane,
    stored_entry_pane,
)
from statewright.debugger.pane_view import PaneView
from statewright.debugger.session import DebugSession
from statewright.presentation.event_words import seconds
from statewright.presentation.lines import Line, Lines
from statewright.presentation.output import one_line
from statewright.presentation.timeline import TONES
from statewright_states.errors import StatewrightError

MAX_MESSAGES = 20
"""So many of the last messages are set on the screen; `messages` in --plain gives all."""
LOOK_AGAIN_S = 0.5
"""How often a run that has not ended is looked at again."""
READ_ENTRIES = 25
"""How many entries are read before the screen may go on."""
KEYS_FIRST = frozenset({"left", "right", "home", "end"})
"""Keys that would otherwise scroll."""


COLUMNS = ((0, "-narrow"), (110, "-wide"), (150, "-widest"))
"""From so many columns on the panes stand in this way."""


def _messages(session: DebugSession) -> RenderableType:
    return messages_pane(session, MAX_MESSAGES)


PANES: Mapping[str, Callable[[DebugSession], RenderableType]] = {
    "why": short_why_pane,
    "facts": all_facts_pane,
    "messages": _messages,
    "commands": commands_pane,
    "entry": stored_entry_pane,
}
"""The panes of which one is shown at a time, by the command that shows it."""


def bindings() -> list[BindingType]:
    """The keys, from the table of commands."""
    found: list[BindingType] = []
    for command in COMMANDS:
        for place, key in enumerate(command.keys):
            action = f"type('{command.name} ')" if command.asks else f"carry_out('{command.name}')"
            word, shown = command.footer or command.help, bool(command.footer) and place == 0
            found.append(Binding(key, action, word, show=shown, priority=key in KEYS_FIRST))
    return found


class DebuggerScreen(Screen[None]):
    """The one screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(),
        Binding("tab", "other_pane(1)", "next pane", show=False, priority=True),
        Binding("shift+tab", "other_pane(-1)", "pane before", show=False, priority=True),
        Binding("colon", "type('')", "any command", show=False),
        Binding("t", "light_or_dark", "light or dark", show=False),
        Binding("escape", "give_up", "stop what is searched for", show=False),
    ]
    DEFAULT_CSS = """
    DebuggerScreen { layout: vertical; }
    #head, #notice, #tabs { height: 1; padding: 0 1; }
    #head { text-style: bold reverse; }
    #machine { height: 8; margin: 0 1; scrollbar-size: 0 0; }
    #body { height: 1fr; }
    #entries { width: 30; height: 1fr; }
    #main { width: 1fr; }
    #side { width: 0; display: none; }
    #pane, #side_facts, #side_messages { height: 1fr; margin: 0 0 0 1; scrollbar-gutter: stable; }
    #pane, #side_facts, #side_messages, #entries { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
    .title { height: 1; padding: 0 1; text-style: bold underline; }
    DebuggerScreen.-wide #entries { width: 42; }
    DebuggerScreen.-widest #entries { width: 54; }
    DebuggerScreen.-widest #side { width: 1fr; display: block; }
    """

    def __init__(self, session: DebugSession, application: App[None]) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = list(COLUMNS)
        self.session = session
        self.application = application
        self.pane = "why"
        self._said = Text()
        self._working: list[Worker[None]] = []
        self._following = False
        self._one_at_a_time = asyncio.Lock()

    def compose(self) -> ComposeResult:
        """All the panes."""
        yield Static(id="head", markup=False)
        yield PaneView(self.application, id="machine")
        with Horizontal(id="body"):
            yield EntryList(self.session, self.application, id="entries")
            with Vertical(id="main"):
                yield Static(id="tabs")
                yield PaneView(self.application, id="pane")
            with Vertical(id="side"):
                yield Static("facts", classes="title")
                yield PaneView(self.application, id="side_facts")
                yield Static("messages", classes="title")
                yield PaneView(self.application, id="side_messages", follows=True)
        yield Static(id="notice", markup=False)
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Show the position, and begin to read facts and messages."""
        self.query_one("#pane").focus()
        self.call_after_refresh(self.show)
        self.run_worker(self._read_ahead(), group="reading")
        self.set_interval(LOOK_AGAIN_S, self._look_again)
        if self.session.stepper is not None:
            self.session.stepper.on_change = self._show_notice
        if (problem := self.session.timeline.problem) is not None:
            self.notify_in_line(f"damaged: {problem.what} ({problem.where})", wrong=True)

    def on_unmount(self) -> None:
        """Nobody looks any more at what a live run does."""
        if self.session.stepper is not None:
            self.session.stepper.on_change = None

    def on_resize(self) -> None:
        """Other columns may be seen now."""
        self.call_after_refresh(self.show)

    # -- what is seen ------------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Show the position in every pane that is seen."""
        self.query_one("#head", Static).update(self._head(), layout=False)
        self.query_one("#tabs", Static).update(self._tabs(), layout=False)
        self._show_machine()
        self.query_one("#pane", PaneView).follows = self.pane == "messages"
        self._fill("#pane", PANES[self.pane])
        if self.has_class("-widest"):
            self._fill("#side_facts", all_facts_pane)
            self._fill("#side_messages", _messages)
        self._show_entries()
        self._show_notice()

    def _fill(self, place: str, pane: Callable[[DebugSession], RenderableType]) -> None:
        """Show a pane in its place."""
        about = (pane, self.session.position, self.session.moment.known)
        self.query_one(place, PaneView).show(self._drawn(pane), about)

    def _show_machine(self) -> None:
        """Draw the machine, and give it as many lines as it has; they are the same as long as the machine is."""
        view = self.query_one("#machine", PaneView)
        view.show(machine_pane(self.session, max(self.size.height // 3 - 1, 3)))
        if view.styles.height is None or view.styles.height.value != view.height_needed:
            view.styles.height = view.height_needed

    def _drawn(self, pane: Callable[[DebugSession], RenderableType]) -> RenderableType:
        """A pane; where the record does not give it, why not."""
        try:
            return pane(self.session)
        except StatewrightError as error:
            return Lines([Line(Text(one_line(f"{error.what} ({error.where})"), style="bold red"), 2)])

    def _show_entries(self) -> None:
        entries = self.query_one("#entries", EntryList)
        wanted = self.session.filter.casefold()
        everything = range(self.session.last + 1)
        entries.show([each for each in everything if self._holds(each, wanted)] if wanted else everything)

    def _holds(self, entry: int, wanted: str) -> bool:
        return wanted in entry_line(self.session, entry, wide=True).plain.casefold()

    def _head(self) -> Text:
        session, moment = self.session, self.session.moment
        timeline, main = session.timeline, moment.main
        ended = timeline.end
        stands = f"{ended.status}, {ended.stop_reason}" if ended is not None else "damaged" if timeline.problem else "not ended"
        where = f"entry {session.position} of {session.last}"
        elapsed = seconds(moment.elapsed_us / 1_000_000)
        told = [where, elapsed, f"{main.name}: {main.state}", f"the run: {stands}", timeline.run_id]
        head = Text(one_line("  ".join(told)), no_wrap=True)
        head.truncate(max(self.size.width - 2, 1), overflow="ellipsis", pad=True)
        return head

    def _tabs(self) -> Content:
        """The names of the panes; brackets stand around the one that is shown, so that no colour has to say it."""
        names = [f"[@click=screen.pane('{name}')]{self._tab(name)}[/]" for name in PANES]
        return Content.from_markup("".join(names))

    def _tab(self, name: str) -> str:
        return rf"[bold reverse]\[{name}][/]" if name == self.pane else f" {name} "

    def notify_in_line(self, text: str, *, wrong: bool = False) -> None:
        """Say something in the line above the keys."""
        self._said = Text(text, style=TONES["failed"] if wrong else "", no_wrap=True, overflow="ellipsis")
        self._show_notice()

    def _show_notice(self) -> None:
        """What was answered last, else what a live run would do next."""
        waiting = Text("; ").join(line.text for line in waiting_lines(self.session))
        said = self._said if self._said.plain else Text.assemble(waiting, no_wrap=True, overflow="ellipsis")
        self.query_one("#notice", Static).update(said, layout=False)

    # -- what is done ------------------------------------------------------------------------------------------------

    def action_carry_out(self, line: str) -> None:
        """Carry out a command, after those that were given before."""
        self._working = [*(each for each in self._working if not each.is_finished), self.run_worker(self._carry_out(line))]

    async def _carry_out(self, line: str) -> None:
        async with self._one_at_a_time:
            try:
                command = command_of(line.strip())
                answer = await self._answer(command, line)
            except StatewrightError as error:
                self.notify_in_line(one_line(f"✗ {error.what} ({error.where}); {error.cure}"), wrong=True)
                return
            self._following = command.name == "end" and self.session.timeline.end is None
            self._take(command, answer)

    async def _answer(self, command: DebugCommand, line: str) -> DebugAnswer:
        """Carry it out; a picture is taken of this very screen."""
        file = Path(line.strip().removeprefix(command.name).strip())
        if command.name == "save" and file.suffix == ".svg":
            write_new(file, without_web_fonts(self.application.export_screenshot(title="statewright debug")))
            return DebugAnswer(notice=f"saved: {file}")
        return await carry_out(self.session, line)

    def _take(self, command: DebugCommand, answer: DebugAnswer) -> None:
        """Show what a command has answered."""
        if answer.leaves:
            self.application.exit()
            return
        if answer.copied:
            self.application.copy_to_clipboard(answer.copied)
        if answer.pane in PANES:
            beside = command.name == "unfold" and self.has_class("-widest")  # the messages are seen anyway
            self.pane = self.pane if beside else answer.pane
        elif answer.said and not answer.moved and not answer.notice:
            said = Lines(help_lines()) if command.name == "help" else Group(*(answer.over or answer.said))
            self.application.push_screen(TextDialog(command.usage, (said,)))
        self.notify_in_line(answer.notice)
        self.show()

    def action_type(self, given: str) -> None:
        """Open the line in which a command is typed."""
        usage = command_of(given).usage if given else "any command; `help` lists them"
        suggestions = list(dict.fromkeys(f"{command.name} " for command in COMMANDS))
        self.application.push_screen(CommandLine(given, usage, suggestions), self._typed)

    def _typed(self, line: str | None) -> None:
        if line and line.strip():
            self.action_carry_out(line)

    def action_other_pane(self, step: int) -> None:
        """Show the pane that follows."""
        names = list(PANES)
        self.action_pane(names[(names.index(self.pane) + step) % len(names)])

    def action_pane(self, name: str) -> None:
        """Show a pane."""
        self.pane = name
        self.show()

    def action_light_or_dark(self) -> None:
        """Change between light and dark."""
        self.application.theme = "textual-light" if self.application.current_theme.dark else "textual-dark"

    def action_give_up(self) -> None:
        """Stop what is being searched for."""
        for worker in self._working:
            worker.cancel()

    def on_entry_list_chosen(self, chosen: EntryList.Chosen) -> None:
        """Go to the entry that was clicked on."""
        self.action_carry_out(f"goto {chosen.entry}")

    def on_pane_view_message_chosen(self, chosen: PaneView.MessageChosen) -> None:
        """Unfold or fold the message that was clicked on."""
        self.action_carry_out(f"unfold {chosen.number}")

    # -- meanwhile ---------------------------------------------------------------------------------------------------

    async def _look_again(self) -> None:
        """Take in what another process has written."""
        if self.session.timeline.end is None and await self.session.look_again():
            if self._following:
                self.session.go_to(self.session.last)
            self.run_worker(self._read_ahead(), group="reading")
            self.show()

    async def _read_ahead(self) -> None:
        """Read facts and messages of all entries, a few at a time; where they reach the position, show them."""
        session, timeline = self.session, self.session.timeline
        while session.lines.written_to < timeline.last:
            before = session.lines.written_to
            end = min(before + READ_ENTRIES, timeline.last)
            await timeline.read_to(end)
            session.lines.of(end)
            if before < session.position <= end or end == timeline.last:
                self.show()
            await asyncio.sleep(0)
        gc.freeze()  # what is read stays: looking through it again and again would halt the screen for half a second


class DebuggerApplication(App[None]):
    """The debugger as a Textual application; ``run_async`` runs it until somebody quits."""

    TITLE = "statewright debug"
    ENABLE_COMMAND_PALETTE = True

    def __init__(self, session: DebugSession) -> None:
        super().__init__(watch_css=False)
        self.session = session

    @property
    def debugger(self) -> DebuggerScreen:
        """The screen below whatever lies over it."""
        screen = self.screen_stack[0]
        assert isinstance(screen, DebuggerScreen)
        return screen

    def get_default_screen(self) -> Screen[None]:
        """The only one."""
        return DebuggerScreen(self.session, self)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: every command of the table."""
        if isinstance(screen, DebuggerScreen):
            for command in COMMANDS:
                act = screen.action_type if command.arguments else screen.action_carry_out
                word = f"{command.name} " if command.arguments else command.name
                title = f"{command.name} …" if command.arguments else command.name  # what is typed may look like markup
                yield SystemCommand(title, command.help, lambda act=act, word=word: act(word))


async def debug_on_screen(session: DebugSession) -> None:
    """Show the debugger until somebody quits."""
    if os.environ.get("COLORFGBG", "").endswith(";15"):  # a terminal that says that it is light
        application = DebuggerApplication(session)
        application.theme = "textual-light"
        await application.run_async()
        return
    await DebuggerApplication(session).run_async()
