"""Voting: readings of several sensors brought to one stamp, one set of axes, one point."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.detection.voting.layout import (
    ALPHA,
    BITS,
    FIRST_STAMP,
    INTERVAL,
    POSE_ARM,
    RESTARTS,
    STEPS,
    TURN,
)
from strapdown.geometry._kernels import quaternion_rotate
from strapdown.intake._kernels import DROPPED, GAP_FLOOR_S, START, gap_after, tick

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

BORROWS = True

RESTART_S: Final = 1.0  # a longer gap is another recording
WAIT_INTERVALS: Final = 1.5  # so long other sensors wait for one
ALPHA_S: Final = 0.02  # low-pass of the angular acceleration


def align(
    shared: FloatArray,
    account: IntArray,
    before: FloatArray,
    stamps: IntArray,
    readings: FloatArray,
    here: FloatArray,
) -> float:
    """Bring readings to a common stamp; return the time step, negative if there is none.

    That is the oldest stamp of those that are not late: a sensor waits for others so long.
    """
    n = len(stamps)
    latest = stamps[0]
    for i in range(n):
        latest = max(latest, stamps[i])
    limit = WAIT_INTERVALS * shared[INTERVAL] if shared[STEPS] >= 2.0 else GAP_FLOOR_S
    common = latest
    for i in range(n):
        if (latest - stamps[i]) * 1e-9 <= limit:
            common = min(common, stamps[i])
    running = shared[STEPS] >= 0.0
    event, dt = tick(shared, account, STEPS, common, RESTART_S, False)
    if event == DROPPED:
        return -1.0
    if event == START:
        account[RESTARTS] += running
    for i in range(n):
        if event == START:  # nothing before it counts
            account[FIRST_STAMP + i] = stamps[i]
        interpolate(account, i, common, stamps[i], before[i], readings[i], here[i])
        if (latest - stamps[i]) * 1e-9 > limit:
            here[i, :6] = math.nan
    return min(dt, gap_after(shared[INTERVAL]))


def interpolate(
    account: IntArray,
    sensor: int,
    common: int,
    stamp: int,
    before: FloatArray,
    reading: FloatArray,
    here: FloatArray,
) -> None:
    """Bring a reading to the common stamp, if that is between the one before and its own."""
    last = account[FIRST_STAMP + sensor]
    span = (stamp - last) * 1e-9
    part = (common - last) * 1e-9 / span if span > 0.0 else 1.0
    for k in range(6):
        new = reading[k]
        here[k] = before[k] + part * (new - before[k]) if 0.0 <= part < 1.0 else new
        before[k] = new
    here[BITS] = reading[6]
    account[FIRST_STAMP + sensor] = stamp


def mount(pose: FloatArray, values: FloatArray) -> None:
    """Turn a reading into body axes."""
    for at in range(0, 6, 3):
        x, y, z = values[at], values[at + 1], values[at + 2]
        values[at], values[at + 1], values[at + 2] = quaternion_rotate(
            pose[0], pose[1], pose[2], pose[3], x, y, z
        )


def differentiate(shared: FloatArray, output: FloatArray, dt: float) -> None:
    """Follow the voted angular velocity and its derivative."""
    if not math.isfinite(output[0] + output[1] + output[2]):
        return
    gain = -math.expm1(-dt / ALPHA_S)
    for k in range(3):
        if dt > 0.0:
            slope = (output[k] - shared[TURN + k]) / dt
            shared[ALPHA + k] += gain * (slope - shared[ALPHA + k])
        shared[TURN + k] = output[k]


def move(pose: FloatArray, shared: FloatArray, values: FloatArray) -> None:
    """Bring a specific force to the origin of the body, from the lever arm."""
    x, y, z = pose[POSE_ARM], pose[POSE_ARM + 1], pose[POSE_ARM + 2]
    if x == 0.0 and y == 0.0 and z == 0.0:
        return
    p, q, r = shared[TURN], shared[TURN + 1], shared[TURN + 2]
    a, b, c = shared[ALPHA], shared[ALPHA + 1], shared[ALPHA + 2]
    u, v, w = q * z - r * y, r * x - p * z, p * y - q * x
    values[3] -= b * z - c * y + q * w - r * v
    values[4] -= c * x - a * z + r * u - p * w
    values[5] -= a * y - b * x + p * v - q * u
