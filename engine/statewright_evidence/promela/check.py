"""Runs SPIN on a model: ``spin`` makes a checker, ``gcc`` compiles it, the checker searches. Each has a deadline.

Everything happens in a temporary folder; what comes back is what the checker reported, and, where it found something, the
trail as the model tells it: events, answers, ids of rows.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from shutil import which

from statewright_evidence.promela.free_model import LIVENESS, SAFETY, Promela
from statewright_states.errors import ConfigurationError, InternalError
from statewright_states.frozen import dataclass

PROGRAMS = ("spin", "gcc")
HOW_TO_GET_THEM = "install them, on Debian and Ubuntu by: apt-get install spin gcc"
GENERATE_S, COMPILE_S, SEARCH_S, TELL_S = 60, 240, 240, 60
"""How long each program may take, in seconds; many times what it takes."""
MODEL_FILE = "model.pml"
LIMITS = ("-w20", "-m1000000")
"""Of the search: a hash table of 2^20 places, and paths of a million steps."""
ERROR = re.compile(r"^pan:\s*\d+: (?P<what>.+?)(?: \(at depth \d+\))?$", re.MULTILINE)
ERRORS = re.compile(r"depth reached (?P<depth>\d+).* errors: (?P<errors>\d+)")
STATES = re.compile(r"^\s*(?P<states>[\d.e+]+) states, stored(?: \((?P<visited>[\d.e+]+) visited\))?", re.MULTILINE)
TRANSITIONS = re.compile(r"^\s*(?P<transitions>[\d.e+]+) transitions", re.MULTILINE)
UNREACHED = re.compile(r"^\s+(?P<file>\S+):(?P<line>\d+), state \d+, ", re.MULTILINE)
INCOMPLETE = ("Search not completed", "max search depth too small", "out of memory", "hashtable")
SAID = re.compile(r"^\s*\| (?P<said>.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PanReport:
    """One search of a model. ``what`` says what went wrong first, empty where nothing did.

    ``unreached`` are the lines of the model that no path came to; with an error the search ended early, and they say
    nothing. ``complete`` tells that every state was visited.
    """

    errors: int
    what: str
    states: int
    transitions: int
    depth: int
    unreached: frozenset[int]
    complete: bool

    @property
    def holds(self) -> bool:
        """Whether everything was searched and nothing was found."""
        return self.complete and not self.errors


@dataclass(frozen=True, slots=True)
class Checked:
    """A model that was searched for one claim; ``claim`` is empty for its assertions and dead ends."""

    claim: str
    report: PanReport
    trail: tuple[str, ...] = ()


def missing_programs() -> tuple[str, ...]:
    """What SPIN needs and is not installed here."""
    return tuple(program for program in PROGRAMS if which(program) is None)


def check(model: Promela, claims: Sequence[str]) -> tuple[Checked, ...]:
    """Search a model for violated assertions and dead ends, then for a violation of each claim.

    Raises ConfigurationError when a program is missing or takes too long, InternalError when one does not understand the
    model.
    """
    missing = missing_programs()
    if missing:
        raise ConfigurationError(f"{' and '.join(missing)} cannot be found", where="the check by SPIN", cure=HOW_TO_GET_THEM)
    with tempfile.TemporaryDirectory(prefix="statewright-spin-") as folder:
        return _Workshop(Path(folder), model).check(claims)


@dataclass(frozen=True, slots=True)
class _Workshop:
    """The folder in which a model is checked."""

    folder: Path
    model: Promela

    def check(self, claims: Sequence[str]) -> tuple[Checked, ...]:
        (self.folder / MODEL_FILE).write_text(self.model.text, encoding="utf-8")
        self._run("spin", "-a", "-o3", MODEL_FILE, timeout_s=GENERATE_S)
        self._run("gcc", *SAFETY, "-o", "pan", "pan.c", timeout_s=COMPILE_S)
        found = [self._search("")]
        if claims:
            self._run("gcc", *LIVENESS, "-o", "pan", "pan.c", timeout_s=COMPILE_S)
        return (*found, *(self._search(claim) for claim in claims))

    def _search(self, claim: str) -> Checked:
        about = ("-a", "-N", claim) if claim else ()
        (self.folder / f"{MODEL_FILE}.trail").unlink(missing_ok=True)
        output = self._run("./pan", *LIMITS, *about, timeout_s=SEARCH_S)
        report = read_report(output, MODEL_FILE)
        told = self._run("spin", "-t", "-T", "-B", MODEL_FILE, timeout_s=TELL_S) if report.errors else ""
        return Checked(claim, report, read_trail(told))

    def _run(self, program: str, *arguments: str, timeout_s: float) -> str:
        command = (str(self.folder / program) if program.startswith(".") else program, *arguments)
        try:
            done = subprocess.run(  # noqa: S603 - programs named here, on a model of ours
                command, cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise ConfigurationError(
                f"{program} took longer than {timeout_s:g} s",
                where=f"the check of {self.model.name} by SPIN",
                cure="choose smaller bounds, or give the machine less else to do",
            ) from error
        if done.returncode and not program.startswith("."):
            raise InternalError(
                f"{program} does not understand the model",
                where=f"{self.model.name}: {(done.stderr or done.stdout)[-400:].strip()}",
            )
        return done.stdout


# -- what is printed -----------------------------------------------------------------------------------------------------


def read_report(output: str, model_file: str) -> PanReport:
    """Read what pan printed. Raises InternalError when that is no report of a search."""
    summary, states, transitions = ERRORS.search(output), STATES.search(output), TRANSITIONS.search(output)
    if summary is None or states is None or transitions is None:
        raise InternalError(
            "SPIN's checker printed no report of a search", where=f"the check of {model_file}: {output[-400:]!r}"
        )
    error = ERROR.search(output)
    return PanReport(
        errors=int(summary["errors"]),
        what=error["what"] if error else "",
        states=int(float(states["states"])),
        transitions=int(float(transitions["transitions"])),
        depth=int(summary["depth"]),
        unreached=frozenset(int(match["line"]) for match in UNREACHED.finditer(output) if match["file"].endswith(model_file)),
        complete=not any(mark in output for mark in INCOMPLETE),
    )


def read_trail(output: str) -> tuple[str, ...]:
    """What a model says along a trail: events with the answers, rows by their ids in brackets."""
    return tuple(match["said"].strip() for match in SAID.finditer(output))
