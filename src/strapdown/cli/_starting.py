"""Start of ``strapdown navigate``: at rest or in motion, with an unknown heading."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FormatError
from strapdown.estimation.navigation import NavigationPrior, StrapdownNavigator
from strapdown.geometry import BodyFrame, quaternion
from strapdown.inertial.navigation import Place
from strapdown.units import NS_PER_S, STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.cli._aiding import Receiver
    from strapdown.estimation.navigation import Aiding, NavigationResult, NavigatorParams
    from strapdown.series import ImuSeries

__all__ = ["Start", "navigated"]

_HEADINGS: Final = 8
"""Headings that are tried where none is known."""
_TRIED_SIGMA: Final = 0.6
"""Standard deviation of each of them [rad]."""
_TRIED_NS: Final = 60 * NS_PER_S
"""Duration of a trial."""
_TRIED_STEP_NS: Final = NS_PER_S // 2
"""Time between the fixes of a trial."""
_MEAN_NS: Final = NS_PER_S
"""Samples this long from the start on determine the tilt."""
_REST_RATE: Final = 0.05
"""Largest standard deviation and mean of the angular velocity at rest [rad/s]."""
_REST_FORCE: Final = 0.3
"""Largest standard deviation of the specific force at rest [m/s^2]."""
_REST_SPEED: Final = 0.1
"""Largest speed at rest, in addition to three standard deviations [m/s]."""
_SPEED_OVER_S: Final = 0.5
"""Least time between two fixes that give a velocity [s]."""
_ACCELERATION: Final = 3.0
"""Standard deviation of the acceleration meanwhile [m/s^2]."""
_TILT_SIGMA: Final = {True: 0.03, False: 0.1}
"""Of the tilt, at rest and in motion [rad]."""
_UNKNOWN_SPEED: Final = 10.0
"""Standard deviation of a velocity that no fix gives [m/s]."""
_MOST: Final = 25.0
"""Largest normalised innovation of a value that counts in a trial: outliers do not decide."""


@dataclass(frozen=True)
class Start:
    """Beginning of a run.

    Parameters
    ----------
    t_ns : int
        Stamp of the first sample that is used [ns].
    at_rest : bool
        Whether the sensor was at rest.
    heading : float
        Angle of the forward axis from east towards north [rad].
    heading_sigma : float
        Its standard deviation [rad].
    """

    t_ns: int
    at_rest: bool
    heading: float
    heading_sigma: float

    def line(self, imu: ImuSeries) -> str:
        """Return the start in words."""
        since_s = (self.t_ns - int(imu.t_ns[0])) / NS_PER_S
        how = "at rest" if self.at_rest else "in motion"
        return (
            f"start {how} at {since_s:.3f} s: heading {math.degrees(self.heading):.0f} deg from "
            f"east towards north, sigma {math.degrees(self.heading_sigma):.0f} deg"
        )


def navigated(
    params: NavigatorParams, imu: ImuSeries, receiver: Receiver, *, smooth: bool
) -> tuple[NavigationResult, Start]:
    """Navigate from the first fix on.

    Where the parameters give no heading, several are tried over the first minute. That of the
    trial whose fixes surprise least, as later samples determine it, begins the run.

    Raises
    ------
    FormatError
        There are no samples after the first fix.
    """
    origin = receiver.fixes.origin
    place = Place("wgs84", latitude=origin[0], height=origin[2])
    told = receiver.aiding(origin)
    first_ns = min(each.t_ns for each in told if each.kind == "position")
    imu = imu[imu.t_ns >= first_ns].in_frames(body=BodyFrame.FLU)
    if len(imu) < 2:
        raise FormatError("expected samples of the IMU after the first fix, got none")
    mean = imu[imu.t_ns < imu.t_ns[0] + _MEAN_NS]
    beginning = _Beginning(params, mean, [each for each in told if each.t_ns >= first_ns])
    later = [each for each in told if each.t_ns > int(imu.t_ns[0])]

    def run(
        heading: float, sigma: float, part: ImuSeries, aiding: list[Aiding], *, smooth: bool
    ) -> NavigationResult:
        start = beginning.prior(heading, sigma)
        navigator = StrapdownNavigator(params, start=start, place=place, compiled=True)
        return navigator.run(part, aiding=aiding, smooth=smooth)

    heading, sigma = params.heading, params.heading_sigma
    if not heading and not sigma:
        part = imu[imu.t_ns < imu.t_ns[0] + _TRIED_NS]
        fixes = [each for each in _thinned(later) if each.t_ns <= int(part.t_ns[-1])]
        turns = np.arange(_HEADINGS) * (math.tau / _HEADINGS)
        trials = [run(turn, _TRIED_SIGMA, part, fixes, smooth=False) for turn in turns]
        nearest = float(turns[int(np.argmin(list(map(_surprise, trials))))])
        heading, sigma = _first_heading(run(nearest, _TRIED_SIGMA, part, fixes, smooth=True))
    start = Start(int(imu.t_ns[0]), beginning.at_rest, heading, sigma)
    return run(heading, sigma, imu, later, smooth=smooth), start


def _first_heading(result: NavigationResult) -> tuple[float, float]:
    """Return the heading at the first row [rad], and its standard deviation, not below 0.1 rad."""
    east, north, _ = quaternion.rotate(result.q_world_from_body[0], np.array([1.0, 0.0, 0.0]))
    sigma = 2.0 * math.sqrt(float(result.covariance[0, 8, 8]))  # the fixes will be used again
    return math.atan2(north, east), min(max(sigma, 0.1), _TRIED_SIGMA)


def _thinned(told: list[Aiding]) -> list[Aiding]:
    """Return fixes at a lower rate, for trials."""
    kept: list[Aiding] = []
    for each in told:
        if each.kind in {"position", "velocity"} and (
            not kept or each.t_ns == kept[-1].t_ns or each.t_ns >= kept[-1].t_ns + _TRIED_STEP_NS
        ):
            kept.append(each)
    return kept


def _surprise(result: NavigationResult) -> float:
    """Return the sum of the normalised innovations of a trial."""
    return sum(min(each.nis / each.dof, _MOST) for each in result.aiding)


class _Beginning:
    """State at the first sample, except for the heading.

    Parameters
    ----------
    params : NavigatorParams
        For the standard deviations of the biases.
    mean : ImuSeries
        Samples from the start on; their mean gives the tilt, and at rest the bias of the gyro.
    told : list of Aiding
        In the order of time, from the first position on.
    """

    def __init__(self, params: NavigatorParams, mean: ImuSeries, told: list[Aiding]) -> None:
        self._params, self._mean = params, mean
        self._fix = next(each for each in told if each.kind == "position")
        self._velocity, self._variance = _velocity(told, self._fix)
        rate, speed = mean.angular_velocity, float(np.linalg.norm(self._velocity))
        turns = np.any(np.abs(rate.mean(axis=0)) + rate.std(axis=0) > _REST_RATE)
        shakes = np.any(mean.specific_force.std(axis=0) > _REST_FORCE)
        moves = speed > 3.0 * math.sqrt(self._variance.max()) + _REST_SPEED
        self.at_rest = not (turns or shakes or moves)

    def prior(self, heading: float, heading_sigma: float) -> NavigationPrior:
        """Return the state with a heading [rad] and its standard deviation."""
        params, fix, mean = self._params, self._fix, self._mean
        since_s = (int(mean.t_ns[0]) - fix.t_ns) / NS_PER_S
        force = mean.specific_force.mean(axis=0)
        aside = max(float(force @ force) / STANDARD_GRAVITY**2 - 1.0, 0.0)  # tan^2 of its angle
        tilt = _TILT_SIGMA[self.at_rest] ** 2 + (0.0 if self.at_rest else aside)
        variances = [
            np.diagonal(fix.covariance) + fix.lever_arm @ fix.lever_arm,
            self._variance,
            np.array([tilt, tilt, heading_sigma**2]),
            np.full(3, params.accel_bias_sigma**2),
            np.full(3, params.gyro_bias_sigma**2),
        ]
        return NavigationPrior(
            _level(force, heading),
            self._velocity,
            fix.value + since_s * self._velocity,
            gyro_bias=mean.angular_velocity.mean(axis=0) if self.at_rest else (0.0, 0.0, 0.0),
            covariance=np.diag(np.concatenate(variances)),
        )


def _velocity(told: list[Aiding], first: Aiding) -> tuple[FloatArray, FloatArray]:
    """Return the velocity at the first fix (3,), its own or by the next fixes, and variances."""
    for each in told:
        if each.kind == "velocity" and each.t_ns == first.t_ns:
            return each.value, np.diagonal(each.covariance)
    for each in told:
        span_s = (each.t_ns - first.t_ns) / NS_PER_S
        if each.kind == "position" and span_s >= _SPEED_OVER_S:
            variance = np.diagonal(each.covariance + first.covariance) / span_s**2
            curved = (0.5 * _ACCELERATION * span_s) ** 2
            return (each.value - first.value) / span_s, variance + curved
    return np.zeros(3), np.full(3, _UNKNOWN_SPEED**2)


def _level(force: FloatArray, heading: float) -> FloatArray:
    """Return the attitude, ENU from FLU, whose vertical is that of a specific force."""
    roll = math.atan2(force[1], force[2])
    pitch = math.atan2(-force[0], math.hypot(force[1], force[2]))
    half = 0.5 * np.array([roll, pitch, heading])
    about = np.eye(3) * np.sin(half)[:, None]
    x, y, z = (np.append(about[k], math.cos(half[k])) for k in range(3))
    return quaternion.multiply(quaternion.multiply(z, y), x)
