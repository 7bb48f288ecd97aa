"""The gate before a pump's inbox: somebody lets its deliveries pass one by one."""

from __future__ import annotations

from collections.abc import Callable

from statewright.runtime.pausable_clock import PausableClock


class StepGate:
    """What a pump asks before each delivery while it is paused. ``on_rest`` is called whenever the pump comes to rest."""

    def __init__(self, clock: PausableClock, on_rest: Callable[[], None]) -> None:
        self.clock = clock
        self._on_rest = on_rest
        self._allowed = 0
        self._told_us = round(clock.stood_still_s * 1_000_000)
        self.resting = False
        """Whether the pump waits: for a step, for what is under way, or for a person."""
        self.idle = False
        """Whether nothing is under way, as the pump found when it came to rest."""

    @property
    def owed(self) -> bool:
        """Whether a step that was allowed has not been taken yet."""
        return self._allowed > 0

    def allow(self) -> None:
        """Let one more delivery pass."""
        self._allowed += 1

    def passes(self) -> bool:
        """Whether the first delivery may be taken now; it is taken then."""
        if not self._allowed:
            return False
        self._allowed -= 1
        self.resting = False
        self.clock.go_on()
        return True

    def rests(self, something_waits: bool, idle: bool) -> None:
        """The pump waits. Time stands still for what waits here; it goes on for what is under way."""
        self.resting, self.idle = True, idle
        if something_waits:
            self.clock.stand_still()
        else:
            self.clock.go_on()
        self._on_rest()

    def take_stood_still_us(self) -> int:
        """For how long time has stood still since this was asked last."""
        stood_still_us = round(self.clock.stood_still_s * 1_000_000)
        since, self._told_us = stood_still_us - self._told_us, stood_still_us
        return since

    def ends(self) -> None:
        """The gate is open for good."""
        self._allowed, self.resting = 0, False
        self.clock.go_on()
