"""The command line as tests use it: real processes, scripts and tools in files, a terminal, and a model behind HTTP."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from command_forks import FORKS

DEADLINE_S = 30.0
STATEWRIGHT = (sys.executable, "-m", "statewright")
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
TOOLS = '''
import os, subprocess, time
from pathlib import Path
from statewright import tool

@tool(effect="read")
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b

@tool(effect="read")
def chatter() -> str:
    """Print to stdout, from this process and from another one."""
    print("printed by a tool", flush=True)
    subprocess.run(["echo", "printed by a child"], check=True)
    return "quiet now"

@tool(effect="irreversible")
def post(amount: int) -> str:
    """Post an amount."""
    with open("posted.txt", "a") as file:
        file.write(f"{amount}\\n")
    return "posted"

@tool(effect="irreversible", sensitive=False)
def slow(seconds: float) -> str:
    """Note the start, wait, note the end."""
    with open("slow.txt", "a") as file:
        file.write("began\\n")
    time.sleep(seconds)
    with open("slow.txt", "a") as file:
        file.write("ended\\n")
    return "done"

tools = [add, chatter, post, slow]
'''


@dataclass(frozen=True)
class Done:
    """A process that has ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Place:
    """A folder to work in, with its tools and scripts."""

    folder: Path

    def script(self, *replies: Mapping[str, Any]) -> str:
        """A model that follows these replies; gives its specification."""
        (self.folder / "script.json").write_text(json.dumps({"replies": replies}))
        return "scripted:script.json"

    def environment(self, **more: str) -> dict[str, str]:
        """The tests' own environment without what could steer the command line."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("STATEWRIGHT_", "OPENAI_", "NO_COLOR"))
        }
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
        return kept | {"TERM": "xterm-256color", "COLUMNS": "120", "PYTHONUNBUFFERED": "", "PATH": path} | more

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """A process whose output can be read while it runs."""
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = self.environment(**options.pop("environment", {}))
        return subprocess.Popen([*STATEWRIGHT, *words], cwd=self.folder, env=environment, text=True, **(pipes | options))

    def run(self, *words: str, stdin: str | None = None, **environment: str) -> Done:
        """A process of its own, from its start to its end."""
        with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
            given.write((stdin or "").encode())
            given.seek(0)
            code = FORKS.run(words, self.folder, self.environment(**environment), [given, out, err])
            done = Done(code, *(_text(stream) for stream in (out, err)))
        assert "Traceback" not in done.err
        return done

    def json(self, *words: str) -> Any:
        """What a command prints with ``--json``."""
        return json.loads(self.run(*words, "--json").out)

    def lines(self, name: str) -> list[str]:
        """The lines of a file that a tool wrote."""
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()


def call(name: str, identity: str = "call_1", **arguments: object) -> dict[str, Any]:
    """A reply of a script that calls a tool."""
    return {"content": None, "tool_calls": [{"id": identity, "name": name, "arguments": arguments}]}


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until something is so."""
    give_up_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < give_up_s, f"waited in vain until {what}"
        time.sleep(0.01)


def end(process: subprocess.Popen[str]) -> Done:
    """Wait for the end of a process."""
    try:
        out, err = process.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"it does not end; so far it said:\n{err}") from None
    assert "Traceback" not in (err or "")
    return Done(process.returncode, out or "", err or "")


# -- a terminal ------------------------------------------------------------------------------------------------------


@dataclass
class Terminal:
    """A process on a terminal: ``screen`` holds what it wrote there so far; its stdout may be a pipe instead."""

    process: subprocess.Popen[bytes]
    master: int
    screen: str = ""

    def wait_for(self, text: str, since: int = 0) -> None:
        """Read until the text stands on the screen."""
        give_up_s = time.monotonic() + DEADLINE_S
        while text not in self.plain[since:]:
            assert time.monotonic() < give_up_s, f"{text!r} never came; the screen:\n{self.plain}"
            if not self._read(0.1) and self.process.poll() is not None:
                assert text in self.plain[since:], f"ended without {text!r}; the screen:\n{self.plain}"

    @property
    def plain(self) -> str:
        """What was written, without colours and movements."""
        return ANSI.sub("", self.screen)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.master, text.encode())

    def end(self) -> Done:
        """Wait for the end; ``err`` is the screen."""
        give_up_s = time.monotonic() + DEADLINE_S
        while self.process.poll() is None:
            assert time.monotonic() < give_up_s, f"it does not end; the screen:\n{self.plain}"
            self._read(0.05)
        while self._read(0.05):
            pass
        out = self.process.stdout.read().decode() if self.process.stdout else ""
        assert "Traceback" not in self.plain
        return Done(self.process.returncode, out, self.plain)

    def _read(self, wait_s: float) -> bool:
        if not select.select([self.master], [], [], wait_s)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # Linux says so when the other side is closed
            return False
        self.screen += data.decode(errors="replace")
        return bool(data)


@contextmanager
def on_a_terminal(place: Place, *words: str, stdout: int | None = None, **environment: str) -> Iterator[Terminal]:
    """The command line on a terminal of its own, which it controls, so that Ctrl-C works."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))

    def take_control() -> None:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [*STATEWRIGHT, *words],
        cwd=place.folder,
        env=place.environment(**environment),
        stdin=slave,
        stdout=slave if stdout is None else stdout,
        stderr=slave,
        preexec_fn=take_control,  # noqa: PLW1509 - the child has one thread, and does nothing but two system calls
    )
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stdout:
            process.stdout.close()
        os.close(master)


# -- a model behind HTTP ---------------------------------------------------------------------------------------------

Messages = list[dict[str, Any]]
Answer = Callable[[Messages], Mapping[str, Any]]
"""From the messages of a request to the assistant's message; unlike a script, it is the same in every process."""


@dataclass
class ModelServer:
    """A Chat Completions server. While ``gate`` is closed, no request is answered; ``piece_s`` is the pace of a stream."""

    answer: Answer
    gate: threading.Event = field(default_factory=threading.Event)
    piece_s: float = 0.0
    requests: list[Messages] = field(default_factory=list[Messages])
    streamed: list[bool] = field(default_factory=list[bool])
    """Whether each request asked for a stream."""
    port: int = 0

    @property
    def options(self) -> tuple[str, ...]:
        return ("--model", "openai:stub", "--base-url", f"http://127.0.0.1:{self.port}/v1")


@contextmanager
def model_server(answer: Answer) -> Iterator[ModelServer]:
    """Serve on a free port of 127.0.0.1."""
    state = ModelServer(answer)
    state.gate.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            state.requests.append(body["messages"])
            state.streamed.append(bool(body.get("stream")))
            state.gate.wait(DEADLINE_S)
            message = {"role": "assistant", "content": None, **state.answer(body["messages"])}
            try:
                _send_pieces(self, message, state.piece_s) if body.get("stream") else _send_whole(self, message)
            except OSError:  # the client has gone
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            """Requests are no news."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _finish(message: Mapping[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _send_whole(handler: BaseHTTPRequestHandler, message: Mapping[str, Any]) -> None:
    choice = {"index": 0, "message": message, "finish_reason": _finish(message)}
    body = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}).encode()
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _send_pieces(handler: BaseHTTPRequestHandler, message: Mapping[str, Any], piece_s: float) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("connection", "close")
    handler.end_headers()
    for word in re.findall(r"\s*\S+\s*", message["content"] or ""):
        _send_event(handler, {"choices": [{"index": 0, "delta": {"content": word}}]})
        time.sleep(piece_s)
    calls = [{"index": at, **asked} for at, asked in enumerate(message.get("tool_calls", ()))]
    if calls:
        _send_event(handler, {"choices": [{"index": 0, "delta": {"tool_calls": calls}}]})
    _send_event(handler, {"choices": [{"index": 0, "delta": {}, "finish_reason": _finish(message)}]})
    handler.wfile.write(b"data: [DONE]\n\n")


def _send_event(handler: BaseHTTPRequestHandler, event: Mapping[str, Any]) -> None:
    handler.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
    handler.wfile.flush()


def asks_for(name: str, identity: str, **arguments: object) -> dict[str, Any]:
    """An assistant's message with a tool call, as servers write it."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"id": identity, "type": "function", "function": function}]}
