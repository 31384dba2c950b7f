"""The state of a pose spline, instant by instant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from strapdown.geometry._kernels import quaternion_multiply

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray


def pose_spline_states(
    u: FloatArray,
    piece: IntArray,
    coefficients: FloatArray,
    q: FloatArray,
    angular_velocity: FloatArray,
    angular_acceleration: FloatArray,
    position: FloatArray,
    velocity: FloatArray,
    acceleration: FloatArray,
) -> None:
    """Fill the states at the times ``u`` (N,) since the beginnings of their pieces.

    ``coefficients`` (B, 6, 7) are those of u^0 to u^5 for x y z and a quaternion Q of any
    length. With q = Q/|Q|, rates follow from Q* Q' and Q* Q''.
    """
    for i in range(len(u)):
        c = coefficients[piece[i]]
        for axis in range(3):
            position[i, axis], velocity[i, axis], acceleration[i, axis] = polynomial(c, axis, u[i])
        x, x1, x2 = polynomial(c, 3, u[i])
        y, y1, y2 = polynomial(c, 4, u[i])
        z, z1, z2 = polynomial(c, 5, u[i])
        w, w1, w2 = polynomial(c, 6, u[i])
        square = x * x + y * y + z * z + w * w
        twice, length = 2.0 / square, math.sqrt(square)
        q[i, 0], q[i, 1], q[i, 2], q[i, 3] = x / length, y / length, z / length, w / length
        ax, ay, az, growth = quaternion_multiply(-x, -y, -z, w, x1, y1, z1, w1)
        bx, by, bz, _ = quaternion_multiply(-x, -y, -z, w, x2, y2, z2, w2)
        for axis, a, b in ((0, ax, bx), (1, ay, by), (2, az, bz)):
            rate = twice * a
            angular_velocity[i, axis] = rate
            angular_acceleration[i, axis] = twice * b - rate * (twice * growth)


def polynomial(c: FloatArray, column: int, u: float) -> tuple[float, float, float]:
    """Return value, first and second derivative of one column of a piece."""
    c0, c1, c2 = c[0, column], c[1, column], c[2, column]
    c3, c4, c5 = c[3, column], c[4, column], c[5, column]
    return (
        c0 + u * (c1 + u * (c2 + u * (c3 + u * (c4 + u * c5)))),
        c1 + u * (2.0 * c2 + u * (3.0 * c3 + u * (4.0 * c4 + u * (5.0 * c5)))),
        2.0 * c2 + u * (6.0 * c3 + u * (12.0 * c4 + u * (20.0 * c5))),
    )
