"""Unit of a gyro: its range, and the turn of gravity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.series import ImuSeries

__all__ = ["FASTEST", "beyond_range", "turn_ratio"]

FASTEST: Final = 70.0
"""Largest range of a MEMS gyro, 4000 deg/s [rad/s]."""


def beyond_range(series: ImuSeries) -> float | None:
    """Return the 99th percentile of the angular velocity where no gyro reaches it [rad/s]."""
    rate = series.angular_velocity
    norm = np.linalg.norm(rate[np.isfinite(rate).all(axis=1)], axis=1)
    high = float(np.quantile(norm, 0.99)) if len(norm) else 0.0
    return high if high > FASTEST else None


def turn_ratio(t_s: FloatArray, rate: FloatArray, force: FloatArray) -> float | None:
    """Return the turn of gravity, as the accelerometer sees it, per integral of the gyro.

    In slow motion the direction ``u`` of the specific force follows ``du/dt = -w x u``. The
    ratio is the regression of the left side on the right side over steps of 0.1 s.

    Parameters
    ----------
    t_s : (N,)
        Time [s].
    rate : (N, 3)
        Readings of the gyro [unknown unit].
    force : (N, 3)
        Readings of the accelerometer [any unit].

    Returns
    -------
    float or None
        1 where the gyro is in rad/s, 0.0175 in deg/s; None where too little turns, or the two do
        not agree.
    """
    good = np.isfinite(t_s) & np.isfinite(rate).all(axis=1) & np.isfinite(force).all(axis=1)
    t_s, rate, force = t_s[good], rate[good], force[good]
    if len(t_s) < 50 or not t_s[-1] > t_s[0]:
        return None
    edges = np.searchsorted(t_s, np.arange(t_s[0], t_s[-1], 0.1))
    edges = np.unique(edges)
    norms = np.linalg.norm(force, axis=1)
    u = force / np.where(norms > 0.0, norms, 1.0)[:, None]
    middle = 0.5 * np.diff(t_s)[:, None] * (rate[1:] + rate[:-1])
    angle = np.vstack([np.zeros(3), np.cumsum(middle, axis=0)])
    turn = np.diff(angle[edges], axis=0)
    seen = np.diff(u[edges], axis=0)
    expected = -np.cross(turn, 0.5 * (u[edges][1:] + u[edges][:-1]))
    slow = np.abs(norms[edges] / np.median(norms) - 1.0) < 0.1
    quiet = slow[1:] & slow[:-1]
    seen, expected = seen[quiet], expected[quiet]
    scale = float(np.sqrt(np.sum(seen**2) * np.sum(expected**2)))
    common = float(np.sum(seen * expected))
    if not len(seen) or not scale > 0.0 or common / scale < 0.7 or np.sum(seen**2) < 0.05:
        return None
    return common / float(np.sum(expected**2))
