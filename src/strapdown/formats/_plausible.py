"""Plausibility checks of values from formats without checksums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.series import ImuSeries, Increments, Trajectory
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import BoolArray, FloatArray

__all__ = ["Tally", "doubts", "suspicions"]

_FASTEST: Final = 70.0  # rad/s: twice the range of most gyros, 2000 deg/s
_STRONGEST: Final = 500.0  # m/s^2: accelerometers of vehicles end at 16 to 48 g
_NORM_ERROR: Final = 1e-3
_LONGEST_NS: Final = NS_PER_S


def doubts(name: str, series: ImuSeries | Trajectory | Increments) -> list[str]:
    """Return one line for each kind of row that a healthy sensor does not produce.

    Parameters
    ----------
    name : str
        Name of the series in the lines.
    series : ImuSeries, Trajectory or Increments
        N rows.

    Returns
    -------
    list of str
        Each with the number of rows and the first of them; empty where nothing is suspicious.
        A wrong value within the plausible range is not detected.
    """
    tally = Tally()
    tally.add(name, suspicions(series))
    return tally.lines()


def suspicions(
    series: ImuSeries | Trajectory | Increments, *, after_ns: int | None = None
) -> dict[str, BoolArray]:
    """Return which rows are suspicious, by the reason.

    Parameters
    ----------
    series : ImuSeries, Trajectory or Increments
        N rows. A triad without any finite value was not measured and is not checked.
    after_ns : int, optional
        The stamp before the first row.
    """
    late = np.zeros(len(series), np.bool_)
    late[1:] = series.t_ns[1:] <= series.t_ns[:-1]
    late[:1] = after_ns is not None and series.t_ns[:1] <= after_ns
    found = {"a stamp that repeats or goes back": late}
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(series, ImuSeries):
            found |= _of_rates(series.angular_velocity, series.specific_force)
        elif isinstance(series, Trajectory):
            q = series.q_world_from_body
            norm = np.sqrt(np.einsum("ij,ij->i", q, q))
            found["a quaternion that is not of unit length"] = np.abs(norm - 1.0) > _NORM_ERROR
        else:
            found |= _of_increments(series)
    return found


class Tally:
    """Count of suspicious rows by name and kind; a series may arrive in blocks."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[int, int]] = {}

    def add(self, name: str, found: Mapping[str, BoolArray], *, start: int = 0) -> None:
        """Count the rows of a block that begins with row ``start``."""
        for what, rows in found.items():
            count, first = self._found.get((name, what), (0, 0))
            if rows.any():
                first = first if count else start + int(rows.argmax())
                count += int(np.count_nonzero(rows))
            self._found[name, what] = count, first

    def lines(self) -> list[str]:
        """Return one line for each kind."""
        return [
            f"{name}: {what} in {count} rows, first in row {first}"
            for (name, what), (count, first) in self._found.items()
            if count
        ]


def _of_rates(angular_velocity: FloatArray, specific_force: FloatArray) -> dict[str, BoolArray]:
    triads = angular_velocity, specific_force
    unknown = [~np.isfinite(triad) for triad in triads]
    measured = [rows for rows in unknown if not rows.all()] or unknown
    return {
        "a value that is not finite": np.logical_or.reduce([_any(rows) for rows in measured]),
        f"an axis above {_FASTEST:g} rad/s": _any(np.abs(angular_velocity) > _FASTEST),
        f"an axis above {_STRONGEST:g} m/s^2": _any(np.abs(specific_force) > _STRONGEST),
    }


def _any(found: BoolArray) -> BoolArray:
    """Return whether each row has a true element; usually none has."""
    return np.any(found, axis=1) if np.any(found) else np.zeros(len(found), np.bool_)


def _of_increments(series: Increments) -> dict[str, BoolArray]:
    dts = (series.delta_angle_dt_ns, series.delta_velocity_dt_ns)
    odd = [(dt <= 0) | (dt > _LONGEST_NS) for dt in dts]
    seconds = [np.where(dt > 0, dt, NS_PER_S)[:, None] / NS_PER_S for dt in dts]
    rates = _of_rates(series.delta_angle / seconds[0], series.delta_velocity / seconds[1])
    return {"an interval outside 0 to 1 s": odd[0] | odd[1], **rates}
