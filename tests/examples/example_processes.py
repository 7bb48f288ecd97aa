"""The programs in examples/, run as their readers run them: a process each, as they stand."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from house import ROOT

EXAMPLES = ROOT / "examples"
ENDS_S = 30.0
"""How long a process may take to end."""


@asynccontextmanager
async def running(
    folder: Path, arguments: Sequence[str], environment: Mapping[str, str]
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A Python process with these arguments in this folder; it is killed at the end, if it still runs."""
    known = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME") or name.startswith("COVERAGE")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=folder,
        env={**known, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await asyncio.wait_for(process.communicate(), ENDS_S)


async def killed(process: asyncio.subprocess.Process) -> None:
    """End a process as nobody can prepare for."""
    process.kill()
    assert await asyncio.wait_for(process.wait(), ENDS_S) == -signal.SIGKILL
