"""Start of ``strapdown navigate``: at the first fix, with a stated heading or by the motion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strapdown.errors import FormatError
from strapdown.estimation.navigation import StrapdownNavigator
from strapdown.estimation.navigation.start import HeadingFrom, start_at_fix
from strapdown.geometry import BodyFrame, quaternion
from strapdown.inertial.navigation import Place
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown.cli._aiding import Receiver
    from strapdown.estimation.navigation import NavigationResult, NavigatorParams
    from strapdown.series import ImuSeries

__all__ = ["Start", "navigated"]


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
    first_ns, last_ns = int(part.t_ns[0]), int(part.t_ns.max())
    told = [each for each in told if first_ns <= each.t_ns <= last_ns]
    prior, source = start_at_fix(params, part, told, place)
    navigator = StrapdownNavigator(params, start=prior, place=place, compiled=True)
    since_s = (first_ns - int(imu.t_ns[0])) / NS_PER_S
    forward = quaternion.rotate(np.asarray(prior.q_world_from_body), np.array([1.0, 0.0, 0.0]))
    start = Start(since_s, math.atan2(forward[1], forward[0]), source)
    return navigator.run(part, aiding=told, smooth=smooth), start
