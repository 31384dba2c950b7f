"""Recognise the units of vectors: by names, and by values where these are silent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.checking.rates import FASTEST, turn_ratio
from strapdown.formats.foreign.stamps import WRITTEN, reader
from strapdown.formats.foreign.units import CLOCK, UNITS, factor
from strapdown.units import NS_PER_S, RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from strapdown._typing import FloatArray
    from strapdown.formats.foreign.names import Meaning
    from strapdown.formats.foreign.plan import TimeColumn
    from strapdown.formats.foreign.sheet import Sheet

__all__ = ["UnitSearch", "in_words", "norms_of"]

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


class UnitSearch:
    """Search for the units of the vectors of a table.

    Parameters
    ----------
    sheet : Sheet
        The table.
    meanings : mapping of str to Meaning
        By column.
    stated : mapping of str to str
        Units that the user states, by quantity.
    time : TimeColumn, optional
        The time, as far as it is known.
    accel : sequence of str
        Columns of an accelerometer, whose turn of gravity tells the unit of the gyro; empty
        without one.
    """

    def __init__(
        self,
        sheet: Sheet,
        meanings: Mapping[str, Meaning],
        stated: Mapping[str, str],
        time: TimeColumn | None,
        accel: Sequence[str],
    ) -> None:
        self._sheet = sheet
        self._meanings = meanings
        self._stated = stated
        self._time = time
        self._accel = accel

    def unit(self, quantity: str, columns: tuple[str, ...]) -> tuple[str | None, str]:
        """Return the unit of a vector and the reason; None and a hint where it is open."""
        if stated := self._stated.get(quantity):
            counts = self._counts_stated_as(quantity, columns, stated)
            return (None, counts) if counts else (stated, "the unit is stated")
        named = {self._meanings[column].unit for column in columns}
        if len(named) == 1 and (unit := next(iter(named))):
            counts = self._counts_stated_as(quantity, columns, unit)
            return (None, counts) if counts else (unit, "unit by its name")
        norms = norms_of(self._sheet, columns)
        if len(named) > 1 or not len(norms):
            why = "No values" if len(named) == 1 else "The names state several"
            return None, f"{why}. ({_OPTIONS[quantity]})"
        if quantity == "angular_velocity":
            return self._gyro_unit(columns)
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
        norms = norms_of(self._sheet, columns)
        if not len(norms) or not _are_whole(self._sheet, columns):
            return ""
        high = float(np.quantile(norms, 0.999 if quantity == "angular_velocity" else 0.5))
        if high * factor(quantity, unit) <= _BEYOND[quantity]:
            return ""
        return f"{high:.5g} {unit} is no {in_words(quantity)}. {_counts_hint(quantity)}"

    def _gyro_unit(self, columns: tuple[str, ...]) -> tuple[str | None, str]:
        """Return the unit of a gyro by its range, or by the turn of gravity."""
        highest = float(np.quantile(norms_of(self._sheet, columns), 0.999))
        ratio = self._turn_ratio(columns)
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

    def _turn_ratio(self, columns: tuple[str, ...]) -> float | None:
        """Return the turn of gravity per turn of the gyro; None where there is hardly any."""
        if not self._accel or self._time is None:
            return None
        rate = _columns(self._sheet, columns)
        t_s = self._seconds(self._time, len(rate))
        return turn_ratio(t_s, rate, _columns(self._sheet, self._accel))

    def _seconds(self, time: TimeColumn, rows: int) -> FloatArray:
        """Return the times (N,) of the first rows [s]."""
        if time.unit in WRITTEN and time.column is not None:
            read, texts = reader(time.unit), self._sheet.texts[time.column]
            return np.array([_seconds_or_nan(read, text) for text in texts])
        values = np.arange(rows) if time.column is None else self._sheet.values[time.column]
        if time.rate_hz is not None:
            return values / time.rate_hz
        return (values - values[:1]) * CLOCK[time.unit] / NS_PER_S


def _seconds_or_nan(read: Callable[[str], int], text: str) -> float:
    """Return a written time [s]; NaN where it is damaged."""
    try:
        return read(text) / NS_PER_S
    except ValueError:
        return float("nan")


def _columns(sheet: Sheet, names: Sequence[str]) -> FloatArray:
    return np.column_stack([sheet.values[name] for name in names])


def norms_of(sheet: Sheet, names: Sequence[str]) -> FloatArray:
    """Return the finite norms of the rows of a vector."""
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


def in_words(quantity: str) -> str:
    """Return the name of a quantity for a message."""
    return quantity.replace("_", " ")
