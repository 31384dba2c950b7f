"""PX4's vibration metrics over the windows of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown._kernels.compilation import compiled
from strapdown.px4 import float32 as kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import FloatArray, IntArray
    from strapdown.series import Increments

__all__ = ["vehicle_imu_vibration"]


def vehicle_imu_vibration(
    increments: Increments,
    *,
    of_increments: bool = False,
    initial: tuple[float, float] = (0.0, 0.0),
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the vibration metrics of ``vehicle_imu_status`` after each window.

    The metric is a slow mean (time constant 100 windows) of the norm of the step from the mean rate
    of one window to that of the next.

    Parameters
    ----------
    increments : Increments
        N consecutive windows.
    of_increments : bool, optional
        Use increments instead of mean rates, as v1.11 did; the metrics then are in m/s and rad.
    initial : tuple of 2 float, optional
        Metrics of accelerometer and gyroscope after the first window, for a log that starts in
        flight. The first window has no step.

    Returns
    -------
    accel, gyro : (N,) float32
        Metrics after each window [m/s^2], [rad/s].
    """
    return (
        _metric(increments.delta_velocity, increments.delta_velocity_dt_ns, initial[0],
                of_increments=of_increments),
        _metric(increments.delta_angle, increments.delta_angle_dt_ns, initial[1],
                of_increments=of_increments),
    )  # fmt: skip


def _metric(
    deltas: FloatArray, dt_ns: IntArray, initial: float, *, of_increments: bool
) -> NDArray[np.float32]:
    with np.errstate(all="ignore"):
        values = deltas.astype(np.float32)
        if not of_increments:
            values = values * (np.float32(1e9) / dt_ns.astype(np.float32))[:, None]
    metrics = np.empty(len(values), np.float32)
    compiled(kernels.vibrations)(np.float32(initial), values, metrics)
    return metrics
