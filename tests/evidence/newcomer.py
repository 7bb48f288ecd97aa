"""A newcomer's first session, on a real terminal of 80 columns, from the wheel to the check of a record, screen by screen.

``python tests/evidence/newcomer.py --out FOLDER`` needs tmux and the package registry, and takes a minute or two. It installs
the wheel into a fresh environment that is not on the PATH, runs the demo, begins a run, presses Ctrl-C twice, types what is
printed then, decides about a call from another window with what is printed there, asks why, and verifies. Whatever it can, it
reads from the screen and types as it stands. It keeps each screen as a text. It ends with exit code 1, and says where, if
something does not come, if a command as printed fails, or if a word is broken at the edge of the screen.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
WAIT_S = 60.0
TOOLS = '''
import time
from statewright import tool


@tool(effect="read")
def read_ledger(path: str) -> str:
    """Read the ledger."""
    time.sleep(4)
    return "entry,amount\\nL-0001,3.25\\nL-0002,6.50"


@tool(effect="irreversible")
def post(amount: str, text: str) -> str:
    """Post an entry to the ledger."""
    return "posted as L-0003"


tools = [read_ledger, post]
'''
ENTRY = {"amount": "-7.90", "text": "Account fee of June, which stands on the statement of the bank and not in the ledger"}
ANSWER = (
    "# June 2026\n\nThe ledger lacked **one** entry:\n\n| entry | amount |\n|---|---:|\n| L-0003 | -7.90 |\n\nIt is posted."
)
REPLIES = [
    {
        "content": "I read the ledger first.",
        "tool_calls": [{"id": "call_1", "name": "read_ledger", "arguments": {"path": "books/2026/ledger.csv"}}],
    },
    {"content": None, "tool_calls": [{"id": "call_2", "name": "post", "arguments": ENTRY}]},
    {"content": ANSWER},
]


SHELL = "env PS1='$ ' bash --norc --noprofile"


class Stumble(Exception):
    """What a newcomer would stumble over."""


class Screen80:
    """A tmux of its own with one window; panes are named by their numbers. ``out`` is where the pictures go."""

    def __init__(self, folder: Path, out: Path, columns: int, rows: int) -> None:
        self._server = f"newcomer-{os.getpid()}"
        self._out, self._columns, self._taken = out, columns, 0
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("STATEWRIGHT_", "PYTHON", "VIRTUAL_"))
        }
        path = os.pathsep.join(part for part in kept["PATH"].split(os.pathsep) if ".venv" not in part)
        kept |= {"PATH": path, "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        self._environment = kept
        size = ("-x", str(columns), "-y", str(rows))
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "main", *size, "-c", str(folder), SHELL)
        self._tmux("set-option", "-g", "history-limit", "20000")
        self._tmux("new-window", "-d", "-t", "main:1", "-c", str(folder), SHELL)
        self._tmux("resize-window", "-t", "main:1", *size)
        self._tmux("new-window", "-d", "-t", "main:2", "-c", str(folder), SHELL)
        self._tmux("resize-window", "-t", "main:2", *size)

    def close(self) -> None:
        """End the tmux that was started here."""
        self._tmux("kill-server")

    def type(self, text: str, window: int = 1) -> None:
        """Type lines, each with the return key."""
        for line in text.split("\n"):
            self._tmux("send-keys", "-t", f"main:{window}", "-l", line)
            self._tmux("send-keys", "-t", f"main:{window}", "Enter")
            if line.endswith("\\"):
                self.wait_for(r"^> *\s*\Z", window)

    def press(self, key: str, window: int = 1) -> None:
        """Press a key by tmux's name for it."""
        self._tmux("send-keys", "-t", f"main:{window}", key)

    def shown(self, window: int = 1) -> str:
        """Everything on the screen and above it."""
        return self._tmux("capture-pane", "-p", "-t", f"main:{window}", "-S", "-")

    def wait_for(self, pattern: str, window: int = 1) -> str:
        """Wait until a line fits; gives the screen."""
        give_up_s = time.monotonic() + WAIT_S
        while not re.search(pattern, shown := self.shown(window), re.MULTILINE):
            if time.monotonic() > give_up_s:
                raise Stumble(f"{pattern!r} never came; the screen:\n{shown.rstrip()}")
            time.sleep(0.1)
        return shown

    def ready(self, window: int = 1) -> None:
        """Wait until the shell waits for a command."""
        self.wait_for(r"^\$ *\s*\Z", window)

    def command(self, text: str, window: int = 1, code: int = 0) -> str:
        """Clear the screen, type a command, wait for its end; gives what it showed. Raises Stumble for another exit code."""
        self.ready(window)
        self._tmux("send-keys", "-t", f"main:{window}", "clear", "Enter")
        self.ready(window)
        self._tmux("clear-history", "-t", f"main:{window}")
        self.type(f"{text}; echo ended with $?", window)
        shown = self.wait_for(r"^ended with \d+$", window)
        if f"\nended with {code}\n" not in shown:
            raise Stumble(f"{text!r} did not end with {code}; the screen:\n{shown.rstrip()}")
        return shown

    def picture(self, name: str, window: int = 1) -> None:
        """Keep the screen as a file. Raises Stumble for a word that is broken at its edge."""
        self._taken += 1
        shown = self.shown(window).rstrip() + "\n"
        (self._out / f"{self._taken:02d}-{name}.txt").write_text(shown, encoding="utf-8")
        for line in self._tmux("capture-pane", "-p", "-J", "-t", f"main:{window}", "-S", "-").splitlines():
            broken = len(line) > self._columns and not line[self._columns - 1].isspace() and not line[self._columns].isspace()
            if broken and not line.startswith(("$ ", "> ")):  # what was typed breaks wherever it likes
                raise Stumble(f"the terminal had to break a word in {name}:\n{line}")

    def _tmux(self, *words: str) -> str:
        line = ["tmux", "-L", self._server, *words]
        return subprocess.run(line, env=self._environment, capture_output=True, text=True, check=True, timeout=60).stdout


def printed_command(screen: str, label: str) -> str:
    """The last command that stands behind this label, as it is printed: over several lines, where a backslash says so."""
    lines = screen.splitlines()
    at = max(place for place, line in enumerate(lines) if line.startswith(f"  {label}"))
    taken = [lines[at].removeprefix(f"  {label}").strip()]
    while taken[-1].endswith("\\"):
        at += 1
        taken.append(lines[at])
    return "\n".join(taken)


def session(screen: Screen80, wheel: Path) -> None:
    """The session, step by step."""
    screen.command(f"{shlex.quote(f'{sys.base_prefix}/bin/python3')} -m venv .venv")
    screen.command(f".venv/bin/pip install --quiet --disable-pip-version-check {shlex.quote(str(wheel))} 2> pip.txt")
    screen.picture("install")
    screen.command(".venv/bin/statewright --help")
    screen.picture("help")
    demo = screen.command(".venv/bin/statewright demo")
    screen.picture("demo")
    for line in re.findall(r"^  (\.venv/bin/statewright (?:show|why|verify) (?:.*\\\n)?.*)$", demo, re.MULTILINE):
        screen.command(line.partition("   #")[0].strip())
    screen.picture("demo-verified")
    begin_and_interrupt(screen)
    decide_and_end(screen)


def begin_and_interrupt(screen: Screen80) -> None:
    """A run, two times Ctrl-C, and what is printed then."""
    task = "Reconcile the ledger of June with the statement of the bank, and post what may be posted"
    screen.ready()
    screen.type(f'clear; .venv/bin/statewright run "{task}" --model scripted:script.json --tools ledger.py:tools')
    screen.wait_for("running read_ledger")
    screen.picture("run")
    screen.press("C-c")
    screen.wait_for("Ctrl-C again ends at once")
    screen.press("C-c")
    screen.wait_for("^ended at once")
    screen.ready()
    screen.type("echo ended with $?")
    shown = screen.wait_for(r"^ended with \d+$")
    screen.picture("interrupted")
    if "ended with 130" not in shown:
        raise Stumble(f"the second Ctrl-C did not end it with 130:\n{shown}")
    listed = screen.command(".venv/bin/statewright runs")
    screen.picture("runs")
    if "killed" not in listed:
        raise Stumble(f"the list does not say that the run was killed:\n{listed}")
    screen.ready()
    screen.type(printed_command(shown, "go on"))


def decide_and_end(screen: Screen80) -> None:
    """The run, taken up, comes to a question, which is answered from another window."""
    screen.wait_for(r"^  >")
    screen.picture("question")
    asked = screen.command(".venv/bin/statewright show last", window=2)
    screen.picture("show-waiting", window=2)
    screen.command(printed_command(asked, "yes"), window=2)
    screen.picture("approve", window=2)
    ended = screen.wait_for(r"^success  ")
    screen.picture("answer")
    screen.command(printed_command(ended, "look"))
    screen.picture("show")
    screen.command(".venv/bin/statewright show last --messages --hashes")
    screen.picture("show-messages")
    screen.command(".venv/bin/statewright why last")
    screen.picture("why")
    screen.command(".venv/bin/statewright verify --all")
    screen.picture("verify")
    screen.command(".venv/bin/statewright doctor --tools ledger.py:tools --model scripted:script.json")
    screen.picture("doctor")
    wait_without_a_terminal(screen)


def wait_without_a_terminal(screen: Screen80) -> None:
    """The same with nobody at the terminal: every command that is printed is typed as it stands."""
    words = "--model scripted:script.json --tools ledger.py:tools < /dev/null"
    waiting = screen.command(f".venv/bin/statewright run 'the ledger of June' {words}", code=4)
    screen.picture("waiting")
    decided = screen.command(printed_command(waiting, "yes"))
    screen.picture("approved")
    screen.type("clear")
    screen.type(printed_command(decided, "then"))
    screen.wait_for(r"^  >")  # a script begins anew in each process, and so asks once more
    screen.type("y it was agreed")
    screen.wait_for(r"^success  ")
    screen.picture("resumed-after-approval")
    screen.command(".venv/bin/statewright runs --status success --since 1h")
    screen.picture("runs-at-the-end")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the wheel if none is given, and hold the session."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "newcomer", help="where the pictures go")
    parser.add_argument("--wheel", type=Path, help="a wheel that is built already")
    parser.add_argument("--columns", type=int, default=80)
    parser.add_argument("--rows", type=int, default=24)
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    for old in given.out.glob("*.txt"):
        old.unlink()
    with TemporaryDirectory() as name:
        folder = Path(name) / "books of ours"
        folder.mkdir()
        (folder / "ledger.py").write_text(TOOLS, encoding="utf-8")
        (folder / "script.json").write_text(json.dumps({"replies": REPLIES}), encoding="utf-8")
        wheel = given.wheel or built(Path(name))
        screen = Screen80(folder, given.out.resolve(), given.columns, given.rows)
        try:
            session(screen, wheel.resolve())
        except Stumble as stumble:
            print(f"a newcomer stumbles: {stumble}", file=sys.stderr)
            return 1
        finally:
            screen.close()
    print(f"no stumble; the screens are in {given.out}")
    return 0


def built(folder: Path) -> Path:
    """The wheel, built from this source."""
    line = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder / "dist"), str(ROOT)]
    subprocess.run(line, capture_output=True, check=True, timeout=300)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


if __name__ == "__main__":
    sys.exit(main())
