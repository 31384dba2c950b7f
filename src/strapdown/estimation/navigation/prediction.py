"""Aiding as a function of the state of a navigator, linearised.

The function of each kind returns the derivatives (M, SIZE) of the predicted numbers by the errors,
and the residuals (M,), measured less predicted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from strapdown.estimation.navigation.errors import heading_slopes
from strapdown.estimation.navigation.state import (
    ACCEL_BIAS,
    ALTITUDE_BIAS,
    GYRO_BIAS,
    ORIENTATION,
    POSITION,
    SIZE,
    VELOCITY,
)
from strapdown.geometry import quaternion
from strapdown.geometry.rotations import inverse_right_jacobian, skew
from strapdown.geometry.vectors import three
from strapdown.geometry.wgs84 import SEMI_MAJOR_AXIS
from strapdown.inertial.navigation.mechanisation import Earth, gravity_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown._typing import FloatArray
    from strapdown.estimation.navigation.aiding import Aiding
    from strapdown.estimation.navigation.state import NavigatorMemory

Rows: TypeAlias = "tuple[FloatArray, FloatArray]"

_POSITION: Final = slice(POSITION, POSITION + 3)
_VELOCITY: Final = slice(VELOCITY, VELOCITY + 3)
_ORIENTATION: Final = slice(ORIENTATION, ORIENTATION + 3)
_ACCEL_BIAS: Final = slice(ACCEL_BIAS, ACCEL_BIAS + 3)
_GYRO_BIAS: Final = slice(GYRO_BIAS, GYRO_BIAS + 3)
_BODY_AXES: Final = {"velocity": [0, 1, 2], "forward_speed": [0], "non_holonomic": [1, 2]}


def linearise(
    aiding: Aiding, known: NavigatorMemory, earth: Earth
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows (M, SIZE), residuals (M,) and variances (M,) of independent errors."""
    rows, residual = _PREDICTIONS[aiding.kind](aiding, known, earth)
    variances, axes = np.linalg.eigh(aiding.covariance)
    return axes.T @ rows, axes.T @ residual, variances


def _position(aiding: Aiding, known: NavigatorMemory, _earth: Earth) -> Rows:
    rows = np.zeros((3, SIZE))
    rows[:, _POSITION] = np.eye(3)
    predicted = np.array(known.position)
    if aiding.lever_arm.any():
        arm = quaternion.to_matrix(known.orientation) @ aiding.lever_arm
        rows[:, _ORIENTATION] = -skew(arm)
        predicted += arm
    return rows, aiding.value[:3] - predicted


def _velocity(aiding: Aiding, known: NavigatorMemory, _earth: Earth) -> Rows:
    """Velocity of a point; the rotation of the world is negligible in that about the sensor."""
    R = quaternion.to_matrix(known.orientation)
    rows = np.zeros((3, SIZE))
    velocity, turning = np.array(known.velocity), np.zeros(3)
    if aiding.lever_arm.any():
        turning = np.cross(np.subtract(known.last_rate, known.gyro_bias), aiding.lever_arm)
        rows[:, _GYRO_BIAS] = skew(aiding.lever_arm)
    if aiding.frame == "body":
        # R_true^T v_true = R^T (v + dv - phi x v)
        rows[:, _VELOCITY], rows[:, _ORIENTATION] = R.T, R.T @ skew(velocity)
        axes = _BODY_AXES[aiding.kind]
        return rows[axes], aiding.value - (R.T @ velocity + turning)[axes]
    rows[:, _VELOCITY] = np.eye(3)
    rows[:, _ORIENTATION] = -skew(R @ turning)
    rows[:, _GYRO_BIAS] = R @ rows[:, _GYRO_BIAS]
    return rows, aiding.value - (velocity + R @ turning)


def _zero_rate(_aiding: Aiding, known: NavigatorMemory, earth: Earth) -> Rows:
    R = quaternion.to_matrix(known.orientation)
    rows = np.zeros((3, SIZE))
    spin = np.array([0.0, earth.rate_north, earth.rate_up])
    rows[:, _ORIENTATION], rows[:, _GYRO_BIAS] = R.T @ skew(spin), np.eye(3)
    return rows, np.array(known.last_rate) - R.T @ spin - np.array(known.gyro_bias)


def _gravity(_aiding: Aiding, known: NavigatorMemory, earth: Earth) -> Rows:
    R = quaternion.to_matrix(known.orientation)
    rows = np.zeros((3, SIZE))
    up = -np.array(gravity_at(earth, three(known.position)))
    rows[:, _ORIENTATION], rows[:, _ACCEL_BIAS] = R.T @ skew(up), np.eye(3)
    return rows, np.array(known.last_force) - np.array(known.accel_bias) - R.T @ up


def _heading(aiding: Aiding, known: NavigatorMemory, _earth: Earth) -> Rows:
    x, y, z = (quaternion.to_matrix(known.orientation) @ aiding.axis).tolist()
    rows = np.zeros((1, SIZE))
    rows[0, _ORIENTATION] = heading_slopes(x, y, z)
    return rows, (aiding.value - math.atan2(y, x) + math.pi) % (2.0 * math.pi) - math.pi


def _altitude(aiding: Aiding, known: NavigatorMemory, earth: Earth) -> Rows:
    """Altitude above the origin: on WGS 84 that of a sphere, within 0.3 % of the curvature."""
    east, north, up = known.position
    radius = SEMI_MAJOR_AXIS if earth.gravity == 0.0 else math.inf
    rows = np.zeros((1, SIZE))
    rows[0, _POSITION] = east / radius, north / radius, 1.0
    rows[0, ALTITUDE_BIAS] = 1.0
    predicted = up + (east * east + north * north) / (2.0 * radius) + known.altitude_bias
    return rows, aiding.value - predicted


def _pose(aiding: Aiding, known: NavigatorMemory, earth: Earth) -> Rows:
    of_position, distance = _position(aiding, known, earth)
    turn = quaternion.multiply(aiding.value[3:], quaternion.conjugate(known.orientation))
    angle = quaternion.to_rotation_vector(turn)
    of_turn = np.zeros((3, SIZE))
    of_turn[:, _ORIENTATION] = 2.0 * inverse_right_jacobian(0.5 * angle)
    return np.vstack([of_position, of_turn]), np.append(distance, angle)


_PREDICTIONS: Final[Mapping[str, Callable[[Aiding, NavigatorMemory, Earth], Rows]]] = {
    "position": _position,
    "velocity": _velocity,
    "zero_rate": _zero_rate,
    "heading": _heading,
    "gravity": _gravity,
    "magnetic_field": _heading,
    "altitude": _altitude,
    "forward_speed": _velocity,
    "non_holonomic": _velocity,
    "pose": _pose,
}
