"""``make fuzz``: the engine through as many random lives as asked for, on all cores; prints the seed, then what was seen.

    python tests/engine/loop/fuzz.py [--examples 10000] [--seed N] [--workers N] [--no-shrink]

Each worker gets a share of the examples and a seed of its own, made from the printed one, so that the same numbers give the
same examples again. Exit code 1 when a rule broke: Hypothesis then shows the smallest example that it found.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import Value
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from loop_cases import Case
from loop_fuzz_kinds import KINDS_OF_LIVES, check
from loop_invariants import ALL_ROWS
from loop_lives import Life
from statewright.presentation.progress import progress_of

LOOK_EVERY_S = 0.5


@dataclass
class Seen:
    """What a worker saw."""

    examples: int = 0
    rows: Counter[str] = field(default_factory=Counter[str])
    ends: Counter[str] = field(default_factory=Counter[str])
    failures: list[str] = field(default_factory=list[str])

    def life(self, life: Life) -> None:
        self.examples += 1
        self.rows.update({row for _, row in life.rows.taken})
        reason = life.state.stop_reason
        self.ends[f"{life.state.status} {reason}"] += 1


COUNTERS: list[Any] = []
"""In a worker: where it counts its lives, in memory that it shares with the others."""


def share(kind: str, examples: int, number: int, shrink: bool) -> Seen:
    """One worker's share of one kind of lives."""
    warnings.simplefilter("error")
    seen = Seen()

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
        report_multiple_bugs=False,
    )
    @given(case=KINDS_OF_LIVES[kind])
    def lives(case: Case) -> None:
        seen.life(check(kind, case))
        for counter in COUNTERS:
            with counter.get_lock():
                counter.value += 1

    try:
        lives()
    except BaseException:  # whatever breaks is what is looked for
        seen.failures.append(traceback.format_exc())
        print(f"a rule broke in {kind!r} lives:\n{seen.failures[-1]}", file=sys.stderr, flush=True)
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=10_000, help="how many lives (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="the same seed and workers give the same lives again")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="processes (default: all cores)")
    parser.add_argument("--no-shrink", action="store_true", help="show the first example that breaks a rule, however large")
    chosen = parser.parse_args()
    first = secrets.randbelow(2**32) if chosen.seed is None else chosen.seed
    print(f"fuzz: {chosen.examples} examples, --seed {first} --workers {chosen.workers}", flush=True)
    began_s = time.monotonic()
    each = max(chosen.examples // (len(KINDS_OF_LIVES) * chosen.workers), 1)
    counter = Value("Q", 0)
    with (
        ProcessPoolExecutor(chosen.workers, initializer=COUNTERS.append, initargs=(counter,)) as pool,
        progress_of("lives") as tell,
    ):
        jobs = [
            pool.submit(share, kind, each, first + number * len(KINDS_OF_LIVES) + at, not chosen.no_shrink)
            for number in range(chosen.workers)
            for at, kind in enumerate(KINDS_OF_LIVES)
        ]
        while wait(jobs, timeout=LOOK_EVERY_S).not_done:
            tell(min(counter.value, each * len(jobs)), each * len(jobs))
        all_seen = [job.result() for job in jobs]
    report(all_seen, time.monotonic() - began_s)
    return 1 if any(seen.failures for seen in all_seen) else 0


def report(all_seen: list[Seen], took_s: float) -> None:
    """Print the figures."""
    examples = sum(seen.examples for seen in all_seen)
    rows, ends = sum((seen.rows for seen in all_seen), Counter[str]()), sum((seen.ends for seen in all_seen), Counter[str]())
    print(f"lived: {examples} in {took_s:.0f} s, {examples / took_s:.1f} per second")
    for end, count in ends.most_common():
        print(f"  {count:6} {end}")
    print(
        f"rows taken: {len(rows.keys() & ALL_ROWS)} of {len(ALL_ROWS)}; not taken: {', '.join(sorted(ALL_ROWS - rows.keys()))}"
    )
    print(f"rules broken: {sum(len(seen.failures) for seen in all_seen)}")


if __name__ == "__main__":
    sys.exit(main())
