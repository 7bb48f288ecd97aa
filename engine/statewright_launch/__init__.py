"""Starts the command line so that Ctrl-C ends it quietly from its first moment.

This is a package of its own because importing anything inside ``statewright`` imports that package first, which takes a
few tenths of a second: an interrupt in that time would end in a traceback. Until the command line is loaded, SIGINT
has the system's own effect; then the command line takes over.
"""

from __future__ import annotations

import importlib
import signal


def main() -> int:
    """Run the command line; gives its exit code."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # whoever started us may want it ignored (nohup)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    command_line = importlib.import_module("statewright.cli")
    code: int = command_line.main()
    return code
