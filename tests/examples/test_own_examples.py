"""The examples of tables and ports of one's own, run as they stand, and held to be as short as they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
DEADLINE_S = 60
MAX_LINES = 80

SAYS = {
    "own_table.py": [
        "packing OrderFacts(receipt='4200 cents, by order-17/1.0')",
        "rejected ['ORDER-1', 'ORDER-3']",
        "taken ORDER-5",
        "ended None",
        "order-17 shipped by ORDER-5 sound",
        "order-18 rejected by ORDER-3 sound",
    ],
    "own_ports.py": ["success They said: GOOD MORNING", "recorded a day ahead: True"],
}


@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs_as_it_stands(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / name)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == SAYS[name]


@pytest.mark.parametrize("name", [*SAYS, "order_table.py"])
def test_an_example_can_be_read_at_a_sitting(name: str) -> None:
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) < MAX_LINES


def test_the_table_of_the_examples_is_proven(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "statewright", "prove", f"{EXAMPLES / 'order_table.py'}:ORDER"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    assert done.returncode == 0
    assert "4 of 4 claims hold" in done.stdout
