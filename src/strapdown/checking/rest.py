"""Rest, in terms that need no unit, and the specific force there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.checking.report import CheckReport, Finding
from strapdown.units import NS_PER_S, STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray
    from strapdown.series import ImuSeries

__all__ = ["Rest", "check_force", "rest_of"]

_BLOCK_S: Final = 1.0
_LEAST_SAMPLES: Final = 8
_STEADY: Final = 0.02
"""Deviation of a specific force at rest, relative to its mean: noise and vibration."""
_SLOWEST: Final = 0.25
_TOLERANCE: Final = 0.15
"""Scale error of 5 % and biases of 0.1 g, without calibration, leave the norm within this."""
_UNITS: Final = {"g": STANDARD_GRAVITY, "mg": 1e-3 * STANDARD_GRAVITY, "m/s^2": 1.0}


@dataclass(frozen=True)
class Rest:
    """Blocks of a second in which the specific force is constant.

    Parameters
    ----------
    seconds : int
        Number of blocks.
    norm : float
        Median norm of the specific force over the quarter of them that turns least (in a steady
        turn, too, the force is constant) [unit of the series]; over all samples where no block
        is at rest.
    rate : (3,), optional
        Mean angular velocity of the block that turns least: the bias of the gyro [unit of the
        series]. None where no block is at rest.
    """

    seconds: int
    norm: float
    rate: FloatArray | None


def rest_of(series: ImuSeries) -> Rest | None:
    """Return the rest in a series with increasing stamps; None without a specific force."""
    good = np.isfinite(series.specific_force).all(axis=1)
    t_ns, force = series.t_ns[good], series.specific_force[good]
    rate = series.angular_velocity[good]
    if not len(force):
        return None
    first = np.flatnonzero(np.diff((t_ns - t_ns[0]) // round(_BLOCK_S * NS_PER_S), prepend=-1))
    count = np.diff(np.append(first, len(force)))
    mean, spread = _moments(force, first, count)
    norm = np.linalg.norm(mean, axis=1)
    still = (count >= _LEAST_SAMPLES) & (spread < _STEADY * norm)
    if not still.any():
        return Rest(0, float(np.median(np.linalg.norm(force, axis=1))), None)
    turns, _ = _moments(rate, first, count)
    known = still & np.isfinite(turns).all(axis=1)
    if not known.any():
        return Rest(int(still.sum()), float(np.median(norm[still])), None)
    size = np.linalg.norm(turns[known], axis=1)
    slow = size <= np.quantile(size, _SLOWEST)
    return Rest(
        int(still.sum()), float(np.median(norm[known][slow])), turns[known][np.argmin(size)]
    )


def check_force(rest: Rest | None, topic: str) -> CheckReport:
    """Check the norm of the specific force: unit, and whether it contains gravity."""
    if rest is None:
        return CheckReport((), (), ("specific force: no values",))
    tolerance = _TOLERANCE if rest.seconds else 2.0 * _TOLERANCE
    near = [u for u, f in _UNITS.items() if abs(rest.norm * f / STANDARD_GRAVITY - 1.0) < tolerance]
    unit = near[0] if near else ""
    where = f"over {rest.seconds} s at rest" if rest.seconds else "median, nothing is at rest"
    seen = f"norm of the specific force {rest.norm:.4g} m/s^2 ({where})"
    if unit == "m/s^2":
        return CheckReport((), (seen,), ())
    if unit:
        factor = _UNITS[unit]
        mended = Finding(
            "accel_unit", topic, seen, f"as if in {unit}", f"--accel-unit {unit}",
            f"series.replace(specific_force={factor:.6g} * series.specific_force)",
        )  # fmt: skip
        return CheckReport((mended,), (), ())
    if rest.seconds:
        likely = "expected 9.81 m/s^2: another unit (counts?), or a sensor without calibration"
        return CheckReport((Finding("accel_scale", topic, seen, likely),), (), ())
    if rest.norm < 0.5 * STANDARD_GRAVITY:
        likely = (
            "gravity seems to be removed: expected the reading of an accelerometer, 9.81 m/s^2 at "
            "rest"
        )
        return CheckReport((Finding("accel_gravity", topic, seen, likely),), (), ())
    return CheckReport((), (), (f"unit of the specific force: {seen}",))


def _moments(values: FloatArray, first: IntArray, count: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean (B, 3) and the deviation (B,) of the samples of each block."""
    mean = np.add.reduceat(values, first, axis=0) / count[:, None]
    square = np.add.reduceat(np.sum(values * values, axis=1), first) / count
    return mean, np.sqrt(np.maximum(square - np.sum(mean * mean, axis=1), 0.0))
