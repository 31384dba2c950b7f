"""Coarse clock offset and drift by correlation of the lengths of the angular velocities.

The length does not depend on the axes, so that the offset is found before the rotation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.calibration.pair.grid import Grid
from strapdown.calibration.pair.rotation import Fit, fit_rotation
from strapdown.errors import ValueRangeError
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.calibration.pair.signals import Signals

__all__ = ["Coarse", "find_offset"]

SHORTEST_S: Final = 5.0
"""Overlap that a match must have [s]."""
QUIETEST: Final = 3.0 * RAD_PER_DEG
"""Root mean square of the angular velocity below which noise hides the motion [rad/s]."""
LOWEST_CORRELATION: Final = 0.7
CANDIDATES: Final = 8
APART_S: Final = 0.3
"""Least distance of two candidates [s]."""
UNEXPLAINED: Final = 0.3
"""Share of the angular velocity that the best rotation may leave."""
ALIKE: Final = 3.0
"""Ratio of such shares below which two offsets fit alike."""
EXPLAINED: Final = 0.02
"""Share below which an offset fits in any case: it may be off by half a step."""
FINER: Final = 4
"""Coarse steps in a step of the grid for the fit."""
WINDOW_S: Final = 20.0
"""Length of the windows for the drift [s]."""
REACH_S: Final = 0.5
"""Largest change of the offset over a recording [s]."""


@dataclass(frozen=True)
class Coarse:
    """Coarse relation of two clocks, and the rotation that belongs to it.

    Parameters
    ----------
    offset_s, drift : float
        Time of the first minus that of the second at :attr:`middle_s` [s], and its rate.
    middle_s : float
        Middle of the overlap by the first's clock [s].
    overlap_s : float
        Length of the overlap [s].
    correlation : float
        Of the lengths of the angular velocities.
    fit : Fit
        Rotation of the angular velocities.
    rivals_s : tuple of float
        Other offsets that fit alike, as in periodic motion [s].
    """

    offset_s: float
    drift: float
    middle_s: float
    overlap_s: float
    correlation: float
    fit: Fit
    rivals_s: tuple[float, ...]


class _Rates(NamedTuple):
    """Angular velocity of a sensor on a regular grid."""

    start_s: float
    step_s: float
    rate: FloatArray
    length: FloatArray
    known: BoolArray


class _Match(NamedTuple):
    """Angular velocities of the two sensors at one offset."""

    one: _Rates
    two: _Rates
    offset_s: float
    correlation: float
    fit: Fit


def find_offset(first: Signals, second: Signals) -> Coarse:
    """Return the offset of two clocks whose stamps may have nothing in common.

    Raises
    ------
    ValueRangeError
        A sensor does not turn, or no part of one recording resembles one of the other.
    """
    step_s = Grid.over(0.0, 0.0, first, second).step_s / FINER
    one, two = _rates(first, step_s), _rates(second, step_s)
    for rates, name in ((one, "first"), (two, "second")):
        _require_motion(rates, name)
    matches = [_match(*pair, *each) for pair in _variants(one, two) for each in _candidates(*pair)]
    if not matches:
        raise ValueRangeError(_unlike(one, two, None))
    closest = min(matches, key=_left)
    if _left(closest) > UNEXPLAINED or closest.correlation < LOWEST_CORRELATION:
        raise ValueRangeError(_unlike(one, two, closest))
    limit = max(ALIKE * _left(closest), EXPLAINED)
    best, *alike = sorted(
        (match for match in matches if _left(match) <= limit),
        key=lambda match: match.fit.unexplained > limit,  # mirrored ones last
    )
    rivals: list[float] = []
    for match in alike:
        if all(abs(match.offset_s - other) > APART_S for other in (best.offset_s, *rivals)):
            rivals.append(match.offset_s)
    begin = max(one.start_s, two.start_s + best.offset_s)
    end = min(_end(one), _end(two) + best.offset_s)
    middle = 0.5 * (begin + end)
    offset, drift = _drift(best.one, best.two, best.offset_s, middle)
    return Coarse(offset, drift, middle, end - begin, best.correlation, best.fit, tuple(rivals))


def _rates(signals: Signals, step_s: float) -> _Rates:
    start, end = signals.span_s
    grid = Grid(start, step_s, max(int((end - start) / step_s) - 4, 0), parts=4)
    rate = grid.mean(signals.angular_velocity(grid.fine_s))
    known = grid.covered(signals.known(grid.fine_s))
    return _Rates(start + 2 * step_s, step_s, rate, np.linalg.norm(rate, axis=1), known)


def _end(rates: _Rates) -> float:
    return rates.start_s + rates.step_s * len(rates.rate)


def _require_motion(rates: _Rates, name: str) -> None:
    moving = rates.rate[rates.known]
    covered_s = len(moving) * rates.step_s
    if covered_s < SHORTEST_S:
        raise ValueRangeError(
            f"expected at least {SHORTEST_S:g} s of angular velocity in the {name} sensor, got "
            f"{covered_s:.3g} s; record a minute of motion"
        )
    rms = float(np.sqrt(np.mean(np.sum((moving - moving.mean(axis=0)) ** 2, axis=1))))
    if rms < QUIETEST:
        raise ValueRangeError(
            f"expected motion of the {name} sensor, got an angular velocity of "
            f"{rms / RAD_PER_DEG:.3g} deg/s RMS; turn the body about two axes or more for a minute"
        )


def _variants(one: _Rates, two: _Rates) -> list[tuple[_Rates, _Rates]]:
    """Return the rates as they are, and without their means, which may be those of the biases."""
    still = []
    for rates in (one, two):
        rate = rates.rate - rates.rate[rates.known].mean(axis=0)
        still.append(rates._replace(rate=rate, length=np.linalg.norm(rate, axis=1)))
    return [(one, two), (still[0], still[1])]


def _candidates(one: _Rates, two: _Rates) -> list[tuple[int, float]]:
    """Return lags in steps, and the correlation at each, best first.

    A long overlap counts more than a short one that resembles by chance: the order is that of
    Fisher's z over its standard deviation.
    """
    correlation, overlap = _correlation(one, two)
    score = np.arctanh(np.clip(correlation, -0.999999, 0.999999)) * np.sqrt(overlap)
    padded = np.pad(score, 1, constant_values=-np.inf)
    is_peak = (score > 0.0) & (score >= np.maximum(padded[:-2], padded[2:]))
    left = np.where(is_peak, score, -np.inf)
    apart = round(APART_S / one.step_s)
    found: list[tuple[int, float]] = []
    while len(found) < CANDIDATES and left.max() > 0.0:
        best = int(np.argmax(left))
        found.append((best - (len(two.rate) - 1), float(correlation[best])))
        left[max(best - apart, 0) : best + apart + 1] = -np.inf
    return found


def _correlation(one: _Rates, two: _Rates) -> tuple[FloatArray, FloatArray]:
    """Return Pearson's correlation for every lag, and the number of common rows.

    Means and variances are those of the common rows (D. Padfield: Masked object registration in
    the Fourier domain, IEEE Trans. Image Processing 21(5), 2012). Lags with a short overlap have
    the correlation -1.
    """
    from scipy.fft import irfft, next_fast_len, rfft  # noqa: PLC0415 (slow to import)

    rows = len(one.rate) + len(two.rate) - 1
    size = next_fast_len(rows, real=True)
    x, y = (
        np.where(rates.known, rates.length - rates.length[rates.known].mean(), 0.0)
        for rates in (one, two)
    )
    x, y = (values / max(float(np.std(values)), 1e-12) for values in (x, y))
    known_x, known_y = one.known.astype(float), two.known.astype(float)
    from_x = [rfft(values, size) for values in (known_x, x, x**2)]
    from_y = [rfft(values[::-1], size) for values in (known_y, y, y**2)]

    def sums(power_x: int, power_y: int) -> FloatArray:
        summed: FloatArray = irfft(from_x[power_x] * from_y[power_y], size)[:rows]
        return summed

    n = np.maximum(np.rint(sums(0, 0)), 1.0)
    mean_x, mean_y = sums(1, 0) / n, sums(0, 1) / n
    spread = (sums(2, 0) / n - mean_x**2) * (sums(0, 2) / n - mean_y**2)
    with np.errstate(invalid="ignore"):
        correlation = (sums(1, 1) / n - mean_x * mean_y) / np.sqrt(np.maximum(spread, 1e-6))
    fewest = SHORTEST_S / one.step_s
    return np.where(n >= fewest, correlation, -1.0), n


def _match(one: _Rates, two: _Rates, lag: int, correlation: float) -> _Match:
    """Return the rotation at a lag: row i + lag of the first belongs to row i of the second."""
    a, b = _common(one, two, lag)
    return _Match(
        one,
        two,
        one.start_s - two.start_s + lag * one.step_s,
        correlation,
        fit_rotation(one.rate[a], two.rate[b]),
    )


def _left(match: _Match) -> float:
    """Return the share of the angular velocity that is left, be the axes mirrored or not."""
    return min(match.fit.unexplained, match.fit.mirrored)


def _common(one: _Rates, two: _Rates, lag: int) -> tuple[IntArray, IntArray]:
    """Return the numbers of the rows of both that are known at a lag."""
    begin, end = max(lag, 0), min(len(one.rate), len(two.rate) + lag)
    rows = np.arange(begin, end)
    rows = rows[one.known[rows] & two.known[rows - lag]]
    return rows, rows - lag


def _drift(one: _Rates, two: _Rates, offset_s: float, middle_s: float) -> tuple[float, float]:
    """Return offset and drift from the best lags of windows; no drift in short recordings."""
    lag = round((offset_s - one.start_s + two.start_s) / one.step_s)
    rows, _ = _common(one, two, lag)
    size, reach = round(WINDOW_S / one.step_s), round(REACH_S / one.step_s)
    times, lags = [], []
    for start in range(0, len(rows) - size + 1, size):
        window = rows[start : start + size]
        best = _local_lag(one, two, window, lag, reach)
        if best is not None:
            times.append(one.start_s + one.step_s * float(window.mean()))
            lags.append(best)
    offsets = one.start_s - two.start_s + one.step_s * np.array(lags)
    if len(times) < 3:
        return (float(np.median(offsets)) if times else offset_s), 0.0
    t = np.array(times) - middle_s
    low, high = np.triu_indices(len(t), 1)
    slope = float(np.median((offsets[high] - offsets[low]) / (t[high] - t[low])))
    return float(np.median(offsets - slope * t)), slope


def _local_lag(one: _Rates, two: _Rates, window: IntArray, lag: int, reach: int) -> float | None:
    """Return the best lag of a window, between steps by a parabola; None if it is not clear."""
    correlations = np.full(2 * reach + 1, -1.0)
    for number, shift in enumerate(range(lag - reach, lag + reach + 1)):
        other = window - shift
        inside = (other >= 0) & (other < len(two.rate))
        inside[inside] = two.known[other[inside]]
        if inside.sum() > len(window) // 2:
            x, y = one.length[window[inside]], two.length[other[inside]]
            x, y = x - x.mean(), y - y.mean()
            scale = float(np.linalg.norm(x) * np.linalg.norm(y))
            correlations[number] = float(x @ y) / scale if scale > 0.0 else -1.0
    best = int(np.argmax(correlations))
    if correlations[best] < LOWEST_CORRELATION or not 0 < best < 2 * reach:
        return None
    before, here, after = correlations[best - 1 : best + 2].tolist()
    between: float = 0.5 * (before - after) / (before - 2.0 * here + after)
    return lag - reach + best + between


def _unlike(one: _Rates, two: _Rates, best: _Match | None) -> str:
    found = "no overlap of 5 s"
    if best is not None:
        found = (
            f"at best a correlation of {best.correlation:.2f} at an offset of {best.offset_s:.2f} s"
        )
    return (
        "expected both sensors on one body, turning together, got angular velocities that do not "
        f"match: {found} ({len(one.rate) * one.step_s:.0f} s and "
        f"{len(two.rate) * two.step_s:.0f} s recorded); record both at the same time, and move the "
        "body lively about all axes"
    )
