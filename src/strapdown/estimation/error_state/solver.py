"""Gauss-Newton iteration over the knots of a piece of a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.compilation import MachineCode
from strapdown.estimation.error_state.backward import backward, uncertainty
from strapdown.estimation.error_state.field import SHORTEST_PROOF_S, TURNING
from strapdown.estimation.error_state.forward import forward
from strapdown.estimation.error_state.knots import (
    DELAY,
    ERRORS,
    FIELD,
    MOST_MEASURED,
    POSITION,
    Constants,
    CorrectedTurn,
    Knot,
    KnotEstimate,
    LaterInformation,
    Nominal,
    ScalarUpdate,
    SmoothedCovariance,
    Step,
    WindowResidual,
)
from strapdown.estimation.error_state.model import (
    ACCEL_ERROR,
    BIAS_ERROR,
    MATRIX_ERROR,
    OWN_ERRORS,
    PHI,
    XI,
    Window,
)
from strapdown.estimation.error_state.smoother_params import SmootherParams
from strapdown.estimation.error_state.windows import preintegrate, turn_between
from strapdown.geometry import quaternion

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._kernels.records import RecordArray
    from strapdown._typing import BoolArray, FloatArray
    from strapdown.estimation.error_state.recording import Recording

__all__ = ["KnotPrior", "Piece", "Solution"]

ROUNDS: Final = 6
CONVERGED: Final = 1e-3  # rad; largest rotation of the last step
LEAST_WEIGHT: Final = 1e-6
QUARTILES: Final = (25.0, 50.0, 75.0)

_PHI: Final = slice(PHI, PHI + 3)
_XI: Final = slice(XI, XI + 3)
_BIAS: Final = slice(BIAS_ERROR, BIAS_ERROR + 3)
_ACCEL: Final = slice(ACCEL_ERROR, ACCEL_ERROR + 3)
_MATRIX: Final = slice(MATRIX_ERROR, OWN_ERRORS)
_POSITION: Final = slice(POSITION, POSITION + 3)
_FIELD: Final = slice(FIELD, FIELD + 2)

_preintegrate: Final = MachineCode(
    preintegrate,
    Step,
    Knot,
    Nominal,
    Constants,
    Nominal,
    CorrectedTurn,
    Window,
    WindowResidual,
    name="smoother: windows",
)
_backward: Final = MachineCode(
    backward, Window, KnotEstimate, ScalarUpdate, LaterInformation, name="smoother: backward pass"
)
_uncertainty: Final = MachineCode(
    uncertainty,
    Window,
    KnotEstimate,
    ScalarUpdate,
    LaterInformation,
    SmoothedCovariance,
    name="smoother: covariances",
)
_forward: Final = MachineCode(
    forward,
    SmootherParams.record(),
    Window,
    WindowResidual,
    Knot,
    Nominal,
    Constants,
    KnotEstimate,
    ScalarUpdate,
    name="smoother: forward pass",
)


@dataclass(frozen=True)
class KnotPrior:
    """Estimate at one knot; state and constants are arrays of one record."""

    nominal: RecordArray
    constants: RecordArray
    covariance: FloatArray


@dataclass(frozen=True)
class Solution:
    """A smoothed piece: the path over its knots, and estimates for the next piece."""

    knots: RecordArray
    path: RecordArray
    constants: RecordArray
    spreads: RecordArray
    at_join: KnotPrior  # filtered, as the next piece contains the later measurements
    end: KnotPrior


class Piece:
    """Knots of a piece of a recording, to be solved from an estimate at the first of them.

    Parameters
    ----------
    recording : Recording
    knots : array of Knot
    params : SmootherParams
    start : KnotPrior
    """

    def __init__(
        self, recording: Recording, knots: RecordArray, params: SmootherParams, start: KnotPrior
    ) -> None:
        self.recording, self.knots, self.start = recording, knots.copy(), start
        self.params = params
        self.constants = start.constants.copy()
        count = len(knots)
        nominal = recording.nominal
        self.path = np.zeros(count, Nominal.dtype())
        q = nominal["orientation"][knots["at"]]
        turn = turn_between(q[0], start.nominal["orientation"][0])
        heading = quaternion.from_rotation_vector([0.0, 0.0, turn[2]])
        self.path["orientation"] = quaternion.multiply(heading, q)
        self.path["gyro_bias"] = nominal["gyro_bias"][knots["at"]]
        self.rejected = np.zeros(count, bool)  # knots whose field is not used
        self.windows = np.empty(count - 1, Window.dtype())
        self.residuals = np.empty(count - 1, WindowResidual.dtype())
        self.estimates = np.empty(count, KnotEstimate.dtype())
        self.scalars = np.empty(count * MOST_MEASURED, ScalarUpdate.dtype())
        self.later = np.zeros(1, LaterInformation.dtype())

    def solve(self, join: int, progress: Callable[[float], object]) -> Solution:
        """Return the smoothed piece; the next one begins at its knot ``join``."""
        known = [join, -1]
        path, constants, means = self._iterate(known, progress)
        elsewhere = self._at_rest_elsewhere()
        if elsewhere.any():
            self.rejected = elsewhere
            path, constants, means = self._iterate(known, progress)
        at_join, end = (
            KnotPrior(_moved(path[k : k + 1], means[k : k + 1]), _adjusted(constants, means[k]), p)
            for k, p in enumerate(self.estimates["covariance"][known])
        )
        spreads = np.zeros(len(self.path), SmoothedCovariance.dtype())
        _uncertainty.compile()(self.windows, self.estimates, self.scalars, self.later, spreads)
        if not self.recording.has_field:  # without a magnetometer heading is continuous
            at_join.nominal["orientation"] = self.path["orientation"][join]
            at_join.covariance[2, :] = at_join.covariance[:, 2] = 0.0
        return Solution(self.knots, self.path, self.constants, spreads, at_join, end)

    def _iterate(
        self, known: list[int], progress: Callable[[float], object]
    ) -> tuple[RecordArray, RecordArray, FloatArray]:
        """Correct the path until it converges; return what the last estimates are relative to.

        These are the states at knots, the constants, and the estimated errors.
        """
        for k in range(ROUNDS):
            self._filter()
            path, constants, means = self.path[known], self.constants, self.estimates["mean"][known]
            step = self._smooth()
            progress((k + 1) / (ROUNDS + 1))
            if step < CONVERGED:
                break
        return path, constants, means

    def _at_rest_elsewhere(self) -> BoolArray:
        """Return the knots at rest if the field at rest is another than in rotation, else none.

        Both are steady, and differ, if the medians of their headings are further apart than both
        interquartile ranges, as a root of the sum of squares. The field in rotation is proved by
        it; at rest the field of any magnet is steady.
        """
        knots = self.knots
        rest: BoolArray = knots["rest"] & knots["has_field"]
        turning = (np.linalg.norm(knots["rate"], axis=1) > TURNING) & knots["has_field"]
        least = SHORTEST_PROOF_S / self.params.window
        if min(np.count_nonzero(rest), np.count_nonzero(turning)) >= least:
            east, north, _ = self._field_in_world().T
            heading = np.arctan2(east, north)
            low, middle, high = np.transpose(
                [np.percentile(heading[rows], QUARTILES) for rows in (rest, turning)]
            )
            if abs(middle[0] - middle[1]) > np.hypot(*(high - low)):
                return rest
        return np.zeros(len(knots), bool)

    def _filter(self) -> None:
        """Linearise about the path, and run the forward filter."""
        moving = np.zeros(1, Nominal.dtype())
        turns = np.zeros(np.diff(self.knots["at"]).max(), CorrectedTurn.dtype())
        _preintegrate.compile()(
            self.recording.steps,
            self.knots,
            self.path,
            self.constants,
            moving,
            turns,
            self.windows,
            self.residuals,
        )
        self._weigh()
        self.estimates["mean"][0] = self._first_error()
        self.estimates["covariance"][0] = self.start.covariance
        _forward.compile()(
            self.params.settings().packed(),
            self.windows,
            self.residuals,
            self.knots,
            self.path,
            self.constants,
            self.estimates,
            self.scalars,
        )

    def _smooth(self) -> float:
        """Run the backward pass and correct the path; return the largest rotation [rad]."""
        _backward.compile()(self.windows, self.estimates, self.scalars, self.later)
        means = self.estimates["mean"].copy()
        self.path = _moved(self.path, means)
        self.constants = _adjusted(self.constants, means[-1])
        return float(np.abs(means[:, _PHI]).max())

    def _weigh(self) -> None:
        """Weight the fields by their distance from the usual one: Cauchy's weight, squared."""
        usual = np.append(0.0, self.constants["field"])
        off = ((self._field_in_world() - usual) ** 2).sum(axis=1) / self.params.field_tolerance**2
        off[~self.knots["has_field"]] = 0.0
        off[self.rejected] = np.inf
        self.knots["weight"] = np.maximum(LEAST_WEIGHT, (1.0 + off) ** -2)

    def _field_in_world(self) -> FloatArray:
        """Return the field at every knot, corrected for the delay."""
        swing = self.constants["delay"] * self.knots["swing"]
        return quaternion.rotate(self.path["orientation"], self.knots["field"] - swing)

    def _first_error(self) -> FloatArray:
        """Return the estimate at the first knot as an error of the path."""
        known, here = self.start.nominal[0], self.path[0]
        phi = np.array(turn_between(here["orientation"], known["orientation"]))
        error = np.zeros(ERRORS)
        error[_PHI] = phi
        for name, place in (("velocity", _XI), ("position", _POSITION)):
            error[place] = known[name] - here[name] - np.cross(phi, here[name])
        error[_BIAS] = known["gyro_bias"] - here["gyro_bias"]
        known, here = self.start.constants[0], self.constants[0]
        error[_ACCEL] = known["accel_bias"] - here["accel_bias"]
        error[_MATRIX] = (known["gyro_matrix"] - here["gyro_matrix"]).ravel()
        error[_FIELD] = known["field"] - here["field"]
        error[DELAY] = known["delay"] - here["delay"]
        return error


def _moved(path: RecordArray, errors: FloatArray) -> RecordArray:
    """Return a path corrected by errors."""
    turn = quaternion.from_rotation_vector(errors[:, _PHI])
    moved = path.copy()
    moved["orientation"] = quaternion.multiply(turn, path["orientation"])
    moved["velocity"] = quaternion.rotate(turn, path["velocity"]) + errors[:, _XI]
    moved["gyro_bias"] += errors[:, _BIAS]
    moved["position"] = quaternion.rotate(turn, path["position"]) + errors[:, _POSITION]
    return moved


def _adjusted(constants: RecordArray, error: FloatArray) -> RecordArray:
    """Return constants corrected by the error at a knot."""
    moved = constants.copy()
    moved["accel_bias"] += error[_ACCEL]
    moved["gyro_matrix"] += error[_MATRIX].reshape(3, 3)
    moved["field"] += error[_FIELD]
    moved["delay"] += error[DELAY]
    return moved
