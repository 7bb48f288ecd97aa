from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from demo_run import DATA, table
from statewright.demo.books import LEDGER, RULES, STATEMENT, Books

Line = tuple[str, Decimal]

FEE_DAY = date(2025, 6, 30)
LINES = st.lists(
    st.tuples(st.sampled_from(("PAY-1", "PAY-2", "INV-3", "FEE-4")), st.sampled_from((Decimal("12.40"), Decimal("-14.20")))),
    max_size=6,
)


@pytest.fixture
def books(tmp_path: Path) -> Books:
    return Books.copy_to(tmp_path / "books")


# -- the shipped files, computed without the package -----------------------------------------------------------------


def lines_of(name: str) -> Counter[Line]:
    return Counter((row["reference"], Decimal(row["amount"])) for row in table(DATA / name))


def test_the_shipped_files_differ_by_a_missing_fee_a_transposed_amount_and_a_payment_booked_twice() -> None:
    ledger, bank = lines_of(LEDGER), lines_of(STATEMENT)
    assert bank - ledger == Counter({("FEE-0625", Decimal("-12.50")): 1, ("PAY-1041", Decimal("-1284.00")): 1})
    assert ledger - bank == Counter({("PAY-1041", Decimal("-1248.00")): 1, ("PAY-1043", Decimal("-630.00")): 1})
    assert ledger["PAY-1043", Decimal("-630.00")] == 2


def test_the_balances_on_the_shipped_statement_follow_from_its_lines() -> None:
    balance = Decimal(json.loads((DATA / RULES).read_text("utf-8"))["opening_balance"])
    for row in table(DATA / STATEMENT):
        balance += Decimal(row["amount"])
        assert Decimal(row["balance"]) == balance


# -- what the books say ----------------------------------------------------------------------------------------------


def test_the_books_find_the_planted_differences_and_name_their_kind(books: Books) -> None:
    found = {difference.reference: (difference.kind, difference.amount) for difference in books.differences()}
    assert found == {
        "FEE-0625": ("missing in the ledger", Decimal("-12.50")),
        "PAY-1041": ("digits transposed", Decimal("-36.00")),
        "PAY-1043": ("booked 2 times, paid 1 times", Decimal("630.00")),
    }


@given(ledger=LINES, bank=LINES)
@settings(max_examples=60)
def test_differences_are_exactly_what_lies_between_the_two_balances(ledger: Sequence[Line], bank: Sequence[Line]) -> None:
    with TemporaryDirectory() as folder:
        books = write_books(Path(folder), ledger, bank)
        found = books.differences()
        assert sum((difference.amount for difference in found), Decimal()) == books.balance(STATEMENT) - books.balance(LEDGER)
        unequal = (Counter(ledger) - Counter(bank)) + (Counter(bank) - Counter(ledger))
        assert [difference.reference for difference in found] == sorted({reference for reference, _ in unequal})


def write_books(folder: Path, ledger: Sequence[Line], bank: Sequence[Line]) -> Books:
    for name, lines in ((LEDGER, ledger), (STATEMENT, bank)):
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("reference", "amount"), *lines])
    (folder / RULES).write_text('{"opening_balance": "100.00"}', encoding="utf-8")
    return Books(folder)


# -- posting ---------------------------------------------------------------------------------------------------------


def test_a_posting_is_appended_under_the_next_number(books: Books) -> None:
    before = books.text(LEDGER)
    assert books.post(FEE_DAY, "FEE-0625", "Account fee, June", Decimal("-12.5")) == "L-0614"
    assert books.text(LEDGER) == before + 'L-0614,2025-06-30,FEE-0625,"Account fee, June",-12.50\n'


def test_nothing_is_posted_twice(books: Books) -> None:
    books.post(FEE_DAY, "FEE-0625", "Account fee", Decimal("-12.50"))
    before = books.text(LEDGER)
    with pytest.raises(ValueError, match="FEE-0625 stands in the ledger already"):
        books.post(FEE_DAY, "FEE-0625", "Account fee", Decimal("-12.50"))
    assert books.text(LEDGER) == before


def test_posting_never_touches_the_shipped_files(books: Books) -> None:
    before = (DATA / LEDGER).read_bytes()
    books.post(FEE_DAY, "FEE-0625", "Account fee", Decimal("-12.50"))
    assert (DATA / LEDGER).read_bytes() == before


def test_the_rules_allow_the_missing_fee_once(books: Books) -> None:
    assert books.objection("FEE-0625", Decimal("-12.50")) is None
    books.post(FEE_DAY, "FEE-0625", "Account fee", Decimal("-12.50"))
    assert books.objection("FEE-0625", Decimal("-12.50")) == "FEE-0625 stands in the ledger already"


@pytest.mark.parametrize(
    "reference, amount, objection",
    [
        ("PAY-1041", "-36.00", "is no bank charge"),
        ("FEE-0625", "-50.01", "more than the 50.00"),
        ("FEE-0625", "-12.51", "has no line"),
        ("FEE-0625", "12.50", "has no line"),
        ("FEE-0001", "-12.50", "has no line"),
    ],
)
def test_the_rules_allow_no_other_posting(books: Books, reference: str, amount: str, objection: str) -> None:
    assert objection in (books.objection(reference, Decimal(amount)) or "")
