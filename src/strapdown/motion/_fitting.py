"""Quintic B-splines through poses and near them.

All are fitted to the poses less the first pose: channels at rest are exactly zero, and far from
the origin no digits are lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.geometry import quaternion

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

    from strapdown._typing import FloatArray

__all__ = ["DEGREE", "Smoothing", "fit_with_knots", "fit_with_noise", "interpolate"]

DEGREE: Final = 5
_KNOT_RATES: Final = sorted(
    {float(f"{m}e{n}") for m in (2, 3, 5, 7, 10, 15, 20, 40) for n in range(-4, 5)}
)
_RESIDUAL_FACTOR: Final = 1.02


@dataclass(frozen=True)
class Smoothing:
    """Account of the fit of a smoothing spline.

    Parameters
    ----------
    knots_per_s : float
        Uniform knots [1/s].
    position_residual, attitude_residual : float
        Residuals of the poses: RMS of one axis [m], [rad].
    """

    knots_per_s: float
    position_residual: float
    attitude_residual: float


def interpolate(t_s: FloatArray, poses: FloatArray, *, at_rest: bool) -> BSpline:
    """Return the spline through poses (N, 7), on request with zero derivatives at both ends."""
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415 (slow to import)

    rest = [(1, np.zeros(7)), (2, np.zeros(7))]
    return make_interp_spline(
        t_s, poses - poses[0], k=DEGREE, bc_type=(rest, rest) if at_rest else None
    )


def fit_with_knots(
    t_s: FloatArray, poses: FloatArray, knots_per_s: float
) -> tuple[BSpline, Smoothing]:
    """Return the least-squares spline with uniform knots.

    Raises
    ------
    ValueRangeError
        An interval between knots holds no pose, or there are no more poses than unknowns.
    """
    from scipy.interpolate import make_lsq_spline  # noqa: PLC0415 (slow to import)

    intervals = max(1, round(knots_per_s * (t_s[-1] - t_s[0])))
    if len(t_s) <= intervals + DEGREE:
        raise ValueRangeError(
            f"expected more poses than the {intervals + DEGREE} unknowns of {intervals} "
            f"intervals, got {len(t_s)}; lower knots_per_s, which is {knots_per_s:g}"
        )
    knots = np.linspace(t_s[0], t_s[-1], intervals + 1)
    held = np.histogram(t_s, knots)[0]
    if not held.all():
        empty = int(np.argmin(held))
        raise ValueRangeError(
            f"expected a pose between any two knots, got none from {knots[empty]:.6g} to "
            f"{knots[empty + 1]:.6g} s; lower knots_per_s, which is {knots_per_s:g}"
        )
    spline = make_lsq_spline(t_s, poses - poses[0], np.pad(knots, DEGREE, mode="edge"), k=DEGREE)
    return spline, Smoothing(knots_per_s, *_residuals(poses, spline(t_s) + poses[0]))


def fit_with_noise(
    t_s: FloatArray, poses: FloatArray, sigma_position: float, sigma_attitude: float
) -> tuple[BSpline, Smoothing]:
    """Return the least-squares spline with the fewest knots whose residuals are the noise.

    Raises
    ------
    ValueRangeError
        No knot rate achieves that.
    """
    closest = "no knots can be tried"
    for rate in _KNOT_RATES:
        if rate * (t_s[-1] - t_s[0]) < 1.0:
            continue
        try:
            spline, smoothing = fit_with_knots(t_s, poses, rate)
        except ValueRangeError:  # there are too few poses for these knots
            continue
        if (
            smoothing.position_residual <= _RESIDUAL_FACTOR * sigma_position
            and smoothing.attitude_residual <= _RESIDUAL_FACTOR * sigma_attitude
        ):
            return spline, smoothing
        closest = (
            f"{rate:g} knots/s, the most that these poses carry, leave "
            f"{smoothing.position_residual:.3g} m and {smoothing.attitude_residual:.3g} rad"
        )
    raise ValueRangeError(
        f"expected residuals of at most {_RESIDUAL_FACTOR} times sigma_position {sigma_position} m "
        f"and sigma_attitude {sigma_attitude} rad, got: {closest}; give larger sigmas, or "
        "knots_per_s instead"
    )


def _residuals(poses: FloatArray, fitted: FloatArray) -> tuple[float, float]:
    """Return the RMS of one axis of the differences between poses: [m], [rad]."""
    shift = poses[:, :3] - fitted[:, :3]
    back = quaternion.conjugate(quaternion.normalize(fitted[:, 3:]))
    turn = quaternion.to_rotation_vector(quaternion.multiply(back, poses[:, 3:]))
    return float(np.sqrt(np.mean(shift**2))), float(np.sqrt(np.mean(turn**2)))
