"""Alignment in motion: attitude from GNSS velocities and positions, without rest."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_params
from strapdown.errors import ValueRangeError
from strapdown.estimation.navigation.navigator import StrapdownNavigator
from strapdown.estimation.navigation.params import NavigatorParams
from strapdown.estimation.navigation.prior import NavigationPrior
from strapdown.geometry import euler, quaternion
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.series.series import require_series
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from strapdown._typing import FloatArray
    from strapdown.estimation.navigation.aiding import Aiding, Kind
    from strapdown.inertial.navigation import Place
    from strapdown.series import ImuSeries

__all__ = ["align_in_motion"]

FIRST_WINDOW_S: Final = 10.0  # then twice as long, until the heading is known
LEVEL_S: Final = 1.0  # of the mean specific force from which tilt is guessed
HEADINGS: Final = 8  # hypotheses
SAME: Final = 0.5  # rad; hypotheses with closer headings at the end have converged
DECISIVE: Final = 25.0  # difference of the sums of NIS that excludes a hypothesis
ROUNDS: Final = 3  # of linearisation about the smoothed start
POSITION_SIGMA: Final = 100.0  # m, of the prior, ...
VELOCITY_SIGMA: Final = 30.0  # m/s
TILT_SIGMA: Final = 0.3  # rad
HEADING_SIGMA: Final = math.pi / math.sqrt(3.0)  # rad; that of any angle


def align_in_motion(
    data: ImuSeries,
    aiding: Iterable[Aiding],
    params: NavigatorParams | None = None,
    *,
    place: Place | None = None,
    heading_sigma: float = 0.1,
) -> NavigationPrior:
    """Return a start whose attitude is estimated from motion, of unknown heading.

    Rotated into the world, the specific force explains the changes of velocity at the true
    heading only. The navigator runs from several headings; the one with the smallest innovations
    is refined by smoothing. The time that this uses begins at the first sample and is doubled
    until the heading is known. It needs accelerations in the horizontal plane, as in curves, at
    a start or at a stop; a constant velocity has no information about heading. The forward axis
    need not be along the velocity.

    Parameters
    ----------
    data : ImuSeries
        From the start of the navigation.
    aiding : iterable of Aiding
        With velocities or positions in the world; aiding outside of the data is left out.
    params : NavigatorParams, optional
        Noise and bias of the sensor.
    place : Place, optional
        As for :class:`StrapdownNavigator`.
    heading_sigma : float, optional
        Standard deviation with which the heading has to be known in the end [rad].

    Returns
    -------
    NavigationPrior
        Smoothed state at the first sample. Its covariance is that before any aiding (any
        heading), so that data and aiding may be processed from there without being used twice;
        the consistent covariance is that of the navigator that does so.

    Raises
    ------
    ValueRangeError
        The aiding has no velocity or position, or the heading stays unknown.
    """
    require_series(data)
    params = replace(as_params(params, NavigatorParams), gate=1.0)
    data = data.in_frames(world=WorldFrame.ENU, body=BodyFrame.FLU)
    first_ns, last_ns = (int(data.t_ns[k]) for k in (0, -1)) if len(data) else (0, 0)
    usable = [each for each in aiding if first_ns <= each.t_ns <= last_ns]
    if not any(each.kind in {"position", "velocity"} for each in usable):
        raise ValueRangeError(
            f"expected aiding with velocities or positions within the data, got {len(usable)}"
            f" of other kinds from {first_ns} to {last_ns} ns; compare the clocks"
        )
    usable.sort(key=lambda each: each.t_ns)
    hypotheses = _Hypotheses(params, place, data, usable)
    window_ns = round(FIRST_WINDOW_S * NS_PER_S)
    while True:
        hypotheses.run_until(first_ns + window_ns)
        start, sigma = hypotheses.best()
        if sigma <= heading_sigma:
            return start
        if first_ns + window_ns >= last_ns:
            found = (
                "several headings fit" if math.isinf(sigma) else f"{math.degrees(sigma):.0f} deg"
            )
            raise ValueRangeError(
                f"expected motion that determines the heading within"
                f" {math.degrees(heading_sigma):.0f} deg, got {found} after"
                f" {window_ns / NS_PER_S:.0f} s; accelerate or turn, or give the heading"
            )
        window_ns *= 2


class _Hypotheses:
    """Navigators that differ in the heading at the start."""

    def __init__(
        self, params: NavigatorParams, place: Place | None, data: ImuSeries, aiding: list[Aiding]
    ) -> None:
        self._params, self._place = params, place
        self._data, self._aiding = data, aiding
        narrow = _covariance(params, math.pi / HEADINGS)
        force = data.specific_force[data.t_ns <= data.t_ns[0] + round(LEVEL_S * NS_PER_S)]
        velocity, position = (_first_of(kind, aiding) for kind in ("velocity", "position"))
        self._starts = [
            NavigationPrior(level_attitude(force, heading), velocity, position, covariance=narrow)
            for heading in 2.0 * math.pi * np.arange(HEADINGS) / HEADINGS
        ]
        self._navigators = [self._from(start) for start in self._starts]
        self._misfits = np.zeros(HEADINGS)
        self._until_ns = int(data.t_ns[0]) - 1

    def _from(self, start: NavigationPrior) -> StrapdownNavigator:
        return StrapdownNavigator(self._params, start=start, place=self._place)

    def run_until(self, t_ns: int) -> None:
        """Continue all with the data up to a time."""
        stamps = self._data.t_ns
        part = self._data[(stamps > self._until_ns) & (stamps <= t_ns)]
        if not len(part):
            return
        until_ns = int(part.t_ns[-1])
        aiding = [each for each in self._aiding if self._until_ns < each.t_ns <= until_ns]
        runs = [navigator.run(part, aiding=aiding) for navigator in self._navigators]
        self._misfits += [sum(each.nis for each in run.aiding) for run in runs]
        self._ends = [run.q_world_from_body[-1] for run in runs]
        self._until_ns = until_ns

    def best(self) -> tuple[NavigationPrior, float]:
        """Return the start and the sigma of its heading; infinite where several headings fit."""
        best = int(self._misfits.argmin())
        start = self._starts[best]
        away = np.array([quaternion.angle_between(end, self._ends[best]) for end in self._ends])
        if (self._misfits[away > SAME] < self._misfits[best] + DECISIVE).any():
            return start, math.inf
        data = self._data[self._data.t_ns <= self._until_ns]
        aiding = [each for each in self._aiding if each.t_ns <= self._until_ns]
        for _ in range(ROUNDS):
            smoothed = self._from(start).run(data, aiding=aiding, smooth=True)
            start = NavigationPrior(
                smoothed.q_world_from_body[0],
                smoothed.velocity_world[0],
                smoothed.position_world[0],
                gyro_bias=smoothed.gyro_bias[0],
                accel_bias=smoothed.accel_bias[0],
                covariance=_covariance(self._params, HEADING_SIGMA),
            )
        return start, float(np.sqrt(smoothed.covariance[0, 8, 8]))


def level_attitude(specific_force: FloatArray, heading: float) -> FloatArray:
    """Return the attitude with this heading and the tilt of the mean specific force."""
    x, y, z = np.nanmean(specific_force, axis=0)
    return euler.to_quaternion([math.atan2(y, z), math.atan2(-x, math.hypot(y, z)), heading], "zyx")


def _first_of(kind: Kind, aiding: list[Aiding]) -> FloatArray:
    """Return the first value of a kind in the world; zeros if there is none."""
    return next((a.value for a in aiding if a.kind == kind and a.frame == "world"), np.zeros(3))


def _covariance(params: NavigatorParams, heading_sigma: float) -> FloatArray:
    """Return the covariance before any aiding."""
    sigmas = [POSITION_SIGMA] * 3 + [VELOCITY_SIGMA] * 3 + [TILT_SIGMA] * 2 + [heading_sigma]
    sigmas += [params.accel_bias_sigma] * 3 + [params.gyro_bias_sigma] * 3
    return np.diag(np.square(sigmas))
