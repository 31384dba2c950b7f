"""Heading between two worlds as a function of time: linear between knots, and slow.

Without a magnetometer the heading of each segment drifts: by the noise and the bias of its gyro,
and by a part of each turn because of its scale. The difference may change by as much.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.joints.segments import gaps
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from strapdown._typing import FloatArray
    from strapdown.joints.segments import Segments

__all__ = ["Heading"]

STEP_S: Final = 2.0
"""Time between knots."""
WALK: Final = 0.1 * RAD_PER_DEG
"""Random walk [rad/sqrt(s)]."""
GAP: Final = 1.0
"""Change of the heading over a gap of a recording [rad]."""
SCALE: Final = 0.02
"""Part of a turn about the vertical by which a gyro may be wrong."""


class Heading:
    """Knots of the heading between the worlds of two segments, and their prior.

    Parameters
    ----------
    segments : Segments
    """

    def __init__(self, segments: Segments) -> None:
        self._t_s = segments.t_s
        self.start_s = float(segments.t_s[0])
        self.count = 2 + int((segments.t_s[-1] - self.start_s) / STEP_S)
        self._turning = np.maximum(
            *(_turning(s.rotation) for s in (segments.first, segments.second))
        )

    @cached_property
    def weights(self) -> csr_matrix:
        """Weights (K, M) of the knots at the instants."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 (slow to import)

        rows = np.arange(len(self._t_s))
        place = (self._t_s - self.start_s) / STEP_S
        knot = np.minimum(place.astype(np.int64), self.count - 2)
        part = place - knot
        entries = np.append(1.0 - part, part)
        where = np.append(rows, rows), np.append(knot, knot + 1)
        return csr_matrix((entries, where), shape=(len(rows), self.count))

    @cached_property
    def stiffness(self) -> FloatArray:
        """Inverse variances (M - 1,) of the changes from knot to knot [1/rad^2]."""
        knot = ((self._t_s - self.start_s) / STEP_S).astype(np.int64)
        turn: FloatArray = np.zeros(self.count)
        np.add.at(turn, knot[1:], self._turning)
        variance = WALK**2 * STEP_S + (SCALE * turn) ** 2
        for row in gaps(self._t_s).tolist():
            variance[knot[row] : knot[row + 1] + 1] += GAP**2
        stiffness: FloatArray = 1.0 / variance[:-1]
        return stiffness

    def at(self, knots: FloatArray, t_s: FloatArray) -> FloatArray:
        """Return values of the knots (M,) at any times [s]; constant beyond the ends."""
        values = np.interp(t_s, self.start_s + STEP_S * np.arange(self.count), knots)
        return values.astype(np.float64)


def _turning(rotation: FloatArray) -> FloatArray:
    """Return the angles (K - 1,) about the vertical from instant to instant [rad]."""
    step = rotation[1:] @ np.swapaxes(rotation[:-1], 1, 2)
    return np.abs(0.5 * (step[:, 1, 0] - step[:, 0, 1]))
