"""Random people, policies, builders of contexts and watchers: those that do their part, and those that do not.

Each is drawn by its name and its pace, so that a failing example can be read, and made anew for each play.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from statewright import ApprovalDecision, ApprovalRequest

# -- whoever approves ------------------------------------------------------------------------------------------------

FAULTY_APPROVERS = ("raises", "talks nonsense")
"""Approvers that break their contract: the run ends as failed, visibly."""


@dataclass(frozen=True)
class Voice:
    """Somebody who answers questions, after a while."""

    kind: str
    after_s: float

    async def ask(self, request: ApprovalRequest) -> Any:
        if self.kind == "is absent":
            return None
        if self.kind == "keeps silent":
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(self.after_s)
        match self.kind:
            case "raises":
                raise OSError("no terminal")
            case "talks nonsense":
                return "yes"
            case "reviews":
                return ApprovalDecision(False, "ada", "reviewed")
            case _:
                approve = self.kind == "approves" or (self.kind == "allows paying" and request.name == "pay")
                ends_run = self.kind == "ends the run"
                return ApprovalDecision(approve, "ada", "approved" if approve else "rejected", "noted", ends_run=ends_run)


Approvers = Voice | None
APPROVERS: st.SearchStrategy[Approvers] = st.one_of(
    st.none(),
    st.builds(
        Voice,
        st.sampled_from(
            [*["approves", "rejects", "allows paying", "ends the run", "is absent", "keeps silent"] * 3, *FAULTY_APPROVERS]
        ),
        st.integers(0, 8).map(lambda number: number / 2 + 0.0419),
    ),
)

# -- policies --------------------------------------------------------------------------------------------------------


def _yes(*_: object) -> object:
    return SimpleNamespace(allowed=True, reason="")


async def _yes_later(*_: object) -> object:
    await asyncio.sleep(0.5193)
    return SimpleNamespace(allowed=True, reason="")


def _no(*_: object) -> object:
    return SimpleNamespace(allowed=False, reason="not today " * 50)


def _not_save(name: str, *_: object) -> object:
    return SimpleNamespace(allowed=name != "save", reason=None)


def _raise(*_: object) -> object:
    raise RuntimeError("the policy server is down")


async def _raise_later(*_: object) -> object:
    await asyncio.sleep(0.5193)
    raise RuntimeError("the policy server is down")


async def _endless(*_: object) -> object:
    await asyncio.sleep(100_000.0507)
    return SimpleNamespace(allowed=True, reason="")


class _Treacherous:
    @property
    def allowed(self) -> bool:
        raise RuntimeError("no")


Policies = str | None
NAMED_POLICIES: Mapping[str, Callable[..., Any]] = {
    "says yes": _yes,
    "says yes later": _yes_later,
    "says no": _no,
    "forbids saving": _not_save,
    "says nothing": lambda *_: None,
    "says true": lambda *_: True,
    "says 1": lambda *_: SimpleNamespace(allowed=1),
    "cannot be read": lambda *_: _Treacherous(),
    "takes no arguments": lambda: None,
    "raises": _raise,
    "raises later": _raise_later,
    "never ends": _endless,
}
POLICIES: st.SearchStrategy[Policies] = st.sampled_from(
    [None] * 16 + ["says yes", "says yes later"] * 4 + sorted(NAMED_POLICIES)
)

# -- builders of the context -----------------------------------------------------------------------------------------


def _task_only(prompt: str, history: object) -> Any:
    return [{"role": "user", "content": prompt}]


async def _slowly(prompt: str, history: object) -> Any:
    await asyncio.sleep(0.7311)
    return [{"role": "tool", "content": "an orphan", "tool_call_id": "x"}, {"role": "user", "content": prompt}]


Builders = str | None
NAMED_BUILDERS: Mapping[str, Callable[..., Any]] = {
    "the task": _task_only,
    "slowly": _slowly,
    "nothing": lambda *_: [],
    "no list": lambda *_: "a task",
    "no messages": lambda *_: [1],
    "raises": _raise,
}
BUILDERS: st.SearchStrategy[Builders] = st.sampled_from([None] * 100 + sorted(NAMED_BUILDERS))

# -- watchers --------------------------------------------------------------------------------------------------------


async def _watch_slowly(*_: object) -> None:
    await asyncio.sleep(0.0291)


def _leave(*_: object) -> None:
    raise SystemExit(1)


Watchers = str | None
SLOW_WATCHERS = ("raises later", "takes its time")
"""Watchers that a process waits for at its end, longer the more they were shown."""
NAMED_WATCHERS: Mapping[str, Callable[..., Any]] = {
    "looks": lambda *_: None,
    "raises": _raise,
    "raises later": _raise_later,
    "takes its time": _watch_slowly,
    "wants to leave": _leave,
}
WATCHERS: st.SearchStrategy[Watchers] = st.one_of(st.none(), st.none(), st.sampled_from(sorted(NAMED_WATCHERS)))
