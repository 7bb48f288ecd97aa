"""What mypy and pyright say of files, both as strict as they can be: users are to be told what is wrong by either."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

Complaints = dict[str, dict[int, str]]
"""For each file, by its path within the folder: the first complaint about each line, 1-based."""

SAID = re.compile(r"^(.+?):(\d+)(?::\d+)?: error: (.+)$", re.MULTILINE)
FINISHED = (0, 1)
"""Exit codes of a checker that came to its end."""


def mypy_says(folder: Path) -> Complaints:
    """The complaints of ``mypy --strict`` about every Python file below this folder."""
    cache = str(folder / ".mypy_cache")
    said = checked(["mypy", "--strict", "--config-file", os.devnull, "--cache-dir", cache, "--no-error-summary", "."], folder)
    complaints: Complaints = {}
    for path, line, message in SAID.findall(said):
        complaints.setdefault(Path(path).as_posix(), {}).setdefault(int(line), message)
    return complaints


def pyright_says(folder: Path, loose: tuple[str, ...] = ()) -> Complaints:
    """The same of pyright; ``loose`` names rules that are left out."""
    rules = {"typeCheckingMode": "strict", "include": ["."], **dict.fromkeys(loose, False)}
    (folder / "pyrightconfig.json").write_text(json.dumps(rules))
    said = json.loads(checked(["pyright", "--outputjson", "--pythonpath", sys.executable], folder))
    complaints: Complaints = {}
    for finding in said["generalDiagnostics"]:
        if finding["severity"] == "error":
            path = Path(finding["file"]).relative_to(folder.resolve()).as_posix()
            complaints.setdefault(path, {}).setdefault(finding["range"]["start"]["line"] + 1, finding["message"])
    return complaints


def checked(command: list[str], folder: Path) -> str:
    """What a checker prints. Raises AssertionError for one that did not come to its end."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in FINISHED, done.stdout + done.stderr
    return done.stdout


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Put these texts there, by their paths."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
