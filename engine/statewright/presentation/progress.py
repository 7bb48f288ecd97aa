"""How far long work is: a bar on stderr, if that is a terminal, once the work has taken a while; nothing where it is piped."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from statewright.journal.verify import TellProgress
from statewright.presentation.output import one_line, remarks

SHOWN_AFTER_S = 0.5


@contextmanager
def progress_of(what: str, console: Console | None = None, *, shown_after_s: float = SHOWN_AFTER_S) -> Generator[TellProgress]:
    """Gives what is to be told how far the work is. The bar is taken away when the work is done, or has failed.

    ``console`` is stderr by default. Work that takes less than ``shown_after_s`` shows nothing.
    """
    console = console or remarks()
    began_s = monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal or console.is_dumb_terminal)
    task = bar.add_task(one_line(what), total=None)

    def tell(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if not bar.live.is_started and monotonic() - began_s >= shown_after_s:
            bar.start()
            console.show_cursor(True)  # a process that is killed leaves the terminal as it was

    try:
        yield tell
    finally:
        bar.stop()
