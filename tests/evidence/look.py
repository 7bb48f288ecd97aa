"""Look at the drawings in a real browser: ``python tests/evidence/look.py [--browser chromium] [--shots FOLDER]``.

The tests compute where everything stands and what the keyboard reaches; a browser has fonts and a keyboard of its own. So
each drawing is opened in Chromium, the tabulator is pressed until the focus comes round, and what it reached is compared with
the order in the file; every line of text must lie within its box as the browser sets it; and dark must be dark. With
``--shots`` a picture of each is kept, light and dark. Exit code 1 when something is not as it should be, 2 without a browser.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

DIAGRAMS = Path(__file__).parents[2] / "diagrams"
WIDTH = 1400
OVERFLOWING = """
[...document.querySelectorAll('.card, .node, .edge')].flatMap(box => {
  const frames = [...box.querySelectorAll(':scope > .frame, :scope > .ground')].map(each => each.getBoundingClientRect());
  const outer = frames[0];
  return outer ? [...box.querySelectorAll('text')].filter(text => {
    const inner = text.getBoundingClientRect();
    const sides = [outer.left - inner.left, inner.right - outer.right, outer.top - inner.top, inner.bottom - outer.bottom];
    return Math.max(...sides) > 1.5;
  }).map(text => `${box.id}: ${text.textContent}`) : [];
})"""
"""In the page: the texts that stick out of their box."""


class Browser:
    """Chromium without a window, told what to do over two pipes."""

    def __init__(self, commands: int, replies: int) -> None:
        self._commands, self._replies = os.fdopen(commands, "wb"), os.fdopen(replies, "rb")
        self._sent = 0
        self._session: str | None = None

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the DevTools protocol, and its result."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while (reply := self._read()).get("id") != self._sent:
            pass
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']}")
        return dict(reply["result"])

    def _read(self) -> dict[str, Any]:
        letters = bytearray()
        while (letter := self._replies.read(1)) not in (b"\0", b""):
            letters += letter
        if not letters:
            raise RuntimeError("the browser has gone")
        return dict(json.loads(bytes(letters)))

    def open(self, file: Path, *, dark: bool) -> None:
        """Open a drawing in a page of its own."""
        self._session = None
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.do("Emulation.setEmulatedMedia", features=[scheme])
        self.do("Emulation.setDeviceMetricsOverride", width=WIDTH, height=1000, deviceScaleFactor=1, mobile=False)
        self.do("Page.navigate", url=file.as_uri())
        while self.ask("document.readyState === 'complete' && location.href !== 'about:blank'") is not True:
            pass

    def ask(self, expression: str) -> Any:
        """What an expression is worth in the page."""
        return self.do("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def press_tab(self) -> str:
        """Press the tabulator; the id of what has the focus then, empty where nothing has."""
        for kind in ("keyDown", "keyUp"):
            self.do("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        return str(self.ask("(document.activeElement || {}).id || ''"))

    def shot(self, file: Path) -> None:
        """A picture of the whole page."""
        taken = self.do("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(taken["data"]))


@contextmanager
def browser(program: str) -> Iterator[Browser]:
    """A browser for a while; it is ended whatever happens."""
    (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        quoted = " ".join(f"'{word}'" for word in (program, *options))
        # The protocol speaks on descriptors 3 and 4, which Python cannot choose: a shell puts the pipes there.
        command = ["sh", "-c", f"exec {quoted} 3<&{theirs_in} 4>&{theirs_out}"]
        process = subprocess.Popen(command, pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Browser(ours_out, ours_in)
        finally:
            process.terminate()
            process.wait()


def faults(page: Browser, file: Path, shots: Path | None) -> list[str]:
    """What is wrong with a drawing as the browser shows it."""
    found: list[str] = []
    page.open(file, dark=False)
    light = page.ask("getComputedStyle(document.querySelector('.paper')).fill")
    if shots:
        page.shot(shots / f"{file.stem}-light.png")
    expected = [each.attrib["id"] for each in ElementTree.parse(file).iter() if each.get("tabindex") == "0"]
    reached = [page.press_tab() for _ in expected]
    if reached != expected:
        at = next(number for number, pair in enumerate(zip(reached, expected, strict=True)) if pair[0] != pair[1])
        found.append(f"the tabulator reaches {reached[at]!r} where {expected[at]!r} should follow")
    found += [f"sticks out of its box: {text}" for text in page.ask(OVERFLOWING)]
    page.open(file, dark=True)
    if page.ask("getComputedStyle(document.querySelector('.paper')).fill") == light:
        found.append("dark is as light")
    if shots:
        page.shot(shots / f"{file.stem}-dark.png")
    return found


def main() -> int:
    """Look at every drawing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--shots", type=Path)
    chosen = parser.parse_args()
    program = shutil.which(chosen.browser)
    if program is None:
        print(f"there is no browser called {chosen.browser!r}: name one with --browser", file=sys.stderr)
        return 2
    if chosen.shots:
        chosen.shots.mkdir(parents=True, exist_ok=True)
    wrong = 0
    with browser(program) as page:
        for file in sorted(DIAGRAMS.glob("*.svg")):
            found = faults(page, file, chosen.shots)
            wrong += len(found)
            print(f"{file.name}: {'as it should be' if not found else ''}")
            print(*(f"  {fault}" for fault in found), sep="\n", end="\n" if found else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
