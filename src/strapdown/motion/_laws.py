"""Motions given by a law and its parameters, evaluated on arrays or by machine code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from strapdown._kernels.compilation import compiled
from strapdown.motion import formulas
from strapdown.motion.kinematics import Kinematics, columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray

__all__ = ["Law"]

_LONG: Final = 2**14
"""Number of instants from which machine code pays off, even if it has to be compiled first."""
_FIRST: Final = (
    formulas.RATE,
    formulas.TURN,
    formulas.POSITION,
    formulas.VELOCITY,
    formulas.ACCELERATION,
)


class Law(NamedTuple):
    """Law of motion of a body: attitude and position with two derivatives each.

    Every instant is computed separately, so the bits do not depend on the other instants of a call.

    Parameters
    ----------
    kernel : callable
        A law of :mod:`strapdown.motion.formulas`.
    parameters : tuple
        Its parameters, numbers and arrays of numbers.
    """

    kernel: Callable[..., None]
    parameters: tuple[Any, ...]

    def at(self, t_s: FloatArray) -> Kinematics:
        """Return the state at instants (N,) [s]."""
        if len(t_s) < _LONG:
            state = columns(len(t_s), *(row[0] for row in self._on_arrays(t_s)))
        else:
            planar = np.empty((formulas.STATE, len(t_s)))
            kernel = compiled(formulas.evaluate, law=self.kernel)
            kernel(t_s, self.parameters, *_room(), planar)
            state = planar.T
        return Kinematics(t_s, *np.split(state, _FIRST, axis=1))

    def felt(self, t_s: FloatArray, mount: tuple[FloatArray, ...]) -> tuple[FloatArray, FloatArray]:
        """Return the readings of gyro and accelerometer at instants, (N, 3) each; see ``feel``."""
        rows = len(t_s)
        if rows < _LONG:
            rates, forces = _blank(3), _blank(3)
            formulas.feel(1, mount, self._on_arrays(t_s), rates, forces)
            return (
                columns(rows, *(row[0] for row in rates)),
                columns(rows, *(row[0] for row in forces)),
            )
        planar = np.empty((6, rows))
        kernel = compiled(formulas.evaluate_inputs, law=self.kernel)
        kernel(t_s, self.parameters, mount, *_room(), planar)
        return planar[:3].T, planar[3:].T

    def carried(
        self, t_s: FloatArray, place: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return attitude, position and velocity of a sensor at instants; see ``carry``."""
        if len(t_s) < _LONG:
            rows = _blank(10)
            formulas.carry(1, place, self._on_arrays(t_s), rows)
            found = columns(len(t_s), *(row[0] for row in rows))
        else:
            planar = np.empty((10, len(t_s)))
            kernel = compiled(formulas.evaluate_poses, law=self.kernel)
            kernel(t_s, self.parameters, place, *_room(), planar)
            found = planar.T
        return found[:, :4], found[:, 4:7], found[:, 7:]

    def _on_arrays(self, t_s: FloatArray) -> list[list[Any]]:
        """Return the rows of the state, each a list of one array or number."""
        state = _blank(formulas.STATE)
        self.kernel([t_s], self.parameters, _blank(formulas.WORK), state)
        return state


def _blank(rows: int) -> list[list[Any]]:
    return [[0.0] for _ in range(rows)]


def _room() -> tuple[FloatArray, FloatArray]:
    """Return the rows of a block: the working rows of a law, and the state."""
    return np.empty((formulas.WORK, formulas.BLOCK)), np.zeros((formulas.STATE, formulas.BLOCK))
