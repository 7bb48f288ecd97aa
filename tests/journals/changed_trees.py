"""Statewright as it will be one day: a copy of its source with a few words changed, run in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from golden_runs import FOLDER

ROOT = FOLDER.parents[1]
ROOMS = ("engine", "states", "providers")
Change = tuple[str, str, str]
"""A file, a text in it, and what stands there in its place."""

PROGRAM = """
import asyncio, json, sys
from pathlib import Path
import statewright_states
assert Path(statewright_states.__file__).is_relative_to(Path.cwd()), statewright_states.__file__
from golden_runs import ENDS, carry_on
from statewright import SQLiteJournal, StatewrightError, verify
from statewright.presentation.recorded import replayed, state_of
from statewright.testing.virtual_time import run_virtual

async def looked_at(store, run_id):
    try:
        state = await state_of(store, await replayed(store, run_id))
        return [state.status, state.final_output, (await verify(store, run_id)).ok]
    except StatewrightError as error:
        return [type(error).__name__, str(error), (await verify(store, run_id)).ok]

async def story():
    store = SQLiteJournal(sys.argv[1], durability="memory")
    found = {run_id: await looked_at(store, run_id) for run_id in ENDS}
    for run_id in sys.argv[3:]:
        await carry_on(store, run_id, accept_changed_code=sys.argv[2] == "accept")
        found[run_id] = await looked_at(store, run_id)
    await store.aclose()
    return found

print(json.dumps(run_virtual(story())))
"""


def changed_tree(folder: Path, changes: Sequence[Change]) -> Path:
    """A copy of the source in this folder, changed. Each text has to be there exactly once."""
    tree = folder / "tree"
    for room in ROOMS:
        shutil.copytree(ROOT / room, tree / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in changes:
        text = (tree / name).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{name} holds {text.count(old)} times: {old}"
        (tree / name).write_text(text.replace(old, new), encoding="utf-8")
    return tree


def run_in(tree: Path, journal: Path, *carried_on: str, accept: bool = False) -> subprocess.CompletedProcess[str]:
    """What the changed version makes of a journal's runs, as JSON: each replayed and verified, some carried on before."""
    paths = os.pathsep.join([*(str(tree / room) for room in ROOMS), str(FOLDER)])
    command = [sys.executable, "-c", PROGRAM, str(journal), "accept" if accept else "", *carried_on]
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=120)
