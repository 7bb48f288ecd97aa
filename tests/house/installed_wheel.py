"""Builds the source distribution, the wheel from it, installs that as a stranger would, and runs what a newcomer types first.

``make wheel`` runs it. It needs the package registry: pip makes a fresh environment with what the wheel depends on, and nothing
else. Ends with exit code 1 and says what is wrong where something is.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
BUILD_TIMEOUT_S, INSTALL_TIMEOUT_S, COMMAND_TIMEOUT_S = 300, 300, 60
RELATIVE_LINK = re.compile(r"\]\((?!https?://|#)[^)]*\)")
DEVELOPMENT = ("pytest", "hypothesis", "mypy", "statemachine", "pathspec", "textual")
"""What only developing, or an extra, needs: the wheel must do without."""
FIRST_COMMANDS = (
    (["--version"], "statewright "),
    (["demo"], "replayed   "),
    (["doctor"], "✓ engine"),
    (["runs", "--journal", ".statewright/demo.db"], "success"),
    (["why", "last", "--journal", ".statewright/demo.db"], "because"),
    (["verify", "--all", "--journal", ".statewright/demo.db"], "verified"),
)
NEEDED = ("statewright/demo/script.json", "statewright/demo/data/ledger.csv", "statewright_states/versions/versions.toml")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, install, run; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="put the wheel and the source distribution there too")
    keep: Path | None = parser.parse_args(arguments).keep
    with TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "build", "--outdir", str(folder / "dist"), str(ROOT)], folder, BUILD_TIMEOUT_S)
        (wheel,), (source,) = (list((folder / "dist").glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
        for built in (wheel, source) if keep is not None else ():
            copy(built, keep or folder)
        wrong = [*missing(wheel, source), *dead_links(wheel), *broken_commands(wheel, folder)]
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{wheel.name}: built, installed alone, and its first commands run" if not wrong else f"{wheel.name} is not in order")
    return 1 if wrong else 0


def run(line: list[str], folder: Path, timeout_s: float, environment: dict[str, str] | None = None) -> str:
    """What a command prints. Raises SystemExit with all of it when it fails."""
    done = subprocess.run(
        line, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False, encoding="utf-8"
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(line)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def missing(wheel: Path, source: Path) -> Iterator[str]:
    """Files that are no code, and have to be there."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    yield from (f"{name} is not in the wheel" for name in NEEDED if name not in names)
    with tarfile.open(source) as archive:
        packed = {member.partition("/")[2] for member in archive.getnames()}
    yield from (f"{name} is not in the source distribution" for name in ("Makefile", "docs/glossary.md") if name not in packed)


def dead_links(wheel: Path) -> Iterator[str]:
    """Links of the description that lead nowhere where a registry shows it."""
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        text = archive.read(metadata).decode()
    yield from (f"the description links to a file that a registry has not: {found}" for found in RELATIVE_LINK.findall(text))


def broken_commands(wheel: Path, folder: Path) -> Iterator[str]:
    """Commands that do not say what they should, in an environment that holds the wheel and what it depends on."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("STATEWRIGHT_", "PYTHON", "VIRTUAL_"))
    }
    venv.create(folder / "fresh", with_pip=True)
    python, program = folder / "fresh/bin/python", folder / "fresh/bin/statewright"
    install = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", "install", str(wheel)]
    run(install, folder, INSTALL_TIMEOUT_S, environment)
    for module in DEVELOPMENT:
        found = f"import importlib.util as u; print(u.find_spec({module!r}) is not None)"
        if run([str(python), "-c", found], folder, COMMAND_TIMEOUT_S, environment).strip() == "True":
            yield f"{module} was installed with the wheel: only developing needs it"
    for words, expected in FIRST_COMMANDS:
        if expected not in run([str(program), *words], folder, COMMAND_TIMEOUT_S, environment):
            yield f"statewright {' '.join(words)} does not say {expected!r}"


if __name__ == "__main__":
    sys.exit(main())
