"""The agent of the demo: its prompt, its tools, its configuration, and the controller who allows its postings."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

from statewright import AgentConfig, ApprovalDecision, ApprovalRequest, EvaluationConfig, ToolRegistry, tool
from statewright.demo.books import LEDGER, RULES, STATEMENT, Books
from statewright_states.run.facts import EvaluationMode

SYSTEM_PROMPT = """\
You are a bookkeeper. You reconcile the ledger of a bank account with the bank's statement, using the tools.
Read the ledger, the statement and the posting rules first, all in one reply. Never compute what a tool computes.
Keep to the posting rules. Before you post anything, make sure that it is not in the ledger already.
Write the report with write_report before you answer."""

TASK = """\
Reconcile the bank account of Harbour Lane Books for June 2025.
Find every difference between the ledger and the bank statement, post what the posting rules let you post, and write the
report. Your answer names each difference and what became of it, and shows that the balances close: the ledger's balance
now, the corrections that are still open, and the bank's closing balance."""

CONFIG = AgentConfig(
    system_prompt=SYSTEM_PROMPT,
    max_steps=15,
    evaluation=EvaluationConfig(mode=EvaluationMode.FULL, max_retries=1),
)

TOOL_PAUSE_S = 0.25
"""The files answer at once; a bookkeeping system would not. With a pause one can see which calls overlap."""
CONTROLLER_PAUSE_S = 0.8


class Clerk:
    """The tools: what the agent can do with the books."""

    def __init__(self, books: Books) -> None:
        self._books = books

    def tools(self) -> ToolRegistry:
        """Each tool with what it may do to the world; a person is asked before one that is irreversible."""
        return ToolRegistry(
            [
                tool(effect="read")(self.read_ledger),
                tool(effect="read")(self.read_bank_statement),
                tool(effect="read")(self.read_posting_rules),
                tool(effect="read")(self.compare_books),
                tool(effect="irreversible")(self.post_adjustment),
                tool(effect="idempotent")(self.write_report),
            ]
        )

    async def read_ledger(self) -> str:
        """Read the ledger of the bank account (CSV), as it stands now."""
        return await self._text(LEDGER)

    async def read_bank_statement(self) -> str:
        """Read the bank's statement (CSV)."""
        return await self._text(STATEMENT)

    async def read_posting_rules(self) -> str:
        """Read the posting rules (JSON): the opening balance, and what may be posted."""
        return await self._text(RULES)

    async def compare_books(self) -> dict[str, Any]:
        """Match ledger and statement by reference; gives each difference and both balances, as they stand now."""
        await asyncio.sleep(TOOL_PAUSE_S)
        books = self._books
        return {
            "differences": [
                {
                    "reference": difference.reference,
                    "kind": difference.kind,
                    "ledger": [str(amount) for amount in difference.ledger],
                    "bank": [str(amount) for amount in difference.bank],
                    "ledger_lacks": str(difference.amount),
                }
                for difference in books.differences()
            ],
            "ledger_balance": str(books.balance(LEDGER)),
            "bank_balance": str(books.balance(STATEMENT)),
        }

    async def post_adjustment(self, day: date, reference: str, text: str, amount: Decimal) -> str:
        """Post an entry to the ledger. This cannot be taken back.

        Args:
            day: the date of the posting, such as 2025-06-30
            reference: the reference on the bank statement
            text: what the posting is for
            amount: as on the statement, negative when money went out, such as -7.90
        """
        await asyncio.sleep(TOOL_PAUSE_S)
        number = self._books.post(day, reference, text, amount)
        return f"posted as {number}; the ledger's balance is now {self._books.balance(LEDGER)}"

    async def write_report(self, differences: list[str], balances: list[str]) -> str:
        """Write the report of the reconciliation, over an earlier one.

        Args:
            differences: each difference in one sentence, with what became of it
            balances: the steps from the ledger's balance to the bank's balance, one per line
        """
        await asyncio.sleep(TOOL_PAUSE_S)
        rules = self._books.rules()
        title = f"# {rules['company']}: {rules['account']}, reconciliation for {rules['period']} ({rules['currency']})"
        sections = [title, "## Differences", _bullets(differences), "## Balances", _bullets(balances)]
        path = self._books.write_report("\n\n".join(sections) + "\n")
        return f"written: {path.name}"

    async def _text(self, name: str) -> str:
        await asyncio.sleep(TOOL_PAUSE_S)
        return self._books.text(name)


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "- none"


Show = Callable[[str, ApprovalRequest], None]
"""Shows who is asked what."""


class DemoController:
    """An approver for the demo: stands in for a person, and allows what the posting rules allow, nothing else."""

    ACTOR = "demo-controller"

    def __init__(self, books: Books, show: Show) -> None:
        self._books = books
        self._show = show

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """Decide about a posting by looking it up in the books; a lost outcome is left to a real person."""
        if request.outcome_lost:
            return None
        self._show(self.ACTOR, request)
        await asyncio.sleep(CONTROLLER_PAUSE_S)
        posting = json.loads(request.arguments)
        objection = self._books.objection(posting["reference"], Decimal(str(posting["amount"])))
        if objection is None:
            return ApprovalDecision(True, self.ACTOR, "approved", "the charge is on the statement and within the limit")
        return ApprovalDecision(False, self.ACTOR, "rejected", objection)
