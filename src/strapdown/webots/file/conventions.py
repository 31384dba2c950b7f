"""Directions of a world: up, north and gravity."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import TYPE_CHECKING, Final, TypeAlias

from strapdown.errors import ValueRangeError

if TYPE_CHECKING:
    from strapdown.webots.file.node import Node

__all__ = ["AXES", "Conventions", "conventions", "horizontal", "up_and_gravity"]

Vector: TypeAlias = tuple[float, float, float]

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

AXES: Final[dict[str, tuple[Vector, Vector]]] = {
    "NUE": (_X, _Y),
    "ENU": (_Y, _Z),
    "EUN": (_Z, _Y),
}
"""North and up by the name of the coordinate system."""

_PARALLEL: Final = 1e-9


@dataclass(frozen=True)
class Conventions:
    """Directions of a world; vectors in its axes."""

    coordinate_system: str
    """``NUE``, ``ENU`` or ``EUN``: the directions of the first, second and third axis."""
    up: Vector
    """Unit vector against gravity."""
    north: Vector
    """Unit vector; horizontal except in R2020a, which takes ``northDirection`` unchanged."""
    gravity_world: Vector
    """[m/s^2], points down; zero without gravity."""


def conventions(info: Node, *, keep_vectors: bool, level_north: bool = True) -> Conventions:
    """Return the conventions of a world.

    Parameters
    ----------
    info : Node
        The WorldInfo of the world, read with the same ``keep_vectors``.
    keep_vectors : bool
        Whether a gravity vector and ``northDirection`` are used. Up is then against gravity, and
        the axis of the coordinate system only where gravity is zero; north is the horizontal
        part of ``northDirection``, if it was written. Releases since R2020b use only the
        coordinate system.
    level_north : bool
        Whether north is projected onto the horizontal plane.

    Raises
    ------
    ValueRangeError
        North is parallel to gravity.
    """
    system = info.text("coordinateSystem")
    up, gravity_world = up_and_gravity(info)
    north = AXES[system][0]
    if keep_vectors and "northDirection" in info.fields:
        x, y, z = info.vector("northDirection")
        north = (x, y, z)
    across = horizontal(north, up)
    if across is None:
        raise ValueRangeError(
            f"expected a north direction across gravity, got {north} with up {up} (WorldInfo,"
            f" line {info.line}); set northDirection to another one"
        )
    if not level_north:
        across = _scaled(north, 1 / hypot(*north))
    return Conventions(system, up, across, gravity_world)


def up_and_gravity(info: Node) -> tuple[Vector, Vector]:
    """Return the unit vector up and the gravity vector [m/s^2] of a WorldInfo."""
    up = AXES[info.text("coordinateSystem")][1]
    gravity = info.get("gravity")
    if not isinstance(gravity, tuple):
        return up, _scaled(up, -info.number("gravity"))
    x, y, z = gravity
    length = hypot(x, y, z)
    return (_scaled((x, y, z), -1 / length) if length > 0 else up), (x, y, z)


def horizontal(vector: tuple[float, ...], up: Vector) -> Vector | None:
    """Return the unit vector of the horizontal part of a vector; None if there is none."""
    along = sum(a * b for a, b in zip(vector, up, strict=True))
    x, y, z = (a - along * b for a, b in zip(vector, up, strict=True))
    length = hypot(x, y, z)
    return None if length < _PARALLEL else _scaled((x, y, z), 1 / length)


def _scaled(vector: Vector, factor: float) -> Vector:
    x, y, z = vector
    return x * factor + 0.0, y * factor + 0.0, z * factor + 0.0
