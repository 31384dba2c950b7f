"""State of the strapdown navigator, as its kernels read and write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, zeros
from strapdown.estimation.error_state.update import sigma
from strapdown.estimation.intake import FilterMemory
from strapdown.geometry.vectors import copy, copy_rows, put, three

if TYPE_CHECKING:
    from strapdown._typing import Three

POSITION: Final = 0  # indices in the vector of errors
VELOCITY: Final = 3
ORIENTATION: Final = 6
ACCEL_BIAS: Final = 9
GYRO_BIAS: Final = 12
ALTITUDE_BIAS: Final = 15
SIZE: Final = 16


class Past(Record):
    """Last samples, newest first."""

    spacing: Vector = filled(2)  # [s]; 0 before the start of the history
    rates: Matrix = zeros(3, 3)  # angular velocities [rad/s, body]
    forces: Matrix = zeros(3, 3)  # specific forces [m/s^2, body]
    turn: Vector = filled(3)  # integral over the last step [rad, body]
    pushes: Matrix = zeros(2, 3)  # integrals of specific force over the last two steps [m/s, body]


class UsualMotion(Record):
    """Running means of the readings, from which the uncertainty of a gap is estimated."""

    force: Vector = filled(3)  # specific force [m/s^2, body]
    force_spread: float = 0.0  # mean square of its deviation [m^2/s^4]
    rate_square: float = 0.0  # mean square of the angular velocity [rad^2/s^2]


class Alignment(Record):
    """Sums of the readings of the alignment at rest so far."""

    seconds: float = 0.0
    count: float = 0.0
    rate: Vector = filled(3)  # [rad/s, body]
    force: Vector = filled(3)  # [m/s^2, body]
    rate_square: float = 0.0  # [rad^2/s^2]
    force_square: float = 0.0  # [m^2/s^4]


class NavigatorMemory(FilterMemory):
    """State of a navigator."""

    velocity: Vector = filled(3)  # [m/s, world]
    position: Vector = filled(3)  # [m, world]
    accel_bias: Vector = filled(3)  # subtracted from readings [m/s^2, body]
    altitude_bias: float = 0.0  # subtracted from altitudes of a barometer [m]
    error_covariance: Matrix = zeros(SIZE, SIZE)  # of the errors
    last_force: Vector = filled(3)  # last usable specific force [m/s^2, body]
    behind: float = 0.0  # time since the last sample that was integrated [s]
    started: bool = False  # whether there is a sample to integrate from
    past: Past = Past()
    usual: UsualMotion = UsualMotion()
    gyro_clipped: float = 0.0  # for how long the gyro has been saturated [s]
    accel_clipped: float = 0.0  # for how long the accelerometer has been [s]
    aligned: bool = False  # whether the alignment is complete
    alignment: Alignment = Alignment()
    refused: Vector = filled(10)  # consecutive rejections of aiding, by kind


class NavigatorRow(Record):
    """Estimates after a sample: one row of a result."""

    orientation: Vector = filled(4)
    velocity: Vector = filled(3)
    position: Vector = filled(3)
    angular_velocity: Vector = filled(3)
    gyro_bias: Vector = filled(3)
    accel_bias: Vector = filled(3)
    gyro_bias_sigma: Vector = filled(3)
    accel_bias_sigma: Vector = filled(3)
    covariance: Matrix = zeros(ACCEL_BIAS, ACCEL_BIAS)  # of position, velocity, orientation


@kernel
def describe(row: NavigatorRow, s: NavigatorMemory) -> None:
    """Write the estimates of a navigator to a row."""
    copy(row.orientation, s.orientation)
    copy(row.velocity, s.velocity)
    copy(row.position, s.position)
    copy(row.gyro_bias, s.gyro_bias)
    copy(row.accel_bias, s.accel_bias)
    copy_rows(row.covariance, s.error_covariance)
    for k in range(3):
        row.angular_velocity[k] = s.last_rate[k] - s.gyro_bias[k]
        row.gyro_bias_sigma[k] = sigma(s.error_covariance, GYRO_BIAS + k)
        row.accel_bias_sigma[k] = sigma(s.error_covariance, ACCEL_BIAS + k)


@kernel
def shift(history: Matrix, newest: Three) -> None:
    """Insert a vector at the front of a history."""
    for k in range(len(history) - 1, 0, -1):
        put(history[k], three(history[k - 1]))
    put(history[0], newest)
