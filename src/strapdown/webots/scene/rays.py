"""Rays against the shapes of Solids: distance to the first surface, and its normal.

A line meets a convex body in an interval: that of a box is the intersection of three slabs, that of
a cylinder the one of a slab and an endless cylinder, that of a capsule the hull of those of a
cylinder and two spheres. A ray that begins inside a body meets its surface where it leaves.

References
----------
C. Ericson, "Real-Time Collision Detection", 2005, section 5.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.webots.scene.shapes import Shape

    Interval: TypeAlias = tuple[FloatArray, FloatArray]

__all__ = ["CASTABLE", "Hits", "cast"]

CASTABLE = frozenset({"Box", "Sphere", "Cylinder", "Capsule", "Plane"})
"""Kinds of shapes that rays can meet."""


class Hits(NamedTuple):
    """First surfaces that rays meet."""

    distance: FloatArray
    """(...,) [m]; infinite where a ray meets nothing."""
    normal: FloatArray
    """(..., 3), outward, in the frame of the shape; undefined where a ray meets nothing."""


def cast(shape: Shape, origin: FloatArray, direction: FloatArray) -> Hits:
    """Return where rays meet the surface of a shape.

    Parameters
    ----------
    shape : Shape
        Of a kind in :data:`CASTABLE`; its frame is not used.
    origin : (..., 3)
        Beginnings of the rays in the frame of the shape [m].
    direction : (..., 3)
        Unit vectors in the frame of the shape.

    Examples
    --------
    >>> from strapdown.webots.scene.shapes import Frame, Shape
    >>> ball = Shape("Sphere", (0.5,), Frame())
    >>> cast(ball, np.array([-2.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])).distance.item()
    1.5
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        near, far = _interval(shape, origin, direction)
        distance = np.where(near >= 0.0, near, far)
        distance = np.where((near <= far) & (far >= 0.0), distance, np.inf)
        point = origin + np.where(np.isfinite(distance), distance, 0.0)[..., np.newaxis] * direction
        return Hits(distance, _normal(shape, point))


def _interval(shape: Shape, origin: FloatArray, direction: FloatArray) -> Interval:
    """Return where lines enter and leave a body; entering after leaving: they miss it."""
    match shape.kind, shape.size:
        case "Box", sides:
            near, far = _slab(origin, direction, 0.5 * np.array(sides))
            return near.max(axis=-1), far.min(axis=-1)
        case "Sphere", (radius,):
            return _round(origin, direction, radius)
        case "Cylinder", (radius, height):
            return _barrel(origin, direction, radius, height)
        case "Capsule", (radius, height):
            ends = np.array([[0.0, 0.0, -0.5 * height], [0.0, 0.0, 0.5 * height]])
            parts = [
                _barrel(origin, direction, radius, height),
                *(_round(origin - end, direction, radius) for end in ends),
            ]
            missed = [near > far for near, far in parts]
            near = np.where(missed, np.inf, [part[0] for part in parts]).min(axis=0)
            return near, np.where(missed, -np.inf, [part[1] for part in parts]).max(axis=0)
    at = -origin[..., 2] / direction[..., 2]  # a Plane
    if shape.size:
        within = origin[..., :2] + at[..., np.newaxis] * direction[..., :2]
        at = np.where((np.abs(within) <= 0.5 * np.array(shape.size)).all(axis=-1), at, np.nan)
    at = np.where(np.isfinite(at), at, -np.inf)
    return at, at


def _slab(origin: FloatArray, direction: FloatArray, half: FloatArray | float) -> Interval:
    """Return where coordinates are within a half width."""
    low, high = (-half - origin) / direction, (half - origin) / direction
    near, far = np.minimum(low, high), np.maximum(low, high)
    parallel = direction == 0.0
    outside = np.where(np.abs(origin) <= half, -np.inf, np.inf)
    return np.where(parallel, outside, near), np.where(parallel, -outside, far)


def _round(origin: FloatArray, direction: FloatArray, radius: float) -> Interval:
    """Return where points are within a radius, in as many coordinates as are given."""
    a = (direction * direction).sum(axis=-1)
    b = (origin * direction).sum(axis=-1)
    c = (origin * origin).sum(axis=-1) - radius * radius
    root = np.sqrt(b * b - a * c)  # NaN: missed
    near, far = (-b - root) / a, (-b + root) / a
    along = a == 0.0
    near = np.where(along, np.where(c <= 0.0, -np.inf, np.inf), near)
    far = np.where(along, -near, far)
    missed = np.isnan(near)
    return np.where(missed, np.inf, near), np.where(missed, -np.inf, far)


def _barrel(origin: FloatArray, direction: FloatArray, radius: float, height: float) -> Interval:
    side = _round(origin[..., :2], direction[..., :2], radius)
    caps = _slab(origin[..., 2], direction[..., 2], 0.5 * height)
    return np.maximum(side[0], caps[0]), np.minimum(side[1], caps[1])


def _normal(shape: Shape, point: FloatArray) -> FloatArray:
    """Return the outward normal at points of the surface."""
    normal = np.zeros_like(point)
    match shape.kind, shape.size:
        case "Box", sides:
            face = np.abs(point / np.array(sides)).argmax(axis=-1)[..., np.newaxis]
            sign = np.sign(np.take_along_axis(point, face, axis=-1))
            np.put_along_axis(normal, face, sign, axis=-1)
            return normal
        case "Cylinder", (radius, height):
            cap = np.abs(point[..., 2]) / (0.5 * height) >= np.hypot(*point[..., :2].T).T / radius
            normal[..., :2] = np.where(cap[..., np.newaxis], 0.0, point[..., :2] / radius)
            normal[..., 2] = np.where(cap, np.sign(point[..., 2]), 0.0)
            return normal
        case "Capsule", (radius, height):
            axis = np.clip(point[..., 2], -0.5 * height, 0.5 * height)
            normal[...] = point / radius
            normal[..., 2] -= axis / radius
            return normal
        case "Sphere", (radius,):
            return point / radius
    normal[..., 2] = 1.0
    return normal
