"""Recognise the time of a table: a column of times, dates or counts of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats.foreign.names import meaning_of
from strapdown.formats.foreign.plan import TimeColumn
from strapdown.formats.foreign.stamps import is_instant, order_of_days, written_as
from strapdown.formats.foreign.units import CLOCK, MEASURED
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from strapdown._typing import FloatArray
    from strapdown.formats.foreign.hints import Hints
    from strapdown.formats.foreign.names import Meaning
    from strapdown.formats.foreign.sheet import Sheet

__all__ = ["TimeSearch", "guess_time"]

_EPOCHS: Final = (1e9, 2e9)
"""Seconds since 1970 from 2001 to 2033."""
_ORDERS: Final = ("day_first", "month_first")
_RATES: Final = (5.0, 5000.0)
"""Plausible sampling rates of an IMU [Hz]."""
_RATES_OF_FIXES: Final = (0.1, 100.0)
"""Plausible rates of a receiver [Hz]."""
_SOUND: Final = 0.9
"""Share of the cells of a time that are numbers; the others are in damaged rows."""


def guess_time(sheet: Sheet, hints: Hints) -> tuple[TimeColumn | None, tuple[str, ...]]:
    """Return the time of a table, or None and what is open."""
    meanings = {name: meaning for name in sheet.names if (meaning := meaning_of(name)) is not None}
    search = TimeSearch(sheet, meanings, hints)
    return search.column(), tuple(search.questions)


class TimeSearch:
    """Search for the time of a table: what is open, and what is left out."""

    def __init__(self, sheet: Sheet, meanings: Mapping[str, Meaning], hints: Hints) -> None:
        self._sheet = sheet
        self._meanings = meanings
        self._hints = hints
        quantities = {meaning.quantity for meaning in meanings.values()}
        self._rates = _RATES if quantities & {*MEASURED} else _RATES_OF_FIXES
        self._open_times: list[str] = []
        self._open_dates: list[str] = []
        self.questions: list[str] = []
        self.notes: list[str] = []

    def column(self) -> TimeColumn | None:
        """Return the column of time, or of a counter."""
        named = [name for name, m in self._meanings.items() if m.quantity == "time"]
        known = [each for name in named if (each := self._time_of(name)) is not None]
        if known:
            self.notes += [f"{each.column}: another time, not read" for each in known[1:]]
            return known[0]
        rate = self._hints.rate_hz
        counters = [name for name, m in self._meanings.items() if m.quantity == "counter"]
        if rate is not None:
            column = next(filter(self._is_counter, [*named, *counters]), None)
            return TimeColumn(column, "samples", rate, "the rate is stated")
        if self._open_dates:
            self.questions.append(self._open_dates[0])
        elif self._open_times:
            self.questions.append(
                f"unit of the time {self._open_times[0]!r} (s, ms, us, ns)? (--time-unit, or "
                "--rate where it counts samples)"
            )
        else:
            where = "rows without time"
            if counters:
                where = f"the counter {counters[0]!r}"
            elif named:
                where = f"rows, as {named[0]!r} has no numbers or dates that run forward"
            self.questions.append(f"sampling rate of {where}? (--rate)")
        return None

    def _is_counter(self, name: str) -> bool:
        """Return whether a column has whole numbers that run forward."""
        values = self._sheet.values[name]
        steps = np.diff(values)
        whole = bool(np.all(values == np.rint(values)))  # False where one is no number
        return len(steps) > 0 and whole and bool(np.median(steps) > 0.0)

    def _time_of(self, name: str) -> TimeColumn | None:
        """Return a column as time; None where its values do not run forward, or in what unit."""
        texts = self._sheet.texts.get(name, ())
        if texts and all(is_instant(text) for text in texts[:10]):
            return self._written_time(name, texts)
        cells = self._sheet.values[name]
        values = cells[np.isfinite(cells)]
        steps = np.diff(values)
        if not len(steps) or len(values) < _SOUND * len(cells) or not np.median(steps) >= 0.0:
            return None
        if stated := self._hints.units.get("time"):
            return TimeColumn(name, stated, why="the unit is stated")
        named = self._meanings[name].unit
        if named is not None and named in CLOCK and _plausible(steps, named, self._rates):
            return TimeColumn(name, named, why="unit by its name")
        unit, why = _unit_of_time(values, steps, self._rates)
        if unit is None:
            self._open_times.append(name)
            return None
        return TimeColumn(name, unit, why=why)

    def _written_time(self, name: str, texts: Sequence[str]) -> TimeColumn | None:
        """Return a column of dates or times of day; None where day and month are not known."""
        how = written_as(texts[0])
        if how == "iso8601":
            return TimeColumn(name, how, why="date and time by ISO 8601")
        if how == "time_of_day":
            return TimeColumn(name, how, why="times of day, without a date")
        stated = self._hints.units.get("time")
        if stated in _ORDERS:
            return TimeColumn(name, stated, why="the order of day and month is stated")
        order = order_of_days(texts)
        if order is None:
            self._open_dates.append(
                f"order of day and month in {name!r} ({texts[0].strip()})? "
                "(--time-unit day_first or month_first)"
            )
            return None
        return TimeColumn(name, order, why="by its dots, or by numbers above 12")


def _unit_of_time(
    values: FloatArray, steps: FloatArray, rates: tuple[float, float]
) -> tuple[str | None, str]:
    """Return the unit of times by their values, and the reason; None where several fit."""
    for unit, ns in CLOCK.items():
        if _EPOCHS[0] < float(np.median(values)) * ns / NS_PER_S < _EPOCHS[1]:
            return unit, f"values are {unit} since 1970"
    usual = float(np.median(steps))
    if np.any(values != np.rint(values)) and _plausible(steps, "s", rates):
        return "s", f"steps of {usual:.3g} with decimals"
    fits = [unit for unit in CLOCK if _plausible(steps, unit, rates)]
    if len(fits) != 1 or usual == 1.0:  # 1 may be a millisecond, or a counter
        return None, ""
    return fits[0], f"steps of {usual:.3g} fit {fits[0]} only"


def _plausible(steps: FloatArray, unit: str, rates: tuple[float, float]) -> bool:
    """Return whether steps of time in a unit give a plausible sampling rate."""
    step_s = float(np.mean(steps)) * CLOCK[unit] / NS_PER_S
    return step_s > 0.0 and rates[0] <= 1.0 / step_s <= rates[1]
