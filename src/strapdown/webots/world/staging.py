"""Initial state of a world: its scene, its motions, and its fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from strapdown.errors import DeviceError, UnknownNameError
from strapdown.webots.scene.drivers import as_driver
from strapdown.webots.scene.kinematic import KinematicScene
from strapdown.webots.scene.physics import PhysicsScene, needs_physics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown.webots.file.conventions import Conventions
    from strapdown.webots.file.node import Node, Value
    from strapdown.webots.file.world_file import WorldFile
    from strapdown.webots.scene.scene import Scene

__all__ = ["Dynamics", "Snapshot", "make_scene", "named_motions", "paths"]


class Dynamics(StrEnum):
    """Simulation of the bodies of a world."""

    AUTO = "auto"
    """Physics where a body would fall or swing and no motion is given, else kinematics."""
    KINEMATIC = "kinematic"
    """Motions and motors; nothing falls or collides."""
    PHYSICS = "physics"
    """Forces, contacts and motors."""


def make_scene(  # noqa: PLR0913 (what a scene depends on)
    file: WorldFile,
    conventions: Conventions,
    motions: Mapping[Node, object],
    *,
    step_s: float,
    dynamics: Dynamics,
    velocity_model: str,
    era: bool,
    warn: Callable[[Node, str], object],
) -> tuple[Scene, float, Sequence[str]]:
    """Return the scene, the end time of its first motion [s], and notices of what it leaves out.

    Raises
    ------
    DeviceError
        Motions were given to a world that moves by physics.
    BackendMissingError
        Physics is requested, and MuJoCo is not installed.
    """
    if dynamics is Dynamics.AUTO:
        physics = not motions and needs_physics(file)
    else:
        physics = dynamics is Dynamics.PHYSICS
    if physics:
        if motions:
            raise DeviceError(
                "expected no motion in a world that moves by physics; choose kinematic dynamics"
            )
        scene = PhysicsScene(file, step_s=step_s, warn=warn)
        return scene, math.inf, scene.notices
    drivers = {node: as_driver(motion, conventions, era=era) for node, motion in motions.items()}
    kinematic = KinematicScene(
        file,
        step_s=step_s,
        motions=drivers,
        velocity_model=velocity_model,
        warn=warn,
    )
    return kinematic, min((driver.end_s for driver in drivers.values()), default=math.inf), ()


def named_motions(file: WorldFile, motion: object) -> dict[Node, object]:
    """Return the motions by the nodes that they move.

    Parameters
    ----------
    file : WorldFile
    motion : object or mapping of str to object
        A single motion moves the only robot. Names are those of robots, of ``DEF`` or of Solids,
        searched in that order.

    Raises
    ------
    DeviceError
        A single motion, and not exactly one robot.
    UnknownNameError
        Nothing has such a name.
    """
    if motion is None:
        return {}
    robots = {robot.text("name"): robot for robot in file.robots}
    if not isinstance(motion, Mapping):
        if len(file.robots) != 1:
            names = ", ".join(map(repr, robots)) or "none"
            raise DeviceError(
                f"expected one robot for one motion, got {names}; pass a mapping from names"
            )
        return {file.robots[0]: motion}
    solids = {node.text("name"): node for node in file.walk() if node.is_a("Solid")}
    moved: dict[Node, object] = {}
    for name, each in motion.items():
        node = robots.get(name) or file.find_def(name) or solids.get(name)
        if node is None:
            raise UnknownNameError("robot, DEF or Solid to move", name, {*robots, *solids})
        moved[node] = each
    return moved


def paths(file: WorldFile) -> tuple[str, str]:
    """Return the file of a world, and the folder above ``worlds`` or else that of the file."""
    if file.path is None:
        return "", ""
    path = file.path.absolute()
    folder = path.parent
    return str(path), str(folder.parent if folder.name == "worlds" else folder)


class Snapshot:
    """Snapshot of the nodes of a world and their fields, restored in place.

    Parameters
    ----------
    file : WorldFile
    """

    def __init__(self, file: WorldFile) -> None:
        self._file = file
        self._roots = list(file.nodes)
        self._fields = [
            (node, {name: _own(value) for name, value in node.fields.items()})
            for root in file.nodes
            for node in root.walk()
        ]

    def restore(self) -> None:
        """Restore every node with the fields that it had, and remove nodes that were added."""
        self._file.nodes[:] = self._roots
        for node, fields in self._fields:
            node.fields.clear()
            for name, value in fields.items():
                node.put(name, _own(value))


def _own(value: Value) -> Value:
    """Return a copy of a list; other values cannot change."""
    return list(value) if isinstance(value, list) else value
