"""Aiding as a function of the state of a navigator, linearised.

The kernel of each kind writes the derivatives of the predicted numbers by the errors, and the
residuals, measured less predicted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, zeros
from strapdown.estimation.navigation.aiding import KINDS
from strapdown.estimation.navigation.errors import Steps, heading_slopes, put_slopes
from strapdown.estimation.navigation.state import (
    ACCEL_BIAS,
    ALTITUDE_BIAS,
    GYRO_BIAS,
    ORIENTATION,
    POSITION,
    SIZE,
    VELOCITY,
)
from strapdown.geometry.formulas import (
    quaternion_log,
    quaternion_multiply,
    quaternion_to_matrix,
)
from strapdown.geometry.triples import cross, plus, scaled, unit
from strapdown.geometry.vectors import clear, dot, four, matrix_times, square, three
from strapdown.geometry.wgs84 import SEMI_MAJOR_AXIS
from strapdown.inertial.navigation.mechanisation import Earth, gravity_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._kernels.records import RecordArray
    from strapdown._typing import IntArray, Three
    from strapdown.estimation.navigation.aiding import Aiding
    from strapdown.estimation.navigation.errors import Rotation
    from strapdown.estimation.navigation.state import NavigatorMemory

MOST: Final = 6  # numbers of an aiding
SMALL_SQUARE: Final = 1e-8  # of half an angle [rad^2], below which a factor is 1/3 within 1e-9

OF_POSITION: Final = KINDS.index("position")
OF_ZERO_RATE: Final = KINDS.index("zero_rate")
OF_HEADING: Final = KINDS.index("heading")
OF_GRAVITY: Final = KINDS.index("gravity")
OF_MAGNETIC_FIELD: Final = KINDS.index("magnetic_field")
OF_ALTITUDE: Final = KINDS.index("altitude")
OF_NON_HOLONOMIC: Final = KINDS.index("non_holonomic")
OF_POSE: Final = KINDS.index("pose")


class AidingUpdate(Record):
    """An aiding: up to six numbers measured together, and its result."""

    t_ns: int = 0
    reached: int = 0  # samples of its block that are processed before it
    kind: int = 0
    count: int = 0
    value: Vector = filled(MOST + 1)
    in_body: bool = False  # axes of a velocity
    lever_arm: Vector = filled(3)
    axis: Vector = filled(3)
    eigenvalues: Vector = filled(MOST)  # of the covariance, and ...
    eigenvectors: Matrix = zeros(MOST, MOST)  # ... in columns
    gate: float = 0.0  # largest sum of squared innovations that is accepted
    nis: float = 0.0  # sum of the normalised innovations squared
    accepted: bool = False
    # of the numbers along the eigenvectors, whose errors are independent
    slopes: Matrix = zeros(MOST, SIZE)  # derivatives by the errors
    residuals: Vector = filled(MOST)  # measured less predicted
    # ... and for the backward pass
    columns: Matrix = zeros(MOST, SIZE)  # covariance of the errors with each number
    innovations: Vector = filled(MOST)
    variances: Vector = filled(MOST)  # of the innovations
    steps: Steps = Steps()  # from the last sample to the aiding


class Prediction(Record):
    """Work space: the numbers of an aiding as they were measured."""

    slopes: Matrix = zeros(MOST, SIZE)  # derivatives by the errors
    residuals: Vector = filled(MOST)  # measured less predicted


def pack(aiding: Sequence[Aiding], reached: IntArray, gate: float) -> RecordArray:
    """Return aiding as an array of records.

    ``reached`` is how many samples are processed before each, ``gate`` the probability of
    :class:`~strapdown.estimation.navigation.NavigatorParams`.
    """
    from scipy.special import chdtri  # noqa: PLC0415 (a slow import that few need)

    updates = np.zeros(len(aiding), AidingUpdate.dtype())
    if not len(updates):
        return updates
    counts = np.array([len(each.covariance) for each in aiding])
    updates["reached"], updates["count"], updates["gate"] = (
        reached,
        counts,
        chdtri(counts, 1.0 - gate),
    )
    updates["kind"] = [KINDS.index(each.kind) for each in aiding]
    updates["in_body"] = [each.frame == "body" for each in aiding]
    for name in ("t_ns", "lever_arm", "axis"):
        updates[name] = [getattr(each, name) for each in aiding]
    for count in set(counts.tolist()):
        these = np.flatnonzero(counts == count).tolist()
        values = np.array([aiding[k].value for k in these])
        updates["value"][these, : values.shape[1]] = values
        eigenvalues, eigenvectors = np.linalg.eigh([aiding[k].covariance for k in these])
        updates["eigenvalues"][these, :count] = eigenvalues
        updates["eigenvectors"][these, :count, :count] = eigenvectors
    return updates


@kernel
def linearise(s: NavigatorMemory, earth: Earth, w: Prediction, update: AidingUpdate) -> None:
    """Write slopes and residuals of numbers with independent errors."""
    for k in range(update.count):
        clear(w.slopes[k])
    predict(s, earth, w, update)
    for k in range(update.count):
        slopes, residual = update.slopes[k], 0.0
        clear(slopes)
        for i in range(update.count):
            weight, row = update.eigenvectors[i][k], w.slopes[i]
            if weight != 0.0:
                residual += weight * w.residuals[i]
                for j in range(SIZE):
                    slopes[j] += weight * row[j]
        update.residuals[k] = residual


@kernel
def predict(s: NavigatorMemory, earth: Earth, w: Prediction, update: AidingUpdate) -> None:
    """Write slopes and residuals of the numbers as they were measured."""
    kind, R = update.kind, quaternion_to_matrix(*four(s.orientation))
    if kind == OF_POSITION:
        position(s, R, w, update)
    elif kind == OF_POSE:
        position(s, R, w, update)
        orientation(s, w, update)
    elif kind == OF_ZERO_RATE:
        spin = (0.0, earth.rate_north, earth.rate_up)
        at_rest(R, w, GYRO_BIAS, s.last_rate, s.gyro_bias, spin)
    elif kind == OF_GRAVITY:
        up = scaled(gravity_at(earth, three(s.position)), -1.0)
        at_rest(R, w, ACCEL_BIAS, s.last_force, s.accel_bias, up)
    elif kind in (OF_HEADING, OF_MAGNETIC_FIELD):
        heading(R, w, update)
    elif kind == OF_ALTITUDE:
        altitude(s, earth, w, update)
    elif update.in_body:
        velocity_in_body(s, R, w, update)
    else:
        velocity_in_world(s, R, w, update)


@kernel
def position(s: NavigatorMemory, R: Rotation, w: Prediction, update: AidingUpdate) -> None:
    """Predict the position of a point."""
    arm = matrix_times(R, three(update.lever_arm))
    for k in range(3):
        w.slopes[k][POSITION + k] = 1.0
        put_slopes(w.slopes[k], ORIENTATION, cross(arm, unit(k)))
        w.residuals[k] = update.value[k] - (s.position[k] + arm[k])


@kernel
def orientation(s: NavigatorMemory, w: Prediction, update: AidingUpdate) -> None:
    """Predict the orientation of a pose; the residual is a rotation vector."""
    x, y, z, scalar = four(s.orientation)
    v = update.value
    half = quaternion_log(*quaternion_multiply(v[3], v[4], v[5], v[6], -x, -y, -z, scalar))
    # inverse of the right Jacobian; strapdown.geometry.rotations has it for arrays
    half2, factor = square(half), 1.0 / 3.0
    if half2 > SMALL_SQUARE:
        angle = math.sqrt(half2)
        factor = (1.0 - angle * math.cos(angle) / math.sin(angle)) / half2
    for k in range(3):
        once = cross(unit(k), half)
        slopes = plus(plus(unit(k), once, 1.0), cross(once, half), factor)
        put_slopes(w.slopes[3 + k], ORIENTATION, slopes)
        w.residuals[3 + k] = 2.0 * half[k]


@kernel
def velocity_in_world(s: NavigatorMemory, R: Rotation, w: Prediction, update: AidingUpdate) -> None:
    """Predict the velocity of a point."""
    turning = matrix_times(R, turning_of(s, update))
    for k in range(3):
        w.slopes[k][VELOCITY + k] = 1.0
        put_slopes(w.slopes[k], ORIENTATION, cross(turning, unit(k)))
        axis = (R[3 * k], R[3 * k + 1], R[3 * k + 2])
        put_slopes(w.slopes[k], GYRO_BIAS, cross(axis, three(update.lever_arm)))
        w.residuals[k] = update.value[k] - (s.velocity[k] + turning[k])


@kernel
def velocity_in_body(s: NavigatorMemory, R: Rotation, w: Prediction, update: AidingUpdate) -> None:
    """Predict the velocity of a point along axes of the body: all, forward, or left and up."""
    v, turning = three(s.velocity), turning_of(s, update)
    first = 1 if update.kind == OF_NON_HOLONOMIC else 0
    for k in range(update.count):
        # R_true^T v_true = R^T (v + dv - phi x v)
        axis = body_axis(R, first + k)
        put_slopes(w.slopes[k], VELOCITY, axis)
        put_slopes(w.slopes[k], ORIENTATION, cross(axis, v))
        put_slopes(w.slopes[k], GYRO_BIAS, cross(unit(first + k), three(update.lever_arm)))
        w.residuals[k] = update.value[k] - (dot(axis, v) + turning[first + k])


@kernel
def turning_of(s: NavigatorMemory, update: AidingUpdate) -> Three:
    """Return the velocity of a point about the sensor [m/s, body].

    The rotation of the world is negligible in it.
    """
    return cross(plus(three(s.last_rate), three(s.gyro_bias), -1.0), three(update.lever_arm))


@kernel
def at_rest(
    R: Rotation, w: Prediction, at: int, reading: Vector, bias: Vector, world: Three
) -> None:
    """Predict readings at rest: a vector in axes of the world, and a bias."""
    for k in range(3):
        axis = body_axis(R, k)
        put_slopes(w.slopes[k], ORIENTATION, cross(axis, world))
        w.slopes[k][at + k] = 1.0
        w.residuals[k] = reading[k] - bias[k] - dot(axis, world)


@kernel
def body_axis(R: Rotation, k: int) -> Three:
    """Return an axis of the body [world]."""
    return R[k], R[3 + k], R[6 + k]


@kernel
def heading(R: Rotation, w: Prediction, update: AidingUpdate) -> None:
    """Predict the heading of an axis of the body."""
    x, y, z = matrix_times(R, three(update.axis))
    put_slopes(w.slopes[0], ORIENTATION, heading_slopes(x, y, z))
    apart = update.value[0] - math.atan2(y, x)
    w.residuals[0] = (apart + math.pi) % (2.0 * math.pi) - math.pi


@kernel
def altitude(s: NavigatorMemory, earth: Earth, w: Prediction, update: AidingUpdate) -> None:
    """Predict the altitude above the origin.

    On WGS 84 it is that above a sphere, within 0.3 % of the curvature.
    """
    east, north, up = three(s.position)
    radius = SEMI_MAJOR_AXIS if earth.gravity == 0.0 else math.inf
    put_slopes(w.slopes[0], POSITION, (east / radius, north / radius, 1.0))
    w.slopes[0][ALTITUDE_BIAS] = 1.0
    above = up + (east * east + north * north) / (2.0 * radius) + s.altitude_bias
    w.residuals[0] = update.value[0] - above
