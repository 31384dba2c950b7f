"""Start of ``strapdown navigate``: at the first fix, with a stated heading or by the motion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FormatError, ValueRangeError
from strapdown.estimation.navigation import (
    NavigationPrior,
    StrapdownNavigator,
    align_in_motion,
)
from strapdown.geometry import BodyFrame, euler, quaternion
from strapdown.inertial.navigation import Place
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown.cli._aiding import Receiver
    from strapdown.estimation.navigation import Aiding, NavigationResult, NavigatorParams
    from strapdown.series import ImuSeries

__all__ = ["Start", "navigated"]

_LEVEL_NS: Final = NS_PER_S
"""Samples this long from the start on determine the tilt, where the motion does not."""
_TILT_SIGMA: Final = 0.1
_VELOCITY_SIGMA: Final = 3.0
"""Standard deviations of that tilt [rad], and of the velocity without one of a fix [m/s]."""
_ANY_HEADING: Final = math.pi / math.sqrt(3.0)
"""Standard deviation of an angle of which nothing is known [rad]."""
_STEP_NS: Final = NS_PER_S // 5
"""Least time between the fixes of an alignment; more of them take longer and tell the same."""


class HeadingFrom(StrEnum):
    """Source of the heading at the start."""

    MOTION = "motion"
    """Specific force against the changes of velocity."""
    PARAMETERS = "parameters"
    """``heading`` and ``heading_sigma``."""
    NOWHERE = "nowhere"
    """It is arbitrary: there was no motion that determines it."""


@dataclass(frozen=True)
class Start:
    """Beginning of a run.

    Parameters
    ----------
    since_s : float
        Time from the first sample of the IMU to the first that is used [s].
    heading : float
        Angle of the forward axis from east towards north [rad].
    heading_from : HeadingFrom
        Its source.
    """

    since_s: float
    heading: float
    heading_from: HeadingFrom

    def __str__(self) -> str:
        turned = f"{math.degrees(self.heading):.1f} deg from east towards north"
        why = {
            HeadingFrom.MOTION: f"heading {turned}, by the motion",
            HeadingFrom.PARAMETERS: f"heading {turned}, as stated",
            HeadingFrom.NOWHERE: "heading unknown, as no motion determines it (--set heading=...)",
        }
        return f"start {self.since_s:.3f} s after the first sample: {why[self.heading_from]}"


def navigated(
    params: NavigatorParams, imu: ImuSeries, receiver: Receiver, *, smooth: bool
) -> tuple[NavigationResult, Start]:
    """Navigate from the first fix on.

    Raises
    ------
    FormatError
        There are no samples after the first fix.
    """
    origin = receiver.fixes.origin
    place = Place("wgs84", latitude=origin[0], height=origin[2])
    told = receiver.aiding(origin)
    first_ns = min(each.t_ns for each in told if each.kind == "position")
    part = imu[imu.t_ns >= first_ns].in_frames(body=BodyFrame.FLU)
    if len(part) < 2:
        raise FormatError("expected samples of the IMU after the first fix, got none")
    told = [each for each in told if each.t_ns >= int(part.t_ns[0])]
    if params.heading or params.heading_sigma:
        source = HeadingFrom.PARAMETERS
        prior = _prior(params, part, told, params.heading, params.heading_sigma)
    else:
        try:
            source, prior = (
                HeadingFrom.MOTION,
                align_in_motion(part, _thinned(told), params, place=place),
            )
        except ValueRangeError:
            source, prior = HeadingFrom.NOWHERE, _prior(params, part, told, 0.0, _ANY_HEADING)
    navigator = StrapdownNavigator(params, start=prior, place=place, compiled=True)
    since_s = (int(part.t_ns[0]) - int(imu.t_ns[0])) / NS_PER_S
    forward = quaternion.rotate(np.asarray(prior.q_world_from_body), np.array([1.0, 0.0, 0.0]))
    start = Start(since_s, math.atan2(forward[1], forward[0]), source)
    return navigator.run(part, aiding=told, smooth=smooth), start


def _thinned(told: list[Aiding]) -> list[Aiding]:
    """Return positions and velocities at a lower rate."""
    kept: list[Aiding] = []
    for each in told:
        if each.kind in {"position", "velocity"} and (
            not kept or each.t_ns == kept[-1].t_ns or each.t_ns >= kept[-1].t_ns + _STEP_NS
        ):
            kept.append(each)
    return kept


def _prior(
    params: NavigatorParams,
    imu: ImuSeries,
    told: list[Aiding],
    heading: float,
    heading_sigma: float,
) -> NavigationPrior:
    """Return a level start at the first fix, with a heading."""
    force = imu.specific_force[imu.t_ns < imu.t_ns[0] + _LEVEL_NS]
    x, y, z = np.nanmean(force, axis=0)
    roll, pitch = math.atan2(y, z), math.atan2(-x, math.hypot(y, z))
    fix = next(each for each in told if each.kind == "position")
    velocity = next((each.value for each in told if each.kind == "velocity"), np.zeros(3))
    variances = [
        np.diagonal(fix.covariance) + fix.lever_arm @ fix.lever_arm,
        np.full(3, _VELOCITY_SIGMA**2),
        np.square([_TILT_SIGMA, _TILT_SIGMA, heading_sigma]),
        np.full(3, params.accel_bias_sigma**2),
        np.full(3, params.gyro_bias_sigma**2),
    ]
    return NavigationPrior(
        euler.to_quaternion([roll, pitch, heading], "zyx"),
        velocity,
        fix.value,
        covariance=np.diag(np.concatenate(variances)),
    )
