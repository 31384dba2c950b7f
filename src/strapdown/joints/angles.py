"""Angles of a joint from the relative orientation of its segments.

The neutral pose has zero angles. Axes of the segments in that pose: z is the axis of the joint,
or of a ball joint the one about which it turns most; y is up, at right angles to z.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.geometry import quaternion
from strapdown.joints.anatomy import GENERIC, JointKind, Side
from strapdown.joints.model import tangents

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray
    from strapdown.joints.anatomy import Joint

__all__ = ["Angles", "Pose", "measure"]

UPRIGHT: Final = 0.95
"""Cosine of z and the vertical above which the vertical determines no y."""
ENDS: Final = (1.0, 99.0)
"""Percentiles for the ends of a range."""


@dataclass(frozen=True, eq=False)
class Pose:
    """Relative orientation over time, and the neutral pose.

    Parameters
    ----------
    relative : (N, 4)
        The second sensor in the first; NaN where unknown.
    neutral : (N,) bool
        Instants whose mean is the neutral pose.
    up : (3,)
        Mean upward direction in the neutral pose [first sensor].
    """

    relative: FloatArray
    neutral: BoolArray
    up: FloatArray


@dataclass(frozen=True, eq=False)
class Angles:
    """Angles with their names.

    Parameters
    ----------
    names : tuple of str
    values : (N, D)
        [rad].
    axes_first, axes_second : (3, 3)
        Columns: x, y and z of the segments [sensor].
    axis_first, axis_second : (3,)
        Axes of the joint, with the directions of the angles [sensor].
    balance : float
        Smaller over larger range of the first angle: near 1, the direction of z is a guess.
    """

    names: tuple[str, ...]
    values: FloatArray
    axes_first: FloatArray
    axes_second: FloatArray
    axis_first: FloatArray
    axis_second: FloatArray
    balance: float


def measure(  # noqa: PLR0913 (the joint and the choices of its user)
    pose: Pose,
    kind: JointKind,
    axes: tuple[FloatArray, FloatArray],
    *,
    joint: Joint | None,
    side: Side,
    reverse: bool,
) -> Angles:
    """Return the angles of a joint.

    Parameters
    ----------
    pose : Pose
    kind : JointKind
    axes : two of (3,)
        In either direction, those of a hinge alike; not used for a ball joint.
    joint : Joint, optional
    side : Side
    reverse : bool
        Reverse the direction of z.
    """
    known = np.isfinite(pose.relative).all(axis=1)
    reference = quaternion.mean(pose.relative[known & pose.neutral])
    first, second = axes
    if kind is JointKind.BALL:
        first = _busiest(pose.relative[known])
        second = quaternion.rotate(quaternion.conjugate(reference), first)
    if kind is JointKind.SADDLE:
        swing = _between(pose.relative, reference, first, second)
    else:
        swing = _twist(pose.relative, reference, first)
    swing = _unwrapped(swing, pose.neutral)
    low, high = np.percentile(swing[known], ENDS)
    if joint is None:
        direction = np.sign(first[np.argmax(np.abs(first))])
    else:
        direction = np.sign(low + high) * joint.larger * joint.sign or 1.0
    direction = -direction if reverse else direction
    balance = float(min(abs(low), abs(high)) / max(abs(low), abs(high), 1e-12))
    axes_first = _segment_axes(direction * first, pose.up)
    R = quaternion.to_matrix(reference)
    axes_second = R.T @ axes_first
    if kind is JointKind.HINGE:
        second = direction * second
        values = (direction * swing)[:, None]
    elif kind is JointKind.SADDLE:
        expected = axes_second[:, 1 if joint is None or joint.second == "y" else 0]
        alike = float(second @ expected)
        second = second * (1.0 if alike >= 0.0 else -1.0)
        back = quaternion.conjugate(pose.relative), quaternion.conjugate(reference)
        values = np.stack([direction * swing, -_between(*back, second, first)], axis=1)
    else:
        second = axes_second[:, 2]
        values = _zxy(pose.relative, axes_first, axes_second)
    values = np.stack([_unwrapped(column, pose.neutral) for column in values.T], axis=1)
    names, signs = _names(kind, joint, side)
    return Angles(
        names, values * signs, axes_first, axes_second, direction * first, second, balance
    )


def _names(kind: JointKind, joint: Joint | None, side: Side) -> tuple[tuple[str, ...], FloatArray]:
    """Return names and signs of the angles."""
    if joint is None:
        return GENERIC[kind], np.ones(kind.axes)
    aside = 1.0 if side is Side.RIGHT else -1.0
    about_z, about_x, about_y = joint.names
    names = {
        JointKind.HINGE: (about_z,),
        JointKind.SADDLE: (about_z, about_y if joint.second == "y" else about_x),
        JointKind.BALL: joint.names,
    }[kind]
    return names, np.array([joint.sign, aside, aside][: kind.axes])


def _busiest(relative: FloatArray) -> FloatArray:
    """Return the axis of the first sensor about which the second turns most."""
    steps = quaternion.multiply(relative[1:], quaternion.conjugate(relative[:-1]))
    turns = quaternion.to_rotation_vector(quaternion.canonical(steps))
    axis: FloatArray = np.linalg.eigh(turns.T @ turns)[1][:, -1]
    return axis


def _twist(relative: FloatArray, reference: FloatArray, axis: FloatArray) -> FloatArray:
    """Return the angles (N,) of the turns from a reference about an axis of the first."""
    turn = quaternion.multiply(relative, quaternion.conjugate(reference))
    angle: FloatArray = 2.0 * np.arctan2(turn[:, :3] @ axis, turn[:, 3])
    return angle


def _between(
    relative: FloatArray, reference: FloatArray, first: FloatArray, second: FloatArray
) -> FloatArray:
    """Return the angles (N,) about the first axis that the second has turned from a reference.

    With ``R = Rot(first, a) R_0 Rot(second, b)``, the turn ``a`` takes ``R_0 second`` to
    ``R second``.
    """
    plane = tangents(first)
    now = quaternion.rotate(relative, second) @ plane
    then = quaternion.rotate(reference, second) @ plane
    angle: FloatArray = np.arctan2(now[:, 1], now[:, 0]) - np.arctan2(then[1], then[0])
    return angle


def _unwrapped(angle: FloatArray, neutral: BoolArray) -> FloatArray:
    """Return angles (N,) without jumps of a turn, near 0 in the neutral pose; NaN stays."""
    known = np.isfinite(angle)
    result = angle.copy()
    result[known] = np.unwrap(angle[known])
    turns = np.rint(np.median(result[known & neutral]) / (2.0 * np.pi))
    unwrapped: FloatArray = result - 2.0 * np.pi * turns
    return unwrapped


def _segment_axes(z: FloatArray, up: FloatArray) -> FloatArray:
    """Return x, y and z of a segment as columns."""
    if abs(z @ up) > UPRIGHT * np.linalg.norm(up):
        y = tangents(z)[:, 0]
    else:
        y = up - (up @ z) * z
        y /= np.linalg.norm(y)
    return np.stack([np.cross(y, z), y, z], axis=1)


def _zxy(relative: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the angles (N, 3) about z, x and y of ``Rz Rx Ry``."""
    R = first.T @ quaternion.to_matrix(relative) @ second
    z = np.arctan2(-R[:, 0, 1], R[:, 1, 1])
    x = np.arcsin(np.clip(R[:, 2, 1], -1.0, 1.0))
    y = np.arctan2(-R[:, 2, 0], R[:, 2, 2])
    return np.stack([z, x, y], axis=1)
