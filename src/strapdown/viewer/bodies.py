"""Content of the scene at one time: bodies and arrows, in axes east, north and up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from strapdown.geometry import WorldFrame, quaternion
from strapdown.geometry.frames import convert_vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray
    from strapdown.viewer.sources import Pose

__all__ = [
    "Body",
    "Shown",
    "Values",
    "arrows_of",
    "as_text",
    "described",
    "in_scene",
    "scene_from_world",
]

Values: TypeAlias = tuple[str, str, tuple[str, ...], list[float]]
"""Name, unit, labels and components of a quantity at one time."""


class Body(NamedTuple):
    """A body in the scene, whose axes are east, north and up.

    Parameters
    ----------
    R_scene_from_body : (3, 3) or None
        None where the attitude is unknown.
    position_scene : (3,) or None
        [m]; None where the position is unknown.
    """

    R_scene_from_body: FloatArray | None
    position_scene: FloatArray | None


class Shown(NamedTuple):
    """Bodies, arrows and values of a source at one time.

    Parameters
    ----------
    body, ghost : Body or None
    arrows : dict of (3,)
        Measured directions in the scene, by name.
    values : list
        Name, unit, labels and components of each quantity.
    """

    body: Body | None
    ghost: Body | None
    arrows: dict[str, FloatArray]
    values: list[Values]


def scene_from_world(world: WorldFrame) -> FloatArray:
    """Return the matrix (3, 3) to the axes of the scene: east, north, up."""
    return convert_vector(np.eye(3), world, WorldFrame.ENU).T


def in_scene(pose: Pose | None) -> Body | None:
    """Return the body of a pose; without a rotation or position where it is unknown."""
    if pose is None:
        return None
    turn, place = scene_from_world(pose.world), None
    if pose.position_world is not None and np.isfinite(pose.position_world).all():
        place = turn @ pose.position_world
    if not np.isfinite(pose.q_world_from_body).all():
        return Body(None, place)
    R = quaternion.to_matrix(pose.q_world_from_body)
    return Body(turn @ R, place)


def arrows_of(body: Body | None, values: Sequence[Values]) -> dict[str, FloatArray]:
    """Return the measured directions of gravity and of the magnetic field in the scene.

    Gravity is the opposite of the specific force, and contains the acceleration. The values are in
    the frames of the source.
    """
    if body is None or body.R_scene_from_body is None:
        return {}
    found = {}
    signs = {"specific force": ("gravity", -1.0), "magnetic field": ("magnetic field", 1.0)}
    for name, _, _, components in values:
        if name in signs and np.isfinite(components).all() and np.any(components):
            arrow, sign = signs[name]
            direction = sign * (body.R_scene_from_body @ components)
            found[arrow] = direction / np.linalg.norm(direction)
    return found


def described(shown: Shown) -> str:
    """Return the key of the scene in words."""
    if shown.body is None or shown.body.R_scene_from_body is None:
        box = "grey box: attitude unknown"
        return box if shown.ghost else f"{box}; --filter vqf estimates it"
    box = "box: attitude" if shown.ghost is None else "box: estimate; edges: reference"
    measured = "; arrows: measured directions" if shown.arrows else ""
    return f"{box}{measured}"


def as_text(value: float) -> str:
    """Return a value with three decimals, or a dash where there is none.

    Examples
    --------
    >>> as_text(-0.0001), as_text(float("nan"))
    ('0.000', '-')
    """
    return f"{round(value, 3) + 0.0:.3f}" if np.isfinite(value) else "-"
