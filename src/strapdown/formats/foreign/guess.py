"""Recognise the columns of a table: by names and units, and by values where these are silent.

A unit that neither names nor values determine is a question to the user, never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.checking.rates import FASTEST, turn_ratio
from strapdown.errors import ShapeError, UnknownNameError
from strapdown.formats.foreign.names import body_rates, meaning_of
from strapdown.formats.foreign.places import places
from strapdown.formats.foreign.plan import ImportPlan, TimeColumn, VectorColumns
from strapdown.formats.foreign.stamps import (
    WRITTEN,
    is_instant,
    order_of_days,
    reader,
    written_as,
)
from strapdown.formats.foreign.units import CLOCK, UNITS, factor
from strapdown.geometry.frames import BodyFrame
from strapdown.units import NS_PER_S, RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from strapdown._typing import FloatArray
    from strapdown.formats.foreign.names import Meaning
    from strapdown.formats.foreign.sheet import Sheet

__all__ = ["Guess", "Hints", "guess", "guess_time"]

_MEASURED: Final = ("angular_velocity", "specific_force", "magnetic_field")
_USUAL: Final = {
    "specific_force": (0.85 * STANDARD_GRAVITY, 1.15 * STANDARD_GRAVITY),
    "magnetic_field": (15e-6, 100e-6),
}
"""Plausible median norms: gravity, and the Earth's field with what a device adds to it."""
_OPTIONS: Final = {
    "angular_velocity": "--gyro-unit",
    "specific_force": "--accel-unit",
    "magnetic_field": "--mag-unit",
}
_BEYOND: Final = {
    "angular_velocity": FASTEST,
    "specific_force": 20.0 * STANDARD_GRAVITY,
    "magnetic_field": 1e-3,
}
"""Values that no sensor on a body reads most of the time; of a gyro, its largest range."""
_SCALES: Final = {
    "angular_velocity": "1/131 deg/s",
    "specific_force": "1/16384 g",
    "magnetic_field": "0.15 uT",
}
"""Examples of the scale of counts."""
_EPOCHS: Final = (1e9, 2e9)
"""Seconds since 1970 from 2001 to 2033."""
_ORDERS: Final = ("day_first", "month_first")
_RATES: Final = (5.0, 5000.0)
"""Plausible sampling rates of an IMU [Hz]."""
_RATES_OF_FIXES: Final = (0.1, 100.0)
"""Plausible rates of a receiver [Hz]."""
_SOUND: Final = 0.9
"""Share of the cells of a time that are numbers; the others are in damaged rows."""


@dataclass(frozen=True)
class Hints:
    """Facts about a table that the user states.

    Parameters
    ----------
    units : mapping of str to str
        By quantity, or ``"time"``.
    rate_hz : float, optional
        Sampling rate, where rows or a counter are the time [Hz].
    names : sequence of str
        Names to go by, column by column, where the table has none or says little.
    words : sequence of str
        Words in the names of the columns to take where several would do.
    body : BodyFrame or name, optional
        Directions of the axes, by default FLU, or as the known layout has them.
    """

    units: Mapping[str, str] = field(default_factory=dict)
    rate_hz: float | None = None
    names: Sequence[str] = ()
    words: Sequence[str] = ()
    body: BodyFrame | str | None = None

    @property
    def states_columns(self) -> bool:
        """Whether anything is stated about columns or units."""
        return bool(self.units or self.names or self.words or self.rate_hz)


@dataclass(frozen=True)
class Guess:
    """Recognised columns.

    Parameters
    ----------
    plan : ImportPlan, optional
        None where no vector was found.
    questions : tuple of str
        What neither names nor values determine, one line each; the plan is then incomplete.
    notes : tuple of str
        Columns that are not read, and why.
    """

    plan: ImportPlan | None
    questions: tuple[str, ...]
    notes: tuple[str, ...]


def guess(sheet: Sheet, hints: Hints) -> Guess:
    """Return the meaning of the columns of a table.

    Raises
    ------
    ShapeError
        There is not one name per column.
    UnknownNameError
        No column has a stated word in its name.
    """
    names = hints.names or sheet.names
    if len(names) != len(sheet.names):
        raise ShapeError(
            f"expected {len(sheet.names)} names, one for each column, got {len(names)}"
        )
    meanings = {
        column: meaning
        for column, name, unit in zip(sheet.names, names, sheet.units, strict=True)
        if (meaning := meaning_of(name, unit)) is not None
    }
    meanings |= body_rates(sheet.names, names, sheet.units, meanings)
    guesser = _Guesser(sheet, meanings, hints)
    if not meanings and sheet.names[0] == "column 1":
        question = f"names of the {len(sheet.names)} columns? (--names time,gx,gy,gz,...)"
        return Guess(None, (question,), ())
    for word in hints.words:
        if not any(word.lower() in column.lower() for column in meanings):
            raise UnknownNameError("sensor with the word", word, meanings)
    time = guesser.time()
    vectors = {q: v for q in _MEASURED if (v := guesser.vector(q, time)) is not None}
    vectors |= places(sheet, meanings)
    guesser.mention_unread(vectors)
    plan = (
        ImportPlan(time, vectors, body=BodyFrame(hints.body or "FLU"))
        if time is not None and vectors
        else None
    )
    return Guess(plan, tuple(guesser.questions), tuple(guesser.notes))


def guess_time(sheet: Sheet, hints: Hints) -> tuple[TimeColumn | None, tuple[str, ...]]:
    """Return the time of a table, or None and what is open."""
    meanings = {name: meaning for name in sheet.names if (meaning := meaning_of(name)) is not None}
    guesser = _Guesser(sheet, meanings, hints)
    return guesser.time(), tuple(guesser.questions)


class _Guesser:
    """State of one recognition: what is open, and what is left out."""

    def __init__(self, sheet: Sheet, meanings: Mapping[str, Meaning], hints: Hints) -> None:
        self._sheet = sheet
        self._meanings = meanings
        self._hints = hints
        quantities = {meaning.quantity for meaning in meanings.values()}
        self._rates = _RATES if quantities & {*_MEASURED} else _RATES_OF_FIXES
        self._open_times: list[str] = []
        self._open_dates: list[str] = []
        self.questions: list[str] = []
        self.notes: list[str] = []

    def time(self) -> TimeColumn | None:
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

    def vector(self, quantity: str, time: TimeColumn | None) -> VectorColumns | None:
        """Return the columns and the unit of a vector; None where the table has none."""
        whole = self._whole(quantity)
        for source, axes in list(whole.items()):
            if quantity == "specific_force" and self._lacks_gravity(axes):
                self._leave_out(axes, "acceleration without gravity, which is no specific force")
                del whole[source]
        whole = self._preferred(whole)
        if not whole:
            return None
        if len(whole) > 1:
            lists = " or ".join(", ".join(axes[a] for a in "xyz") for axes in whole.values())
            self.questions.append(f"which {_words(quantity)}: {lists}? (--use WORD)")
            return None
        (axes,) = whole.values()
        columns = tuple(axes[axis] for axis in "xyz")
        unit, why = self._unit(quantity, columns, time)
        if unit is None:
            known = ", ".join(UNITS[quantity])
            self.questions.append(f"unit of {', '.join(columns)} ({known})? {why}")
            return None
        return VectorColumns(columns, unit, why)

    def _preferred(self, groups: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        """Return the vectors with a preferred word in their names, else the calibrated ones."""
        words = [word.lower() for word in self._hints.words]
        chosen = {
            source: axes
            for source, axes in groups.items()
            if any(word in axes["x"].lower() for word in words)
        } or {source: axes for source, axes in groups.items() if "uncal" not in axes["x"].lower()}
        return chosen or groups

    def _lacks_gravity(self, axes: Mapping[str, str]) -> bool:
        """Return whether an acceleration in a stated unit is mostly far below gravity."""
        unit = self._meanings[axes["x"]].unit
        if unit is None:
            return False
        norms = _norms(self._sheet, [axes[axis] for axis in "xyz"])
        usual = float(np.median(norms)) if len(norms) else STANDARD_GRAVITY
        in_g = 0.85 < usual < 1.15  # another unit than stated, which others report
        return not in_g and usual * factor("specific_force", unit) < 0.5 * STANDARD_GRAVITY

    def _unit(
        self, quantity: str, columns: tuple[str, ...], time: TimeColumn | None
    ) -> tuple[str | None, str]:
        """Return the unit of a vector and the reason; None and a hint where it is open."""
        if stated := self._hints.units.get(quantity):
            counts = self._counts_stated_as(quantity, columns, stated)
            return (None, counts) if counts else (stated, "the unit is stated")
        named = {self._meanings[column].unit for column in columns}
        if len(named) == 1 and (unit := next(iter(named))):
            counts = self._counts_stated_as(quantity, columns, unit)
            return (None, counts) if counts else (unit, "unit by its name")
        norms = _norms(self._sheet, columns)
        if len(named) > 1 or not len(norms):
            why = "No values" if len(named) == 1 else "The names state several"
            return None, f"{why}. ({_OPTIONS[quantity]})"
        if quantity == "angular_velocity":
            return self._gyro_unit(columns, time)
        usual = float(np.median(norms))
        low, high = _USUAL[quantity]
        fits = [unit for unit, scale in UNITS[quantity].items() if low <= usual * scale <= high]
        if len(fits) == 1:
            return fits[0], f"median norm {usual:.4g}, plausible in {fits[0]} only"
        whole = _are_whole(self._sheet, columns)
        ask = _counts_hint(quantity) if whole else f"({_OPTIONS[quantity]})"
        return None, f"Median norm {usual:.4g}. {ask}"

    def _counts_stated_as(self, quantity: str, columns: tuple[str, ...], unit: str) -> str:
        """Return why a stated unit cannot be that of counts of a converter; empty if it can."""
        norms = _norms(self._sheet, columns)
        if not len(norms) or not _are_whole(self._sheet, columns):
            return ""
        high = float(np.quantile(norms, 0.999 if quantity == "angular_velocity" else 0.5))
        if high * factor(quantity, unit) <= _BEYOND[quantity]:
            return ""
        return f"{high:.5g} {unit} is no {_words(quantity)}. {_counts_hint(quantity)}"

    def _gyro_unit(
        self, columns: tuple[str, ...], time: TimeColumn | None
    ) -> tuple[str | None, str]:
        """Return the unit of a gyro by its range, or by the turn of gravity."""
        highest = float(np.quantile(_norms(self._sheet, columns), 0.999))
        ratio = self._turn_ratio(columns, time)
        far = ratio is not None and not 0.2 < ratio / RAD_PER_DEG < 5.0
        if highest > FASTEST:
            if far or highest > FASTEST / RAD_PER_DEG:
                return None, f"Values up to {highest:.0f} are no rad/s or deg/s. (--gyro-unit)"
            return "deg/s", f"values up to {highest:.0f} are no rad/s"
        if ratio is not None:
            for unit in ("rad/s", "deg/s"):
                if 0.6 < ratio / factor("angular_velocity", unit) < 1.6:
                    return unit, "it agrees with the turn of gravity"
        return None, "Values fit rad/s and deg/s. (--gyro-unit)"

    def _turn_ratio(self, columns: tuple[str, ...], time: TimeColumn | None) -> float | None:
        """Return the turn of gravity per turn of the gyro; None where there is hardly any."""
        groups = self._preferred(self._whole("specific_force"))
        accel = next(iter(groups.values()), None)
        if accel is None or time is None:
            return None
        rate = _columns(self._sheet, columns)
        t_s = self._seconds(time, len(rate))
        return turn_ratio(t_s, rate, _columns(self._sheet, [accel[axis] for axis in "xyz"]))

    def _seconds(self, time: TimeColumn, rows: int) -> FloatArray:
        """Return the times (N,) of the first rows [s]."""
        if time.unit in WRITTEN and time.column is not None:
            read, texts = reader(time.unit), self._sheet.texts[time.column]
            return np.array([_seconds_or_nan(read, text) for text in texts])
        values = np.arange(rows) if time.column is None else self._sheet.values[time.column]
        if time.rate_hz is not None:
            return values / time.rate_hz
        return (values - values[:1]) * CLOCK[time.unit] / NS_PER_S

    def _whole(self, quantity: str) -> dict[str, dict[str, str]]:
        """Return the vectors of a quantity with all three axes."""
        groups = self._groups(quantity).items()
        return {source: axes for source, axes in groups if {*"xyz"} <= {*axes}}

    def _groups(self, quantity: str) -> dict[str, dict[str, str]]:
        """Return the columns of each vector of a quantity: name by axis."""
        groups: dict[str, dict[str, str]] = {}
        for name, meaning in self._meanings.items():
            if meaning.quantity == quantity:
                groups.setdefault(meaning.source, {}).setdefault(meaning.axis, name)
        return groups

    def _leave_out(self, axes: Mapping[str, str], why: str) -> None:
        self.notes.append(f"{', '.join(axes.values())}: {why}; not read")

    def mention_unread(self, vectors: Mapping[str, VectorColumns]) -> None:
        """Note what the names state and the import leaves out."""
        read = {column for vector in vectors.values() for column in vector.columns}
        for axes in self._groups("gravity_free").values():
            self._leave_out(axes, "acceleration without gravity, which is no specific force")
        for axes in self._groups("orientation").values():
            self._leave_out(axes, "orientation between frames that the table does not name")
        unknown = [n for n in self._sheet.names if n not in self._meanings and n not in read]
        if unknown:
            self.notes.append(f"columns that were not recognised: {', '.join(unknown)[:200]}")


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


def _seconds_or_nan(read: Callable[[str], int], text: str) -> float:
    """Return a written time [s]; NaN where it is damaged."""
    try:
        return read(text) / NS_PER_S
    except ValueError:
        return float("nan")


def _plausible(steps: FloatArray, unit: str, rates: tuple[float, float]) -> bool:
    """Return whether steps of time in a unit give a plausible sampling rate."""
    step_s = float(np.mean(steps)) * CLOCK[unit] / NS_PER_S
    return step_s > 0.0 and rates[0] <= 1.0 / step_s <= rates[1]


def _columns(sheet: Sheet, names: Sequence[str]) -> FloatArray:
    return np.column_stack([sheet.values[name] for name in names])


def _norms(sheet: Sheet, names: Sequence[str]) -> FloatArray:
    with np.errstate(over="ignore"):  # damaged values
        norms: FloatArray = np.linalg.norm(_columns(sheet, names), axis=1)
    return norms[np.isfinite(norms)]


def _are_whole(sheet: Sheet, names: Sequence[str]) -> bool:
    """Return whether all values are whole numbers."""
    values = _columns(sheet, names)
    values = values[np.isfinite(values)]
    return bool(len(values)) and bool((values == np.rint(values)).all())


def _counts_hint(quantity: str) -> str:
    """Return what to state of counts of a converter."""
    return (
        "Whole numbers may be counts (LSB): state their scale as in the data sheet, such as "
        f"{_OPTIONS[quantity]} '{_SCALES[quantity]}', in a file of columns "
        f'unit = "{_SCALES[quantity]}"'
    )


def _words(quantity: str) -> str:
    return quantity.replace("_", " ")
