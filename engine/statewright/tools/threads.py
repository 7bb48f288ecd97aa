"""Threads for sync tools: our own, daemon, reused.

Why not asyncio's executor: its threads are joined when the interpreter exits and when ``asyncio.run`` ends, and its
number is fixed. A sync tool that overruns cannot be stopped, only abandoned; there it would hold up the exit, and a few
of them would leave no thread for other tools. Here each job takes an idle thread or a new one, so that an abandoned one
is in nobody's way, and how many run at once is the caller's rule (``max_parallel_tools``), not the pool's.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Lock, Thread

Delivery = Callable[[], None]
Job = Callable[[], Delivery]
"""What a thread does; it gives back how to hand over the outcome. Neither may raise."""


class DaemonThreads:
    """Runs jobs on daemon threads; a thread without work for ``idle_s`` seconds ends.

    ``alive`` counts the threads, working or idle. ``idle`` counts the waiting ones that no queued job is meant for yet, so
    a job is never queued without a thread that will take it: a thread may end only by taking itself out of that count.
    """

    def __init__(self, idle_s: float = 10.0) -> None:
        self._idle_s = idle_s
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._lock = Lock()
        self.idle = 0
        self.alive = 0

    def run(self, job: Job) -> None:
        """Run the job on a thread and return at once. Raises RuntimeError when the system gives no thread."""
        with self._lock:
            if self.idle:
                self.idle -= 1
                self._jobs.put(job)
                return
            self.alive += 1
        try:
            Thread(target=self._work, args=(job,), name="statewright-tool", daemon=True).start()
        except RuntimeError:
            with self._lock:
                self.alive -= 1
            raise

    def _work(self, first: Job) -> None:
        job: Job | None = first
        while job is not None:
            deliver = job()
            with self._lock:  # counted as idle before it delivers: what comes next, comes to this thread and not to a new one
                self.idle += 1
            deliver()
            del job, deliver  # an idle thread must not keep the last outcome alive
            job = self._next()

    def _next(self) -> Job | None:
        while True:
            try:
                return self._jobs.get(timeout=self._idle_s)
            except Empty:
                with self._lock:
                    if self.idle:
                        self.idle -= 1
                        self.alive -= 1
                        return None
