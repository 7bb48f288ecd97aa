"""Records how somebody finds out why a run of thirty steps ended ``partial``: a session in tmux, with its times.

``python tests/evidence/recorded_session.py --out docs/pictures/why-partial.cast`` needs tmux. What it writes is an asciicast
(version 2, https://docs.asciinema.org/manual/asciicast/v2/), which ``asciinema play`` shows. It ends with exit code 1 if the
row that ended the run does not come to the screen, or later than a minute after the debugger was called.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from tempfile import TemporaryDirectory

COLUMNS, LINES = 100, 30
STEPS = 30
WAIT_S = 60.0
READING_S = 2.0
"""For how long a person looks at a screen."""
TOOLS = '''
from statewright import tool


@tool(effect="read")
def search(page: int) -> str:
    """Search a page of the receipts for one of 12.50."""
    return f"page {page}: no receipt of 12.50"


tools = [search]
'''
AGENT = """
[agents.clerk]
model = "scripted:script.json"
tools = ["tools:tools"]
max_steps = 30
context = { summarize_after_steps = 100 }
"""
SHELL = "env PS1='$ ' bash --norc --noprofile"
RUN = 'statewright run --config agents.toml --agent clerk "Find the receipt of 12.50."'
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>]|\x1b\][^\x07]*\x07")


class Session:
    """A shell in tmux behind a pseudo terminal, and what it has written, with the times."""

    def __init__(self, folder: Path) -> None:
        self.events: list[tuple[float, str]] = []
        self.seen = ""
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = {"PATH": path, "HOME": str(folder), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        (folder / "tmux.conf").write_text("set -g status off\n")  # it would name the machine
        command = ["tmux", "-u", "-S", str(folder / "tmux"), "-f", str(folder / "tmux.conf"), "new-session", SHELL]
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.began_s = time.monotonic()
        self.wait_for("$ ")

    def type(self, text: str) -> None:
        """Type as a person does, and return."""
        for character in f"{text}\r":
            os.write(self.terminal, character.encode())
            self.look(0.03)

    def press(self, key: str) -> None:
        """Press a key."""
        self.seen = ""
        os.write(self.terminal, key.encode())

    def look(self, seconds: float) -> None:
        """Take in what is written meanwhile."""
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            if select.select([self.terminal], [], [], left_s)[0]:
                data = os.read(self.terminal, 65536)
                self.events.append((time.monotonic() - self.began_s, data.decode(errors="replace")))
                self.seen += CONTROL.sub(b"", data).decode(errors="replace")

    def wait_for(self, text: str) -> None:
        """Wait until this was written. Raises SystemExit."""
        until_s = time.monotonic() + WAIT_S
        while text not in self.seen:
            if time.monotonic() > until_s:
                raise SystemExit(f"{text!r} never came; this did:\n{self.seen}")
            self.look(0.1)

    def end(self) -> None:
        """Leave the shell. The terminal is gone then, which reading tells by an error."""
        with suppress(OSError):
            self.type("exit")
            self.look(READING_S)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def recorded(folder: Path) -> tuple[Sequence[tuple[float, str]], float]:
    """The session; and how many seconds after the debugger was called the row was seen."""
    calls = [{"content": None, "tool_calls": [{"name": "search", "arguments": {"page": page}}]} for page in range(1, STEPS + 1)]
    (folder / "script.json").write_text(json.dumps({"replies": calls}))
    (folder / "tools.py").write_text(TOOLS)
    (folder / "agents.toml").write_text(AGENT)
    session = Session(folder)
    session.type(RUN)
    session.wait_for("partial")
    session.look(READING_S)
    session.seen = ""
    called_s = time.monotonic()
    session.type("statewright debug")
    session.wait_for("help")
    session.look(READING_S)
    session.press("e")
    session.wait_for("RUN-38")
    found_s = time.monotonic() - called_s
    session.look(2 * READING_S)
    session.press("q")
    session.wait_for("$ ")
    session.end()
    return session.events, found_s


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the asciicast to write")
    out: Path = parser.parse_args().out
    with TemporaryDirectory() as folder:
        events, found_s = recorded(Path(folder))
    title = "Why did this run of thirty steps end partial? statewright debug, e"
    header = {"version": 2, "width": COLUMNS, "height": LINES, "title": title, "env": {"TERM": "xterm-256color"}}
    lines = [json.dumps(header), *(json.dumps([round(at_s, 3), "o", text]) for at_s, text in events)]
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {out}: the row was on the screen {found_s:.0f} s after the debugger was called")
    return 0 if found_s < WAIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
