"""Write the newest golden runs anew: ``python tests/journals/write_golden_runs.py``. The same each time, whoever makes them.

What a release has written is never made again: ``python tests/journals/write_golden_runs.py --new`` begins the next file. See
docs/versions.md.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from golden_runs import FOLDER, dumped, record, scripts
from statewright.testing.virtual_time import run_virtual


def made() -> str:
    """The golden runs, as they are written now."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        run_virtual(record(path))
        return dumped(path)


def main(*options: str) -> None:
    number = len(scripts()) + ("--new" in options)
    (FOLDER / f"golden-{max(number, 1)}.sql").write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
