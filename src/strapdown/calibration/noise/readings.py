"""Values read off an Allan curve with a ruler: tangents of a given slope, and the lowest point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.noise.curve import FEWEST, curves_of
from strapdown.calibration.noise.model import LETTERS, NAMES, unit_variance
from strapdown.sensors.noise.flicker import ALLAN_FLOOR

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray
    from strapdown.calibration.noise.curve import AllanCurves, Curve

__all__ = ["Minimum", "Reading", "minimum_of", "read_curve", "read_noise", "tangent_bound"]

SLOPES: Final = {"Q": -1.0, "N": -0.5, "B": 0.0, "K": 0.5, "R": 1.0}
_TOLERANCE: Final = 0.1
_REACH: Final = 2.0  # factor of cluster time on both sides over which a slope is measured
_SHORTEST_REGION: Final = 2.0  # factor of cluster time that a slope has to last
_AT_THE_END: Final = 1.5  # a minimum within this factor of the last cluster time may go on falling


@dataclass(frozen=True)
class Reading:
    """A coefficient read off the curve.

    Parameters
    ----------
    value : float, optional
        In SI units; None where the curve has no region of the slope.
    at_s : (float, float), optional
        Cluster times of the region, or of the minimum twice [s].
    upper : float
        Largest value whose line is nowhere above the curve.
    reason : str
        Reason for a missing value.
    """

    value: float | None
    at_s: tuple[float, float] | None
    upper: float
    reason: str = ""


@dataclass(frozen=True)
class Minimum:
    """Lowest point of the Allan curve, which data sheets print as bias instability.

    Parameters
    ----------
    deviation : float
        [u].
    tau_s : float
        Its cluster time [s].
    at_end : bool
        Whether it is at the longest cluster times, so that a longer log may show a lower one.
    """

    deviation: float
    tau_s: float
    at_end: bool


def read_noise(result: AllanCurves) -> dict[str, dict[str, Reading]]:
    """Return the readings of each channel by letter.

    ======  ==========================================
    letter  line through the points of the slope
    ======  ==========================================
    Q       slope -1, at sqrt(3) s
    N       slope -1/2, at 1 s
    B       lowest point, divided by 0.66428
    K       slope +1/2, at 3 s
    R       slope +1, at sqrt(2) s
    ======  ==========================================

    A line counts where the slope of the curve is within 0.1 of that of the line over a factor of
    two in cluster time. Elsewhere the value is None with the reason: a value read at 1 s of any
    slope would be no noise density.

    Parameters
    ----------
    result : AllanResult
        Of kind ``oadev``, ``adev`` or ``totdev``.

    Raises
    ------
    UnknownNameError
        The deviation is not an Allan deviation.
    """
    curves = zip(result.channels, curves_of(result), strict=True)
    return {channel: read_curve(curve) for channel, curve in curves}


def read_curve(curve: Curve) -> dict[str, Reading]:
    """Return the readings of one curve by letter."""
    if len(curve) < FEWEST:
        reason = f"{len(curve)} cluster times with a deviation above 0, fewer than {FEWEST}"
        bound = tangent_bound(curve, np.sqrt(curve.variance))
        return {letter: Reading(None, None, bound[letter], reason) for letter in LETTERS}
    slopes = _local_slopes(curve)
    upper = tangent_bound(curve, np.sqrt(curve.variance))
    found = {
        letter: _tangent(curve, slopes, letter, upper[letter])
        for letter in LETTERS
        if letter != "B"
    }
    found["B"] = _floor(curve, upper["B"])
    return {letter: found[letter] for letter in LETTERS}


def minimum_of(curve: Curve) -> Minimum | None:
    """Return the lowest point of a curve; None of an empty one."""
    if not len(curve):
        return None
    lowest = int(np.argmin(curve.variance))
    tau_s = float(curve.tau_s[lowest])
    at_end = tau_s * _AT_THE_END > curve.tau_s[-1]
    return Minimum(float(np.sqrt(curve.variance[lowest])), tau_s, bool(at_end))


def tangent_bound(curve: Curve, deviation: FloatArray) -> dict[str, float]:
    """Return for each letter the coefficient of the highest line that is nowhere above a curve.

    Parameters
    ----------
    curve : Curve
        Its cluster times.
    deviation : (T,)
        The curve that bounds [u].
    """
    return {
        letter: float(
            np.min(deviation / np.sqrt(unit_variance(letter, curve.tau_s)), initial=np.inf)
        )
        for letter in LETTERS
    }


def _floor(curve: Curve, upper: float) -> Reading:
    lowest = minimum_of(curve)
    assert lowest is not None  # noqa: S101 (the curve has points)
    if lowest.at_end:
        reason = f"the curve is lowest at its end, {lowest.tau_s:.4g} s: there is no floor yet"
        return Reading(None, None, upper, reason)
    return Reading(lowest.deviation / ALLAN_FLOOR, (lowest.tau_s, lowest.tau_s), upper)


def _tangent(curve: Curve, slopes: FloatArray, letter: str, upper: float) -> Reading:
    """Return the reading of a line: of falling slopes the first region, of rising ones the last."""
    regions = _regions(curve.tau_s, np.abs(slopes - SLOPES[letter]) <= _TOLERANCE)
    if not regions:
        reason = f"no slope of {SLOPES[letter]:+g} ({NAMES[letter]}) over a factor of two in time"
        return Reading(None, None, upper, reason)
    rows = regions[0] if SLOPES[letter] < 0.0 else regions[-1]
    tau_s = curve.tau_s[rows]
    logs = np.log(curve.variance[rows] / unit_variance(letter, tau_s))
    value = float(np.exp(0.5 * np.average(logs, weights=curve.weights[rows])))
    return Reading(value, (float(tau_s[0]), float(tau_s[-1])), upper)


def _regions(tau_s: FloatArray, fits: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[IntArray]:
    """Return the rows of each run of points that is long enough."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], fits.astype(np.int8), [0]])))
    runs = [np.arange(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return [rows for rows in runs if tau_s[rows[-1]] >= _SHORTEST_REGION * tau_s[rows[0]]]


def _local_slopes(curve: Curve) -> FloatArray:
    """Return the slope (T,) of the curve at each point, over a factor of two on both sides."""
    x, y, weights = np.log(curve.tau_s), 0.5 * np.log(curve.variance), curve.edf
    slopes = np.empty(len(curve))
    for row, centre in enumerate(x):
        near = np.abs(x - centre) <= np.log(_REACH) * (1.0 + 1e-9)
        u = x[near] - np.average(x[near], weights=weights[near])
        spread = np.sum(weights[near] * u**2)
        slopes[row] = np.sum(weights[near] * u * y[near]) / spread if spread else np.nan
    return slopes
