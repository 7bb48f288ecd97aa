"""Chromium without a window, driven by its DevTools protocol, with the network off.

What a page does is written down: what it asks of the network, what it writes to its console, which errors are thrown.
"""

from __future__ import annotations

import json
import subprocess
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from shutil import which
from typing import Any, Literal

from websockets.sync.client import ClientConnection, connect

DEADLINE_S = 60.0
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # it may run as root, in a container that is thrown away
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-port=0",
)
Scheme = Literal["light", "dark"]


@dataclass
class Page:
    """A page that is open, and what it has done since."""

    connection: ClientConnection
    session: str
    requests: list[str] = field(default_factory=list[str])
    console: list[str] = field(default_factory=list[str])
    loaded: bool = False
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol, and its answer."""
        number = next(self.numbers)
        told = {"id": number, "method": method, "params": parameters} | ({"sessionId": self.session} if self.session else {})
        self.connection.send(json.dumps(told))
        while True:
            message = self._receive()
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                answer: dict[str, Any] = message["result"]
                return answer

    def open(self, path: Path, fragment: str = "") -> None:
        """Open a file, and wait until it has loaded."""
        self.loaded = False
        self.requests.clear()
        self.send("Page.navigate", url=f"{path.as_uri()}{fragment}")
        while not self.loaded:
            self._receive()

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, in the page, as JSON; promises are waited for."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def look(self, width: int, height: int, scheme: Scheme = "light", media: str = "") -> None:
        """The size of the window in pixels, and whether the reader's system is light or dark."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key: str, code: int) -> None:
        """Press a key and let it go."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, *, whole: bool = False) -> bytes:
        """What is seen, as PNG; the whole page where asked for."""
        return b64decode(self.send("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def printed(self) -> bytes:
        """The page as PDF, on A4 paper."""
        size = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True}
        return b64decode(self.send("Page.printToPDF", printBackground=True, **size)["data"])

    def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.connection.recv(timeout=DEADLINE_S))
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, parameters: Mapping[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Runtime.consoleAPICalled":
                self.console.append(f"{parameters['type']}: {parameters['args']}")
            case "Runtime.exceptionThrown":
                self.console.append(f"exception: {parameters['exceptionDetails']}")
            case "Log.entryAdded":
                self.console.append(f"{parameters['entry']['level']}: {parameters['entry']['text']}")
            case "Page.javascriptDialogOpening":
                self.console.append(f"dialog: {parameters['message']}")
            case "Page.loadEventFired":
                self.loaded = True
            case _:
                pass


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """Chromium with one page, whose own files lie in ``folder``."""
    program = which("chromium") or which("chromium-browser")
    assert program, "Chromium is not installed"
    words = [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
    with (folder.with_name(f"{folder.name}.log")).open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
        try:
            with connect(f"ws://127.0.0.1:{_address(process, folder)}", max_size=None, proxy=None) as connection:
                yield _page(connection)
        finally:
            process.terminate()
            try:
                process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _address(process: subprocess.Popen[bytes], folder: Path) -> str:
    """Port and path of the protocol, which Chromium writes into its folder."""
    told, give_up_s = folder / "DevToolsActivePort", time.monotonic() + DEADLINE_S
    while not told.exists() or not told.read_text().count("\n"):
        assert process.poll() is None, "Chromium ended at once"
        assert time.monotonic() < give_up_s, "Chromium does not say where it can be reached"
        time.sleep(0.02)
    port, path = told.read_text().split("\n")[:2]
    return f"{port}{path}"


def _page(connection: ClientConnection) -> Page:
    whole = Page(connection, "")
    target = next(each for each in whole.send("Target.getTargets")["targetInfos"] if each["type"] == "page")
    session = whole.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
    page = Page(connection, session, numbers=whole.numbers)
    for domain in ("Page", "Runtime", "Network", "Log"):
        page.send(f"{domain}.enable")
    page.send("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
    return page
