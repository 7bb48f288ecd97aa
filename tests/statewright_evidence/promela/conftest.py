"""The tests that run SPIN are there where SPIN is; `.ci/run` installs it. All others need Python alone."""

from __future__ import annotations

from shutil import which

collect_ignore = [] if which("spin") and which("gcc") else ["test_promela_spin.py"]
