"""Latency of the stamps of fixes, from what the inertial sensor measures.

A fix that is stamped late by t is off by t times the velocity. The innovations of a navigator are
linear in t as long as the errors of its state are small; so the sum of their squares, each in units
of its variance, is a parabola. Its minimum is the latency, its curvature the information.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.estimation.navigation.navigator import StrapdownNavigator
from strapdown.estimation.navigation.start import start_at_fix
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.estimation.navigation.aiding import Aiding, Kind
    from strapdown.estimation.navigation.params import NavigatorParams
    from strapdown.inertial.navigation import Place
    from strapdown.series import ImuSeries

__all__ = ["Latency", "estimate_latency"]

_WINDOW_S: Final = 300.0
"""Longest part of a recording that is used [s]."""
_STEP_S: Final = 0.05
"""Distance between the latencies that are compared [s]."""
_FARTHEST_S: Final = 0.25
"""Longest correction of a round [s]: far from the minimum there is no parabola."""
_GRID_S: Final = (-0.8, -0.6, -0.4, -0.2, 0.2, 0.4, 0.6, 0.8)
"""Where the search may begin if the stamps as they are do not fit [s]."""
_ROUNDS: Final = 5
_CLOSE_S: Final = 0.005
"""Correction that ends the search [s], or a standard deviation."""
_FEWEST: Final = 10
_SHORTEST_NS: Final = 10 * NS_PER_S
"""Least number of fixes, and the least time from first to last."""
_SIGNIFICANT: Final = 5.0
"""Standard deviations, and ..."""
_LEAST_S: Final = 0.02
"""... seconds, from which on a latency is worth a report."""


@dataclass(frozen=True)
class Latency:
    """Latency of stamps.

    Parameters
    ----------
    seconds : float
        By how much they are late [s]; NaN where the motion does not determine it.
    sigma : float
        Its standard deviation [s], by the size of the innovations; infinite as above.
    """

    seconds: float
    sigma: float

    @property
    def is_significant(self) -> bool:
        """Whether it exceeds 20 ms and five standard deviations."""
        return abs(self.seconds) > max(_LEAST_S, _SIGNIFICANT * self.sigma)


_UNKNOWN: Final = Latency(math.nan, math.inf)


class _Round(NamedTuple):
    """Minimum of the parabola through three misfits, and the misfit of the one in the middle."""

    step: float
    sigma: float
    misfit: float

    def is_within(self, seconds: float, sigmas: float) -> bool:
        """Whether the minimum is known, and near: by time, or by standard deviations."""
        return self.sigma < math.inf and abs(self.step) <= max(seconds, sigmas * self.sigma)


def estimate_latency(
    imu: ImuSeries,
    aiding: Sequence[Aiding],
    params: NavigatorParams,
    place: Place,
    *,
    of: Kind = "position",
) -> Latency:
    """Estimate by how much the stamps of one kind of aiding are late, up to about a second.

    The navigator runs with several latencies over the part of up to five minutes in which the fixes
    move farthest. A wrong lever arm along a straight way looks like a latency.

    Parameters
    ----------
    imu : ImuSeries
        FLU.
    aiding : sequence of Aiding
        With positions, sorted by stamp, during the samples.
    params : NavigatorParams
    place : Place
    of : str
        Kind of the aiding.

    Returns
    -------
    Latency
        In addition to that by which the stamps were corrected; NaN also for less than ten seconds
        or ten fixes.
    """
    told = _liveliest(aiding)
    fixes = [each.t_ns for each in told if each.kind == "position"]
    if len(fixes) < _FEWEST or fixes[-1] - fixes[0] < _SHORTEST_NS:
        return _UNKNOWN

    def around(late: float) -> _Round:
        return _minimum(imu, _shifted(told, of, late), params, place, of)

    late, found = 0.0, around(0.0)
    if not found.is_within(_LEAST_S, _SIGNIFICANT):
        tried = {0.0: found} | {each: around(each) for each in _GRID_S}
        late = min(tried, key=lambda each: tried[each].misfit)
        found = tried[late]
    least = found.misfit
    for _ in range(_ROUNDS):
        late += found.step
        if found.is_within(_CLOSE_S, 1.0):
            return Latency(late, found.sigma) if found.misfit <= least else _UNKNOWN
        found = around(late)
    return _UNKNOWN


def _minimum(
    imu: ImuSeries, aiding: list[Aiding], params: NavigatorParams, place: Place, of: Kind
) -> _Round:
    """Return the latency with the smallest misfit by three runs from one start."""
    margin_ns = round(_STEP_S * NS_PER_S)
    first_ns, last_ns = aiding[0].t_ns - margin_ns, aiding[-1].t_ns + margin_ns
    part = imu[(imu.t_ns >= first_ns) & (imu.t_ns <= last_ns)]
    first_ns, last_ns = int(part.t_ns[0]) + margin_ns, int(part.t_ns.max()) - margin_ns
    told = [each for each in aiding if first_ns <= each.t_ns <= last_ns]
    start, _ = start_at_fix(params, part, told, place)
    navigator = StrapdownNavigator(replace(params, gate=1.0), start=start, place=place)
    misfits = []
    for late in (-_STEP_S, 0.0, _STEP_S):
        navigator.reset()
        found = navigator.run(part, aiding=_shifted(told, of, late)).aiding
        settled = found[len(found) // 5 :]
        misfits.append(sum(each.nis for each in settled))
    before, here, after = misfits
    scale = here / sum(each.dof for each in settled)
    bend, slope = before - 2.0 * here + after, 0.5 * (before - after)
    if not bend > 0.0:
        return _Round(math.copysign(_FARTHEST_S, slope), math.inf, scale)
    step = max(-_FARTHEST_S, min(_STEP_S * slope / bend, _FARTHEST_S))
    return _Round(step, _STEP_S * math.sqrt(2.0 / bend * max(scale, 1.0)), scale)


def _shifted(aiding: list[Aiding], of: Kind, late: float) -> list[Aiding]:
    """Return aiding whose stamps of a kind are corrected by a latency [s]."""
    late_ns = round(late * NS_PER_S)
    moved = (replace(a, t_ns=a.t_ns - late_ns) if a.kind == of else a for a in aiding)
    return sorted(moved, key=lambda each: each.t_ns)


def _liveliest(aiding: Sequence[Aiding]) -> list[Aiding]:
    """Return the aiding of the part in which the positions move farthest."""
    fixes = [each for each in aiding if each.kind == "position"]
    t_ns = np.array([each.t_ns for each in fixes])
    steps = np.diff([each.value for each in fixes], axis=0)
    path = np.concatenate([[0.0], np.cumsum(np.linalg.norm(steps, axis=1))])
    ends = np.searchsorted(t_ns, t_ns + round(_WINDOW_S * NS_PER_S), "right") - 1
    first = int(np.argmax(path[ends] - path))
    first_ns, last_ns = t_ns[first], t_ns[ends[first]]
    return [each for each in aiding if first_ns <= each.t_ns <= last_ns]
