"""Carrying out what rows command: model requests, tool calls, timers, questions to people. Results come back as events."""
