"""Axes, angles and signs of the devices of a world, determined by measuring with them."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from strapdown.errors import BackendMissingError
from strapdown.geometry import quaternion
from strapdown.webots.api.kinds import SIMULATED
from strapdown.webots.devices.inertial_units import inertial_angles
from strapdown.webots.file.world_file import read_world
from strapdown.webots.profiles import PROFILES, Angles
from strapdown.webots.scene.physics import needs_physics
from strapdown.webots.world.staging import Dynamics
from strapdown.webots.world.world import World

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from strapdown._typing import FloatArray
    from strapdown.webots.devices.device import DeviceState
    from strapdown.webots.devices.measurement import Measurement
    from strapdown.webots.file.world_file import WorldFile

__all__ = ["TURN", "TURNS", "DeviceRole", "Explanation", "Meaning", "explain"]

TURN: Final = 0.1
"""Angle by which a robot is turned to show the signs of angles [rad]."""
TURNS: Final = ("as in the file", "nose up", "right side down", "to the left")
STILL: Final = ("Accelerometer", "Gyro", "Compass")
"""Device types whose reading at rest shows their axes."""


@dataclass(frozen=True)
class DeviceRole:
    """A device, and whether it is simulated or inert."""

    robot: str
    tag: int
    kind: str
    name: str
    inert: bool


@dataclass(frozen=True)
class Meaning:
    """Readings of the devices of a world in one profile, without noise.

    Parameters
    ----------
    profile : str
        Its name.
    coordinate_system : str
        ``NUE``, ``ENU`` or ``EUN``.
    up, north : tuple of 3 float
        Directions in the axes of the world.
    gravity : float
        [m/s^2].
    angles : mapping
        Robot and InertialUnit to roll, pitch and yaw [rad] by :data:`TURNS`: in the robot's pose
        in the file, and turned by :data:`TURN` about its nose or about up.
    at_rest : mapping
        Robot and Accelerometer, Gyro or Compass to its values with the robot at rest.
    """

    profile: str
    coordinate_system: str
    up: tuple[float, ...]
    north: tuple[float, ...]
    gravity: float
    angles: Mapping[tuple[str, str], Mapping[str, list[float]]]
    at_rest: Mapping[tuple[str, str], list[float]]


@dataclass(frozen=True)
class Explanation:
    """Description of a world.

    Parameters
    ----------
    path : Path
        The file.
    release : str
        Release of Webots in its header.
    title : str
        Title in its WorldInfo.
    basic_time_step : float
        [ms].
    physics : bool
        Whether forces move it, or only motions and motors.
    devices : tuple of DeviceRole
        Devices of all robots, in the order of their tags.
    meanings : tuple of Meaning
        One for each profile.
    messages : tuple of str
        Notices and warnings of loading it, each once.
    """

    path: Path
    release: str
    title: str
    basic_time_step: float
    physics: bool
    devices: tuple[DeviceRole, ...]
    meanings: tuple[Meaning, ...] = field(repr=False)
    messages: tuple[str, ...]


def explain(
    path: str | PathLike[str], *, proto_dirs: Iterable[str | PathLike[str]] = ()
) -> Explanation:
    """Determine the readings of the devices of a world in every profile.

    Parameters
    ----------
    path : path-like
        A world file.
    proto_dirs : iterable of path-like
        Folders with PROTO files.

    Returns
    -------
    Explanation

    Raises
    ------
    FormatError, OSError
        The file cannot be read.
    """
    folders = [Path(each) for each in proto_dirs]
    meanings = []
    messages: dict[str, None] = {}
    for profile in PROFILES.values():
        file = read_world(Path(path), proto_dirs=folders, keep_vectors=profile.keeps_vectors)
        _silence(file)
        with redirect_stderr(io.StringIO()):
            world = World(file, profile=profile.name, dynamics=Dynamics.KINEMATIC)
            meanings.append(_meaning(world))
        messages |= dict.fromkeys(world.messages)
    with redirect_stderr(io.StringIO()):
        try:
            messages |= dict.fromkeys(World(file).messages)
        except BackendMissingError as error:
            messages[str(error)] = None
    devices = tuple(
        DeviceRole(robot.name, each.tag, each.kind, each.name, each.kind not in SIMULATED)
        for robot in world.robots.values()
        for each in robot.devices
    )
    return Explanation(
        Path(path),
        file.release,
        file.world_info.text("title"),
        world.basic_time_step,
        needs_physics(file),
        devices,
        tuple(meanings),
        tuple(messages),
    )


def _silence(file: WorldFile) -> None:
    """Remove the noise of all devices."""
    for node in file.walk():
        if node.type == "InertialUnit":
            node.set("noise", 0.0)
        if "lookupTable" in node.fields and node.is_a("Device"):
            rows = cast("Sequence[Sequence[float]]", node.get("lookupTable"))
            node.set("lookupTable", [(given, output, 0.0) for given, output, _ in rows])


def _meaning(world: World) -> Meaning:
    angles, at_rest = {}, {}
    for robot in world.robots.values():
        turns = _turns(world, np.asarray(world.scene.present(robot.node).R_world_from_body[0]))
        for device in robot.devices:
            if device.kind == "InertialUnit":
                angles[robot.name, device.name] = {
                    name: _angles(world, device, turn) for name, turn in turns.items()
                }
            elif device.kind in STILL:
                at_rest[robot.name, device.name] = _reading(world, device, np.eye(3))
    known = world.conventions
    gravity = float(np.linalg.norm(known.gravity_world))
    system, up, north = known.coordinate_system, known.up, known.north
    return Meaning(world.profile.name, system, up, north, gravity, angles, at_rest)


def _turns(world: World, R_world_from_robot: FloatArray) -> dict[str, FloatArray]:
    """Return rotations (3, 3) in world axes, by name; the nose of a robot is its x axis."""
    up = np.array(world.conventions.up)
    nose = R_world_from_robot[:, 0]
    across = np.cross(nose, up)
    length = np.linalg.norm(across)
    right = across / length if length > 1e-9 else R_world_from_robot[:, 1]
    vectors = [np.zeros(3), right, nose, up]
    return {
        name: quaternion.to_matrix(quaternion.from_rotation_vector(TURN * vector))
        for name, vector in zip(TURNS, vectors, strict=True)
    }


def _angles(world: World, device: DeviceState, turn: FloatArray) -> list[float]:
    values = _reading(world, device, turn)
    if world.profile.angles in {Angles.AXES, Angles.MATRIX}:
        return values[:3]
    return inertial_angles(world.profile, world.conventions.coordinate_system, values)


def _reading(world: World, device: DeviceState, turn: FloatArray) -> list[float]:
    """Return the reading of a device at rest, turned together with its robot."""
    measurement = cast("Measurement", device.measurement)
    states = world.scene.present(device.node)
    turned = states._replace(R_world_from_body=turn @ states.R_world_from_body)
    row = measurement.prepare(turned)[0]
    measurement.start(row)
    return measurement.take(row, world.basic_time_step / 1000.0)
