"""The drawings as files: their names, and whether they are fresh."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from statewright_evidence.drawing.formats import FOR_PEOPLE, MAP, MAP_FORMATS, SUFFIXES, drawing, map_drawing
from statewright_evidence.drawing.machines import MACHINES
from statewright_states.errors import ConfigurationError


def drawings(formats: Collection[str] = FOR_PEOPLE) -> dict[str, str]:
    """The drawings by file name (``run.svg``), with the map of the machines (``map.svg``), in these formats."""
    tables = [machine.table for machine in MACHINES]
    drawn = {f"{table.name}.{SUFFIXES[name]}": drawing(table, name) for table in tables for name in formats}
    return drawn | {f"{MAP}.{SUFFIXES[name]}": map_drawing(name) for name in MAP_FORMATS if name in formats}


def write_drawings(folder: Path) -> tuple[str, ...]:
    """Write every drawing that is not fresh; gives the names of the files written. Creates the folder."""
    fresh = drawings()
    stale = _stale(folder, fresh)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in stale:
            (folder / name).write_bytes(fresh[name].encode())
    except OSError as error:
        raise ConfigurationError(
            f"the drawings cannot be written: {error.strerror}",
            where=str(folder),
            cure="name a folder that can be written, with --out",
        ) from error
    return stale


def stale_drawings(folder: Path) -> tuple[str, ...]:
    """The names of the files that are missing or differ from what the tables give now."""
    return _stale(folder, drawings())


def _stale(folder: Path, fresh: dict[str, str]) -> tuple[str, ...]:
    return tuple(name for name, text in fresh.items() if _read(folder / name) != text.encode())


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
