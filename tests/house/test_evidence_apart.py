"""What auditors are shown is no part of what runs: an agent runs without a module of statewright_evidence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

IN_PYTHON = """
import sys
import statewright
from statewright_providers import ScriptedProvider

model = ScriptedProvider([statewright.LLMResponse("done")])
loop = statewright.AgentLoop(model, journal=statewright.SQLiteJournal(sys.argv[1]))
assert loop.run_sync("task", run_id="run-a").final_output == "done"
assert statewright.MixedModeRunner
"""
ON_THE_COMMAND_LINE = """
import sys
from statewright.__main__ import main

journal, script = sys.argv[1], sys.argv[1] + ".json"
with open(script, "w", encoding="utf-8") as file:
    file.write('{"replies": [{"content": "done"}]}')
sys.argv[1:] = ["run", "task", "--model", f"scripted:{script}", "--journal", journal]
code = main()
assert code == 0, code
"""
CHECK = """
loaded = sorted(name for name in sys.modules if name.startswith("statewright_evidence"))
assert not loaded, f"loaded: {loaded}"
"""


def test_a_run_loads_no_evidence(tmp_path: Path) -> None:
    journal = str(tmp_path / "runs.db")
    for program in (IN_PYTHON, ON_THE_COMMAND_LINE):
        done = subprocess.run(
            [sys.executable, "-c", program + CHECK, journal], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
