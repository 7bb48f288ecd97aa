"""The waits of a run as a picture: a lane for each kind, and a bar for each wait, on one axis of time.

A long time in which persons alone were waited for, or nobody drove the run, is drawn short and says how long it was: else
nothing of what the run did could be seen beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10

from statewright.presentation.event_words import seconds
from statewright.report.html_parts import Html, decision_link, element, joined, shown
from statewright.report.model import RunReport, Wait
from statewright.report.waits import KINDS, Interval, interval, lasted_us, left_alone
from statewright_states.frozen import dataclass

WIDTH = 1120.0
LABELS = 104.0
RIGHT = 16.0
BAR_HEIGHT = 12.0
LANE_GAP = 12.0
AXIS_HEIGHT = 26.0
MIN_BAR = 1.6
CUT_WIDTH = 70.0
MAX_SIDE_BY_SIDE = 8
"""Bars of one lane that are drawn below each other; more overlap."""
MAX_BARS = 1_500
TICKS = 8


def times_picture(report: RunReport) -> Html:
    """The picture; what it shows stands in a table beside it too."""
    last_us = max(report.last_us, report.began_us + 1)
    axis = _axis(report.waits, report.began_us, last_us)
    bars: list[Html] = []
    y = AXIS_HEIGHT
    for kind, words in KINDS.items():
        here = [wait for wait in report.waits if wait.kind == kind][:MAX_BARS]
        if here:
            lane, height = _lane(here, axis, last_us, y)
            bars.append(element("text", words, x="0", y=_n(y + BAR_HEIGHT - 2)))
            bars += lane
            y += height + LANE_GAP
    grid = [*_cuts(axis, y), *_ticks(axis, y)]
    whole = seconds((last_us - report.began_us) / 1_000_000)
    title = f"Who waited for what, over {whole}"
    return element(
        "svg",
        element("title", title),
        joined(grid),
        joined(bars),
        class_="times",
        viewBox=f"0 0 {WIDTH:g} {_n(y)}",
        width=f"{WIDTH:g}",
        role="group",
        aria_label=title,
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """Where a time is drawn: cut times have a fixed width, the others share the rest."""

    began_us: int
    last_us: int
    cuts: tuple[Interval, ...]

    @property
    def per_us(self) -> float:
        room = WIDTH - LABELS - RIGHT - CUT_WIDTH * len(self.cuts)
        return room / max(1, self.last_us - self.began_us - sum(end - start for start, end in self.cuts))

    def x(self, at_us: int) -> float:
        place, before = LABELS, self.began_us
        for start, end in self.cuts:
            if at_us <= start:
                break
            place += (start - before) * self.per_us
            place += CUT_WIDTH * (min(at_us, end) - start) / (end - start)
            before = end
            if at_us <= end:
                return place
        return place + (at_us - before) * self.per_us


def _axis(waits: Sequence[Wait], began_us: int, last_us: int) -> _Axis:
    alone = left_alone(waits, began_us, last_us)
    rest = last_us - began_us - sum(end - start for start, end in alone)
    cuts = sorted((piece for piece in alone if piece[1] - piece[0] > max(2 * rest, 1)), key=lambda piece: piece[0] - piece[1])
    return _Axis(began_us, last_us, tuple(sorted(cuts[:4])))


def _lane(waits: Sequence[Wait], axis: _Axis, last_us: int, top: float) -> tuple[list[Html], float]:
    """The bars of a lane, those that overlap below each other; and its height."""
    free: list[float] = []
    bars: list[Html] = []
    for wait in waits:
        start_us, end_us = interval(wait, last_us)
        left, right = axis.x(start_us), axis.x(end_us)
        right = max(right, left + MIN_BAR)
        row = next((at for at, until in enumerate(free) if until <= left + 0.01), len(free))
        row = min(row, MAX_SIDE_BY_SIDE - 1)
        free[row : row + 1] = [right]
        told = f"{wait.what}: {KINDS[wait.kind]}, {seconds(lasted_us(wait, last_us) / 1_000_000)}"
        told += ", not ended" if wait.ended_us is None else ""
        y = top + row * (BAR_HEIGHT + 2)
        bar = element("rect", class_=wait.kind, x=_n(left), y=_n(y), width=_n(right - left), height=_n(BAR_HEIGHT), rx="2")
        bars.append(element("a", element("title", told), bar, href=decision_link(wait.decision), aria_label=told))
    return bars, len(free) * (BAR_HEIGHT + 2) - 2


def _cuts(axis: _Axis, height: float) -> Iterator[Html]:
    for start, end in axis.cuts:
        x = axis.x(start)
        place = {"x": _n(x), "y": _n(AXIS_HEIGHT - 8), "width": _n(CUT_WIDTH), "height": _n(height - AXIS_HEIGHT + 4)}
        yield element("rect", class_="cut", **place)
        told = f"{seconds((end - start) / 1_000_000)}, cut"
        yield Html(f'<text class="quiet" x="{_n(x + CUT_WIDTH / 2)}" y="12" text-anchor="middle">{shown(told)}</text>')


def _ticks(axis: _Axis, height: float) -> Iterator[Html]:
    """Lines at round times, with the time since the beginning."""
    drawn_us = axis.last_us - axis.began_us - sum(end - start for start, end in axis.cuts)
    step_us = _round_step(drawn_us / TICKS)
    at_us = axis.began_us
    while at_us <= axis.last_us:
        hidden = any(start < at_us < end for start, end in axis.cuts)
        x = axis.x(at_us)
        if not hidden and x <= WIDTH - RIGHT + 0.1:
            near_cut = any(abs(x - axis.x(start) - CUT_WIDTH / 2) < CUT_WIDTH for start, _ in axis.cuts)
            yield Html(f'<path class="grid" d="M{_n(x)},{_n(AXIS_HEIGHT - 8)}V{_n(height - 4)}"/>')
            if not near_cut:
                told = shown(_since((at_us - axis.began_us) / 1_000_000))
                yield Html(f'<text class="quiet" x="{_n(x)}" y="12" text-anchor="middle">{told}</text>')
        at_us = _next_tick(axis, at_us, step_us)


def _next_tick(axis: _Axis, at_us: int, step_us: int) -> int:
    """The next round time; what is cut is passed over at one go."""
    after = at_us + step_us
    for start, end in axis.cuts:
        if start < after < end:
            return axis.began_us + ((end - axis.began_us) // step_us + 1) * step_us
    return after


def _round_step(us: float) -> int:
    if us >= 30_000_000:
        whole = (60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400)
        return next((each for each in whole if each * 1_000_000 >= us), 86_400 * max(1, round(us / 86_400_000_000))) * 1_000_000
    power = 10 ** floor(log10(max(us, 1)))
    return int(next(each for each in (1, 2, 5, 10) if each * power >= us) * power) or 1


def _since(value_s: float) -> str:
    if value_s >= 60:
        minutes, rest = divmod(round(value_s), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
    return f"{value_s:g} s" if value_s >= 1 or not value_s else f"{value_s * 1000:g} ms"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
