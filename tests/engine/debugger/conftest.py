"""Tests of a terminal that draws need tmux; where it is not installed, they are left out, as those of SPIN are."""

from __future__ import annotations

from shutil import which

collect_ignore = [] if which("tmux") else ["test_debug_tmux.py"]
