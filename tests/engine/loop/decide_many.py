"""Decides about the call ``c1`` of many runs, one after another: ``python decide_many.py JOURNAL ACTOR yes|no RUN...``.

It waits for a line on stdin, so that two processes begin at the same moment. A JSON list says what it was told of each run.
"""

from __future__ import annotations

import asyncio
import json
import sys

from statewright import AgentLoop, SQLiteJournal
from statewright_providers import ScriptedProvider
from statewright_states.errors import CallerError


async def decide(journal: str, actor: str, answer: str, *runs: str) -> list[str]:
    told: list[str] = []
    async with AgentLoop(ScriptedProvider([]), journal=SQLiteJournal(journal)) as loop:
        for run in runs:
            try:
                await loop.decide(run, "c1", answer == "yes", actor=actor)
                told.append("recorded")
            except CallerError as error:
                told.append(error.cure)
    return told


if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(asyncio.run(decide(*sys.argv[1:]))))
