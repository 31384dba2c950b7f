"""Records of the smoother: steps between samples, knots, and the estimates at them.

The errors of the model are followed by that of the position, ``p_true = Exp(phi) p + pi`` in
world axes, and those of the magnetic field and the delay of the magnetometer, which are zero
without one.

Knots are the instants between windows. A *path* has a nominal state for each knot; states that
do not change with time are in the constants.
"""

from __future__ import annotations

from typing import Final

from strapdown._kernels.records import Matrix, Record, Vector, filled, vector, zeros
from strapdown.estimation.error_state.model import OWN_ERRORS

POSITION: Final = OWN_ERRORS  # [m, world]
FIELD: Final = OWN_ERRORS + 3  # north and up [of its strength]
DELAY: Final = OWN_ERRORS + 5  # delay of the magnetometer relative to the gyro [s]
ERRORS: Final = OWN_ERRORS + 7  # with one unused, so that rows fill the vector registers
CARRIED: Final = (0, 1, 2, 3, 4, 5, 21, 22, 23)  # errors that a window changes: PHI, XI, POSITION
MOST_MEASURED: Final = 12  # most scalar measurements at a knot


class Step(Record):
    """Motion from a sample to the next."""

    event: int = 0  # classification of the stamp: START, STEP, MERGED or DROPPED
    clipping: int = 0  # bits: gyro X=1 Y=2 Z=4, accelerometer X=8 Y=16 Z=32
    hole: float = 0.0  # length of a gap in the rates that ends here [s]
    dt: float = 0.0  # [s]
    turn: Vector = filled(3)  # rotation measured by the gyro [rad, body]
    force: Vector = filled(3)  # mean specific force [m/s^2, body]
    clipped: Vector = filled(3)  # sigma of the rotation beyond the range [rad]
    lost_turn: Matrix = zeros(3, 3)  # sigmas of the unmeasured rotation: vectors [rad, body]
    lost_speed: float = 0.0  # sigma of the unmeasured change of velocity [m/s]


class Nominal(Record):
    """The state at a knot."""

    orientation: Vector = vector(0.0, 0.0, 0.0, 1.0)  # q_world_from_body, x y z w
    velocity: Vector = filled(3)  # [m/s, world]
    gyro_bias: Vector = filled(3)  # [rad/s, body]
    position: Vector = filled(3)  # [m, world]


class Constants(Record):
    """States that are constant over a recording."""

    accel_bias: Vector = filled(3)  # [m/s^2, body]
    gyro_matrix: Matrix = zeros(3, 3)  # scale and misalignment
    field: Vector = filled(2)  # to the north and up [of its strength]
    delay: float = 0.0  # of the magnetometer [s]


class Knot(Record):
    """Readings at an instant between windows."""

    at: int = 0  # row of the recording
    rate: Vector = filled(3)  # mean reading of the gyro about it [rad/s, body]
    rest: bool = False
    has_field: bool = False
    field: Vector = filled(3)  # mean field [of its strength, body]
    swing: Vector = filled(3)  # its derivative by the delay [1/s, body]
    weight: float = 1.0  # of the field in the update


class CorrectedTurn(Record):
    """Corrected rotation of a step."""

    turn: Vector = filled(3)  # [rad, body]
    half: Vector = filled(4)  # quaternion of half of it


class WindowResidual(Record):
    """Residual of a path over a window, and variances of the unmeasured motion in it."""

    turn: Vector = filled(3)  # [rad, world]
    speed: Vector = filled(3)  # [m/s, world]
    bias: Vector = filled(3)  # [rad/s, body]
    place: Vector = filled(3)  # [m, world]
    lost_turn: Matrix = zeros(3, 3)  # covariance [rad^2, world]
    lost_speed: float = 0.0  # variance [m^2/s^2]
    is_clipped: bool = False


class KnotEstimate(Record):
    """Estimated error of a path at a knot, and its covariance."""

    mean: Vector = filled(ERRORS)
    covariance: Matrix = zeros(ERRORS, ERRORS)
    measured: int = 0  # number of scalar measurements at the knot


class ScalarUpdate(Record):
    """A scalar measurement, scaled by the standard deviation of its innovation."""

    innovation: float = 0.0
    first: int = 0  # first entry of H that is not zero,
    last: int = 0  # and the index after the last one
    row: Vector = filled(ERRORS)  # H
    gain: Vector = filled(ERRORS)  # K


class LaterInformation(Record):
    """Derivatives of the negative log likelihood of later measurements."""

    gradient: Vector = filled(ERRORS)
    hessian: Matrix = zeros(ERRORS, ERRORS)
    product: Vector = filled(ERRORS)  # of the Hessian and a vector


class SmoothedCovariance(Record):
    """Smoothed covariance of the orientation, and variances of the gyro bias."""

    orientation: Matrix = zeros(3, 3)  # [rad^2, world]
    bias: Vector = filled(3)  # [rad^2/s^2]
