"""``import statewright`` in fresh processes, and which packages take the time."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import defaultdict
from importlib.util import find_spec
from statistics import median

from workload import print_table

LIMIT_S = 0.35
TIMED = """
import time
wall, cpu = time.perf_counter(), time.process_time()
import statewright
print(time.perf_counter() - wall, time.process_time() - cpu)
"""


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""An installed package has its bytecode. Where none may be written, each import would compile all sources anew."""


def import_s() -> tuple[float, float]:
    """Wall and CPU seconds of one import in a fresh process."""
    done = subprocess.run([sys.executable, "-c", TIMED], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    wall, cpu = done.stdout.split()
    return float(wall), float(cpu)


def own_ms() -> list[tuple[str, float]]:
    """Milliseconds by top-level package, each module's own time, from ``-X importtime``."""
    command = [sys.executable, "-X", "importtime", "-c", "import statewright"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    shares: dict[str, float] = defaultdict(float)
    for line in done.stderr.splitlines():
        own_us, _, module = line.removeprefix("import time:").split("|")
        if own_us.strip().isdigit():
            top = module.strip().split(".")[0].lstrip("_")
            shares[top if top not in sys.stdlib_module_names else "standard library"] += int(own_us) / 1000
    return sorted(shares.items(), key=lambda share: -share[1])


def main(rounds: int) -> None:
    import_s()  # writes the bytecode
    walls, cpus = zip(*(import_s() for _ in range(rounds)), strict=True)
    print(f"import statewright, {rounds} fresh processes, limit {LIMIT_S} s\n")
    rows = [[name, f"{min(times):.3f}", f"{median(times):.3f}"] for name, times in (("wall, s", walls), ("CPU, s", cpus))]
    print_table(["", "best", "median"], rows)
    print("ok" if median(walls) <= LIMIT_S else "over", "\n")
    if find_spec("click") is not None:
        print("click is installed here, so httpx imports its own command line (click, rich, pygments): 50 ms and more\n")
    print("Where it goes (own time of the modules; measuring makes it slower)\n")
    print_table(["package", "ms"], [[name, f"{ms:.0f}"] for name, ms in own_ms()[:10]])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    main(parser.parse_args().rounds)
