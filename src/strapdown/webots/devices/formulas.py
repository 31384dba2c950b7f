"""Formulas of the devices, over plain floats: interpreted for a refresh, compiled for a batch.

A rotation ``m`` is its nine entries row by row, from the sensor to the world. Formulas that are
sums of products also accept whole columns. Functions with plural names are loops that are meant to
be compiled.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from strapdown._kernels.kernel import kernel
from strapdown.geometry.formulas import (
    quaternion_from_half_angles_zyx,
    quaternion_multiply,
    webots_enu_terms,
    webots_nue_terms,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray

    Real = TypeVar("Real", float, FloatArray)
    Vector: TypeAlias = tuple[float, float, float]
    Quaternion: TypeAlias = tuple[float, float, float, float]
    Matrix: TypeAlias = Sequence[float]
    Table: TypeAlias = Sequence[Sequence[float]] | FloatArray

HALF_TURN, TURN = math.pi, 2.0 * math.pi
LEVEL = 1e-9  # cosine of the pitch below which roll and yaw are one rotation
SAME = 10000.0 * 2.0**-52  # Webots: difference from 0, 1 or pi that counts as equal
QUIET = 0.0, 0.0, 0.0
KEEP_ALL, LOSE_AXES, LOSE_AXES_DEAD_ZONE, LOSE_ROLL = 0, 1, 2, 3

# Vectors and specific force.


@kernel
def to_sensor(m: Sequence[Real], x: Real, y: Real, z: Real) -> tuple[Real, Real, Real]:
    """Return a world vector in sensor axes."""
    m00, m01, m02, m10, m11, m12, m20, m21, m22 = m
    return (
        m00 * x + m10 * y + m20 * z,
        m01 * x + m11 * y + m21 * z,
        m02 * x + m12 * y + m22 * z,
    )


@kernel
def difference_force(
    m: Sequence[Real],
    velocity: Sequence[Real],
    before: Sequence[Real],
    dt: Real,
    gravity: Vector,
) -> tuple[Real, Real, Real]:
    """Return the specific force of a velocity difference, in sensor axes at the end."""
    (vx, vy, vz), (bx, by, bz), (gx, gy, gz) = velocity, before, gravity
    return to_sensor(m, (vx - bx) / dt - gx, (vy - by) / dt - gy, (vz - bz) / dt - gz)


# Lookup tables and resolution.


@kernel
def look_up(value: float, table: Table) -> tuple[float, float]:
    """Return output and relative noise of a table of input, output and noise."""
    low, high = 0, len(table) - 1
    if value <= table[low][0]:
        return table[low][1], table[low][2]
    if value >= table[high][0]:
        return table[high][1], table[high][2]
    if math.isnan(value):
        return value, 0.0
    while high - low > 1:
        middle = (low + high) // 2
        if table[middle][0] <= value:
            low = middle
        else:
            high = middle
    part = (value - table[low][0]) / (table[high][0] - table[low][0])
    return (
        table[low][1] + part * (table[high][1] - table[low][1]),
        table[low][2] + part * (table[high][2] - table[low][2]),
    )


@kernel
def truncated(value: float, resolution: float) -> float:
    """Return a value as Webots rounds it: truncation to a 32-bit integer after adding a half."""
    steps = value / resolution + 0.5
    if -2147483649.0 < steps < 2147483648.0:
        return float(int(steps)) * resolution
    return -2147483648.0 * resolution  # the x86 conversion of NaN and of too large numbers


@kernel
def nearest(value: float, resolution: float) -> float:
    """Return the nearest whole multiple of the resolution, ties rounded away from zero."""
    steps = abs(value) / resolution + 0.5
    if not math.isfinite(steps):
        return value
    return math.copysign((steps - steps % 1.0) * resolution, value)


@kernel
def look_up_values(
    values: FloatArray, table: FloatArray, outputs: FloatArray, noises: FloatArray
) -> None:
    for i in range(values.size):
        outputs[i], noises[i] = look_up(values[i], table)


@kernel
def round_values(values: FloatArray, resolution: float, symmetric: bool) -> None:
    for i in range(values.size):
        if symmetric:
            values[i] = nearest(values[i], resolution)
        else:
            values[i] = truncated(values[i], resolution)


# Rotations.


@kernel
def axis_angle_matrix(x: float, y: float, z: float, angle: float) -> Matrix:
    """Return the rotation about an axis of unit length."""
    c, s = math.cos(angle), math.sin(angle)
    t = 1.0 - c
    return (
        x * x * t + c, x * y * t - z * s, x * z * t + y * s,
        x * y * t + z * s, y * y * t + c, y * z * t - x * s,
        x * z * t - y * s, y * z * t + x * s, z * z * t + c,
    )  # fmt: skip


@kernel
def turned_pair(
    a0: float, a1: float, a2: float, b0: float, b1: float, b2: float, angle: float
) -> tuple[float, float, float, float, float, float]:
    """Rotate two columns about the third: x and y about z, y and z about x, z and x about y."""
    c, s = math.cos(angle), math.sin(angle)
    return (
        c * a0 + s * b0, c * a1 + s * b1, c * a2 + s * b2,
        c * b0 - s * a0, c * b1 - s * a1, c * b2 - s * a2,
    )  # fmt: skip


@kernel
def turned(m: Matrix, about_x: float, about_y: float, about_z: float) -> Matrix:
    """Return m Rx Ry Rz."""
    x0, y0, z0, x1, y1, z1, x2, y2, z2 = m
    y0, y1, y2, z0, z1, z2 = turned_pair(y0, y1, y2, z0, z1, z2, about_x)
    z0, z1, z2, x0, x1, x2 = turned_pair(z0, z1, z2, x0, x1, x2, about_y)
    x0, x1, x2, y0, y1, y2 = turned_pair(x0, x1, x2, y0, y1, y2, about_z)
    return x0, y0, z0, x1, y1, z1, x2, y2, z2


@kernel
def matrix_quaternion(m: Matrix) -> Quaternion:
    """Return the quaternion x, y, z, w of either sign, with Webots' choice of the branch.

    The branches are those of S. W. Shepperd, "Quaternion from rotation matrix", Journal of
    Guidance and Control 1(3), 1978, here by the sign of the trace first.
    """
    m00, m01, m02, m10, m11, m12, m20, m21, m22 = m
    trace = m00 + m11 + m22
    if trace >= 0.0:
        s = 2.0 * math.sqrt(trace + 1.0)
        return (m21 - m12) / s, (m02 - m20) / s, (m10 - m01) / s, s / 4.0
    if m00 > m11 and m00 > m22:
        s = 2.0 * math.sqrt(1.0 + m00 - m11 - m22)
        return s / 4.0, (m01 + m10) / s, (m20 + m02) / s, (m21 - m12) / s
    if m11 > m22:
        s = 2.0 * math.sqrt(1.0 + m11 - m22 - m00)
        return (m01 + m10) / s, s / 4.0, (m12 + m21) / s, (m02 - m20) / s
    s = 2.0 * math.sqrt(1.0 + m22 - m00 - m11)
    return (m20 + m02) / s, (m12 + m21) / s, s / 4.0, (m10 - m01) / s


@kernel
def canonical(x: float, y: float, z: float, w: float) -> Quaternion:
    """Return a quaternion of unit length whose first non-zero of w, x, y, z is positive."""
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if w < 0.0 or (w == 0.0 and (x < 0.0 or (x == 0.0 and (y < 0.0 or (y == 0.0 and z < 0.0))))):
        length = -length
    return x / length, y / length, z / length, w / length


# The InertialUnit as its manual describes it: rows of m are north, up and east.


@kernel
def compass_angles(m: Matrix) -> Vector:
    """Return roll, pitch and yaw of Ry(-yaw) Rz(pitch) Rx(roll)."""
    m00, _, m02, m10, m11, m12, m20, _, m22 = m
    level = math.sqrt(m00 * m00 + m20 * m20)
    pitch = math.atan2(m10, level)
    if level > LEVEL:
        return math.atan2(-m12, m11), pitch, math.atan2(m20, m00)
    return 0.0, pitch, math.atan2(-m02, m22)


@kernel
def wrapped(angle: float) -> float:
    """Return an angle wrapped to -pi ... pi."""
    if abs(angle) <= HALF_TURN:
        return angle
    angle -= TURN * math.floor(angle / TURN + 0.5)
    return min(max(angle, -HALF_TURN), HALF_TURN)


@kernel
def same_attitude(roll: float, pitch: float, yaw: float) -> Vector:
    """Return the angles that :func:`compass_angles` would give for the same attitude."""
    pitch = wrapped(pitch)
    if abs(pitch) > 0.5 * HALF_TURN:
        pitch = math.copysign(HALF_TURN, pitch) - pitch
        roll, yaw = roll + HALF_TURN, yaw + HALF_TURN
    if math.cos(pitch) <= LEVEL:
        roll, yaw = 0.0, yaw - math.copysign(roll, roll * pitch)
    return wrapped(roll), pitch, wrapped(yaw)


@kernel
def compass_quaternion(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Return the quaternion of Ry(-yaw) Rz(pitch) Rx(roll), which is ZYX in other axes."""
    x, y, z, w = quaternion_from_half_angles_zyx(
        math.sin(0.5 * roll), math.cos(0.5 * roll),
        math.sin(0.5 * pitch), math.cos(0.5 * pitch),
        math.sin(0.5 * yaw), math.cos(0.5 * yaw),
    )  # fmt: skip
    return x, -z, y, w


@kernel
def compass_sample(
    compass: Matrix, m: Matrix
) -> tuple[float, float, float, float, float, float, float]:
    """Return roll, pitch, yaw and the quaternion of a unit.

    ``compass`` is the rotation from forward, up and right to north, up and east.
    """
    return compass_angles(compass) + canonical(*matrix_quaternion(m))


@kernel
def noisy_compass_sample(
    compass: Matrix, noises: Vector, world: Quaternion, unit: Quaternion
) -> tuple[float, float, float, float, float, float, float]:
    """Return the same with noise on each angle.

    ``world`` rotates north, up and east to the world, ``unit`` the axes of the unit to forward,
    up and right.
    """
    roll, pitch, yaw = compass_angles(compass)
    angles = same_attitude(roll + noises[0], pitch + noises[1], yaw + noises[2])
    q = quaternion_multiply(*world, *compass_quaternion(*angles))
    return angles + canonical(*quaternion_multiply(*q, *unit))


@kernel
def compass_samples(compass: FloatArray, rotations: FloatArray, out: FloatArray) -> None:
    for i in range(len(out)):
        sample = compass_sample(entries(compass, i), entries(rotations, i))
        for j in range(7):
            out[i, j] = sample[j]


@kernel
def noisy_compass_samples(
    compass: FloatArray, noises: FloatArray, world: Quaternion, unit: Quaternion, out: FloatArray
) -> None:
    for i in range(len(out)):
        noise = noises[i, 0], noises[i, 1], noises[i, 2]
        sample = noisy_compass_sample(entries(compass, i), noise, world, unit)
        for j in range(7):
            out[i, j] = sample[j]


# The InertialUnit as implemented in Webots since R2021a. The angles of R2021a are nue_angles; those
# of R2023b (R2021b to R2023b) and R2025a are enu_angles, or nue_angles in a world with NUE axes.
# R2023b differs from R2025a in one formula: the dead zone in rotation_axis, with an axis disabled.


@kernel
def lost_roll(m: Matrix) -> Matrix:
    """Return m with its roll removed."""
    return turned(m, -math.atan2(-m[5], m[4]), 0.0, 0.0)


@kernel
def rotation_axis(m: Matrix, lost: int) -> Quaternion:
    """Return the axis, not yet normalized, and the angle of a rotation.

    ``LOSE_AXES_DEAD_ZONE`` is that of R2023b: within about 0.3 deg of no rotation, or of half a
    turn, the result is exactly none, or exactly half a turn.
    """
    m00, m01, m02, m10, m11, m12, m20, m21, m22 = m
    x, y, z = m21 - m12, m02 - m20, m10 - m01
    trace = m00 + m11 + m22
    angle = math.acos(min(max(0.5 * (trace - 1.0), -1.0), 1.0))
    none, half = angle < SAME, HALF_TURN - angle < SAME
    if lost == LOSE_AXES_DEAD_ZONE and max(abs(x), abs(y), abs(z)) < 0.01:
        sums = max(abs(m01 + m10), abs(m02 + m20), abs(m12 + m21))
        none = sums < 0.1 and abs(trace - 3.0) < 0.1
        half, angle = not none, HALF_TURN
    if none:
        return 1.0, 0.0, 0.0, 0.0
    if not half:
        return x, y, z, angle
    if m00 > m11 and m00 > m22:
        x = math.sqrt(m00 - m11 - m22 + 1.0) / 2.0
        return x, m01 / (2.0 * x), m02 / (2.0 * x), angle
    if m11 > m00 and m11 > m22:
        y = math.sqrt(m11 - m00 - m22 + 1.0) / 2.0
        return m01 / (2.0 * y), y, m12 / (2.0 * y), angle
    z = math.sqrt(m22 - m00 - m11 + 1.0) / 2.0
    return m02 / (2.0 * z), m12 / (2.0 * z), z, angle


@kernel
def unit_axis(x: float, y: float, z: float) -> Vector:
    """Return an axis of unit length; z for a zero axis."""
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return 0.0, 0.0, 1.0
    scale = 1.0 / length
    return (x * scale, y * scale, z * scale) if abs(scale - 1.0) > SAME else (x, y, z)


@kernel
def lost_axes(m: Matrix, lost: int, kept: Vector) -> Matrix:
    """Return a rotation by the same angle about its axis with the disabled components set to 0."""
    x, y, z, angle = rotation_axis(m, lost)
    x, y, z = unit_axis(x, y, z)
    x, y, z = unit_axis(x * kept[0], y * kept[1], z * kept[2])
    return axis_angle_matrix(x, y, z, angle)


@kernel
def webots_quaternion(m: Matrix) -> Quaternion:
    """Return :func:`matrix_quaternion`; identity for rotations so small that the diagonal is 1."""
    if m[0] == 1.0 and m[4] == 1.0 and m[8] == 1.0:
        return 0.0, 0.0, 0.0, 1.0
    return matrix_quaternion(m)


@kernel
def inertial_sample(
    m: Matrix, noises: Vector, lost: int, kept: Vector, resolution: float
) -> Quaternion:
    """Return the quaternion of a unit; ``kept`` is 1 for kept and 0 for lost angles."""
    if noises != QUIET:
        m = turned(m, *noises)
    if lost == LOSE_ROLL:
        m = lost_roll(m)
    elif lost != KEEP_ALL:
        m = lost_axes(m, lost, kept)
    x, y, z, w = webots_quaternion(m)
    if resolution == -1.0:
        return x, y, z, w
    return (
        truncated(x, resolution), truncated(y, resolution),
        truncated(z, resolution), truncated(w, resolution),
    )  # fmt: skip


@kernel
def inertial_samples(
    rotations: FloatArray, noises: FloatArray, lost: int, kept: Vector, resolution: float,
    out: FloatArray,
) -> None:  # fmt: skip
    for i in range(len(out)):
        noise = noises[i, 0], noises[i, 1], noises[i, 2]
        q = inertial_sample(entries(rotations, i), noise, lost, kept, resolution)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = q


@kernel
def matrix_angles(m: Matrix) -> Vector:
    """Return roll, pitch and yaw as the simulator of R2020a does; m is north, up and east."""
    m00, _, _, m10, m11, m12, m20, _, _ = m
    return math.atan2(-m12, m11), arc_sine(m10), -math.atan2(m20, m00)


@kernel
def matrix_angle_rows(rotations: FloatArray, out: FloatArray) -> None:
    for i in range(len(out)):
        out[i, 0], out[i, 1], out[i, 2] = matrix_angles(entries(rotations, i))


@kernel
def nue_angles(x: float, y: float, z: float, w: float) -> Vector:
    """Return roll, pitch and yaw by the client library's formulas for NUE worlds."""
    sin_roll, cos_roll, sin_pitch, sin_yaw, cos_yaw = webots_nue_terms(x, y, z, w)
    return math.atan2(sin_roll, cos_roll), arc_sine(sin_pitch), math.atan2(sin_yaw, cos_yaw)


@kernel
def enu_angles(x: float, y: float, z: float, w: float) -> Vector:
    """Return roll, pitch and yaw by the client library's formulas for all other worlds."""
    sin_roll, cos_roll, sin_pitch, sin_yaw, cos_yaw = webots_enu_terms(x, y, z, w)
    if abs(sin_pitch) > 1.0:
        sin_pitch = math.copysign(1.0, sin_pitch)
    return math.atan2(sin_roll, cos_roll), math.asin(sin_pitch), math.atan2(sin_yaw, cos_yaw)


@kernel
def arc_sine(value: float) -> float:
    """Return the arc sine; NaN outside -1 ... 1."""
    return math.asin(value) if abs(value) <= 1.0 else math.nan


@kernel
def entries(m: FloatArray, i: int) -> Matrix:
    """Return one of N matrices that are stored as columns, (9, N)."""
    return m[0, i], m[1, i], m[2, i], m[3, i], m[4, i], m[5, i], m[6, i], m[7, i], m[8, i]
