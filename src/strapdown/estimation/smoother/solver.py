"""Gauss-Newton over the knots of a piece of a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._compile import compiled as compile_kernel
from strapdown.estimation.error_state import _kernels as model
from strapdown.estimation.smoother import _kernels as kernels
from strapdown.geometry import quaternion

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import BoolArray, FloatArray
    from strapdown.estimation.smoother.recording import Knots, Recording

ROUNDS: Final = 6
CONVERGED: Final = 1e-4  # rad
LEAST_WEIGHT: Final = 1e-6
DISTURBED: Final = 0.25  # a field of less weight is disturbed

_Q = slice(0, 4)
_V = slice(kernels.VELOCITY, kernels.VELOCITY + 3)
_B = slice(kernels.BIAS, kernels.BIAS + 3)
_P = slice(kernels.PLACE, kernels.PLACE + 3)
_PHI = slice(0, 3)
_XI = slice(model.XI, model.XI + 3)
_BIAS = slice(model.BIAS_ERROR, model.BIAS_ERROR + 3)
_POSITION = slice(kernels.POSITION, kernels.POSITION + 3)
_INERTIAL = slice(model.ACCEL, model.OTHERS)  # constants, in the order of kernels.ACCEL_BIAS...
_MAGNETIC = slice(kernels.FIELD, kernels.MAGNETIC_ERRORS)


@dataclass(frozen=True)
class Belief:
    """What is known at one knot: a row of a path, constants, covariance of their error."""

    row: FloatArray
    constants: FloatArray
    covariance: FloatArray


@dataclass(frozen=True)
class Solution:
    """A smoothed piece: the path over its knots, and what later pieces go on from."""

    path: FloatArray
    constants: FloatArray
    spreads: FloatArray
    disturbed: BoolArray
    at_join: Belief  # filtered, without what comes after: the next piece knows that itself
    end: Belief


class Piece:
    """Knots of a piece of a recording, solved from what is believed at the first of them."""

    def __init__(
        self, recording: Recording, knots: Knots, settings: FloatArray, start: Belief
    ) -> None:
        self.recording, self.knots, self.settings, self.start = recording, knots, settings, start
        self.constants = start.constants.copy()
        count, n = len(knots.at), len(start.covariance)
        nominal = recording.nominal
        self.path = np.zeros((count, kernels.PATH))
        self.path[:, _Q] = nominal.q_world_from_body[knots.at]
        self.path[:, _B] = nominal.gyro_bias[knots.at]
        turn = kernels.turn_between(*self.path[0, _Q], *start.row[_Q])
        heading = quaternion.from_rotation_vector([0.0, 0.0, turn[2]])
        self.path[:, _Q] = quaternion.multiply(heading, self.path[:, _Q])
        self.work = np.zeros(kernels.WORK)
        self.passing = np.zeros(model.WINDOW + kernels.VECTORS * n + n * n)
        self.windows = np.zeros((count - 1, model.WINDOW))
        self.gaps = np.zeros((count - 1, kernels.GAPS))
        self.weights = np.ones(count)
        self.means = np.zeros((count, n))
        self.covariances = np.zeros((count, n * n))
        self.measured = np.zeros((count, kernels.MOST_MEASURED * kernels.scalar_size(n)))
        self.counts = np.zeros(count, np.int64)

    def solve(self, join: int, tolerance: float, progress: Callable[[float], object]) -> Solution:
        """Return the smoothed piece; the next one begins at its knot ``join``."""
        n = len(self.start.covariance)
        for k in range(ROUNDS):
            self._filter(tolerance)
            filtered = self.means[[join, -1]]
            nominal = self.path[[join, -1]], self.constants.copy()
            step = self._smooth()
            progress((k + 1) / (ROUNDS + 1))
            if step < CONVERGED:
                break
        spreads = np.zeros((len(self.path), 9))
        compile_kernel(kernels.uncertainty)(
            self.passing, n, self.windows, self.covariances, self.measured, self.counts, spreads
        )
        at_join, end = (
            Belief(
                _moved(row[None], mean[None])[0],
                _adjusted(nominal[1], mean),
                self.covariances[at].reshape(n, n).copy(),
            )
            for at, row, mean in zip((join, -1), nominal[0], filtered, strict=True)
        )
        if n <= kernels.FIELD:  # heading goes on without a jump: it refers to the start only
            at_join.row[_Q] = self.path[join, _Q]
            at_join.covariance[2, :] = at_join.covariance[:, 2] = 0.0
        disturbed = self.weights < DISTURBED
        return Solution(self.path, self.constants, spreads, disturbed, at_join, end)

    def _filter(self, tolerance: float) -> None:
        """Linearise about the path and go forward."""
        n = len(self.start.covariance)
        compile_kernel(kernels.preintegrate)(
            self.work,
            self.recording.steps,
            self.knots.at,
            self.path,
            self.constants,
            self.windows,
            self.gaps,
        )
        self._weigh(tolerance)
        x = self.passing
        x[model.WINDOW : model.WINDOW + n] = self._first_error()
        x[model.WINDOW + kernels.VECTORS * n :] = self.start.covariance.ravel()
        compile_kernel(kernels.forward)(
            x,
            n,
            self.settings,
            self.windows,
            self.gaps,
            self.path,
            self.constants,
            self.knots.rest,
            self.knots.rates,
            self.knots.fields,
            self.weights,
            self.means,
            self.covariances,
            self.measured,
            self.counts,
        )

    def _smooth(self) -> float:
        """Go backward and move the path; return the largest turn [rad]."""
        compile_kernel(kernels.backward)(
            self.passing,
            len(self.start.covariance),
            self.windows,
            self.means,
            self.covariances,
            self.measured,
            self.counts,
        )
        self.path = _moved(self.path, self.means)
        self.constants = _adjusted(self.constants, self.means[-1])
        return float(np.abs(self.means[:, _PHI]).max())

    def _weigh(self, tolerance: float) -> None:
        """Trust a field less the farther it is from the usual one: Cauchy's weight, squared."""
        swing = self.constants[kernels.FIELD_DELAY] * self.knots.fields[:, 3:]
        field = quaternion.rotate(self.path[:, _Q], self.knots.fields[:, :3] - swing)
        usual = np.append(0.0, self.constants[kernels.USUAL_FIELD : kernels.FIELD_DELAY])
        off = ((field - usual) ** 2).sum(axis=1) / tolerance**2
        self.weights[:] = np.maximum(LEAST_WEIGHT, (1.0 + np.nan_to_num(off)) ** -2)

    def _first_error(self) -> FloatArray:
        """Return what is believed at the first knot, as an error of the path."""
        row, start = self.path[0], self.start
        phi = np.array(kernels.turn_between(*row[_Q], *start.row[_Q]))
        error = np.zeros(len(start.covariance))
        error[_PHI] = phi
        error[_XI] = start.row[_V] - row[_V] - np.cross(phi, row[_V])
        error[_BIAS] = start.row[_B] - row[_B]
        error[_POSITION] = start.row[_P] - row[_P] - np.cross(phi, row[_P])
        off = start.constants - self.constants
        error[_INERTIAL] = off[: kernels.USUAL_FIELD]
        if len(error) > kernels.FIELD:
            error[_MAGNETIC] = off[kernels.USUAL_FIELD :]
        return error


def _moved(path: FloatArray, errors: FloatArray) -> FloatArray:
    """Return a path moved by errors."""
    turn = quaternion.from_rotation_vector(errors[:, _PHI])
    moved = path.copy()
    moved[:, _Q] = quaternion.multiply(turn, path[:, _Q])
    moved[:, _V] = quaternion.rotate(turn, path[:, _V]) + errors[:, _XI]
    moved[:, _B] += errors[:, _BIAS]
    moved[:, _P] = quaternion.rotate(turn, path[:, _P]) + errors[:, _POSITION]
    return moved


def _adjusted(constants: FloatArray, error: FloatArray) -> FloatArray:
    """Return constants moved by the error at a knot."""
    moved = constants.copy()
    moved[: kernels.USUAL_FIELD] += error[_INERTIAL]
    if len(error) > kernels.FIELD:
        moved[kernels.USUAL_FIELD :] += error[_MAGNETIC]
    return moved
