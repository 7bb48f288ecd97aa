"""``import statewright`` in fresh processes: the package, all of its names, the command line; and what takes the time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from importlib.util import find_spec
from statistics import median

from workload import print_table, start

LIMIT_S = 0.35
ALL_NAMES = "from statewright import *"
PROGRAMS = {
    "the package": "import statewright",
    "what a first program needs": "from statewright import AgentConfig, AgentLoop, SQLiteJournal, ToolRegistry, connect, tool",
    "all its names": ALL_NAMES,
    "the command line": "import statewright.cli",
}
"""A name is imported when it is asked for, so the package alone would say little."""
TIMED = """
import time
wall, cpu = time.perf_counter(), time.process_time()
{program}
print(time.perf_counter() - wall, time.process_time() - cpu)
"""


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""An installed package has its bytecode. Where none may be written, each import would compile all sources anew."""


def import_s(program: str) -> tuple[float, float]:
    """Wall and CPU seconds of one import in a fresh process."""
    command = [sys.executable, "-c", TIMED.format(program=program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    wall, cpu = done.stdout.split()
    return float(wall), float(cpu)


def own_ms() -> list[tuple[str, float]]:
    """Milliseconds by top-level package, each module's own time, from ``-X importtime``."""
    command = [sys.executable, "-X", "importtime", "-c", ALL_NAMES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    shares: dict[str, float] = defaultdict(float)
    for line in done.stderr.splitlines():
        own_us, _, module = line.removeprefix("import time:").split("|")
        if own_us.strip().isdigit():
            top = module.strip().split(".")[0].lstrip("_")
            shares[top if top not in sys.stdlib_module_names else "standard library"] += int(own_us) / 1000
    return sorted(shares.items(), key=lambda share: -share[1])


def row(name: str, program: str, rounds: int) -> list[str]:
    """One row of the table: the best and the median of the rounds."""
    import_s(program)  # writes the bytecode
    walls, cpus = zip(*(import_s(program) for _ in range(rounds)), strict=True)
    verdict = "ok" if median(walls) <= LIMIT_S else "over"
    return [name, *(f"{seconds:.3f}" for times in (walls, cpus) for seconds in (min(times), median(times))), verdict]


def main(*, rounds: int = 15) -> None:
    print(f"Imports in {rounds} fresh processes each, limit {LIMIT_S} s\n")
    heads = ["what", "wall, s: best", "median", "CPU, s: best", "median", "verdict"]
    print_table(heads, [row(name, program, rounds) for name, program in PROGRAMS.items()])
    if find_spec("click") is not None:
        print("click is installed here, so httpx imports its own command line (click, rich, pygments): 50 ms and more\n")
    print("Where the names take their time (own time of the modules; measuring makes it slower)\n")
    print_table(["package", "ms"], [[name, f"{ms:.0f}"] for name, ms in own_ms()[:10]])


if __name__ == "__main__":
    start(main, __doc__)
