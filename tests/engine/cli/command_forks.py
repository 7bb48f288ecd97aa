"""Command lines without the start of an interpreter: one process imports everything, and forks for each of them.

Importing is most of the time of a short command. A fork has a folder, an environment and streams of its own, and ends like
any process; tests of signals, terminals and killed processes start the real thing.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from statewright import Agents
from statewright.cli import COMMANDS, main

WAIT_S = 30.0
HEAD_BYTES = 4
USED = ("statewright_providers.openai_chat", "statewright_providers.scripted")
"""What is imported before the first fork, beside the commands."""


class Forks:
    """The process that forks, seen from the tests: it is started when it is first needed, and ends with the tests."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def run(self, words: tuple[str, ...], folder: Path, environment: Mapping[str, str], streams: list[IO[bytes]]) -> int:
        """Carry out a command line on these streams (stdin, stdout, stderr); gives its exit code."""
        requests = self._requests or self._start()
        body = json.dumps({"words": words, "folder": str(folder), "environment": dict(environment)}).encode()
        try:
            socket.send_fds(requests, [len(body).to_bytes(HEAD_BYTES)], [stream.fileno() for stream in streams])
            requests.sendall(body)
            return int.from_bytes(_exactly(requests, HEAD_BYTES), signed=True)
        except OSError as error:  # whatever it waits for is of no use any more: the next command line gets a new process
            self.close()
            raise AssertionError(f"{words} did not end within {WAIT_S:g} s: {error!r}") from error

    def close(self) -> None:
        """End the process; what it forked and waits for in vain is killed with it."""
        process, requests, self._process, self._requests = self._process, self._requests, None, None
        if process is None or requests is None:
            return
        requests.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            driver = [sys.executable, __file__, str(theirs.fileno())]
            self._process = subprocess.Popen(
                driver, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, start_new_session=True
            )
        ours.settimeout(WAIT_S)
        self._requests = ours
        return ours


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError("the process that forks has gone")
        data += piece
    return data


def _serve(requests: socket.socket) -> bool:
    """Fork for each request; True in a fork, which is to carry out ``sys.argv``, and False when nobody asks any more."""
    while True:
        head, streams, _, _ = socket.recv_fds(requests, HEAD_BYTES, 3)
        if not head:
            return False
        request = json.loads(_exactly(requests, int.from_bytes(head)))
        child = os.fork()
        if child == 0:
            _become(request, streams)
            requests.close()
            return True
        for stream in streams:
            os.close(stream)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        requests.sendall(code.to_bytes(HEAD_BYTES, signed=True))


def _become(request: Mapping[str, Any], streams: list[int]) -> None:
    """Take on what ``python -m statewright`` would have been started with."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)  # it may be a terminal now, and knew that it was a file
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["statewright", *request["words"]]
    sys.path[0] = request["folder"]


FORKS = Forks()
atexit.register(FORKS.close)

if __name__ == "__main__":
    for module in (*USED, *(place.partition(":")[0] for place in COMMANDS.values())):
        importlib.import_module(module)
    Agents().choose()  # configurations are made ready at their first use
    sys.exit(main() if _serve(socket.socket(fileno=int(sys.argv[1]))) else 0)
