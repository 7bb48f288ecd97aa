"""Verify: whether the stored record of a run is whole and could have happened. Needs no code of the tables it ran on.

Four things are checked, entry by entry from the first: the chain of hashes, the shape of each entry, how it fits the
pinned tables and the entries before it, and the payloads it names. Damage is never an exception; it is collected.

One cause should be one problem. An entry that is not what it was is reported and then left out of account (see
``consistency``), and the entry after it may continue either the hash that is stored or the one that its bytes give. The
record stays unsound all the same: it has a problem already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from statewright.journal.consistency import Consistency
from statewright.journal.entry import NO_HASH, TABLES, End, Entry, Header, RecordedDecision, chain, listed, message_list_fields
from statewright.journal.pinned import PinnedTable, read_table
from statewright.journal.reading import read_entry
from statewright_states.errors import JournalDamaged
from statewright_states.frozen import dataclass
from statewright_states.words.messages import digest_of
from statewright_states.words.ports import Journal, StoredEntry

TellProgress = Callable[[int, int], None]
"""Is told how much of long work is done, and how much there is in all."""

MAX_PROBLEMS = 20
"""How many problems are listed at most; the first one counts."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. ``seq`` is the entry it shows at; None when the store could not say.

    ``decision`` is the number of the decision, where it is one of the entry's decisions that is wrong.
    """

    seq: int | None
    what: str
    where: str
    decision: int | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """A verification's result. ``problems`` starts with the first bad entry and lists 20 at most; ``ok`` means there is none.

    ``entries``, ``decisions`` and ``payloads`` count what was looked at. ``ended`` tells whether a sound end is on record,
    and ``status`` and ``stop_reason`` are what it says. ``head_hash`` is the stored hash of the last entry: kept
    elsewhere, it shows later whether entries were taken from the end.
    """

    run_id: str
    ok: bool
    entries: int
    decisions: int
    payloads: int
    ended: bool
    status: str | None
    stop_reason: str | None
    head_hash: str
    problems: tuple[Problem, ...]
    machine: str | None = None
    """The machine that the run is, where its header could be read."""
    decided_again: bool = False
    """Whether the code of its table was asked again too; that is the business of whoever has it."""
    interference: int = 0
    """How many events are marked as injected or edited by somebody: the record may be sound, the run was not undisturbed."""


async def verify(journal: Journal, run_id: str, tell: TellProgress | None = None) -> Verification:
    """Check the whole record of a run. Raises RunNotFound, JournalUnavailable or NotAJournal, and nothing for damage.

    ``tell`` is told after each entry how many have been checked, and how many there are.
    """
    check = _Check(journal, run_id)
    try:
        entries = await journal.entries(run_id)
    except JournalDamaged as error:
        check.problem(error.seq, f"the store cannot read it: {error.what}, {error.where}")
        return check.result()
    for number, entry in enumerate(entries, 1):
        await check.entry(entry)
        if tell is not None:
            tell(number, len(entries))
    check.whole()
    return check.result()


def unclaimed(key: int, entries: int) -> Verification:
    """What is said of entries that lie in a store under a key that no run of it has: their run is gone, and they are not."""
    what = f"{entries} entries lie under this key, and no run of the journal has it: the run's row in `runs` is gone"
    problem = Problem(None, what, f"key {key}")
    return Verification(f"key {key}", False, entries, 0, 0, False, None, None, NO_HASH, (problem,))


class _Chain:
    """The hashes of a run, each over the one before."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._before: tuple[str, ...] = (NO_HASH,)

    def continues(self, entry: StoredEntry) -> bool:
        """Whether the entry's bytes, after the hash before it, give its stored hash."""
        given = [chain(self._run_id, before, entry.data) for before in self._before]
        fits = not given or entry.hash in given
        self._before = (entry.hash,) if fits else (entry.hash, given[0])
        return fits

    def broken(self) -> None:
        """An entry is missing: nothing is known of the hash before the next one."""
        self._before = ()


class _Check:
    """A verification in progress, entry by entry."""

    def __init__(self, journal: Journal, run_id: str) -> None:
        self._journal = journal
        self._run_id = run_id
        self._chain = _Chain(run_id)
        self._consistency = Consistency()
        self._problems: list[Problem] = []
        self._payloads: set[str] = set()
        self._entries = self._decisions = 0
        self._next_seq = 0
        self._at_us = 0
        self._head_hash = NO_HASH
        self._next_decision = 1
        self._number_known = True
        """Whether the next decision's number is known: not after an entry that had to be left out."""
        self._end: tuple[int, End] | None = None
        self._machine: str | None = None

    def problem(self, seq: int | None, what: str, decision: RecordedDecision | None = None) -> None:
        """Note a problem, unless there are many already."""
        if len(self._problems) < MAX_PROBLEMS:
            number = decision.seq if decision is not None else None
            self._problems.append(Problem(seq, what, f"run {self._run_id}, {_place(seq, decision)}", number))

    def result(self) -> Verification:
        """What has been found."""
        end = self._end[1] if self._end else None
        return Verification(
            run_id=self._run_id,
            ok=not self._problems,
            entries=self._entries,
            decisions=self._decisions,
            payloads=len(self._payloads),
            ended=end is not None,
            status=end.status if end else None,
            stop_reason=end.stop_reason if end else None,
            head_hash=self._head_hash,
            problems=tuple(self._problems),
            machine=self._machine,
            interference=self._consistency.interference,
        )

    def whole(self) -> None:
        """Check what shows only when all entries have been seen."""
        if not self._entries:
            self.problem(0, "the run has no header: none of its entries is there")

    # -- the chain ---------------------------------------------------------------------------------------------------

    async def entry(self, stored: StoredEntry) -> None:
        """Check the next entry, and everything that it names."""
        stored = _as_stored(stored.seq, stored.data, stored.hash)
        self._entries += 1
        if stored.seq != self._next_seq:
            self.problem(self._next_seq, f"it is missing: the entry that follows is numbered {stored.seq}")
            self._chain.broken()
            self._consistency.forget()
            self._number_known = False
        self._next_seq, self._head_hash = stored.seq + 1, stored.hash
        shape: Header | Entry | None = None
        references: list[str] = []
        unreadable = ""
        try:
            shape, references = read_entry(stored.data)
        except ValueError as error:
            unreadable = f"it cannot be read: {error}"
        if not self._continues(stored, shape):
            what = "its bytes, after the hash before it, do not give its stored hash: it was changed, or what comes before it"
            self._leave_out(stored.seq, f"{what}; {unreadable}" if unreadable else what)
        elif shape is None:
            self._leave_out(stored.seq, unreadable)
        else:
            await self._read(stored.seq, shape, references)

    def _continues(self, stored: StoredEntry, shape: Header | Entry | None) -> bool:
        if self._chain.continues(stored):
            return True
        if not isinstance(shape, Header) or chain(shape.run_id, NO_HASH, stored.data) != stored.hash:
            return False
        # The whole record of another run: that is one problem (its name), and the rest is checked as that run's.
        self._chain = _Chain(shape.run_id)
        return self._chain.continues(stored)

    def _leave_out(self, seq: int, what: str) -> None:
        self.problem(seq, what)
        self._consistency.forget()
        self._number_known = False

    # -- one entry ---------------------------------------------------------------------------------------------------

    async def _read(self, seq: int, shape: Header | Entry, references: list[str]) -> None:
        """Check the content of an entry whose shape is right."""
        if misplaced := _misplaced(seq, shape):
            self._leave_out(seq, misplaced)
            return
        if self._end is not None:
            self.problem(seq, f"it comes after the end of the run, entry {self._end[0]}")
        payloads = await self._check_payloads(seq, references)
        await self._check_listed(seq, shape, payloads)
        if isinstance(shape, Header):
            self._check_time(seq, shape.at_us)
            self._check_header(shape, payloads)
        else:
            self._check_decisions(seq, shape)

    def _check_decisions(self, seq: int, entry: Entry) -> None:
        found = len(self._problems)
        for decision in entry.decisions:
            if decision.seq != self._next_decision and self._number_known:
                self.problem(seq, f"it calls itself decision {decision.seq}, and is decision {self._next_decision}", decision)
            self._number_known, self._next_decision = True, decision.seq + 1
            if decision.at_us is not None:
                self._check_time(seq, decision.at_us, decision)
            for objection in self._consistency.decision(decision):
                self.problem(seq, objection, decision)
        self._decisions += len(entry.decisions)
        self._check_time(seq, entry.at_us)
        if found == len(self._problems):  # else the same cause would be told twice
            for objection in self._consistency.close(entry):
                self.problem(seq, objection)
        if entry.end is not None and self._end is None:
            self._end = seq, entry.end

    def _check_time(self, seq: int, at_us: int, decision: RecordedDecision | None = None) -> None:
        if at_us < self._at_us:
            self.problem(seq, f"its time lies {self._at_us - at_us} µs before that of an earlier one", decision)
        self._at_us = max(at_us, self._at_us)

    def _check_header(self, header: Header, payloads: Mapping[str, bytes]) -> None:
        self._machine = header.machine
        if header.run_id != self._run_id:
            self.problem(0, f"it is the header of another run, {header.run_id}")
        if header.machine not in header.machines:
            self.problem(0, f"it pins no table for the machine {header.machine}")
        tables: dict[str, PinnedTable] = {}
        for name, digest in header.machines.items():
            if digest not in payloads:
                continue  # reported already
            try:
                tables[name] = read_table(name, payloads[digest])
            except ValueError as error:
                self.problem(0, f"the pinned table of {name} cannot be read: {error}")
        self._consistency.begin(header, tables)

    async def _check_listed(self, seq: int, shape: Header | Entry, payloads: Mapping[str, bytes]) -> None:
        """Look at the messages that a payload lists: those of a history, and of a context before it was mended."""
        named = [shape.history] if isinstance(shape, Header) else list(_message_lists(shape))
        for digest in named:
            if digest not in payloads:
                continue  # reported already, or looked at before
            try:
                await self._check_payloads(seq, listed(payloads[digest]))
            except ValueError as error:
                self.problem(seq, f"its list of messages {digest} cannot be read: {error}")

    async def _check_payloads(self, seq: int, references: list[str]) -> dict[str, bytes]:
        """Look at the payloads that no earlier entry named; gives those that are what their names say."""
        sound: dict[str, bytes] = {}
        for digest in dict.fromkeys(references):
            if digest in self._payloads:
                continue
            self._payloads.add(digest)
            try:
                data = await self._journal.blob(digest)
            except JournalDamaged as error:
                self.problem(seq, f"the store cannot read its payload {digest}: {error.what}, {error.where}")
                continue
            if data is None:
                self.problem(seq, f"its payload {digest} is missing")
            elif digest_of(data) != digest:
                self.problem(seq, f"its payload {digest} was changed: its bytes give {digest_of(data)}")
            else:
                sound[digest] = data
        return sound


def _message_lists(entry: Entry) -> Iterator[str]:
    """The payloads that list messages, as the decisions of an entry name them."""
    for decision in entry.decisions:
        for event, field in message_list_fields() if decision.machine in TABLES else ():
            if decision.event == event and field in decision.data:
                yield str(decision.data[field])


def _as_stored(seq: object, data: object, digest: object) -> StoredEntry:
    """An entry with values of the right types, whatever a damaged file hands out; a wrong one stays wrong."""
    return StoredEntry(
        seq if isinstance(seq, int) else -1,
        data if isinstance(data, bytes) else b"",
        digest if isinstance(digest, str) else "",
    )


def _misplaced(seq: int, shape: Header | Entry) -> str | None:
    """Why this entry cannot stand in this place: the header is the first, and each other names its own number."""
    if isinstance(shape, Header):
        return "a header stands within the run" if seq else None
    if not seq:
        return "the run has no header: its first entry is another"
    return f"it calls itself entry {shape.seq}" if shape.seq != seq else None


def _place(seq: int | None, decision: RecordedDecision | None) -> str:
    """Where it is, for people: the entry, and the decision with what it is about."""
    entry = "its entries" if seq is None else f"entry {seq}"
    if decision is None:
        return entry
    about = ", ".join(filter(None, (decision.event, decision.decided)))
    return f"{entry}, decision {decision.seq} ({decision.instance}: {about})"
