"""Carrying out what rows command: model requests, tool runs, timers, questions to people. Results come back as events."""
