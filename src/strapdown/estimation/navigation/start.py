"""Start of navigation at a first fix: with a stated heading, or one that the motion determines."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.estimation.navigation.in_motion import HEADING_SIGMA, align_in_motion, level_attitude
from strapdown.estimation.navigation.prior import NavigationPrior
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.estimation.navigation.aiding import Aiding
    from strapdown.estimation.navigation.params import NavigatorParams
    from strapdown.inertial.navigation import Place
    from strapdown.series import ImuSeries

__all__ = [
    "LEVEL_NS",
    "HeadingFrom",
    "level_start",
    "moving_start",
    "start_at_fix",
    "states_heading",
]

LEVEL_NS: Final = NS_PER_S
"""Samples this long from the start on determine the tilt, where the motion does not."""
_TILT_SIGMA: Final = 0.1
_VELOCITY_SIGMA: Final = 3.0
"""Standard deviations of that tilt [rad], and of the velocity without one of a fix [m/s]."""
_STEP_NS: Final = NS_PER_S // 5
"""Least time between the fixes of an alignment; more of them only take longer."""


class HeadingFrom(StrEnum):
    """Source of the heading at the start."""

    MOTION = "motion"
    """Specific force against the changes of velocity."""
    PARAMETERS = "parameters"
    """``heading`` and ``heading_sigma``."""
    NOWHERE = "nowhere"
    """It is arbitrary: there was no motion that determines it."""


def states_heading(params: NavigatorParams) -> bool:
    """Whether the parameters state a heading."""
    return bool(params.heading or params.heading_sigma)


def start_at_fix(
    params: NavigatorParams, imu: ImuSeries, aiding: Sequence[Aiding], place: Place
) -> tuple[NavigationPrior, HeadingFrom]:
    """Return the start of navigation at the first sample, and the source of its heading.

    Parameters
    ----------
    params : NavigatorParams
        A ``heading`` or ``heading_sigma`` other than 0 is used in place of the motion.
    imu : ImuSeries
        From the first fix on, FLU.
    aiding : sequence of Aiding
        From the first sample on, with positions.
    place : Place
    """
    if states_heading(params):
        return level_start(params, imu, aiding), HeadingFrom.PARAMETERS
    try:
        return moving_start(params, imu, aiding, place), HeadingFrom.MOTION
    except ValueRangeError:
        return level_start(params, imu, aiding, anywhere=True), HeadingFrom.NOWHERE


def moving_start(
    params: NavigatorParams, imu: ImuSeries, aiding: Sequence[Aiding], place: Place
) -> NavigationPrior:
    """Return the start of :func:`align_in_motion`, of positions and velocities at a lower rate.

    Raises
    ------
    ValueRangeError
        The motion does not determine the heading.
    """
    kept: list[Aiding] = []
    for each in aiding:
        if each.kind in {"position", "velocity"} and (
            not kept or each.t_ns == kept[-1].t_ns or each.t_ns >= kept[-1].t_ns + _STEP_NS
        ):
            kept.append(each)
    return align_in_motion(imu, kept, params, place=place)


def level_start(
    params: NavigatorParams, imu: ImuSeries, aiding: Sequence[Aiding], *, anywhere: bool = False
) -> NavigationPrior:
    """Return a level start at the first fix.

    Parameters
    ----------
    params : NavigatorParams
        With the heading and its standard deviation.
    imu : ImuSeries
        FLU; the first second determines the tilt.
    aiding : sequence of Aiding
        With a position.
    anywhere : bool
        Whether the heading is unknown.
    """
    force = imu.specific_force[imu.t_ns < imu.t_ns[0] + LEVEL_NS]
    heading, sigma = (0.0, HEADING_SIGMA) if anywhere else (params.heading, params.heading_sigma)
    fix = next(each for each in aiding if each.kind == "position")
    velocity = next((each.value for each in aiding if each.kind == "velocity"), np.zeros(3))
    variances = [
        np.diagonal(fix.covariance) + fix.lever_arm @ fix.lever_arm,
        np.full(3, _VELOCITY_SIGMA**2),
        np.square([_TILT_SIGMA, _TILT_SIGMA, sigma]),
        np.full(3, params.accel_bias_sigma**2),
        np.full(3, params.gyro_bias_sigma**2),
    ]
    return NavigationPrior(
        level_attitude(force, heading),
        velocity,
        fix.value,
        covariance=np.diag(np.concatenate(variances)),
    )
