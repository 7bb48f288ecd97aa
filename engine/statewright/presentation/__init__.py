"""What people are shown: decisions in words, lines set for a terminal, and text that cannot move one.

Command line, debugger and report share it, so that a decision reads the same wherever it is shown. It decides nothing.
"""
