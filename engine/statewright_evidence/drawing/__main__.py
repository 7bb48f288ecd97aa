"""``python -m statewright_evidence.drawing``: write the drawings of all machines, or check that the written ones are fresh."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from statewright_evidence.drawing.files import stale_drawings, write_drawings
from statewright_states.errors import StatewrightError


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 when all is well, 1 when drawings are stale (``--check``), 2 when they cannot be made."""
    parser = argparse.ArgumentParser(prog="python -m statewright_evidence.drawing", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("diagrams"), help="the folder of the drawings (default: diagrams)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail and name the files that are stale")
    chosen = parser.parse_args(arguments)
    try:
        return _check(chosen.out) if chosen.check else _write(chosen.out)
    except StatewrightError as error:
        print(error, file=sys.stderr)
        return 2


def _write(folder: Path) -> int:
    for name in write_drawings(folder):
        print(f"wrote {folder / name}")
    return 0


def _check(folder: Path) -> int:
    stale = stale_drawings(folder)
    if not stale:
        return 0
    print(f"these drawings are not what the tables give: {', '.join(stale)}", file=sys.stderr)
    print(f"  where: {folder}\n  cure:  make diagrams", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
