"""Content of a joint node: its axes, its anchor, its devices.

Anchor and axes are given in the nearest frame above the joint. Each axis is moved by those
before it. The pose of the end point in the file belongs to the positions of the axes in the
file.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.geometry.rotations import skew

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.webots.file.node import Node

__all__ = [
    "JOINTS",
    "Joint",
    "JointAxis",
    "read_joint",
    "rodrigues",
    "rotation_matrix",
    "unit_vector",
]

JOINTS: Final = frozenset({"HingeJoint", "Hinge2Joint", "BallJoint", "SliderJoint"})

_X, _Y, _Z = np.eye(3)


class JointAxis(NamedTuple):
    """A degree of freedom."""

    axis: FloatArray
    """(3,), of unit length, with all axes of the joint at zero."""
    slides: bool
    parameters: Node | None
    """Node with the ``position``, stops, spring and damping constants of the axis."""
    devices: list[Node]
    """Motors, position sensors and brakes."""

    @property
    def position(self) -> float:
        """Position in the parameters [rad or m]."""
        return self.parameters.number("position") if self.parameters else 0.0


class Joint(NamedTuple):
    """A joint: up to three axes through one anchor."""

    anchor: FloatArray
    axes: tuple[JointAxis, ...]
    end: Node | None
    """The Solid, Slot or SolidReference that it moves."""


def read_joint(node: Node) -> Joint:
    """Return the axes, anchor and devices of a joint node.

    The three axes of a BallJoint are those of ``jointParameters2``, of the cross product, and of
    ``jointParameters3``; the defaults are x and z. Two parallel axes of a Hinge2Joint are
    replaced by x and z, as in Webots.

    Parameters
    ----------
    node : Node
        Of a type among :data:`JOINTS`.
    """
    suffixes = {"Hinge2Joint": ("", "2"), "BallJoint": ("", "2", "3")}.get(node.type, ("",))
    parameters = [node.node("jointParameters" + suffix) for suffix in suffixes]
    devices = [node.nodes("device" + suffix) for suffix in suffixes]
    slides = node.type == "SliderJoint"
    if node.type == "BallJoint":
        axes = _ball_axes(*parameters[1:])
    else:
        axes = [
            unit_vector(own.vector("axis")) if own else default
            for own, default in zip(parameters, (_Z if slides else _X, _Z), strict=False)
        ]
        if len(axes) > 1 and not np.cross(axes[0], axes[1]).any():
            axes = [_X, _Z]
    first = parameters[0]
    anchor = np.zeros(3) if slides or first is None else np.array(first.vector("anchor"))
    return Joint(
        anchor,
        tuple(
            JointAxis(axis, slides, own, held)
            for axis, own, held in zip(axes, parameters, devices, strict=True)
        ),
        node.node("endPoint"),
    )


def unit_vector(v: tuple[float, ...]) -> FloatArray:
    """Return a vector normalized to length 1; z for a zero vector, as in Webots."""
    vector = np.array(v)
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0.0 else _Z


def rotation_matrix(axis: FloatArray, angle: float) -> FloatArray:
    """Return the matrix (3, 3) of a rotation about a unit axis (3,) by an angle [rad]."""
    K = skew(axis)
    return rodrigues((np.eye(3), K, K @ K), math.sin(angle), math.cos(angle))


def rodrigues(
    turns: tuple[FloatArray, ...], sine: FloatArray | float, cosine: FloatArray | float
) -> FloatArray:
    """Return a matrix rotated about an axis, by Rodrigues' formula, which is exact at zero.

    ``turns`` are the matrix, its product with the cross matrix of the axis, and with its square.
    """
    R, spin, spin_squared = turns
    turned: FloatArray = R + sine * spin + (1.0 - cosine) * spin_squared
    return turned


def _ball_axes(second: Node | None, third: Node | None) -> list[FloatArray]:
    """Return the axes of a ball; one that is not given is perpendicular to the other."""
    first_axis = unit_vector(second.vector("axis")) if second else None
    last_axis = unit_vector(third.vector("axis")) if third else None
    if first_axis is None:
        first_axis = _X if last_axis is None else _across(last_axis, _Z, _X)
    if last_axis is None:
        last_axis = _Z if second is None else _across(first_axis, _X, _Z)
    return [first_axis, _across(last_axis, first_axis, _Y), last_axis]


def _across(axis: FloatArray, other: FloatArray, spare: FloatArray) -> FloatArray:
    """Return the direction perpendicular to an axis and another, or to a spare one if parallel."""
    normal: FloatArray = np.cross(axis, other)
    if not normal.any():
        normal = np.cross(axis, spare)
    return normal / float(np.linalg.norm(normal))
