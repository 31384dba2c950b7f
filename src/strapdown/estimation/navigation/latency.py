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
from strapdown.estimation.navigation.start import HeadingFrom, start_at_fix
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.estimation.navigation.aiding import Aiding, Kind
    from strapdown.estimation.navigation.params import NavigatorParams
    from strapdown.estimation.navigation.prior import NavigationPrior
    from strapdown.inertial.navigation import Place
    from strapdown.series import ImuSeries

__all__ = ["Latency", "estimate_latency"]

_WINDOW_S: Final = 300.0
"""Longest part of a recording that is used [s]."""
_STEP_S: Final = 0.05
"""Distance between the latencies that are compared [s], and ..."""
_STEP_NS: Final = round(_STEP_S * NS_PER_S)
"""... the same in ns."""
_FARTHEST_S: Final = 0.25
"""Longest correction of a round [s]: far from the minimum there is no parabola."""
_GRID_S: Final = (-0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8)
"""Where the search may begin if the stamps as they are do not fit [s]."""
_ROUNDS: Final = 5
_CLOSE_S: Final = 0.005
"""Correction that ends the search [s], or a standard deviation."""
_CREDIBLE: Final = 6.25
"""Misfit above which more than the latency is wrong: innovations 2.5 times as large as stated."""
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


class _Minimum(NamedTuple):
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
    """Estimate by how much the stamps of one kind of aiding are late, up to about half a second.

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
        or ten fixes, and where the innovations stay 2.5 times as large as stated.
    """
    told = _liveliest(aiding)
    fixes = [each.t_ns for each in told if each.kind == "position"]
    if len(fixes) < _FEWEST or fixes[-1] - fixes[0] < _SHORTEST_NS:
        return _UNKNOWN
    search = _Search(imu, told, params, place, of)
    late, start = 0.0, search.start(0.0)
    if start is None:
        return _UNKNOWN
    found = search.minimum(late, start)
    if not found.is_within(_LEAST_S, _SIGNIFICANT):
        late = search.closest(start if found.misfit < _CREDIBLE else None)
        start = search.start(late)
        if start is None:
            return _UNKNOWN
        found = search.minimum(late, start)
    least = min(found.misfit, _CREDIBLE)
    for _ in range(_ROUNDS):
        late += found.step
        if found.is_within(_CLOSE_S, 1.0):
            return Latency(late, found.sigma) if found.misfit <= least else _UNKNOWN
        found = search.minimum(late, start)
    return _UNKNOWN


class _Search:
    """Runs of the navigator over one part of a recording, with several latencies."""

    def __init__(
        self, imu: ImuSeries, aiding: list[Aiding], params: NavigatorParams, place: Place, of: Kind
    ) -> None:
        self._aiding, self._params, self._place, self._of = aiding, params, place, of
        first_ns, last_ns = aiding[0].t_ns - _STEP_NS, aiding[-1].t_ns + _STEP_NS
        self._imu = imu[(imu.t_ns >= first_ns) & (imu.t_ns <= last_ns)]

    def start(self, late: float) -> NavigationPrior | None:
        """Return the start of navigation with this latency; None where its heading is unknown."""
        told = self._corrected(late)
        start, source = start_at_fix(self._params, self._imu, told, self._place)
        return None if source is HeadingFrom.NOWHERE else start

    def misfit(self, late: float, start: NavigationPrior) -> float:
        """Return the misfit with this latency: the mean of the squared innovations."""
        nis, dof = self._run(self._corrected(late), start)
        return nis / dof

    def closest(self, start: NavigationPrior | None) -> float:
        """Return the latency of the grid with the least misfit; without a start, from its own."""
        starts = {late: start or self.start(late) for late in _GRID_S}
        misfits = {late: self.misfit(late, begun) for late, begun in starts.items() if begun}
        return min(misfits, key=misfits.__getitem__, default=0.0)

    def minimum(self, late: float, start: NavigationPrior) -> _Minimum:
        """Return the minimum of the parabola through the misfits of three latencies near this."""
        told = self._corrected(late)
        runs = [self._run(_shifted(told, self._of, ns), start) for ns in (-_STEP_NS, 0, _STEP_NS)]
        (before, _), (here, dof), (after, _) = runs
        scale = here / dof
        bend, slope = before - 2.0 * here + after, 0.5 * (before - after)
        if not bend > 0.0:
            return _Minimum(math.copysign(_FARTHEST_S, slope), math.inf, scale)
        step = max(-_FARTHEST_S, min(_STEP_S * slope / bend, _FARTHEST_S))
        return _Minimum(step, _STEP_S * math.sqrt(2.0 / bend * max(scale, 1.0)), scale)

    def _corrected(self, late: float) -> list[Aiding]:
        """Return aiding corrected by a latency, as far as it stays within the part when shifted."""
        first_ns, last_ns = int(self._imu.t_ns[0]), int(self._imu.t_ns.max())
        corrected = _shifted(self._aiding, self._of, round(late * NS_PER_S))
        return [a for a in corrected if first_ns + _STEP_NS <= a.t_ns <= last_ns - _STEP_NS]

    def _run(self, aiding: list[Aiding], start: NavigationPrior) -> tuple[float, int]:
        """Return the sum of the squared innovations after the first fifth, and their number."""
        params = replace(self._params, gate=1.0)
        navigator = StrapdownNavigator(params, start=start, place=self._place)
        found = navigator.run(self._imu, aiding=aiding).aiding
        settled = found[len(found) // 5 :]
        return sum(each.nis for each in settled), sum(each.dof for each in settled)


def _shifted(aiding: list[Aiding], of: Kind, late_ns: int) -> list[Aiding]:
    """Return aiding whose stamps of a kind are corrected by a latency."""
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
