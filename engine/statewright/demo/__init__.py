"""The demo: an agent reconciles a ledger with a bank statement. ``statewright demo``, or ``make demo``."""
