"""Kernels of PX4's down-sampler before its estimator, in float32.

Rotations are summed as quaternions (w, x, y, z), velocities in the axes at the end of the
interval. Source: ``imu_down_sampler.cpp`` of PX4-Autopilot.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy import float32 as F32  # noqa: N812 (the type of every fraction here)

from strapdown._kernels.kernel import kernel
from strapdown.px4.float32 import (
    HALF_F,
    MEGA_F,
    MICRO_F,
    ONE_F,
    ZERO,
    ZERO_F,
    Matrix,
    Vector,
    add,
    norm,
    rounded,
    scaled,
    turned,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import BoolArray

Quaternion: TypeAlias = tuple[np.float32, np.float32, np.float32, np.float32]

TWO_F = F32(2.0)
OLD_F = F32(0.9)
NEW_F = F32(0.1)
FIRST_DT_F = F32(0.005)
TINY_F = F32(1e-10)
IDENTITY = (ONE_F, ZERO_F, ZERO_F, ZERO_F)


class Sum(NamedTuple):
    """The sum so far, and its wanted length; all times in seconds."""

    mean_dt: np.float32
    q: Quaternion
    velocity: Vector
    angle_dt: np.float32
    velocity_dt: np.float32
    samples: int
    required: int
    target: np.float32
    least: np.float32


@kernel
def begin(target_us: int, mean_dt: np.float32) -> Sum:
    """Return an empty sum, for a wanted length and the mean length of the inputs."""
    wanted = F32(max(1000, min(100_000, target_us))) * MICRO_F
    required = max(1, rounded(wanted / mean_dt))
    return Sum(
        mean_dt, IDENTITY, ZERO, ZERO_F, ZERO_F, 0, required,
        F32(required) * mean_dt, max(mean_dt * F32(required - 1), mean_dt * HALF_F),
    )  # fmt: skip


@kernel
def step(
    s: Sum, angle: Vector, velocity: Vector, angle_dt: np.float32, velocity_dt: np.float32
) -> Sum:
    """Add one increment."""
    dq = exponential(angle)
    back = transposed_matrix(dq)
    mean = scaled(add(velocity, turned(back, velocity)), HALF_F)
    return Sum(
        OLD_F * s.mean_dt + NEW_F * angle_dt,
        normalized(product(s.q, dq)),
        add(turned(back, s.velocity), mean),
        s.angle_dt + angle_dt,
        s.velocity_dt + velocity_dt,
        s.samples + 1,
        s.required,
        s.target,
        s.least,
    )


@kernel
def is_enough(s: Sum) -> bool:
    return bool((s.samples >= s.required and s.angle_dt > s.least) or s.angle_dt > s.target)


@kernel
def exponential(v: Vector) -> Quaternion:
    angle = norm(v)
    if angle < TINY_F:
        return IDENTITY
    half = angle * HALF_F
    x, y, z = scaled(scaled(v, ONE_F / angle), F32(math.sin(np.float64(half))))
    return F32(math.cos(np.float64(half))), x, y, z


@kernel
def logarithm(q: Quaternion) -> Vector:
    v = (q[1], q[2], q[3])
    size = norm(v)
    if size < TINY_F:
        return scaled(v, TWO_F)
    return scaled(v, TWO_F * F32(math.atan2(np.float64(size), np.float64(q[0]))) / size)


@kernel
def product(p: Quaternion, q: Quaternion) -> Quaternion:
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@kernel
def normalized(q: Quaternion) -> Quaternion:
    square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    k = ONE_F / F32(math.sqrt(square))
    return q[0] * k, q[1] * k, q[2] * k, q[3] * k


@kernel
def transposed_matrix(q: Quaternion) -> Matrix:
    """Return the matrix of the inverse rotation."""
    a, b, c, d = q
    aa, ab, ac, ad = a * a, a * b, a * c, a * d
    bb, bc, bd, cc, cd, dd = b * b, b * c, b * d, c * c, c * d, d * d
    return (
        (aa + bb - cc - dd, TWO_F * (bc + ad), TWO_F * (bd - ac)),
        (TWO_F * (bc - ad), aa - bb + cc - dd, TWO_F * (cd + ab)),
        (TWO_F * (bd + ac), TWO_F * (cd - ab), aa - bb - cc + dd),
    )


@kernel
def run(
    s: Sum,
    target_us: int,
    deltas: NDArray[np.float32],
    seconds: NDArray[np.float32],
    is_end: BoolArray,
    sums: NDArray[np.float32],
    lengths: NDArray[np.int64],
) -> Sum:
    """Add all increments (angle and velocity by columns); write each complete sum."""
    for i in range(len(deltas)):
        angle = (deltas[i, 0], deltas[i, 1], deltas[i, 2])
        velocity = (deltas[i, 3], deltas[i, 4], deltas[i, 5])
        s = step(s, angle, velocity, seconds[i, 0], seconds[i, 1])
        is_end[i] = is_enough(s)
        if is_end[i]:
            total = logarithm(s.q)
            for axis in range(3):
                sums[i, axis] = total[axis]
                sums[i, 3 + axis] = s.velocity[axis]
            lengths[i, 0] = rounded(s.angle_dt * MEGA_F)
            lengths[i, 1] = rounded(s.velocity_dt * MEGA_F)
            s = begin(target_us, s.mean_dt)
    return s
