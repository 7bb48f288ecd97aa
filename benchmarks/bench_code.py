"""Reading the code that decides in the tables, once per process, beside parsing the same sources and nothing else."""

from __future__ import annotations

import argparse
import subprocess
import sys
from statistics import median

from workload import print_table

MEASURED = """
import ast, sys, time
from pathlib import Path
from statewright_states.requirements import TABLES
texts = [
    Path(module.__file__).read_text("utf-8")
    for name, module in list(sys.modules.items())
    if name.startswith("statewright_states.") and not name.startswith("statewright_states.form")
]
began = time.process_time()
for text in texts:
    ast.parse(text)
parsed = time.process_time()
for table in TABLES[:{tables}]:
    table.code_digest
print(parsed - began, time.process_time() - parsed)
"""
"""A fresh process has read nothing yet. The tables stand in the order in which the page of requirements has them."""


def measured_s(tables: int) -> tuple[float, float]:
    """CPU seconds that parsing takes in a fresh process, and reading the code of so many tables."""
    command = [sys.executable, "-c", MEASURED.format(tables=tables)]
    parsing, reading = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(parsing), float(reading)


def row(tables: int, rounds: int) -> list[str]:
    """One row of the table: medians, and the median of the ratios within a process."""
    times = [measured_s(tables) for _ in range(rounds)]
    parsing, reading = (f"{1000 * median(each):.0f}" for each in zip(*times, strict=True))
    return [str(tables), parsing, reading, f"{median(reading / parsing for parsing, reading in times):.2f}"]


def main(rounds: int) -> None:
    print(f"The code that decides, read in {rounds} fresh processes each\n")
    print_table(["tables", "parsing alone, ms", "reading the code, ms", "ratio"], [row(tables, rounds) for tables in (1, 3, 4)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    main(parser.parse_args().rounds)
