"""``--verbose``: the log of runs on stderr, beside the timeline."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from statewright.presentation.layout import print_folded
from statewright.presentation.output import one_line
from statewright.runtime.log import LOGGER


class ConsoleLog(logging.Handler):
    """Writes each line of the log on a console, above what is drawn there."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        print_folded(self._console, Text(one_line(self.format(record)), style="dim"), 9)


@contextmanager
def logged_on(console: Console, *, wanted: bool) -> Generator[None]:
    """Meanwhile, where it is wanted, the log of runs is written on this console, each decision included."""
    handler, level = ConsoleLog(console), LOGGER.level
    if wanted:
        LOGGER.addHandler(handler)
        LOGGER.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
