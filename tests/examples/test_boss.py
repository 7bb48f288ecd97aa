"""The example of a boss, run as a process exactly as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BOSS = Path(__file__).parents[2] / "examples" / "boss.py"


def test_a_boss_has_a_reader_and_a_clerk_and_a_person_decides_what_the_clerk_asks() -> None:
    done = subprocess.run([sys.executable, str(BOSS)], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        'boss.tool-2.1.1 asks: may pay {"invoice": "17"} run?',
        "boss.tool-1.1.1 success",
        "boss.tool-2.1.1 success",
        "success: All settled. Paid: 17. 6 requests in all.",
    ]


def test_it_is_short() -> None:
    assert len(BOSS.read_text(encoding="utf-8").splitlines()) < 80
