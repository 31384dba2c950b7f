"""State of the error-state filter, as its kernels read and write it."""

from __future__ import annotations

from typing import Final

from strapdown._kernels.records import Matrix, Record, Vector, filled, zeros
from strapdown.estimation.error_state.history import RateHistory
from strapdown.estimation.error_state.model import OWN_ERRORS, PHI, Window
from strapdown.estimation.intake import FilterMemory

# Indices in the vector of errors, after those of the model.
HEADING: Final = PHI + 2
NORTH: Final = OWN_ERRORS  # of the field's deviation from north [rad]
AGE: Final = OWN_ERRORS + 1  # of the delay of the magnetometer [s]
ERRORS: Final = OWN_ERRORS + 2  # size of the vector


class MotionHistory(Record):
    """Recent readings and low-passed motion, for the detection of rest and lost readings."""

    force: Vector = filled(3)  # last usable specific force [m/s^2, body]
    force_lost: float = 0.0  # for how long the accelerometer has been missing or clipped [s]
    rate_lost: float = 0.0  # for how long the gyro has been clipped [s]
    peak: float = 0.0  # largest angular velocity so far on any axis [rad/s]
    slow_rate: Vector = filled(3)  # low-passed angular velocity [rad/s, body]
    slow_force: Vector = filled(3)  # low-passed specific force [m/s^2, body]
    rate_power: float = 0.0  # low-passed square of the angular velocity [rad^2/s^2]
    force_power: float = 0.0  # low-passed square of specific force less slow_force [m^2/s^4]
    rest: float = 0.0  # for how long the sensor has been stationary [s]
    rest_rate: Vector = filled(3)  # slow_rate and slow_force when that began [rad/s, body] ...
    rest_force: Vector = filled(3)  # ... [m/s^2, body]


class Lost(Record):
    """Unmeasured motion in the window, as variances."""

    turn: Vector = filled(3)  # variance [rad^2, world]
    speed: float = 0.0  # variance [m^2/s^2]
    clipped: bool = False  # whether the gyro was clipped


class FieldState(Record):
    """Estimates of the magnetic field [as measured, world]."""

    deviation: float = 0.0  # angle east of north of the local field [rad]
    delay: float = 0.0  # delay of the magnetometer relative to the gyro [s]
    usual_level: float = 0.0  # horizontal part of the field that counts as undisturbed
    usual_up: float = 0.0  # upward part of it
    usual_age: float = 0.0  # for how long it has been observed [s]
    candidate: Vector = filled(3)  # field that may become the usual one
    candidate_age: float = 0.0  # for how long it has been observed in rotation [s]
    total: Vector = filled(3)  # sum of the fields in the window
    swing: Vector = filled(2)  # sum of their change with the delay, east and north [per second]
    count: int = 0  # number of fields in the sums


class Correction(Record):
    """Work space of the measurement updates of a window."""

    error: Vector = filled(ERRORS)  # estimated so far in this window
    column: Vector = filled(ERRORS)  # P H^T
    gain: Vector = filled(ERRORS)  # K


class ErrorStateMemory(FilterMemory):
    """State of the error-state filter."""

    velocity: Vector = filled(3)  # [m/s, world]
    accel_bias: Vector = filled(3)  # subtracted from readings [m/s^2, body]
    gyro_matrix: Matrix = zeros(3, 3)  # M: scale and misalignment of the gyro [-]
    error_covariance: Matrix = zeros(ERRORS, ERRORS)  # P
    bias_scale: float = 0.0  # prior sigma of the gyro bias [rad/s]; 0 before the first sample
    has_tilt: bool = False
    field: FieldState = FieldState()
    motion: MotionHistory = MotionHistory()
    history: RateHistory = RateHistory()
    window: Window = Window()
    reading: Vector = filled(3)  # integrated gyro readings of the window [rad, body]
    lost: Lost = Lost()
    correction: Correction = Correction()
