"""One run of the demo, as a newcomer starts it, for all tests that ask what it did."""

from __future__ import annotations

import pytest

from demo_run import DemoRun, run_demo
from journal_collection import collect


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoRun:
    return run_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture(autouse=True)
def collected(request: pytest.FixtureRequest) -> None:
    """Every test about the run has it as its own."""
    if "demo" in request.fixturenames:
        run: DemoRun = request.getfixturevalue("demo")
        collect(run.record)
