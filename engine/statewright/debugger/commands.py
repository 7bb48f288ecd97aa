"""Everything that can be done in the debugger, in one table: ``--plain``, keys, palette and help are made from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

from rich.text import Text

from statewright.debugger import acting, interfering, looking, moving
from statewright.debugger.answers import DebugAnswer
from statewright.debugger.session import DebugSession
from statewright.presentation.lines import Line, Lines
from statewright.tools.suggestion import closest
from statewright_states.errors import ConfigurationError
from statewright_states.frozen import dataclass

Act = Callable[[DebugSession, str], Awaitable[DebugAnswer]]


@dataclass(frozen=True, slots=True)
class DebugCommand:
    """A command: its name, what may follow it, what it does, and how.

    ``keys`` are those of the screen; the first letter among them is also typed for the name. ``asks`` tells that the key
    opens the line in which the command is typed, with ``given`` behind its name. ``footer`` is its word at the bottom.
    """

    name: str
    arguments: str
    help: str
    act: Act
    keys: tuple[str, ...] = ()
    asks: bool = False
    footer: str = ""

    @property
    def usage(self) -> str:
        """How it is typed."""
        return f"{self.name} {self.arguments}".rstrip()


async def _help(session: DebugSession, argument: str) -> DebugAnswer:
    named = [command for command in COMMANDS if argument in ("", command.name, *command.keys)]
    if not named:
        raise unknown(argument, "help")
    return DebugAnswer((Lines(help_lines(named)),))


async def _quit(session: DebugSession, argument: str) -> DebugAnswer:
    return DebugAnswer(leaves=True)


COMMANDS: tuple[DebugCommand, ...] = (
    DebugCommand("help", "[COMMAND]", "these commands", _help, ("question_mark",), footer="help"),
    DebugCommand("quit", "", "leave; a live run waits on record, and can be resumed", _quit, ("q",), footer="quit"),
    DebugCommand("next", "[N]", "the next entry, or the N-th from here", moving.go_on, ("n", "right"), footer="next"),
    DebugCommand("back", "[N]", "the entry before", moving.go_back, ("p", "left"), footer="back"),
    DebugCommand("start", "", "before anything was decided", moving.to_start, ("g", "home"), footer="start"),
    DebugCommand("end", "", "the last entry", moving.to_end, ("e", "end"), footer="end"),
    DebugCommand("goto", "N", "entry N", moving.to_entry),
    DebugCommand("continue", "", "on to a breakpoint, else to the last entry", moving.to_breakpoint, ("c",), footer="continue"),
    DebugCommand(
        "next",
        "row [ID] | state [NAME] | event [NAME] | refusal | ignored | tool call [NAME] | model call",
        "the next entry with one; rows and states are those of the machine that is drawn",
        moving.go_on,
    ),
    DebugCommand("previous", "row | state | event | … as for next", "the entry before with one", moving.to_previous),
    DebugCommand(
        "break",
        "[state=… | row=… | event=… | tool=… | text=… | cost=… | tokens=… | QUESTION=ANSWER | clear [N]]",
        "have `continue` and `next N` stop there; without a word, list the breakpoints",
        moving.set_breakpoint,
        ("b",),
        asks=True,
        footer="break",
    ),
    DebugCommand(
        "watch", "[FIELD | INSTANCE.FIELD | clear [N]]", "show a fact at each entry, and stop where it changes", moving.watch
    ),
    DebugCommand("why", "[DECISION]", "the row, the answers, and why no other row", looking.why, ("w",), footer="why"),
    DebugCommand("facts", "", "what each instance remembers, with what this entry changed", looking.facts, ("1",)),
    DebugCommand("messages", "", "the conversation as the model is shown it", looking.messages, ("2",)),
    DebugCommand(
        "unfold",
        "[N]",
        "calls, results and prompts whole, or those of message N; again: in brief",
        looking.unfold,
        ("u", "enter"),
    ),
    DebugCommand("commands", "", "what was commanded and has not come back, with its age", looking.commands, ("3",)),
    DebugCommand("entry", "", "the entry as it is stored, with its hashes", looking.entry, ("4",)),
    DebugCommand("where", "", "the position again, and the state of every instance", looking.where),
    DebugCommand("machine", "[NAME]", "draw a machine: run, call, tool, plan_build, or your own", looking.machine),
    DebugCommand("next machine", "", "draw the machine that follows", looking.next_machine, ("m",), footer="machine"),
    DebugCommand("diff", "[A [B]]", "what differs between two entries", looking.difference, ("d",), asks=True, footer="diff"),
    DebugCommand("compare", "RUN", "where another run first decided otherwise, both side by side", looking.compare),
    DebugCommand(
        "search", "[TEXT]", "the next entry with this text, or with the same again", moving.search, ("slash",), asks=True
    ),
    DebugCommand("filter", "[TEXT]", "list the entries with this text alone", looking.filter_entries),
    DebugCommand(
        "fork",
        "[ENTRY]",
        "a new run that begins with those up to here",
        acting.fork_here,
        ("f",),
        asks=True,
        footer="fork",
    ),
    DebugCommand("approve", "[CALL [COMMENT]]", "allow the call that waits for a person", acting.approve, ("a",), asks=True),
    DebugCommand("reject", "[CALL [COMMENT]]", "forbid it", acting.reject, ("x",), asks=True),
    DebugCommand(
        "inject",
        "timeout | 429 | 500 | malformed | cut short | tool error | duplicate | late | stop | cancel  [COMMAND]",
        "have a live run meet a fault, in what is under way; it is on record as injected",
        interfering.inject,
        ("i",),
        asks=True,
        footer="inject",
    ),
    DebugCommand("edit", "TEXT", "put it in place of what the next event brings; of a record, in a fork", interfering.edit),
    DebugCommand("leave", "", "let a live run go on by itself, and leave", interfering.leave),
    DebugCommand("copy", "", "the command line that opens this view", acting.copy, ("y",)),
    DebugCommand("save", "FILE", "what is seen, as .svg or as .txt", acting.save),
)
"""In the order in which the help lists them. Two of one name are one command, listed twice for what may follow it."""


async def carry_out(session: DebugSession, line: str) -> DebugAnswer:
    """Carry out a command as it is typed. Raises StatewrightError: what, where, cure; the position is as it was then."""
    text = line.strip()
    if not text:
        return DebugAnswer()
    command = command_of(text)
    return await command.act(session, text.removeprefix(_word(text, command)).strip())


def command_of(text: str) -> DebugCommand:
    """The command that a line begins with. Raises ConfigurationError that says what can be typed."""
    found = [command for command in COMMANDS if _word(text, command)]
    if not found:
        raise unknown(text.split(maxsplit=1)[0], "the debugger")
    return max(found, key=lambda command: len(_word(text, command)))


def _word(text: str, command: DebugCommand) -> str:
    """What of a line names this command: its name, or its letter; nothing where it is another one."""
    letters = (key for key in command.keys if len(key) == 1 and key.isalpha())
    return next((word for word in (command.name, *letters) if text == word or text.startswith(f"{word} ")), "")


def unknown(word: str, where: str) -> ConfigurationError:
    """That there is no such command, and what can be typed."""
    names = list(dict.fromkeys(command.name for command in COMMANDS))
    meant = closest(word, names)
    can = f"did you mean {meant!r}? " if meant is not None else ""
    return ConfigurationError(f"there is no command {word!r}", where=where, cure=f"{can}`help` lists them: {', '.join(names)}")


def help_lines(commands: tuple[DebugCommand, ...] | list[DebugCommand] = COMMANDS) -> Iterator[Line]:
    """Each command with its keys, and what it does."""
    for command in commands:
        keys = " ".join(KEY_SIGNS.get(key, key) for key in command.keys)
        yield Line(Text.assemble((f"{keys:<7}", "bold cyan"), (command.usage, "bold"), f"  {command.help}"), 9)


KEY_SIGNS = {"right": "→", "left": "←", "home": "Home", "end": "End", "slash": "/", "question_mark": "?", "enter": "⏎"}
"""How keys are written that have names."""
