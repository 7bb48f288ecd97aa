"""What the README shows is what happens: its commands exist and its example prints what it says, without a key."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from house import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
PRINTED = re.compile(r"^print\(.*\)  # (.+)$", re.MULTILINE)


def test_the_readme_names_the_test_command_that_make_runs() -> None:
    recipe = re.search(r"^test:.*\n\t(.+)$", MAKEFILE, re.MULTILINE)
    assert recipe is not None
    assert recipe[1].replace("$(BIN)", ".venv/bin") in README


def test_every_make_target_in_the_readme_exists() -> None:
    declared = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", README, re.MULTILINE)) <= declared


def test_the_examples_of_the_readme_one_after_another_print_what_they_say(tmp_path: Path) -> None:
    example = "\n".join(EXAMPLE.findall(README))
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == PRINTED.findall(example)
