"""Quintic splines through timed poses: motion with smooth specific force from a pose log.

One spline of degree five carries position and the four components of a quaternion Q whose signs
are continuous; the attitude is Q/|Q|. Velocity, acceleration, angular velocity and angular
acceleration are its exact derivatives, so that nothing is differenced and sensors may sample at
any rate.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite, as_member
from strapdown.errors import ShapeError, TimeOrderError, ValueRangeError
from strapdown.geometry import BodyFrame, WorldFrame, quaternion
from strapdown.motion import formulas
from strapdown.motion._fitting import (
    DEGREE,
    Smoothing,
    fit_with_knots,
    fit_with_noise,
    interpolate,
)
from strapdown.motion._laws import Law
from strapdown.motion.kinematics import Kinematics, instants
from strapdown.series import timebase
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.series import Trajectory

__all__ = ["PoseSpline", "Smoothing", "SplineMode", "SplineWarning"]

_FEWEST: Final = {"interpolate": 6, "smooth": 7, "waypoints": 2}
_END_INTERVALS: Final = 5  # intervals after which the ends no longer affect a spline
_WIDEST_TURN: Final = math.radians(60.0)


class SplineMode(StrEnum):
    """Treatment of the given poses by a spline."""

    INTERPOLATE = "interpolate"
    """Through every pose, which must be free of noise: at 200 Hz, 1 mm becomes 200 m/s^2."""
    SMOOTH = "smooth"
    """Least squares, for measured poses."""
    WAYPOINTS = "waypoints"
    """Through every pose, at rest and without acceleration at both ends."""


class SplineWarning(UserWarning):
    """The poses hardly constrain a spline between two of them."""


@dataclass(frozen=True, eq=False)
class PoseSpline:
    """A motion along a quintic spline; made by :meth:`from_poses` or :meth:`from_trajectory`.

    Parameters
    ----------
    breaks_s : (B + 1,)
        The knots [s]: there the fifth derivative jumps.
    coefficients : (B, 6, 7)
        Of the powers 0 to 5 of the time since the knot before, for x y z [m, world] and for the
        components x y z w of Q.
    trusted_span_s : (float, float) or None
        Span that the ends do not affect [s]: in the outermost intervals the rates are some 200
        times less accurate than inside. None if there are too few poses.
    start_ns : int
        The stamp of t = 0 [ns].
    smoothing : Smoothing or None
        The fit, in the mode ``smooth``.
    """

    breaks_s: FloatArray
    coefficients: FloatArray
    trusted_span_s: tuple[float, float] | None
    start_ns: int = 0
    smoothing: Smoothing | None = None

    @classmethod
    def from_poses(  # noqa: PLR0913 (three arrays of poses, and what each mode needs to know)
        cls,
        t_s: ArrayLike,
        position_world: ArrayLike,
        q_world_from_body: ArrayLike,
        *,
        mode: SplineMode | str,
        sigma_position: float | None = None,
        sigma_attitude: float | None = None,
        knots_per_s: float | None = None,
    ) -> PoseSpline:
        """Return the motion through timed poses.

        Parameters
        ----------
        t_s : (N,)
            Strictly increasing [s], counted from the start of the recording: seconds since 1970
            are only resolved to 0.2 us.
        position_world : (N, 3)
            [m, world].
        q_world_from_body : (N, 4)
            x y z w, of either sign.
        mode : {"interpolate", "smooth", "waypoints"}
            Through at least 6 poses without noise, near at least 7 poses with noise, or through
            at least 2 poses with rest at both ends.
        sigma_position, sigma_attitude : float, optional
            For ``smooth``: noise of one axis [m], [rad]. Of the knot rates 2, 3, 5, 7, 10, 15,
            20, 40 (times powers of ten) the lowest is taken whose residuals are at most 1.02
            times these.
        knots_per_s : float, optional
            For ``smooth``, instead of both sigmas: three to five times the highest frequency of
            the motion [1/s].

        Warns
        -----
        SplineWarning
            The attitude turns by more than 60 deg from one pose to the next; or there is a gap
            to ``interpolate``: more than five median intervals and 20 ms without a pose.

        Raises
        ------
        ShapeError
            The arrays do not belong together, or the poses are too few.
        TimeOrderError
            A time repeats or goes back; carries the row.
        ValueRangeError
            A value is not finite, a quaternion is zero, a sigma or a rate is not positive, no
            knot rate reaches the sigmas, or there are knots without poses between them.
        UnknownNameError
            There is no such mode.
        TypeError
            The mode lacks an option, or has no use for one.
        """
        mode = as_member(SplineMode, mode, "spline mode")
        _check_options(
            mode,
            {
                "sigma_position": sigma_position,
                "sigma_attitude": sigma_attitude,
                "knots_per_s": knots_per_s,
            },
        )
        t_s, poses = _checked(t_s, position_world, q_world_from_body, mode)
        smoothing = None
        if knots_per_s is not None:
            spline, smoothing = fit_with_knots(t_s, poses, knots_per_s)
        elif sigma_position is not None and sigma_attitude is not None:
            spline, smoothing = fit_with_noise(t_s, poses, sigma_position, sigma_attitude)
        else:
            spline = interpolate(t_s, poses, at_rest=mode is SplineMode.WAYPOINTS)
        breaks = np.unique(spline.t)
        powers = [spline(breaks[:-1], nu=n) / math.factorial(n) for n in range(DEGREE + 1)]
        powers[0] += poses[0]
        coefficients = np.stack(powers, axis=1)
        for array in (breaks, coefficients):
            array.flags.writeable = False
        trusted = _inside(t_s if smoothing is None else breaks, mode)
        return cls(breaks, coefficients, trusted, smoothing=smoothing)

    @classmethod
    def from_trajectory(
        cls,
        trajectory: Trajectory,
        *,
        mode: SplineMode | str,
        sigma_position: float | None = None,
        sigma_attitude: float | None = None,
        knots_per_s: float | None = None,
    ) -> PoseSpline:
        """Return the motion along a trajectory, in FLU and ENU, from t = 0 at its first stamp.

        Velocities of the trajectory are not used.

        Parameters
        ----------
        trajectory : Trajectory
            With positions; every pose known.
        mode, sigma_position, sigma_attitude, knots_per_s
            As :meth:`from_poses`.

        Warns
        -----
        SplineWarning
            As :meth:`from_poses`.

        Raises
        ------
        ShapeError, TimeOrderError, ValueRangeError, UnknownNameError, TypeError
            As :meth:`from_poses`. ValueRangeError also where the trajectory has no positions, or
            rows that are NaN.
        """
        trajectory, _ = timebase.ordered(trajectory)
        trajectory = trajectory.in_frames(world=WorldFrame.ENU, body=BodyFrame.FLU)
        position, q = trajectory.position_world, trajectory.q_world_from_body
        if position is None:
            raise ValueRangeError(
                "expected a trajectory with positions, got attitude alone; where the body only "
                "turns, pass trajectory.replace(position_world=np.zeros((len(trajectory), 3)))"
            )
        known = np.isfinite(np.column_stack([position, q])).all(axis=1)
        if not known.all():
            raise ValueRangeError(
                f"row {int(np.argmin(known))}: expected a finite pose, got NaN, as in "
                f"{int(np.sum(~known))} of {known.size} rows; keep the rows that are known: "
                "trajectory[mask]"
            )
        start_ns = int(trajectory.t_ns[0]) if len(trajectory) else 0
        spline = cls.from_poses(
            (trajectory.t_ns - start_ns) / NS_PER_S,
            position,
            q,
            mode=mode,
            sigma_position=sigma_position,
            sigma_attitude=sigma_attitude,
            knots_per_s=knots_per_s,
        )
        return replace(spline, start_ns=start_ns)

    @property
    def start_s(self) -> float:
        """Time of the first pose [s]."""
        return float(self.breaks_s[0])

    @property
    def end_s(self) -> float:
        """Time of the last pose [s]."""
        return float(self.breaks_s[-1])

    @cached_property
    def law(self) -> Law:
        """The motion as a law and its parameters."""
        return Law(formulas.pose_spline, (self.breaks_s, self.coefficients))

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s], in any order.

        Raises
        ------
        ShapeError
            The instants are not one-dimensional.
        ValueRangeError
            An instant is not finite, or outside ``start_s`` ... ``end_s``.
        """
        return self.law.at(instants(t_s, self))


def _check_options(mode: SplineMode, options: Mapping[str, float | None]) -> None:
    """Reject values that are not positive, and missing or unused options of the mode."""
    given = [name for name, value in options.items() if value is not None]
    for name, value in options.items():
        if value is not None and not 0.0 < value < math.inf:
            raise ValueRangeError(f"expected {name} above 0 and finite, got {value}")
    if mode is SplineMode.SMOOTH:
        wanted = "sigma_position and sigma_attitude, or knots_per_s alone"
        right = given in (["sigma_position", "sigma_attitude"], ["knots_per_s"])
    else:
        wanted = 'neither sigmas nor knots_per_s: they belong to mode="smooth"'
        right = not given
    if not right:
        got = " and ".join(given) or "none of them"
        raise TypeError(f'expected with mode="{mode}" {wanted}; got {got}')


def _inside(marks_s: FloatArray, mode: SplineMode) -> tuple[float, float] | None:
    """Return the span away from the ends, unless these are known to be at rest."""
    skip = 0 if mode is SplineMode.WAYPOINTS else _END_INTERVALS
    if len(marks_s) < 2 * skip + 2:
        return None
    return float(marks_s[skip]), float(marks_s[-1 - skip])


def _checked(
    t_s: ArrayLike, position_world: ArrayLike, q_world_from_body: ArrayLike, mode: SplineMode
) -> tuple[FloatArray, FloatArray]:
    """Return times (N,) and poses (N, 7) whose quaternions have length 1 and continuous signs."""
    t_s = as_finite(t_s, "t_s", ())
    position = as_finite(position_world, "position_world", (3,))
    q = as_finite(q_world_from_body, "q_world_from_body", (4,))
    if t_s.ndim != 1 or position.shape != (len(t_s), 3) or q.shape != (len(t_s), 4):
        raise ShapeError(
            "expected t_s (N,), position_world (N, 3), q_world_from_body (N, 4), "
            f"got {t_s.shape}, {position.shape}, {q.shape}"
        )
    if len(t_s) < _FEWEST[mode]:
        raise ShapeError(
            f'expected at least {_FEWEST[mode]} poses for mode="{mode}", got {len(t_s)}'
        )
    _check_order(t_s)
    poses = np.column_stack([position, quaternion.make_continuous(quaternion.normalize(q))])
    _warn_of_freedom(t_s, poses, mode)
    return t_s, poses


def _check_order(t_s: FloatArray) -> None:
    steps = np.diff(t_s)
    if (steps > 0.0).all():
        return
    row = int(np.argmin(steps > 0.0)) + 1
    before, now = float(t_s[row - 1]), float(t_s[row])
    what = f"the time {now} s repeats" if now == before else f"{now} s comes after {before} s"
    raise TimeOrderError(
        f"row {row}: expected strictly increasing t_s, but {what}; sort the poses or drop the row",
        row=row,
        t_ns=round(now * NS_PER_S),
        previous_ns=round(before * NS_PER_S),
    )


def _warn_of_freedom(t_s: FloatArray, poses: FloatArray, mode: SplineMode) -> None:
    """Warn where the spline between distant neighbours is poorly determined."""
    turn = quaternion.angle_between(poses[:-1, 3:], poses[1:, 3:])
    wide = turn > _WIDEST_TURN
    if wide.any():
        row = int(np.argmax(turn)) + 1
        _warn(
            f"row {row}: the attitude turns by {math.degrees(turn[row - 1]):.1f} deg since the "
            f"pose before, and by more than 60 deg in {int(wide.sum())} places"
        )
    report = timebase.report(np.rint((t_s - t_s[0]) * NS_PER_S).astype(np.int64))
    if report.gaps and mode is SplineMode.INTERPOLATE:
        row = int(np.argmax(np.diff(t_s))) + 1
        _warn(
            f"row {row}: no pose for {report.longest_gap_ns / NS_PER_S:.6g} s, the longest of "
            f"{report.gaps} gaps"
        )


def _warn(what: str) -> None:
    warnings.warn(
        f"{what}; there the motion is a guess of the spline: give poses closer together",
        SplineWarning,
        stacklevel=5,
    )
