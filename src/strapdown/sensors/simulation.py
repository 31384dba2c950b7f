"""A sensor on a motion: samples and the truth behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.geometry import WorldFrame, gravity
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown.motion import Motion
    from strapdown.sensors.ideal import IdealImu
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["simulate"]


def simulate(
    motion: Motion, imu: IdealImu, duration_s: float, *, start_ns: int = 0
) -> tuple[ImuSeries, Trajectory]:
    """Let an IMU ride on a motion.

    Sample k is taken at ``start_ns`` plus k/rate rounded to whole nanoseconds, never at a
    running sum, and the truth belongs to exactly these instants. The world has standard
    gravity.

    Parameters
    ----------
    motion : Motion
        The truth; its time 0 is ``start_ns``.
    imu : IdealImu
        The sensor, at the body's origin along its axes.
    duration_s : float
        Length of the run [s]; its end is not sampled.
    start_ns : int, optional
        Stamp of the first sample [ns].

    Returns
    -------
    ImuSeries
        What the sensor reads.
    Trajectory
        The truth at the same stamps.

    Raises
    ------
    ValueRangeError
        The duration is negative or not finite.
    """
    if not 0.0 <= duration_s < np.inf:
        raise ValueRangeError(f"expected duration_s of 0 or more, got {duration_s}")
    samples = np.arange(round(duration_s * imu.rate_hz))
    since_start_ns = np.rint(samples * NS_PER_S / imu.rate_hz).astype(np.int64)
    truth = motion.at(since_start_ns / NS_PER_S)
    trajectory = truth.trajectory(start_ns=start_ns)
    specific_force = truth.specific_force(gravity.gravity_world(WorldFrame.ENU))
    series = imu.measure(
        trajectory.t_ns, truth.angular_velocity, specific_force, truth.q_world_from_body
    )
    return series, trajectory
