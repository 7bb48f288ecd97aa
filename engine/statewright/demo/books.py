"""The books of the demo: a ledger, a bank statement and the posting rules, as real files in a working copy of their own.

Amounts are in the currency of the rules: money that came in is positive, money that went out negative. An entry of the
ledger and a line of the statement belong together when they carry the same reference.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from statewright_states.frozen import dataclass

SHIPPED = Path(__file__).parent / "data"
LEDGER, STATEMENT, RULES, REPORT = "ledger.csv", "bank_statement.csv", "posting_rules.json", "report.md"

Amounts = tuple[Decimal, ...]


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """A reference that the ledger and the bank do not agree about. ``amount`` is what the ledger lacks to agree."""

    reference: str
    kind: str
    ledger: Amounts
    bank: Amounts

    @property
    def amount(self) -> Decimal:
        return sum(self.bank, Decimal()) - sum(self.ledger, Decimal())


class Books:
    """The files in one folder. Every question reads them again, so an answer is about the books as they are now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def copy_to(cls, folder: Path) -> Books:
        """A working copy of the shipped files in ``folder``, which must not exist yet."""
        shutil.copytree(SHIPPED, folder)
        return cls(folder)

    # -- reading -----------------------------------------------------------------------------------------------------

    def text(self, name: str) -> str:
        """A file as it stands."""
        return (self.folder / name).read_text(encoding="utf-8")

    def rules(self) -> Mapping[str, Any]:
        """The posting rules."""
        rules: Mapping[str, Any] = json.loads(self.text(RULES))
        return rules

    def amounts(self, name: str) -> Mapping[str, Amounts]:
        """The amounts of the ledger or the statement by reference, in the order of the file."""
        found: defaultdict[str, Amounts] = defaultdict(tuple)
        for row in self._rows(name):
            found[row["reference"]] += (Decimal(row["amount"]),)
        return found

    def balance(self, name: str) -> Decimal:
        """The opening balance and everything in the ledger or the statement."""
        opening = Decimal(self.rules()["opening_balance"])
        return opening + sum((Decimal(row["amount"]) for row in self._rows(name)), Decimal())

    def differences(self) -> tuple[Discrepancy, ...]:
        """Every reference that does not agree, ordered by reference."""
        ledger, bank = self.amounts(LEDGER), self.amounts(STATEMENT)
        both = {reference: (ledger.get(reference, ()), bank.get(reference, ())) for reference in {*ledger, *bank}}
        return tuple(
            Discrepancy(reference, _kind(booked, paid), booked, paid)
            for reference, (booked, paid) in sorted(both.items())
            if sorted(booked) != sorted(paid)
        )

    def objection(self, reference: str, amount: Decimal) -> str | None:
        """Why the posting rules do not allow this posting, or None where they do."""
        charges = self.rules()["bank_charges"]
        if not reference.startswith(charges["reference_begins_with"]):
            return f"{reference} is no bank charge; report it to the accountant"
        if abs(amount) > Decimal(charges["largest_amount"]):
            return f"{amount} is more than the {charges['largest_amount']} that may be posted"
        if self.amounts(STATEMENT).get(reference) != (amount,):
            return f"the statement has no line {reference} over {amount}"
        if reference in self.amounts(LEDGER):
            return f"{reference} stands in the ledger already"
        return None

    def _rows(self, name: str) -> Iterator[dict[str, str]]:
        with (self.folder / name).open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)

    # -- writing -----------------------------------------------------------------------------------------------------

    def post(self, day: date, reference: str, text: str, amount: Decimal) -> str:
        """Append an entry to the ledger and give its number. Raises ValueError when the reference is posted already."""
        entries = [row["entry"] for row in self._rows(LEDGER)]
        if reference in self.amounts(LEDGER):
            raise ValueError(f"{reference} stands in the ledger already; nothing was posted")
        number = f"L-{int(entries[-1].removeprefix('L-')) + 1:04d}"
        with (self.folder / LEDGER).open("a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([number, day.isoformat(), reference, text, f"{amount:.2f}"])
        return number

    def write_report(self, text: str) -> Path:
        """Write the report, over an earlier one."""
        path = self.folder / REPORT
        path.write_text(text, encoding="utf-8")
        return path


def _kind(booked: Amounts, paid: Amounts) -> str:
    if not booked:
        return "missing in the ledger"
    if not paid:
        return "missing at the bank"
    if len(booked) > len(paid) and set(booked) == set(paid):
        return f"booked {len(booked)} times, paid {len(paid)} times"
    if len(booked) == len(paid) == 1 and sorted(str(booked[0])) == sorted(str(paid[0])):
        return "digits transposed"
    return "amounts differ"
