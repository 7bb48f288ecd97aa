"""Where the command line begins, as ``statewright`` and as ``python -m statewright``: Ctrl-C ends it quietly from the start.

Loading the command line takes a tenth of a second and more, and an interrupt in that time would end in a traceback. So until
it is loaded SIGINT has the system's own effect; then the command line takes over.
"""

from __future__ import annotations

import importlib
import signal
import sys


def main() -> int:
    """Run the command line; gives its exit code."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # whoever started us may want it ignored (nohup)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    command_line = importlib.import_module("statewright.cli")
    code: int = command_line.main()
    return code


if __name__ == "__main__":
    sys.exit(main())
