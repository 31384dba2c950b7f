"""A recorded IMU as the ideal input of a sensor model, to which more errors are added.

Between two samples the record is interpolated, which adds no bandwidth: above half the rate of
the record, its ``nyquist_hz``, a replay has no content. The errors of the recorded sensor are
part of the input.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np

from strapdown._checks import as_finite, as_member
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import BodyFrame
from strapdown.motion.formulas import lever_acceleration
from strapdown.motion.kinematics import ascending, instants
from strapdown.series import timebase
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.series import ImuSeries

__all__ = ["Interpolation", "Replay"]


class Interpolation(StrEnum):
    """Interpolation of a record between its samples."""

    LINEAR = "linear"
    """Linear; never beyond the samples."""
    QUINTIC = "quintic"
    """A spline of degree five: smooth, and more accurate for motions slower than the record."""


_DEGREE: Final = {Interpolation.LINEAR: 1, Interpolation.QUINTIC: 5}


class Replay:
    """A recorded series as an inertial source; t = 0 is its first stamp.

    The axes are FLU: a record in others is converted. Pose and velocity are not known.

    Parameters
    ----------
    series : ImuSeries
        At least 2 samples, 6 for ``quintic``; strictly increasing, finite, without gaps.
    kind : {"linear", "quintic"}
        Interpolation between the samples.
    lever_arm : (3,) or (3, 3), optional
        From the recorded accelerometer to the simulated one [m, body]; or one row for each
        axis of it.
    allow_differentiation : bool
        A lever arm needs the angular acceleration, which no record has. It is the derivative of
        a quintic spline through the recorded rates, which amplifies their noise; this allows it.
    max_gap_ns : int, optional
        An interval longer than this is a gap [ns]; by default five times the median interval
        and at least 20 ms.

    Raises
    ------
    TimeOrderError
        A stamp repeats or goes back; carries the row.
    ShapeError
        The samples are too few, or the lever arm has another shape.
    ValueRangeError
        A sample or the lever arm is not finite, the record has a gap, or a lever arm came
        without ``allow_differentiation``.
    UnknownNameError
        There is no such interpolation.
    """

    has_pose: Final = False
    has_acceleration: Final = True

    start_s: float
    """Always 0 [s]."""
    end_s: float
    """Time of the last sample [s]."""
    start_ns: int
    """The stamp of t = 0 [ns]."""
    nyquist_hz: float
    """Half the median rate of the record [Hz]."""

    def __init__(
        self,
        series: ImuSeries,
        *,
        kind: Interpolation | str = Interpolation.LINEAR,
        lever_arm: ArrayLike | None = None,
        allow_differentiation: bool = False,
        max_gap_ns: int | None = None,
    ) -> None:
        degree = _DEGREE[as_member(Interpolation, kind, "interpolation")]
        self.start_ns, t_s, samples = _checked(series, degree, max_gap_ns)
        self.start_s, self.end_s = 0.0, float(t_s[-1])
        self.nyquist_hz = series.rate_hz / 2.0
        if lever_arm is not None:
            if not allow_differentiation:
                raise ValueRangeError(
                    "expected a replay at the recorded sensor, got a lever_arm: it needs the "
                    "derivative of the recorded rates; pass allow_differentiation=True to take it"
                )
            samples[:, 3:] += _at_lever_arm(t_s, samples[:, :3], lever_arm)
        # The first sample is stored separately, so that a steady record is interpolated as zeros.
        self._first = samples[0]
        self._rest = _spline(t_s, samples - samples[0], degree)
        self._integral = self._rest.antiderivative()

    def inputs(self, t_s: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return angular velocity [rad/s] and specific force [m/s^2] at ``t_s`` (N,) [s].

        Raises
        ------
        ShapeError, ValueRangeError
            The instants are no row of finite numbers within the record.
        """
        values = self._first + self._rest(instants(t_s, self))
        return values[:, :3], values[:, 3:]

    def integrals(self, edges_s: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Integrate :meth:`inputs` between neighbouring instants ``edges_s`` (N + 1,) [s].

        Returns
        -------
        delta_angle, delta_velocity : (N, 3)
            Exact for the interpolation [rad], [m/s].

        Raises
        ------
        ShapeError, ValueRangeError
            As :meth:`inputs`, or the edges do not ascend.
        """
        edges_s = ascending(edges_s, self)
        values = np.diff(self._integral(edges_s), axis=0)
        values += np.diff(edges_s)[:, np.newaxis] * self._first
        return values[:, :3], values[:, 3:]

    def preintegrated(self, edges_s: ArrayLike) -> NoReturn:  # noqa: ARG002 (what any source has)
        """Raise TypeError: a record has no pose."""
        raise _no_pose("preintegrated increments")

    def velocity_change(self, edges_s: ArrayLike) -> NoReturn:  # noqa: ARG002 (as above)
        """Raise TypeError: a record has no velocity."""
        raise _no_pose("changes of velocity")

    def truth(self, t_s: ArrayLike, *, start_ns: int = 0) -> NoReturn:  # noqa: ARG002 (as above)
        """Raise TypeError: a record has no pose."""
        raise _no_pose("a true trajectory")


def _no_pose(what: str) -> TypeError:
    return TypeError(
        f"expected a source with a pose, got a replay, which has no {what}; use inputs() and "
        "integrals(), or make a motion of poses: PoseSpline.from_trajectory"
    )


def _checked(
    series: ImuSeries, degree: int, max_gap_ns: int | None
) -> tuple[int, FloatArray, FloatArray]:
    """Return the first stamp, times from there [s], and a copy of the samples (N, 6) in FLU."""
    series, _ = timebase.ordered(series)
    series = series.in_frames(body=BodyFrame.FLU)
    if len(series) <= degree:
        raise ShapeError(f"expected at least {degree + 1} samples to replay, got {len(series)}")
    samples = np.column_stack([series.angular_velocity, series.specific_force])
    known = np.isfinite(samples).all(axis=1)
    if not known.all():
        raise ValueRangeError(
            f"row {int(np.argmin(known))}: expected finite samples, got {int(np.sum(~known))} of "
            f"{known.size} rows with NaN or infinity; keep the others: series[mask]"
        )
    report = timebase.report(series.t_ns, gap_after_ns=max_gap_ns)
    if report.gaps:
        row = int(np.argmax(np.diff(series.t_ns))) + 1
        raise ValueRangeError(
            f"row {row}: expected a record without gaps, got no sample for "
            f"{report.longest_gap_ns / NS_PER_S:.6g} s, the longest of {report.gaps} gaps; replay "
            "a part, series.between(start_s=..., stop_s=...), or pass a larger max_gap_ns to "
            "interpolate"
        )
    start_ns = int(series.t_ns[0])
    return start_ns, (series.t_ns - start_ns) / NS_PER_S, samples


def _spline(t_s: FloatArray, samples: FloatArray, degree: int) -> BSpline:
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415 (slow to import)

    return make_interp_spline(t_s, samples, k=degree)


def _at_lever_arm(t_s: FloatArray, w: FloatArray, lever_arm: ArrayLike) -> FloatArray:
    """Return the additional specific force (N, 3) at a lever arm: alpha x r + w x (w x r)."""
    r = as_finite(lever_arm, "lever_arm", (3,))
    if r.shape not in ((3,), (3, 3)):
        raise ShapeError(f"expected lever_arm of shape (3,) or (3, 3), got {r.shape}")
    if len(t_s) < 6:
        raise ShapeError(f"expected at least 6 samples for a lever arm, got {len(t_s)}")
    alpha = _spline(t_s, w, 5)(t_s, nu=1)
    rate, spin_up = w.T[..., np.newaxis], alpha.T[..., np.newaxis]
    gained = lever_acceleration(*rate, *spin_up, *np.broadcast_to(r, (3, 3)).T)
    return np.diagonal(gained, axis1=0, axis2=2)  # of (component, N, arm)
