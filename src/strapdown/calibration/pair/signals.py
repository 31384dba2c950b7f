"""Two sensors of a pair as functions of time: samples, interpolated by splines between gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.samples.clock import GAP_FLOOR_S, GAP_INTERVALS
from strapdown.series import ImuSeries, Trajectory, timebase
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

    from strapdown._typing import BoolArray, ByteArray, FloatArray, IntArray

__all__ = ["Curve", "ImuSignals", "PoseSignals", "Signals", "pose_signals", "signals_of"]

FEWEST: Final = 20
MARGIN_INTERVALS: Final = 3.0
"""Median intervals next to a gap in which the spline still feels it."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Values over time, interpolated by a cubic spline.

    Parameters
    ----------
    t_s : (N,)
        Strictly increasing [s].
    values : (N, M)
        In any unit.
    """

    t_s: FloatArray
    values: FloatArray

    @cached_property
    def spline(self) -> BSpline:
        """The interpolating spline."""
        from scipy.interpolate import make_interp_spline  # noqa: PLC0415 (slow to import)

        return make_interp_spline(self.t_s, self.values, k=3)

    @cached_property
    def interval_s(self) -> float:
        """Median sampling interval [s]."""
        return float(np.median(np.diff(self.t_s)))

    def integral(self) -> Curve:
        """Return the integral from the first sample on, at the same times."""
        integral = self.spline.antiderivative()(self.t_s)
        return Curve(self.t_s, integral)

    def at(self, t_s: FloatArray, derivative: int = 0) -> FloatArray:
        """Return values (K, M), or a derivative; outside the samples those of the nearest end."""
        inside = np.clip(t_s, self.t_s[0], self.t_s[-1])
        found: FloatArray = self.spline(inside, nu=derivative)
        return found

    def known(self, t_s: FloatArray) -> BoolArray:
        """Return a mask of the times between samples, and not in a gap or close to one."""
        margin = MARGIN_INTERVALS * self.interval_s
        steps = np.diff(self.t_s)
        gaps = np.flatnonzero(steps > max(GAP_FLOOR_S, GAP_INTERVALS * self.interval_s))
        starts, ends = self.t_s[gaps] - margin, self.t_s[gaps + 1] + margin
        number = np.searchsorted(starts, t_s, side="right")
        end = np.append(-np.inf, np.maximum.accumulate(ends))[number]
        known: BoolArray = (t_s >= self.t_s[0]) & (t_s <= self.t_s[-1]) & (t_s >= end)
        return known


class Signals(Protocol):
    """Angular velocity of a sensor of a pair, in its axes and by its clock."""

    @property
    def interval_s(self) -> float:
        """Sampling interval [s]."""
        ...

    @property
    def span_s(self) -> tuple[float, float]:
        """First and last time [s]."""
        ...

    def angular_velocity(self, t_s: FloatArray) -> FloatArray:
        """Return the angular velocity (K, 3) [rad/s]."""
        ...

    def known(self, t_s: FloatArray) -> BoolArray:
        """Return a mask of the times at which the angular velocity is known."""
        ...


@dataclass(frozen=True, eq=False)
class ImuSignals:
    """Readings of an IMU.

    Parameters
    ----------
    start_ns : int
        Stamp of time 0 [ns].
    rate : Curve
        Angular velocity [rad/s].
    force : Curve or None
        Specific force [m/s^2].
    """

    start_ns: int
    rate: Curve
    force: Curve | None

    @property
    def interval_s(self) -> float:
        """Sampling interval [s]."""
        return self.rate.interval_s

    @property
    def span_s(self) -> tuple[float, float]:
        """First and last time [s]."""
        return float(self.rate.t_s[0]), float(self.rate.t_s[-1])

    def angular_velocity(self, t_s: FloatArray) -> FloatArray:
        """Return the angular velocity (K, 3) [rad/s]."""
        return self.rate.at(t_s)

    def known(self, t_s: FloatArray) -> BoolArray:
        """Return a mask of the times at which the angular velocity is known."""
        return self.rate.known(t_s)


@dataclass(frozen=True, eq=False)
class PoseSignals:
    """Poses of a reference.

    Parameters
    ----------
    start_ns : int
        Stamp of time 0 [ns].
    attitude : Curve
        Components x y z w of a quaternion world from body whose sign is continuous.
    place : Curve or None
        Position [m, world], or the integral of a velocity.
    """

    start_ns: int
    attitude: Curve
    place: Curve | None

    @property
    def interval_s(self) -> float:
        """Sampling interval [s]."""
        return self.attitude.interval_s

    @property
    def span_s(self) -> tuple[float, float]:
        """First and last time [s]."""
        return float(self.attitude.t_s[0]), float(self.attitude.t_s[-1])

    def angular_velocity(self, t_s: FloatArray) -> FloatArray:
        """Return the angular velocity (K, 3) [rad/s]: ``2 Im(q^-1 dq/dt)``."""
        q, slope = self.attitude.at(t_s), self.attitude.at(t_s, 1)
        square = np.sum(q**2, axis=1, keepdims=True)
        turning = quaternion.multiply(quaternion.conjugate(q), slope)[:, :3]
        rate: FloatArray = 2.0 * turning / square
        return rate

    def rotation(self, t_s: FloatArray) -> FloatArray:
        """Return the rotation matrices (K, 3, 3), world from body."""
        return quaternion.to_matrix(quaternion.normalize(self.attitude.at(t_s)))

    def known(self, t_s: FloatArray) -> BoolArray:
        """Return a mask of the times at which the angular velocity is known."""
        return self.attitude.known(t_s)


def signals_of(data: ImuSeries | Trajectory, name: str) -> ImuSignals | PoseSignals:
    """Return a series as functions of time.

    Rows whose stamp repeats or goes back, rows that are not finite and clipped samples are left
    out.

    Parameters
    ----------
    data : ImuSeries or Trajectory
        In any order.
    name : {"first", "second"}
        In messages.

    Raises
    ------
    ShapeError
        There are fewer than 20 samples.
    ValueRangeError
        The samples have no time between them.
    TypeError
        The data are of another type.
    """
    if isinstance(data, ImuSeries):
        return _imu_signals(data, name)
    if isinstance(data, Trajectory):
        return pose_signals(data, name)
    raise TypeError(
        f"expected {name} as ImuSeries or Trajectory, got {type(data).__name__}; "
        "strapdown.open(path) has imu_series() and trajectory()"
    )


def _imu_signals(series: ImuSeries, name: str) -> ImuSignals:
    series, _ = timebase.ordered(series, "drop")
    start_ns = int(series.t_ns[0]) if len(series) else 0
    rate = _curve(series.t_ns, start_ns, series.angular_velocity, series.gyro_clipping)
    force = _curve(series.t_ns, start_ns, series.specific_force, series.accel_clipping)
    return ImuSignals(start_ns, _required(rate, name, "angular velocity"), force)


def pose_signals(trajectory: Trajectory, name: str) -> PoseSignals:
    """Return a trajectory as functions of time, as :func:`signals_of`."""
    trajectory, _ = timebase.ordered(trajectory, "drop")
    start_ns = int(trajectory.t_ns[0]) if len(trajectory) else 0
    given = trajectory.q_world_from_body
    good = np.isfinite(given).all(axis=1) & (np.abs(given).max(axis=1, initial=0.0) > 0.0)
    q = np.full_like(given, np.nan)
    q[good] = quaternion.normalize(given[good])
    attitude = _curve(trajectory.t_ns, start_ns, quaternion.make_continuous(q))
    place = _curve(trajectory.t_ns, start_ns, trajectory.position_world)
    if place is None:
        velocity = _curve(trajectory.t_ns, start_ns, trajectory.velocity_world)
        place = None if velocity is None else velocity.integral()
    return PoseSignals(start_ns, _required(attitude, name, "attitude"), place)


def _curve(
    t_ns: IntArray, start_ns: int, values: FloatArray | None, clipping: ByteArray | None = None
) -> Curve | None:
    """Return the curve through the rows that are finite and not clipped; None if few are."""
    if values is None:
        return None
    good = np.isfinite(values).all(axis=1)
    if clipping is not None:
        good &= clipping == 0
    if int(good.sum()) < FEWEST:
        return None
    return Curve((t_ns[good] - start_ns) / NS_PER_S, values[good])


def _required(curve: Curve | None, name: str, what: str) -> Curve:
    """Return a curve that must be there."""
    if curve is None:
        raise ShapeError(
            f"expected at least {FEWEST} samples with {what} in the {name} sensor, got fewer; "
            "check the topic"
        )
    if not math.isfinite(curve.interval_s) or curve.interval_s <= 0.0:
        raise ValueRangeError(f"expected stamps that increase in the {name} sensor")
    return curve
