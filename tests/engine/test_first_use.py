"""Configurations are made ready when they are first used, and any number of threads may be the first."""

from __future__ import annotations

import subprocess
import sys

import pytest

FIRST_USE = """
import sys, threading
from statewright import AgentConfig, ConfigurationError

def use():
    together.wait()
    try:
        assert AgentConfig(retry={"max_attempts": 2}).retry.max_attempts == 2
        try:
            AgentConfig(retry={"attempts": 2})
        except ConfigurationError:
            return
        raise AssertionError("an unknown key was taken")
    except BaseException as error:
        wrong.append(repr(error))

sys.setswitchinterval(1e-6)
wrong, together = [], threading.Barrier(16)
threads = [threading.Thread(target=use) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(wrong)
"""


@pytest.mark.parametrize("process", range(6))
def test_many_threads_use_a_configuration_at_once_for_the_first_time(process: int) -> None:
    # What goes wrong depends on when threads take turns: with pydantic 2.13, in half of the processes.
    done = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
