"""Gyro bias of a recording from its rests, however large it is.

At rest the gyro reads its bias, and gyro, accelerometer and magnetometer vary only by noise. The
variation does not depend on the size of the bias, so a rest is found by it alone. A steady
rotation about the vertical looks alike; it counts as rest only if it agrees with most others.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.compilation import compiled
from strapdown._kernels.kernel import kernel
from strapdown.estimation.error_state.motion import REST_FORCE, REST_RATE, REST_RATE_LIMIT
from strapdown.estimation.error_state.recording import all_three, median, squares
from strapdown.samples.sample import MAX_FIELD, MAX_FORCE, MAX_RATE
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.series import ImuSeries

__all__ = ["bias_at_rest"]

HALF_WINDOW_NS: Final = 500_000_000  # of the running mean
SHORTEST_S: Final = 1.5  # of a rest, and of all with a bias up to REST_RATE; longer for larger ones
REST_FIELD: Final = 0.1  # of the field: largest change of its mean at rest
USUAL_BIAS: Final = 3.0 * RAD_PER_DEG  # rad/s; larger ones need proportionally longer rests
LONGEST_STEP_NS: Final = 500_000_000  # a rest does not continue across a longer gap


def bias_at_rest(series: ImuSeries) -> FloatArray:
    """Return the gyro bias from the rests of a recording; 0 without any.

    A stretch is at rest if the distances of angular velocity and specific force from their
    running means stay below the bounds of VQF, and the running means of specific force and
    magnetic field do not change. Of the stretches those count whose mean angular velocities
    agree with each other within the bound, for the longest total time weighted by a Cauchy
    distribution of the bias.

    Parameters
    ----------
    series : ImuSeries
        In any body frame; rows that are not plausible are not used.

    Returns
    -------
    (3,) array
        [rad/s, body].

    Examples
    --------
    >>> import numpy as np
    >>> from strapdown.series import ImuSeries
    >>> t_ns = np.arange(500) * 10_000_000
    >>> series = ImuSeries(t_ns, [[0.0, 0.0, 0.07]] * 500, [[0.0, 0.0, 9.81]] * 500)
    >>> bias_at_rest(series).round(3).tolist()
    [0.0, 0.0, 0.07]
    """
    rate, force = series.angular_velocity, series.specific_force
    good = all_three(np.abs(rate) < MAX_RATE) & all_three(np.abs(force) < MAX_FORCE)
    if np.count_nonzero(good) < 2:
        return np.zeros(3)
    t_ns, magnetic = series.t_ns, series.magnetic_field
    if not good.all():
        rows = np.flatnonzero(good)
        rate, force, t_ns = rate.take(rows, 0), force.take(rows, 0), t_ns[rows]
        magnetic = None if magnetic is None else magnetic.take(rows, 0)
    step_ns = np.diff(t_ns, prepend=0)
    joined = (step_ns >= 0) & (step_ns < LONGEST_STEP_NS)
    t_ns = np.cumsum(np.where(joined, step_ns, LONGEST_STEP_NS))
    _, turning = running_mean(t_ns, rate)
    mean_force, shaking = running_mean(t_ns, force)
    steady = (turning < REST_RATE) & (shaking < REST_FORCE)
    slow = [(mean_force, REST_FORCE)]
    if magnetic is not None:
        field, strength = bridged(t_ns, magnetic)
        slow.append((running_mean(t_ns, field)[0], REST_FIELD * strength))
    means, lengths = [], []
    for first, last in stretches(steady, joined):
        part = slice(first, last)
        mean = rate[part].mean(axis=0)
        length = (t_ns[last - 1] - t_ns[first]) * 1e-9
        if length < SHORTEST_S or np.abs(mean).max() > REST_RATE_LIMIT:
            continue
        if all(distance(v[part], v[part].mean(axis=0)).max() <= bound for v, bound in slow):
            means.append(mean)
            lengths.append(length)
    return agreed(np.reshape(means, (-1, 3)), np.array(lengths))


def running_mean(t_ns: IntArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean of the window about each row, and the distance of the row from it."""
    mean, total, away = np.array(v), np.zeros((len(v) + 1, 3)), np.empty(len(v))
    compiled(average)(t_ns, total, mean, away)
    return mean, away


@kernel
def average(t_ns: IntArray, total: FloatArray, mean: FloatArray, away: FloatArray) -> None:
    """Replace rows by the mean of the window about each, and write their distances from it.

    ``total`` becomes the sums of the rows before each; its first row is zero.
    """
    for i in range(len(mean)):
        for k in range(3):
            total[i + 1, k] = total[i, k] + mean[i, k]
    first = last = 0
    for i in range(len(mean)):
        while t_ns[first] < t_ns[i] - HALF_WINDOW_NS:
            first += 1
        while last < len(mean) and t_ns[last] <= t_ns[i] + HALF_WINDOW_NS:
            last += 1
        square = 0.0
        for k in range(3):
            center = (total[last, k] - total[first, k]) / (last - first)
            off = mean[i, k] - center
            mean[i, k] = center
            square += off * off
        away[i] = math.sqrt(square)


def distance(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the distance of each row."""
    found: FloatArray = np.sqrt(squares(a - b))
    return found


def bridged(t_ns: IntArray, field: FloatArray) -> tuple[FloatArray, float]:
    """Return the field with missing readings interpolated, and its median strength."""
    seen = all_three(np.abs(field) < MAX_FIELD)
    if not seen.any():
        return np.zeros_like(field), 0.0
    if seen.all():
        return field, median_strength(field)
    known, field = t_ns[seen], field[seen]
    lines = np.stack([np.interp(t_ns, known, v) for v in field.T], axis=1)
    return lines, median_strength(field)


def median_strength(field: FloatArray) -> float:
    """Return the median length of the rows."""
    return median(np.sqrt(squares(field)))


def stretches(steady: BoolArray, joined: BoolArray) -> IntArray:
    """Return first row and row after the last of each run of steady samples without a gap."""
    inner = steady[1:] & steady[:-1] & joined[1:]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inner, [False]])))
    edges[1::2] += 1
    return edges.reshape(-1, 2)


def agreed(means: FloatArray, lengths: FloatArray) -> FloatArray:
    """Return the mean angular velocity of those stretches that agree for the longest time."""
    best, bias = 0.0, np.zeros(3)
    for mean in means:
        alike = distance(means, mean) < REST_RATE
        center = lengths[alike] @ means[alike] / lengths[alike].sum()
        total, size = float(lengths[alike].sum()), float(np.abs(center).max())
        score = total / (1.0 + size * size / (USUAL_BIAS * USUAL_BIAS))
        if score > best and total >= SHORTEST_S * size / REST_RATE:
            best, bias = score, center
    return bias
