"""Hard iron from pairs of readings, and the rotation by the gyro between them.

With the rotation ``D`` of the device from a reading ``s_1`` to a reading ``s_2``, a constant field
gives ``s_2 - b = D^T (s_1 - b)``, linear in the bias b, without its norm or direction. The
component of b along the axis of a rotation is not observable from it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.geometry import quaternion
from strapdown.geometry.formulas import quaternion_multiply
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray, Four, Three

__all__ = ["GyroPairs"]

PAIR_ANGLE: Final = 20.0 * RAD_PER_DEG  # between the readings of a pair
LONGEST_S: Final = 5.0  # between them: the gyro drifts
OBSERVED: Final = 0.05  # of the largest eigenvalue; below, there was no rotation across the axis
LEAST_PAIRS: Final = 3
FORGET: Final = 0.98  # weight of the pairs so far at each new one: a new magnet is followed
NO_TURN: Final = (0.0, 0.0, 0.0, 1.0)


class GyroPairs:
    """Recursive least squares of the hard iron, with exponential forgetting."""

    def __init__(self) -> None:
        self.angle = 0.0  # sum over the pairs [rad]
        self._count = 0.0  # of pairs, forgotten ones less
        self._normal = np.zeros((3, 3))
        self._right = np.zeros(3)
        self._square = 0.0
        self._first: Three | None = None
        self._turn: Four = NO_TURN
        self._age_s = 0.0

    def restart(self) -> None:
        """Forget the first reading of the present pair: the rotation since is unknown."""
        self._first = None

    def turn(self, rate: Three, dt_s: float) -> None:
        """Turn on by an angular velocity [rad/s] over an interval [s]."""
        x, y, z = (0.5 * dt_s * value for value in rate)
        half = math.sqrt(x * x + y * y + z * z)
        sinc = math.sin(half) / half if half > 0.0 else 1.0
        self._turn = quaternion_multiply(*self._turn, sinc * x, sinc * y, sinc * z, math.cos(half))
        self._age_s += dt_s

    def add(self, reading: Three) -> bool:
        """Add a reading at the present attitude; return whether it completes a pair."""
        x, y, z, w = self._turn
        angle = 2.0 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))
        if self._first is not None and angle < PAIR_ANGLE and self._age_s <= LONGEST_S:
            return False
        complete = self._first is not None and angle >= PAIR_ANGLE
        if complete:
            back = quaternion.to_matrix(quaternion.normalize(np.array(self._turn))).T
            change = np.array(reading) - back @ np.array(self._first)
            slope = np.eye(3) - back
            self._normal = FORGET * self._normal + slope.T @ slope
            self._right = FORGET * self._right + slope.T @ change
            self._square = FORGET * self._square + float(change @ change)
            self._count = FORGET * self._count + 1.0
            self.angle += angle
        self._first, self._turn, self._age_s = reading, NO_TURN, 0.0
        return complete

    def solution(self) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return the bias (3,), its covariance (3, 3) and the axes (K, 3) that are not observed.

        The bias has no component along these. None before there are three pairs.
        """
        if self._count < LEAST_PAIRS - 0.1:
            return None
        values, axes = np.linalg.eigh(self._normal)
        seen = values > OBSERVED * values[-1]
        part = axes[:, seen] / values[seen]
        bias = part @ (axes[:, seen].T @ self._right)
        freedom = max(3.0 * self._count - 3.0, 1.0)
        noise = max(self._square - float(bias @ self._right), 0.0) / freedom
        return bias, noise * part @ axes[:, seen].T, axes[:, ~seen].T

    def numbers(self) -> tuple[float, ...]:
        """Return the state."""
        first = self._first or (0.0, 0.0, 0.0)
        arrays = (*self._normal.ravel().tolist(), *self._right.tolist())
        has_first = float(self._first is not None)
        return (
            self._count, self.angle, self._square, self._age_s,
            *arrays, has_first, *first, *self._turn,
        )  # fmt: skip

    @classmethod
    def of_numbers(cls, numbers: Sequence[float]) -> GyroPairs:
        """Return pairs with the state of :meth:`numbers`."""
        pairs = cls()
        pairs._count, pairs.angle, pairs._square, pairs._age_s = numbers[:4]
        pairs._normal = np.reshape(numbers[4:13], (3, 3)).astype(np.float64)
        pairs._right = np.array(numbers[13:16], np.float64)
        x, y, z = numbers[17:20]
        pairs._first = (x, y, z) if numbers[16] else None
        a, b, c, d = numbers[20:24]
        pairs._turn = (a, b, c, d)
        return pairs
