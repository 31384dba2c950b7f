"""Rotation of the orientation of a filter, and gains of first-order low-pass filters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.geometry.formulas import quaternion_exp, quaternion_multiply
from strapdown.geometry.vectors import four, put_four

if TYPE_CHECKING:
    from strapdown._kernels.records import Vector
    from strapdown._typing import Four, Three

UNKNOWN: Final = math.pi**2 / 3.0  # rad^2, variance of an angle that may have any value


@kernel
def turn_body(orientation: Vector, turn: Three) -> None:
    """Rotate the body by a rotation vector in its own axes."""
    half = quaternion_exp(0.5 * turn[0], 0.5 * turn[1], 0.5 * turn[2])
    put_four(orientation, quaternion_multiply(*four(orientation), *half))


@kernel
def turn_world(orientation: Vector, turn: Four) -> None:
    """Rotate the body by a unit quaternion in world axes."""
    put_four(orientation, quaternion_multiply(*turn, *four(orientation)))


@kernel
def normalise(orientation: Vector, before: Four) -> None:
    """Normalise an orientation, with the sign that is continuous with the one before."""
    x, y, z, w = continuous(four(orientation), before)
    scale = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
    put_four(orientation, (scale * x, scale * y, scale * z, scale * w))


@kernel
def continuous(q: Four, before: Four) -> Four:
    """Return a quaternion of the same rotation, with the sign of the one before."""
    x, y, z, w = q
    if x * before[0] + y * before[1] + z * before[2] + w * before[3] < 0.0:
        return -x, -y, -z, -w
    return q


@kernel
def gain(wait: float, tau: float) -> float:
    """Return the weight of a new value in a first-order low-pass after ``wait`` seconds."""
    return -math.expm1(-wait / tau)


@kernel
def opening_gain(age: float, wait: float, tau: float) -> float:
    """Return the weight of a new value in a plain mean that turns into a low-pass."""
    return max(gain(wait, tau), wait / (age + wait)) if age >= 0.0 else 1.0
