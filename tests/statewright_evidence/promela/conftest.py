"""The tests that run SPIN are there where SPIN is; `.ci/run` installs it. All others need Python alone."""

from __future__ import annotations

from shutil import which

NEEDS_SPIN = ("test_promela_spin.py", "test_promela_spin_bounded.py")
collect_ignore = [] if which("spin") and which("gcc") else list(NEEDS_SPIN)
