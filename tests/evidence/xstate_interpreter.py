"""A third interpreter of our tables: XState, which reads their JSON. It needs Node, and may be missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from random_lives import Made, Told

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "xstate"
"""Where ``make build/xstate`` installs XState. The environment's STATEWRIGHT_XSTATE names another folder."""
TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class XState:
    """An installed XState: the program ``node``, the folder that holds ``node_modules``, and the version."""

    node: str
    folder: Path
    version: str


def installed(folder: Path | None = None) -> XState | str:
    """The XState of a folder, or why it cannot be used."""
    folder = folder or Path(os.environ.get("STATEWRIGHT_XSTATE", FOLDER))
    node = shutil.which("node")
    if node is None:
        return "Node is not installed"
    try:
        version: str = json.loads((folder / "node_modules" / "xstate" / "package.json").read_text())["version"]
    except (OSError, ValueError, KeyError):
        return "XState is not installed (`make build/xstate` installs it with npm)"
    if not version.startswith("5."):
        return f"XState 5 is needed, and {version} is installed"
    return XState(node, folder, version)


class XStateInterpreter:
    """A machine, walked by a process of Node for each call of ``lives``."""

    name = "XState"

    def __init__(self, document: str, xstate: XState) -> None:
        self._machine = json.loads(document)
        self._command = (xstate.node, str(Path(__file__).with_name("xstate_check.mjs")), str(xstate.folder.resolve()))

    def lives(self, lives: Sequence[Sequence[Told]]) -> Sequence[Sequence[Made]]:
        """What the machine makes of each event of each life. Each life is an actor of its own."""
        asked = json.dumps({"machine": self._machine, "lives": [[asdict(told) for told in life] for life in lives]})
        done = subprocess.run(self._command, input=asked, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
        if done.returncode:
            raise RuntimeError(f"node ended with {done.returncode}: {done.stderr}")
        return [[_made(said) for said in life] for life in json.loads(done.stdout)]


def _made(said: dict[str, Any]) -> Made:
    return Made(said["row"], tuple(said["commands"]), said["state"])
