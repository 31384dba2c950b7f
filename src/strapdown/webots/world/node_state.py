"""Present state of a node, as values of its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.geometry import quaternion
from strapdown.webots.file.world_file import has_physics
from strapdown.webots.scene.joints import rotation_matrix, unit_vector
from strapdown.webots.scene.mass import body_mass

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.webots.file.node import Node, Value
    from strapdown.webots.scene.scene import BodyStates, Scene

__all__ = ["PLACES", "center", "center_velocity", "is_body", "present_fields", "row"]

PLACES: Final = {"translation", "rotation", "linearVelocity", "angularVelocity"}
"""Fields that contain the pose and motion of a body."""
_SAME: Final = 1e-12
"""Smallest difference from the written value at which a field counts as changed."""


def is_body(node: Node) -> bool:
    """Return whether a node is a Solid but no device: it may move independently."""
    return node.is_a("Solid") and not node.is_a("Device")


def present_fields(scene: Scene, node: Node, name: str) -> dict[str, Value]:
    """Return the fields of a node whose present value differs from the written one.

    Parameters
    ----------
    scene : Scene
    node : Node
    name : str
        One of the fields: the pose and velocities of a Solid are returned together, the position of
        a joint alone. Other fields do not change by themselves.
    """
    if name == "position" and node.parent is not None and node.parent.is_a("Joint"):
        devices = node.parent.nodes("device" + node.parent_field.removeprefix("jointParameters"))
        return {name: scene.position(devices[0])} if devices else {}
    if name not in PLACES or not is_body(node):
        return {}
    state = scene.present(node)
    R, position = state.R_world_from_body[0], state.position[0]
    above = next((parent for parent in node.ancestors() if parent.is_a("Pose")), None)
    if above is not None:
        frame = scene.present(above)
        R_above = frame.R_world_from_body[0]
        R, position = R_above.T @ R, R_above.T @ (position - frame.position[0])
    present: dict[str, Value] = {}
    if np.abs(position - node.vector("translation")).max() > _SAME:
        present["translation"] = tuple(row(position))
    x, y, z, angle = node.vector("rotation")
    if np.abs(R - rotation_matrix(unit_vector((x, y, z)), angle)).max() > _SAME:
        present["rotation"] = _axis_angle(R)
    if has_physics(node):
        present["linearVelocity"] = tuple(row(center_velocity(node, state)))
        present["angularVelocity"] = tuple(row(state.angular_velocity))
    return present


def center(node: Node, state: BodyStates) -> FloatArray:
    """Return the vector (3,) from a node to the centre of mass of its body, in world axes [m]."""
    return np.asarray(state.R_world_from_body[0] @ body_mass(node).center)


def center_velocity(node: Node, state: BodyStates) -> FloatArray:
    """Return the velocity (3,) of the centre of mass of a node's body [m/s]."""
    return np.asarray(state.velocity[0] + np.cross(state.angular_velocity[0], center(node, state)))


def row(values: FloatArray) -> list[float]:
    """Return the elements of an array, row by row."""
    return [float(value) for value in values.ravel()]


def _axis_angle(R: FloatArray) -> tuple[float, ...]:
    vector = quaternion.to_rotation_vector(quaternion.from_matrix(R))
    angle = float(np.linalg.norm(vector))
    return (*row(vector / angle), angle) if angle > 0 else (0.0, 0.0, 1.0, 0.0)
