"""What all tests share: Hypothesis works from one printed seed, so that whatever fails can be made to fail again."""

from __future__ import annotations

import os
import secrets

import pytest
from hypothesis import settings

settings.register_profile("statewright", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("statewright")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed before Hypothesis asks for it: the command line's, else the environment's, else a fresh one."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = os.environ.get("HYPOTHESIS_SEED") or str(secrets.randbelow(2**32))


def pytest_report_header(config: pytest.Config) -> str:
    """The seed, above the first test."""
    return f"hypothesis seed: {config.option.hypothesis_seed} (the same again: --hypothesis-seed or HYPOTHESIS_SEED)"
