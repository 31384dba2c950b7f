"""Doubts about values that a format without checksums delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.series import ImuSeries, Increments, Trajectory
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray

__all__ = ["doubts"]

_FASTEST: Final = 70.0  # rad/s: twice the range of most gyros, 2000 deg/s
_STRONGEST: Final = 500.0  # m/s^2: accelerometers of vehicles end at 16 to 48 g
_NORM_ERROR: Final = 1e-3
_LONGEST_NS: Final = NS_PER_S


def doubts(name: str, series: ImuSeries | Trajectory | Increments) -> list[str]:
    """Return one line for each kind of row that a healthy sensor does not give.

    Parameters
    ----------
    name : str
        What the lines call the series.
    series : ImuSeries, Trajectory or Increments
        N rows.

    Returns
    -------
    list of str
        Each with the number of rows and the first of them; empty where nothing is suspicious.
        A wrong value that is possible cannot be told from a right one.
    """
    late = np.zeros(len(series), np.bool_)
    late[1:] = series.t_ns[1:] <= series.t_ns[:-1]
    found = {"a stamp that repeats or goes back": late}
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(series, ImuSeries):
            found |= _of_rates(series.angular_velocity, series.specific_force)
        elif isinstance(series, Trajectory):
            norm = np.linalg.norm(series.q_world_from_body, axis=1)
            found["a quaternion that is not of unit length"] = np.abs(norm - 1.0) > _NORM_ERROR
        else:
            found |= _of_increments(series)
    return [
        f"{name}: {what} in {np.count_nonzero(rows)} rows, first in row {rows.argmax()}"
        for what, rows in found.items()
        if rows.any()
    ]


def _of_rates(angular_velocity: FloatArray, specific_force: FloatArray) -> dict[str, BoolArray]:
    both = np.hstack([angular_velocity, specific_force])
    return {
        "a value that is not finite": ~np.all(np.isfinite(both), axis=1),
        f"an axis above {_FASTEST:g} rad/s": np.any(np.abs(angular_velocity) > _FASTEST, axis=1),
        f"an axis above {_STRONGEST:g} m/s^2": np.any(np.abs(specific_force) > _STRONGEST, axis=1),
    }


def _of_increments(series: Increments) -> dict[str, BoolArray]:
    dts = (series.delta_angle_dt_ns, series.delta_velocity_dt_ns)
    odd = [(dt <= 0) | (dt > _LONGEST_NS) for dt in dts]
    seconds = [np.where(dt > 0, dt, NS_PER_S)[:, None] / NS_PER_S for dt in dts]
    rates = _of_rates(series.delta_angle / seconds[0], series.delta_velocity / seconds[1])
    return {"an interval outside 0 to 1 s": odd[0] | odd[1], **rates}
