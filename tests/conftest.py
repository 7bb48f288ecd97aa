"""What all tests share: the seed that Hypothesis works from, and where the decisions of the test run go.

Hypothesis works from one printed seed, so that whatever fails can be made to fail again.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest
from hypothesis import settings

import journal_collection

settings.register_profile("statewright", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("statewright")


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "collect the decisions of the run in this folder, for the coverage of the tables"
    parser.addoption("--journals", type=Path, metavar="FOLDER", help=help_text)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed before Hypothesis asks for it: the command line's, else the environment's, else a fresh one.

    Begin to collect decisions, where they are asked for. With several processes only the first clears the folder.
    """
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = os.environ.get("HYPOTHESIS_SEED") or str(secrets.randbelow(2**32))
    if config.option.journals is not None:
        worker: str | None = getattr(config, "workerinput", {}).get("workerid")  # only in a process that pytest-xdist began
        journal_collection.begin(config.option.journals, worker or "main", first=worker is None)


def pytest_runtest_logfinish(nodeid: str) -> None:
    """A test has ended: what was collected meanwhile is its own."""
    journal_collection.finish(nodeid)


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: tests of real servers, signals and processes spend part of their time waiting."""
    return (os.cpu_count() or 1) + 1


def pytest_report_header(config: pytest.Config) -> str:
    """The seed, above the first test."""
    return f"hypothesis seed: {config.option.hypothesis_seed} (the same again: --hypothesis-seed or HYPOTHESIS_SEED)"
