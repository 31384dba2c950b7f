"""Comparison of each sensor with the median of all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.detection.voting.memory import FAILED, MEASURES, VOTES
from strapdown.geometry.vectors import approach, clear, distance2, dot, put, square, three
from strapdown.samples.sample import usable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.detection.intake import Settings
    from strapdown.detection.voting.memory import Sensor, SensorMemory, Step, Voted

MULTIPLE: Final = 4.0  # of sigma in a limit
FAR_OVER: Final = 1e30


@kernel
def count_voters(sensors: Sequence[Sensor], largest: float) -> tuple[int, float]:
    """Rank the sensors; return the number of voters and the sum of their variances."""
    voters, total = 0, 0.0
    for i in range(len(sensors)):
        sensor = sensors[i]
        sensor.rank = 0
        if not usable(sensor.value, largest):
            sensor.memory.missing += 1
        elif sensor.memory.state == FAILED:
            sensor.rank = MEASURES
        else:
            sensor.rank = VOTES
            voters += 1
            total += sensor.sigma * sensor.sigma
    return voters, total


@kernel
def median(sensors: Sequence[Sensor], axis: int, least: int) -> float:
    """Return the median of an axis over the sensors of at least this rank; NaN without any."""
    n, count = len(sensors), 0
    for i in range(n):
        count += sensors[i].rank >= least
    low = high = math.nan
    for i in range(n):
        if sensors[i].rank < least:
            continue
        value, below = sensors[i].value[axis], 0
        for j in range(n):
            other = sensors[j].value[axis]
            below += sensors[j].rank >= least and (other < value or (other == value and j < i))
        if below == (count - 1) // 2:
            low = value
        if below == count // 2:
            high = value
    return 0.5 * (low + high)


@kernel
def follow(voted: Voted, step: Step) -> None:
    """Update both low-passes of the median of the sensors."""
    voted.size += step.fast * (square(voted.value) - voted.size)
    voted.change += step.fast * (0.5 * distance2(voted.value, voted.middle) - voted.change)
    put(voted.middle, three(voted.value))
    approach(voted.fast_middle, step.fast, voted.value)
    approach(voted.slow_middle, step.slow, voted.value)


@kernel
def judge(sensor: Sensor, voted: Voted, p: Settings, step: Step, voters: int, total: float) -> None:
    """Compute the excess of a sensor: its statistics relative to their limits."""
    s = sensor.memory
    if sensor.rank == 0:
        s.excess = FAR_OVER
        return
    watch(sensor, step)
    votes = sensor.rank == VOTES
    if votes and voters == 1:
        s.excess = 0.0  # no other sensor to compare with
        s.cross = 0.0
        clear(s.fast_residual)
        clear(s.slow_residual)
        clear(s.noise)
        return
    partners = votes and voters == 2
    # The variance of the median of three or more is about half of the mean variance.
    variance = total if partners else sensor.sigma * sensor.sigma + 0.5 * total / max(voters, 1)
    compare(sensor, voted, 2.0 if partners else 1.0, step)
    s.excess = largest_over_limit(s, voted, p, step, variance)


@kernel
def watch(sensor: Sensor, step: Step) -> None:
    """Update statistics of a single sensor: mean, power, repeated and clipped values."""
    s = sensor.memory
    if s.repeats == 0:
        put(s.fast_value, three(sensor.value))
        put(s.slow_value, three(sensor.value))
    s.repeats = s.repeats + 1 if three(sensor.value) == three(s.last) else 1
    put(s.last, three(sensor.value))
    s.power += step.fast * (distance2(sensor.value, s.fast_value) - s.power)
    approach(s.fast_value, step.fast, sensor.value)
    approach(s.slow_value, step.slow, sensor.value)
    s.cut += step.slow * ((1.0 if sensor.clipped else 0.0) - s.cut)


@kernel
def compare(sensor: Sensor, voted: Voted, times: float, step: Step) -> None:
    """Update the residual of a sensor from the median, or from its partner (``times`` 2)."""
    s = sensor.memory
    for k in range(3):
        residual = times * (sensor.value[k] - voted.value[k])
        change = residual - s.residual[k]
        s.residual[k] = residual
        s.noise[k] += step.fast * (0.5 * change * change - s.noise[k])
    approach(s.fast_residual, step.fast, s.residual)
    approach(s.slow_residual, step.slow, s.residual)
    s.cross += step.fast * (dot(s.residual, voted.value) - s.cross)


@kernel
def largest_over_limit(
    s: SensorMemory, voted: Voted, p: Settings, step: Step, variance: float
) -> float:
    """Return the largest ratio of a statistic to its limit; ``variance`` is of the residual.

    The statistics are the means of the residual through both low-passes, its noise, and its
    component along the value, which shows a wrong scale.
    """
    near = far = power = 0.0
    for k in range(3):
        near = max(near, abs(s.fast_residual[k]))
        far = max(far, abs(s.slow_residual[k]))
        power = max(power, s.noise[k])
    size = math.sqrt(voted.size)
    quiet = 0.5 * step.fast * variance  # of the noise after the low-pass
    by_scale = p.scale * size
    limit = MULTIPLE * math.sqrt(quiet + by_scale * by_scale) + step.bias
    calm = p.scale * math.sqrt(square(voted.slow_middle))
    slow_limit = MULTIPLE * math.sqrt(0.5 * step.slow * variance + calm * calm) + step.bias
    by_change = p.scale * p.scale * voted.change
    noise_limit = MULTIPLE * math.sqrt(variance + by_change)
    largest: float = max(near / limit, far / slow_limit)
    if noise_limit > 0.0:
        largest = max(largest, math.sqrt(power) / noise_limit)
    if size > 0.0:
        along = max(2.0 * by_scale + MULTIPLE * math.sqrt(quiet), step.bias)
        largest = max(largest, abs(s.cross) / size / along)
    return largest
