"""The debugger's screen over a run of 10 000 entries: until it is there, and a step forwards or back, drawn whole.

Beside it stands opening the time line alone. Facts are read behind the screen; steps are taken once that has ended.
"""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from bench_timeline import OPEN_LIMIT_S, STEP_LIMIT_S, record
from workload import print_table, start

from statewright import RunTimeline, SQLiteJournal
from statewright.debugger.application import DebuggerApplication
from statewright.debugger.session import DebugSession

SIZES = ((80, 24), (160, 50))


async def main(*, entries: int = 10_000, result_bytes: int = 2_000, steps: int = 40) -> None:
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        run_id = await record(path, entries, result_bytes)
        for size in SIZES:
            gc.collect()
            journal = SQLiteJournal(path)
            began = perf_counter()
            session = DebugSession(journal, await RunTimeline.open(journal, run_id))
            opened, middle, taken = perf_counter(), session.last // 2, list[float]()
            application = DebuggerApplication(session)
            async with application.run_test(size=size) as pilot:
                shown = perf_counter()
                await application.workers.wait_for_complete()
                for entry in (*range(middle - steps, middle), *range(middle, middle - steps, -1)):
                    started = perf_counter()
                    session.go_to(entry)
                    application.debugger.show()
                    application.screen._compositor.render_strips()
                    taken.append(perf_counter() - started)
                    await pilot.pause()
            await journal.aclose()
            name = f"{size[0]} x {size[1]}"
            rows.append((name, f"{opened - began:.2f} s", f"{shown - began:.2f} s", f"{median(taken) * 1000:.0f} ms"))
            print(
                f"{name}: there in {(shown - began) / OPEN_LIMIT_S:.2f} of its limit, a step {median(taken) / STEP_LIMIT_S:.2f}"
            )
    print_table(("screen", "time line opened", "screen there", "a step"), rows)


if __name__ == "__main__":
    start(main, __doc__)
