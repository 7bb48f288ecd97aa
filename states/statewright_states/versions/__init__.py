"""The released versions of each table: what a machine was, kept for ever, so that a change of one is a reviewed act.

Beside this module stand, for each version, its full canonical form (``run.1.json``, whose SHA-256 is the fingerprint that
journals pin), the list of the code that decides in it (``run.2.code.json``, whose SHA-256 journals pin too; the first
versions have none) and what its rows were for (``run.1.words.json``, which decides nothing); ``versions.toml`` lists them
with a summary each. None of these files ever changes: ``make version`` adds the next. docs/versions.md says how that is done.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from statewright_states.errors import ConfigurationError
from statewright_states.frozen import dataclass

FOLDER = Path(__file__).parent
LIST = "versions.toml"
CURE = "restore the file from the repository or the package: a released version never changes"


@dataclass(frozen=True, slots=True)
class Words:
    """What a row was for: the requirements that it serves, and the reason."""

    req: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Version:
    """A released version of a table. ``number`` counts from 1, ``summary`` is one line, ``folder`` is where its files are.

    ``code`` is the SHA-256 of the list of its code; None for a version of the time before there was one.
    """

    table: str
    number: int
    fingerprint: str
    summary: str
    folder: Path
    code: str | None = None

    @property
    def name(self) -> str:
        """As a command line calls it: ``run@1``."""
        return f"{self.table}@{self.number}"

    @property
    def form_path(self) -> Path:
        """The file of its canonical form."""
        return self.folder / f"{self.table}.{self.number}.json"

    @property
    def words_path(self) -> Path:
        """The file of what its rows were for."""
        return self.folder / f"{self.table}.{self.number}.words.json"

    @property
    def code_path(self) -> Path:
        """The file of the list of its code."""
        return self.folder / f"{self.table}.{self.number}.code.json"

    @property
    def paths(self) -> tuple[Path, ...]:
        """All its files."""
        code = () if self.code is None else (self.code_path,)
        return (self.form_path, self.words_path, *code)

    def form(self) -> bytes:
        """Its canonical form. Raises ConfigurationError when the bytes are not those that were released."""
        return self._released(self.form_path, self.fingerprint, "canonical form")

    def code_parts(self) -> Mapping[str, str]:
        """The digest of everything that decides in it, by what it is called. Raises ConfigurationError, as ``form`` does."""
        listed: dict[str, str] = {}
        if self.code is not None:
            listed = json.loads(self._released(self.code_path, self.code, "list of the code"))
        return listed

    def _released(self, path: Path, digest: str, what: str) -> bytes:
        data = _read(path)
        if sha256(data).hexdigest() != digest:
            raise ConfigurationError(f"the {what} of {self.name} has changed", where=str(path), cure=CURE)
        return data

    def words(self) -> Mapping[str, Words]:
        """What each row and ignore was for, by its id, when this version was released. Raises ConfigurationError."""
        try:
            listed: dict[str, dict[str, Any]] = json.loads(_read(self.words_path))
            return {row: Words(tuple(said["req"]), said["why"]) for row, said in listed.items()}
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ConfigurationError(
                f"the reasons of {self.name} cannot be read: {error}", where=str(self.words_path), cure=CURE
            ) from error


def versions(folder: Path = FOLDER) -> Mapping[str, tuple[Version, ...]]:
    """Every released version of each table, oldest first. Raises ConfigurationError when the list cannot be read."""
    path = folder / LIST
    try:
        listed: dict[str, list[dict[str, Any]]] = tomllib.loads(_read(path).decode())
        return {
            table: tuple(
                Version(
                    table, int(entry["version"]), str(entry["fingerprint"]), str(entry["summary"]), folder, entry.get("code")
                )
                for entry in entries
            )
            for table, entries in listed.items()
        }
    except (ValueError, LookupError, TypeError) as error:
        raise ConfigurationError(f"the list of versions cannot be read: {error}", where=str(path), cure=CURE) from error


def version_with(fingerprint: str, folder: Path = FOLDER, *, code: str | None = None) -> Version | None:
    """The newest version with this fingerprint, and where there is one also with this code; None when none has it."""
    known = [version for listed in versions(folder).values() for version in listed if version.fingerprint == fingerprint]
    return max(known, key=lambda version: (code in (None, version.code), version.number), default=None)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"a file of the versions cannot be read: {error.strerror}", where=str(path), cure=CURE
        ) from error
