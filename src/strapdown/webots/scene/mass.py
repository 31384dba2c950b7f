"""Mass, centre of mass and inertia of bodies, by the rules of Webots.

A Solid with Physics has the ``mass`` of that node, else its ``density`` times the volume of its
bounding object, where overlapping volumes count twice. Solids with Physics that are rigidly
connected, without a joint between them, are one body.
"""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown.webots.scene.shapes import fixed_nodes, shapes_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from strapdown._typing import FloatArray
    from strapdown.webots.file.node import Node
    from strapdown.webots.scene.shapes import Frame, Shape

__all__ = ["MassProperties", "body_mass", "solid_mass"]

_DENSITY = 1000.0


class MassProperties(NamedTuple):
    """Mass, centre of mass and inertia."""

    mass: float
    """[kg]."""
    center: FloatArray
    """(3,) [m]."""
    inertia: FloatArray
    """(3, 3), about the centre of mass [kg m^2]."""

    def seen_from(self, frame: Frame) -> MassProperties:
        """Return the same in the outer axes of the frame in which it is given."""
        return MassProperties(
            self.mass, frame.point(self.center), frame.R @ self.inertia @ frame.R.T
        )


def solid_mass(solid: Node) -> MassProperties | None:
    """Return the mass of a Solid alone, in its axes; None if it has no Physics.

    ``inertiaMatrix`` is used if ``mass`` and ``centerOfMass`` are given too, and its diagonal is
    positive. Without it and without a bounding object that has a volume, the inertia is the
    identity, as in Webots, and a mass that is not given is 1 kg.
    """
    physics = solid.node("physics")
    if physics is None:
        return None
    mass, density = physics.number("mass"), physics.number("density")
    centers, rows = physics.vectors("centerOfMass"), physics.vectors("inertiaMatrix")
    center = np.array(centers[0]) if len(centers) == 1 else None
    if mass > 0.0 and center is not None and len(rows) == 2 and min(rows[0]) > 0.0:
        (xx, yy, zz), (xy, xz, yz) = rows
        return MassProperties(mass, center, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    volume = _sum(_volume(shape).seen_from(shape.frame) for shape in shapes_of(solid))
    if volume.mass <= 0.0:
        origin = np.zeros(3) if center is None else center
        return MassProperties(mass if mass > 0.0 else 1.0, origin, np.eye(3))
    if mass <= 0.0:
        mass = (density if density > 0.0 else _DENSITY) * volume.mass
    return MassProperties(
        mass,
        volume.center if center is None else center,
        volume.inertia * (mass / volume.mass),
    )


def body_mass(solid: Node) -> MassProperties:
    """Return the mass of a Solid and everything fixed to it, in the axes of the Solid.

    Nodes beyond joints are separate bodies. Without any Physics all values are zero.
    """
    parts = ((node, frame) for node, frame in fixed_nodes(solid) if node.is_a("Solid"))
    masses = ((solid_mass(node), frame) for node, frame in parts)
    return _sum(own.seen_from(frame) for own, frame in masses if own is not None)


def _volume(shape: Shape) -> MassProperties:
    """Return volume, centre and inertia at density 1; zero for planes and unknown geometries."""
    match shape.kind, shape.size:
        case "Box", (x, y, z):
            volume = x * y * z
            moments = volume / 12.0 * np.array([y * y + z * z, z * z + x * x, x * x + y * y])
        case "Sphere", (r,):
            volume = 4.0 / 3.0 * pi * r**3
            moments = np.full(3, 0.4 * volume * r * r)
        case "Cylinder", (r, h):
            volume, moments = _cylinder(r, h)
        case "Capsule", (r, h):
            volume, moments = _cylinder(r, h)
            caps = 4.0 / 3.0 * pi * r**3
            across = 0.4 * r * r + 0.25 * h * h + 0.375 * h * r
            moments = moments + caps * np.array([across, across, 0.4 * r * r])
            volume += caps
        case _:
            volume, moments = 0.0, np.zeros(3)
    return MassProperties(volume, np.zeros(3), np.diag(moments))


def _cylinder(r: float, h: float) -> tuple[float, FloatArray]:
    volume = pi * r * r * h
    across = r * r / 4.0 + h * h / 12.0
    return volume, volume * np.array([across, across, r * r / 2.0])


def _sum(parts: Iterable[MassProperties]) -> MassProperties:
    """Return the mass of all parts together, by the parallel axis theorem."""
    parts = list(parts)
    mass = sum(part.mass for part in parts)
    if mass <= 0.0:
        return MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
    center = sum((part.mass * part.center for part in parts), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        lever = part.center - center
        inertia += part.inertia
        inertia += part.mass * (lever @ lever * np.eye(3) - np.outer(lever, lever))
    return MassProperties(mass, center, inertia)
