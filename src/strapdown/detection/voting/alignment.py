"""Alignment of readings of several IMUs to one stamp, one set of axes, and one point."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.geometry.formulas import quaternion_rotate
from strapdown.geometry.vectors import four, put, three
from strapdown.samples.clock import DROPPED, GAP_FLOOR_S, START, gap_after, tick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._kernels.records import Vector
    from strapdown.detection.voting.memory import BodyMemory, Imu, ImuMemory, Sensor
    from strapdown.samples.clock import Clock, Counts
    from strapdown.samples.sample import Sample

RESTART_S: Final = 1.0  # a longer gap is another recording
WAIT_INTERVALS: Final = 1.5  # time for which others wait for a late sensor
SLOPE_S: Final = 0.02  # low-pass of the angular acceleration
MISSING: Final = (math.nan, math.nan, math.nan)


@kernel
def align(
    imus: Sequence[Imu],
    gyros: Sequence[Sensor],
    accels: Sequence[Sensor],
    clock: Clock,
    counts: Counts,
    samples: Sequence[Sample],
    first: int,
) -> float:
    """Interpolate the samples from ``first`` on to a common stamp; return the time step, or -1.

    The common stamp is the oldest of the sensors that are not late. -1: it is not a new one.
    """
    n = len(imus)
    latest = samples[first].t_ns
    for i in range(n):
        latest = max(latest, samples[first + i].t_ns)
    limit = WAIT_INTERVALS * clock.interval if clock.steps >= 2.0 else GAP_FLOOR_S
    common = latest
    for i in range(n):
        if (latest - samples[first + i].t_ns) * 1e-9 <= limit:
            common = min(common, samples[first + i].t_ns)
    event, dt = tick(clock, counts, common, RESTART_S, False)
    if event == DROPPED:
        return -1.0
    for i in range(n):
        sample, before = samples[first + i], imus[i].memory
        if event == START:  # earlier samples do not count
            before.last_ns = sample.t_ns
        interpolate(before, sample, common, gyros[i].value, accels[i].value)
        gyros[i].clipped = sample.clipping & 7 != 0
        accels[i].clipped = sample.clipping >> 3 & 7 != 0
        if (latest - sample.t_ns) * 1e-9 > limit:
            put(gyros[i].value, MISSING)
            put(accels[i].value, MISSING)
    return min(dt, gap_after(clock.interval))


@kernel
def interpolate(
    before: ImuMemory, sample: Sample, common: int, rate: Vector, force: Vector
) -> None:
    """Interpolate a sample to the common stamp, if that is between the previous and its own."""
    span = (sample.t_ns - before.last_ns) * 1e-9
    part = (common - before.last_ns) * 1e-9 / span if span > 0.0 else 1.0
    if not 0.0 <= part < 1.0:
        part = 1.0
    blend_into(rate, before.rate, sample.angular_velocity, part)
    blend_into(force, before.force, sample.specific_force, part)
    before.last_ns = sample.t_ns


@kernel
def blend_into(there: Vector, old: Vector, new: Vector, part: float) -> None:
    """Write the interpolated value, and store the new one for the next cycle."""
    for k in range(3):
        there[k] = old[k] + part * (new[k] - old[k]) if part < 1.0 else new[k]
        old[k] = new[k]


@kernel
def into_body(imu: Imu, value: Vector) -> None:
    """Rotate a value into body axes."""
    put(value, quaternion_rotate(*four(imu.q_body_from_sensor), *three(value)))


@kernel
def differentiate(body: BodyMemory, dt: float) -> None:
    """Update the voted angular velocity and its derivative."""
    x, y, z = three(body.gyro.value)
    if not math.isfinite(x + y + z):
        return
    if dt > 0.0:
        gain = -math.expm1(-dt / SLOPE_S)
        for k in range(3):
            slope = (body.gyro.value[k] - body.rate[k]) / dt
            body.slope[k] += gain * (slope - body.slope[k])
    put(body.rate, (x, y, z))


@kernel
def to_origin(imu: Imu, body: BodyMemory, force: Vector) -> None:
    """Transfer a specific force from the lever arm to the origin of the body."""
    x, y, z = three(imu.lever_arm)
    if x == 0.0 and y == 0.0 and z == 0.0:
        return
    p, q, r = three(body.rate)
    a, b, c = three(body.slope)
    u, v, w = q * z - r * y, r * x - p * z, p * y - q * x
    force[0] -= b * z - c * y + q * w - r * v
    force[1] -= c * x - a * z + r * u - p * w
    force[2] -= a * y - b * x + p * v - q * u
