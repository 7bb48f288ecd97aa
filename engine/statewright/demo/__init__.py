"""The demo: an agent reconciles a ledger with a bank statement. ``python -m statewright.demo``, or ``make demo``."""
