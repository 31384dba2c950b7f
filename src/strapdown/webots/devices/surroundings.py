"""Devices that measure their surroundings: DistanceSensor and TouchSensor.

References
----------
Webots reference manual, DistanceSensor and TouchSensor; the distribution of the rays is that of
R2025a.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.geometry.products import matrix_vector
from strapdown.webots.devices import formulas as kernels
from strapdown.webots.devices.output_stage import rounding
from strapdown.webots.scene.rays import CASTABLE, cast
from strapdown.webots.scene.shapes import shapes_of, visible_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from strapdown._typing import FloatArray
    from strapdown.webots.devices.output_stage import Setting
    from strapdown.webots.file.node import Node
    from strapdown.webots.scene.scene import BodyStates, Horizon
    from strapdown.webots.scene.shapes import Shape

__all__ = ["DistanceMeter", "Obstacles", "Surveying", "TouchMeter", "ray_directions"]

_ECHO_ANGLE: Final = math.pi / 8.0
"""Largest angle between a ray of a sonar and the normal of a surface that returns it."""
_ORBITS: Final[dict[int, tuple[tuple[int, float, float], ...]]] = {
    # number of rays: (rays on a cone, its share of the aperture, first angle in turns)
    2: ((2, 1.0, 0.25),),
    3: ((3, 1.0, 0.0),),
    9: ((3, 0.3, 0.0), (6, 1.0, 0.0)),
    10: ((1, 0.0, 0.0), (3, 0.5, 0.0), (6, 1.0, 0.0)),
}


MOST_RAYS: Final = 10_000
"""Rays of a DistanceSensor at most."""
_MOST_CASTS: Final = 1 << 16
"""Rays that are cast at once, of all states."""


class Surveying(Protocol):
    """Measurement that needs more of a scene than the motion of its device."""

    width: int

    @property
    def watched(self) -> Iterable[Node]:
        """Nodes whose states it needs."""
        ...

    def survey(self, horizon: Horizon, due: slice) -> Sequence[Any]:
        """Return the input of a refresh at each of the states that are selected."""
        ...

    def take(self, row: Any, dt_s: float, /) -> list[float]:  # noqa: ANN401 (from survey)
        """Return the values of one refresh."""
        ...

    def configure(self) -> None:
        """Read the fields of the node again."""
        ...

    def reset(self) -> None:
        """Reset the state that a simulation reset clears."""
        ...


class Obstacles:
    """The Solids of a world and their shapes, until something changes.

    Parameters
    ----------
    walk : callable
        Returns all nodes of the world.
    """

    def __init__(self, walk: Callable[[], Iterable[Node]]) -> None:
        self._walk = walk
        self._found: dict[bool, dict[Node, list[Shape]]] = {}

    def forget(self) -> None:
        """Read the nodes again at the next question."""
        self._found.clear()

    def shapes(self, *, visible: bool) -> dict[Node, list[Shape]]:
        """Return the shapes that rays can meet, by Solid: those drawn, or those that collide."""
        if visible not in self._found:
            shapes = visible_shapes if visible else shapes_of
            solids = (node for node in self._walk() if node.is_a("Solid"))
            found = {
                solid: [shape for shape in shapes(solid) if _is_castable(shape)] for solid in solids
            }
            self._found[visible] = {solid: own for solid, own in found.items() if own}
        return self._found[visible]


def _is_castable(shape: Shape) -> bool:
    return shape.kind in CASTABLE and all(length > 0.0 for length in shape.size)


def ray_directions(count: int, aperture: float, up: int = 2) -> FloatArray:
    """Return the directions of the rays of a DistanceSensor, unit vectors (count, 3).

    Parameters
    ----------
    count : int
        Number of rays; one ray is the x axis.
    aperture : float
        Opening angle of the cone about the x axis [rad].
    up : {2, 1}
        Axis that points up on a level sensor: z, or y in worlds whose y axis is up.

    Examples
    --------
    >>> ray_directions(2, np.pi / 2).round(4) + 0.0
    array([[ 0.7071,  0.7071,  0.    ],
           [ 0.7071, -0.7071,  0.    ]])
    """
    polar = np.array([(0.0, 0.0)] if count == 1 or aperture == 0.0 else list(_polar(count)))
    around, tilt = polar[:, 0] + 0.5 * math.pi, polar[:, 1] * 0.5 * aperture
    directions = np.empty((len(polar), 3))
    directions[:, 0] = np.cos(tilt)
    directions[:, up] = np.sin(tilt) * np.sin(around)
    directions[:, 3 - up] = -np.sin(tilt) * np.cos(around)
    return directions


def _polar(count: int) -> Iterable[tuple[float, float]]:
    """Return angle about the axis [rad] and share of the half aperture of each ray."""
    turn = 2.0 * math.pi
    if count <= 10:
        orbits = _ORBITS.get(count, ((1, 0.0, 0.0), (count - 1, 1.0, 0.0)))
        return chain.from_iterable(
            ((turn * (first + i / rays), share) for i in range(rays))
            for rays, share, first in orbits
        )
    sizes: list[int] = []
    while (left := count - sum(sizes)) > 0:
        sizes.append(min(left, 3 * len(sizes) + 1))
    ordered = ((cone, rays) for cone, rays in enumerate(sizes) for _ in range(rays))
    return [(i * turn / rays, cone / (len(sizes) - 1)) for i, (cone, rays) in enumerate(ordered)]


class DistanceMeter:
    """DistanceSensor: rays against the shapes of all Solids.

    ``generic``, ``sonar`` and ``laser`` see bounding objects of everything but the robot;
    ``infra-red`` sees what is drawn, the robot included, with its red colour and roughness.

    Parameters
    ----------
    node : Node
    setting : Setting
    obstacles : Obstacles

    Raises
    ------
    ValueRangeError
        It has more rays than a world can cast in a step.
    """

    width = 1

    def __init__(self, node: Node, setting: Setting, obstacles: Obstacles) -> None:
        self._node = node
        self._setting = setting
        self._obstacles = obstacles
        self._round = rounding(setting.profile)
        robots = [each for each in node.ancestors() if each.is_a("Robot")]
        self._robot = robots[-1] if robots else node
        self.configure()

    def configure(self) -> None:
        """Read the fields of the node again."""
        node = self._node
        self._table = node.vectors("lookupTable")
        self._range = self._table[-1][0] if self._table else 0.0
        self._resolution = node.number("resolution")
        self._kind = node.text("type")
        count = 1 if self._kind == "laser" else max(1, int(node.number("numberOfRays")))
        if count > MOST_RAYS:
            raise ValueRangeError(
                f"expected numberOfRays of at most {MOST_RAYS}, got {count} for {node}"
            )
        aperture = node.number("aperture")
        up = 2 if self._setting.conventions.coordinate_system == "ENU" else 1
        self._rays = ray_directions(count, aperture, up)
        weights = np.ones(1)
        if len(self._rays) > 1:
            tilt = np.arccos(np.clip(self._rays[:, 0], -1.0, 1.0))
            weights = np.exp(-((tilt / (aperture * node.number("gaussianWidth"))) ** 2))
        self._weights = weights / weights.sum()
        self._sensitivity = node.number("redColorSensitivity")

    def reset(self) -> None:
        """Do nothing: there is no state."""

    @property
    def watched(self) -> Iterable[Node]:
        """The device and the Solids that it may see."""
        return (self._node, *self._targets())

    def survey(self, horizon: Horizon, due: slice) -> Sequence[float]:
        """Return the distance [m] at each state."""
        states = range(len(horizon.states(self._node).position))[due]
        most = max(1, _MOST_CASTS // len(self._rays))
        parts = (states[first : first + most] for first in range(0, len(states), most))
        each = (self._distances(horizon, slice(p.start, p.stop, p.step)) for p in parts)
        return [*chain.from_iterable(each)]

    def _distances(self, horizon: Horizon, due: slice) -> Sequence[float]:
        sensor = horizon.states(self._node)
        R, origin = sensor.R_world_from_body[due], sensor.position[due]
        rays = matrix_vector(R[:, np.newaxis], self._rays)
        nearest = np.full(rays.shape[:-1], self._range)
        factors = np.ones_like(nearest)
        for solid, shapes in self._targets().items():
            body = horizon.states(solid)
            for shape in shapes:
                self._see(shape, body, due, (origin, rays), (nearest, factors))
        if self._kind == "sonar":
            found: list[float] = nearest.min(axis=-1).tolist()
            return found
        distance = nearest @ self._weights
        if self._kind == "infra-red":
            dimmed = distance / (factors @ self._weights)
            distance += (dimmed - distance) * self._sensitivity
        averages: list[float] = distance.tolist()
        return averages

    def take(self, row: float, _dt_s: float) -> list[float]:
        """Return the reading at a distance."""
        if not self._table:
            return [0.0]
        value, noise = kernels.look_up(row, self._table)
        if noise:
            value *= 1.0 + noise * self._setting.gaussian()
        if self._resolution != -1.0:
            value = self._round(value, self._resolution)
        return [value]

    def _targets(self) -> dict[Node, list[Shape]]:
        visible = self._kind == "infra-red"
        shapes = self._obstacles.shapes(visible=visible)
        if visible:
            return {solid: own for solid, own in shapes.items() if solid is not self._node}
        own = self._robot
        return {
            solid: found
            for solid, found in shapes.items()
            if solid is not own and own not in solid.ancestors()
        }

    def _see(
        self,
        shape: Shape,
        body: BodyStates,
        due: slice,
        rays: tuple[FloatArray, FloatArray],
        seen: tuple[FloatArray, FloatArray],
    ) -> None:
        """Shorten the rays that meet a shape, and note its reflection."""
        origin, directions = rays
        nearest, factors = seen
        R_body, at = body.R_world_from_body[due], body.position[due]
        axes = (R_body @ shape.frame.R).transpose(0, 2, 1)
        corner = at + matrix_vector(R_body, shape.frame.origin)
        local = matrix_vector(axes, origin - corner)[:, np.newaxis]
        along = matrix_vector(axes[:, np.newaxis], directions)
        hits = cast(shape, np.broadcast_to(local, along.shape), along)
        closer = hits.distance < nearest
        if self._kind == "sonar":
            cosine = np.clip(-(along * hits.normal).sum(axis=-1), -1.0, 1.0)
            closer &= np.arccos(cosine) < _ECHO_ANGLE
        nearest[closer] = hits.distance[closer]
        factors[closer] = shape.reflection


class TouchMeter:
    """TouchSensor: contacts, and the force that it transmits to the Solid that holds it.

    ``bumper`` is 1 while its bounding object touches another Solid. ``force-3d`` is the force on
    the robot along the axes of the sensor, and ``force`` what presses against its positive x axis
    (z in files before R2022a): weight and inertia of the sensor itself are not part of either.

    Parameters
    ----------
    node : Node
    setting : Setting
    axis : int
        The axis of a ``force`` sensor.
    """

    def __init__(self, node: Node, setting: Setting, *, axis: int = 0) -> None:
        self._node = node
        self._setting = setting
        self._axis = axis
        self._round = rounding(setting.profile)
        self.configure()

    def configure(self) -> None:
        """Read the fields of the node again."""
        self._kind = self._node.text("type")
        self.width = 3 if self._kind == "force-3d" else 1
        self._table = self._node.vectors("lookupTable")
        self._resolution = self._node.number("resolution")
        self._weighs = self._node.node("physics") is not None

    def reset(self) -> None:
        """Do nothing: there is no state."""

    @property
    def watched(self) -> Iterable[Node]:
        """The device."""
        return (self._node,)

    def survey(self, horizon: Horizon, due: slice) -> Sequence[list[float]]:
        """Return the state of contact, or the forces [N], at each state."""
        if self._kind not in {"force", "force-3d"}:
            touches: list[list[float]] = horizon.touches(self._node)[due, np.newaxis].tolist()
            return touches
        axes = horizon.states(self._node).R_world_from_body[due].transpose(0, 2, 1)
        force = matrix_vector(axes, horizon.load(self._node)[due]) * self._weighs
        if self._kind == "force":
            force = np.maximum(-force[:, self._axis : self._axis + 1], 0.0)
        rows: list[list[float]] = force.tolist()
        return rows

    def take(self, row: list[float], _dt_s: float) -> list[float]:
        """Return the reading for forces or a contact."""
        if self._kind not in {"force", "force-3d"}:
            return [float(row[0])]
        return [self._output(force) for force in row]

    def _output(self, value: float) -> float:
        if self._table:
            value, noise = kernels.look_up(value, self._table)
            if noise:
                value *= 1.0 + noise * self._setting.gaussian()
        return value if self._resolution == -1.0 else self._round(value, self._resolution)
