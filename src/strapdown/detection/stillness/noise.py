"""Noise of a sensor, from the quietest part of a recording."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._scratch import median_step, parts
from strapdown.detection.stillness.params import StillnessKind, StillnessParams
from strapdown.errors import ValueRangeError
from strapdown.series.series import require_series
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.series import ImuSeries

__all__ = ["quiet_noise"]

_BLOCK_S: Final = 0.5  # length of the blocks whose noise is computed
_QUIETEST: Final = 0.01  # quantile of the blocks that defines the quietest variance
_ALIKE: Final = 2.0  # blocks of up to this multiple of that variance are quiet, too


def quiet_noise(series: ImuSeries, kind: StillnessKind | str = "shoe") -> StillnessParams:
    """Return parameters whose noise is that of the quietest part of a recording.

    The 1 % quantile of the variances of half seconds defines the quietest level. All half seconds
    of a similar level give the noise of both sensors, gravity as read by the accelerometer, and
    the largest biases of both. The threshold follows from the chi-square law.

    Parameters
    ----------
    series : ImuSeries
        At least 20 samples, with half a second in which the sensor is still.
    kind : StillnessKind or name, optional
        Kind from which the other parameters are taken.

    Raises
    ------
    ValueRangeError
        There are too few samples, or none have noise of both sensors.
    UnknownNameError
        There is no such kind.
    TypeError
        ``series`` is not an :class:`~strapdown.series.ImuSeries`.
    """
    require_series(series)
    params = StillnessParams.of(kind)
    spread_w, spread_f, rate, force = _half_seconds(series)
    both = spread_w * spread_f
    if not (both > 0.0).any():
        raise ValueRangeError(
            "expected half seconds with noise of gyro and accelerometer, got none in "
            f"{len(series)} samples: pass the noise as StillnessParams"
        )
    both[~(both > 0.0)] = math.inf
    quiet = both <= _ALIKE**2 * np.quantile(both, _QUIETEST, method="lower")
    lengths = np.linalg.norm(force[quiet], axis=-1)
    gravity = float(np.median(lengths))
    return replace(
        params,
        accel_sigma_m_s2=math.sqrt(spread_f[quiet].mean()),
        gyro_sigma_rad_s=math.sqrt(spread_w[quiet].mean()),
        gravity_m_s2=gravity,
        accel_bias_m_s2=float(np.abs(lengths - gravity).max()),
        gyro_bias_rad_s=float(np.linalg.norm(rate[quiet], axis=-1).max()),
        threshold=None,
    )


def _half_seconds(series: ImuSeries) -> list[FloatArray]:
    """Return variances of gyro and accelerometer (B,), and their means (B, 3), of half seconds."""
    count = len(series)
    if count < 20:
        raise ValueRangeError(f"expected at least 20 samples to find the noise in, got {count}")
    interval_s = median_step(series.t_ns) / NS_PER_S
    size = min(max(int(_BLOCK_S / max(interval_s, 1e-6)), 10), count)
    columns = [
        column[: count // size * size].reshape(-1, size, 3)
        for column in (series.angular_velocity, series.specific_force)
    ]
    found = [
        _moments(*(column[part] for column in columns)) for part in parts(count // size, width=size)
    ]
    return [np.concatenate(each) for each in zip(*found, strict=True)]


def _moments(rate: FloatArray, force: FloatArray) -> tuple[FloatArray, ...]:
    """Return variances and means of blocks of samples (B, S, 3)."""
    with np.errstate(invalid="ignore"):
        spreads = [each.var(axis=1, ddof=1).mean(axis=-1) for each in (rate, force)]
        return *spreads, rate.mean(axis=1), force.mean(axis=1)
