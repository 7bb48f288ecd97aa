"""One run of the demo, as a newcomer starts it, for all tests that ask what it did."""

from __future__ import annotations

import pytest

from demo_run import DemoRun, run_demo


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoRun:
    return run_demo(tmp_path_factory.mktemp("demo"))
