"""Journals for tests: they fail, die or dawdle when they are told to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal

from statewright_states.errors import JournalUnavailable
from statewright_states.words.ports import Batch, Journal, Lease, PostedMessage, SeenOf, StoredEntry


class PassingJournal:
    """Passes everything on to another journal; what is built on it changes one thing."""

    def __init__(self, inner: Journal) -> None:
        self.inner = inner
        self.appends = 0

    @property
    def location(self) -> str:
        return self.inner.location

    async def create(self, run_id: str, header: StoredEntry, blobs: Mapping[str, bytes]) -> Lease:
        return await self.inner.create(run_id, header, blobs)

    async def acquire(self, run_id: str) -> Lease:
        return await self.inner.acquire(run_id)

    async def renew(self, lease: Lease) -> None:
        await self.inner.renew(lease)

    async def release(self, lease: Lease) -> None:
        await self.inner.release(lease)

    async def append(self, lease: Lease, batch: Batch) -> None:
        self.appends += 1
        await self.inner.append(lease, batch)

    async def entries(self, run_id: str, after_seq: int = -1) -> Sequence[StoredEntry]:
        return await self.inner.entries(run_id, after_seq)

    async def blob(self, digest: str) -> bytes | None:
        return await self.inner.blob(digest)

    async def run_ids(self) -> Sequence[str]:
        return await self.inner.run_ids()

    async def post(self, run_id: str, data: bytes, *, seen: SeenOf | None = None) -> bool:
        return await self.inner.post(run_id, data, seen=seen)

    async def posted(self, run_id: str) -> Sequence[PostedMessage]:
        return await self.inner.posted(run_id)

    async def aclose(self) -> None:
        await self.inner.aclose()


class FailingJournal(PassingJournal):
    """Refuses its n-th append, as a full disk would, and every later one."""

    def __init__(self, inner: Journal, fails_at: int) -> None:
        super().__init__(inner)
        self._fails_at = fails_at

    async def append(self, lease: Lease, batch: Batch) -> None:
        if self.appends + 1 >= self._fails_at:
            raise JournalUnavailable("the disk is full", where=self.location, cure="make room")
        await super().append(lease, batch)


class DyingJournal(PassingJournal):
    """The process dies at the n-th append: just before it is on record, or just after. The dead give no lease back."""

    def __init__(self, inner: Journal, dies_at: int, when: Literal["before", "after"]) -> None:
        super().__init__(inner)
        self._dies_at = dies_at
        self._when = when
        self.dead = False

    async def append(self, lease: Lease, batch: Batch) -> None:
        if self.dead or (self._when == "before" and self.appends + 1 == self._dies_at):
            self._die()
        await super().append(lease, batch)
        if self.appends == self._dies_at:
            self._die()

    async def release(self, lease: Lease) -> None:
        if not self.dead:
            await super().release(lease)

    async def renew(self, lease: Lease) -> None:
        if not self.dead:
            await super().renew(lease)

    def _die(self) -> None:
        self.dead = True
        raise JournalUnavailable("the process died here")


class GatedJournal(PassingJournal):
    """Whoever asks for a lease is held up until the gate is opened."""

    def __init__(self, inner: Journal) -> None:
        super().__init__(inner)
        self.somebody_came = asyncio.Event()
        self.opened = asyncio.Event()

    async def acquire(self, run_id: str) -> Lease:
        self.somebody_came.set()
        await self.opened.wait()
        return await super().acquire(run_id)


class DawdlingJournal(PassingJournal):
    """Takes its time for each append, in seconds of the event loop, as a busy disk would."""

    def __init__(self, inner: Journal, append_s: float) -> None:
        super().__init__(inner)
        self._append_s = append_s

    async def append(self, lease: Lease, batch: Batch) -> None:
        await asyncio.sleep(self._append_s)
        await super().append(lease, batch)
