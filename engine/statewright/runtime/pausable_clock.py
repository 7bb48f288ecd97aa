"""A clock that can be made to stand still, for a run that somebody steps through: its timers wait while they look."""

from __future__ import annotations

from collections.abc import Callable

from statewright_states.words.ports import Clock, Timer


class PausableClock:
    """A clock whose timers and monotonic time can be made to stand still. Wall time goes on: it is for records."""

    def __init__(self, clock: Clock, owner: Callable[[], str]) -> None:
        """``owner`` says whose timers are set now, as ``fire`` knows them."""
        self._clock = clock
        self._owner = owner
        self._stood_still_s = 0.0
        self._since_s: float | None = None
        self._timers: dict[PausableTimer, None] = {}

    def now_us(self) -> int:
        """Wall time in microseconds since 1970-01-01 UTC."""
        return self._clock.now_us()

    def monotonic_s(self) -> float:
        """Seconds that never go back, without those for which this clock stood still."""
        return (self._clock.monotonic_s() if self._since_s is None else self._since_s) - self._stood_still_s

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """Call ``callback`` once, when ``delay_s`` seconds of this clock have passed."""
        timer = PausableTimer(self, self._owner(), self.monotonic_s() + delay_s, callback)
        self._timers[timer] = None
        if self._since_s is None:
            timer.start(self._clock, delay_s)
        return timer

    def stand_still(self) -> None:
        """Let no time pass from now on."""
        if self._since_s is None:
            self._since_s = self._clock.monotonic_s()
            for timer in self._timers:
                timer.put_aside()

    def go_on(self) -> None:
        """Let time pass again, from where it stood."""
        if self._since_s is not None:
            self._stood_still_s += self._clock.monotonic_s() - self._since_s
            self._since_s = None
            now_s = self.monotonic_s()
            for timer in self._timers:
                timer.start(self._clock, max(timer.due_s - now_s, 0.0))

    @property
    def stood_still_s(self) -> float:
        """For how long this clock has stood still, in seconds."""
        now_s = self._clock.monotonic_s()
        return self._stood_still_s + (0.0 if self._since_s is None else now_s - self._since_s)

    def runs_for(self, owner: str) -> bool:
        """Whether a timer of this owner has not fired yet."""
        return any(timer.owner == owner for timer in self._timers)

    def fire(self, owner: str) -> None:
        """Have the timers of this owner fire now."""
        for timer in [timer for timer in self._timers if timer.owner == owner]:
            timer.fire()

    def forget(self, timer: PausableTimer) -> None:
        """A timer has fired, or was called off."""
        self._timers.pop(timer, None)


class PausableTimer:
    """A pending call of a ``PausableClock``; ``due_s`` is the time of that clock at which it comes."""

    def __init__(self, clock: PausableClock, owner: str, due_s: float, callback: Callable[[], None]) -> None:
        self.owner = owner
        self.due_s = due_s
        self._of = clock
        self._callback = callback
        self._timer: Timer | None = None

    def start(self, clock: Clock, delay_s: float) -> None:
        """Wait for the rest of the time."""
        self._timer = clock.call_later(delay_s, self.fire)

    def put_aside(self) -> None:
        """Wait no longer, until it is started again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def cancel(self) -> None:
        """Call it off."""
        self.put_aside()
        self._of.forget(self)

    def fire(self) -> None:
        """Make the call, now."""
        self.cancel()
        self._callback()
