"""The robot that an autopilot flies: its sensors and motors, in the axes of autopilots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from strapdown.errors import DeviceError
from strapdown.geometry import quaternion
from strapdown.webots.api import Robot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray
    from strapdown.webots.scene.scene import BodyStates
    from strapdown.webots.world.world import World

__all__ = ["Fix", "Vehicle"]

_FLIP: Final = np.array([1.0, -1.0, -1.0])  # forward, left, up to forward, right, down
_NED_FROM_ENU: Final = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
_DIP: Final = math.radians(63.0)
_FIELD_NED: Final = 0.48 * np.array([math.cos(_DIP), 0.0, math.sin(_DIP)])


class Fix(NamedTuple):
    """A reading of the GPS."""

    latitude: float
    longitude: float
    """[deg]."""
    altitude: float
    """[m]."""
    velocity_ned: FloatArray
    """(3,) [m/s]."""


class Vehicle:
    """A robot of a world with physics, and its devices.

    Parameters
    ----------
    world : World
        Whose coordinate system is ENU, and that of its GPS WGS84, if that is needed.
    robot : str, optional
        Name of the robot; by default the only one.
    motors : sequence of str
        Names of the motors in the order of the outputs; empty: ``motor 1``, ``motor 2`` ...
    sensors : sequence of str
        Types of the sensors that are needed; the first of each is used.

    Raises
    ------
    DeviceError
        The robot lacks a sensor or a motor, or the world has another coordinate system or a basic
        step that is not of whole milliseconds.
    """

    def __init__(
        self, world: World, robot: str | None, motors: Sequence[str], sensors: Sequence[str]
    ) -> None:
        system = world.file.world_info.text("coordinateSystem")
        if system != "ENU":
            raise DeviceError(
                f"expected a world whose WorldInfo has the coordinateSystem 'ENU', got {system!r}"
            )
        if not float(world.basic_time_step).is_integer():
            raise DeviceError(
                "expected a world whose WorldInfo has a basicTimeStep of whole milliseconds, got"
                f" {world.basic_time_step:g}"
            )
        self.world = world
        self._robot = Robot(world, robot=robot)
        self._state = world.robots[self._robot.getName()]
        self.step_ms = round(world.basic_time_step)
        """Basic step of the world [ms]."""
        devices = [self._robot.getDeviceByIndex(i) for i in range(self._robot.getNumberOfDevices())]
        first: dict[str, Any] = {}
        for device in devices:
            first.setdefault(type(device).__name__, device)
        by_name: dict[str, Any] = {device.getName(): device for device in devices}
        numbered = sorted(name for name in by_name if name.startswith("motor "))
        names = list(motors) or numbered
        missing = [kind for kind in sensors if kind not in first]
        missing += [name for name in names or ["motor 1"] if name not in by_name]
        if missing:
            lacks = ", ".join(missing)
            raise DeviceError(f"robot {self._robot.getName()!r} cannot be flown: it has no {lacks}")
        geodetic = world.file.world_info.text("gpsCoordinateSystem")
        if "GPS" in sensors and geodetic != "WGS84":
            raise DeviceError(
                "expected a world whose WorldInfo has the gpsCoordinateSystem 'WGS84', got"
                f" {geodetic!r}"
            )
        self._sensors = {kind: first[kind] for kind in sensors}
        for kind, sensor in self._sensors.items():
            sensor.enable(self.fix_ms if kind == "GPS" else self.step_ms)
        self._motors = [by_name[name] for name in names]
        for motor in self._motors:
            motor.setPosition(math.inf)
            motor.setVelocity(0.0)

    @property
    def fix_ms(self) -> int:
        """Period of the GPS [ms]: 100, in whole basic steps."""
        return max(1, round(100 / self.step_ms)) * self.step_ms

    def step(self) -> bool:
        """Advance by a basic step; return whether the simulation goes on."""
        return self._robot.step(self.step_ms) != -1

    def drive(self, shares: Sequence[float]) -> None:
        """Turn the motors at shares 0 to 1 of their greatest velocities; others are limited."""
        for motor, share in zip(self._motors, shares, strict=False):
            limited = min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
            motor.setVelocity(limited * motor.getMaxVelocity())

    def specific_force(self) -> FloatArray:
        """Return the reading of the Accelerometer (3,), forward, right, down [m/s^2]."""
        force: FloatArray = _FLIP * np.array(self._sensors["Accelerometer"].getValues())
        return force

    def angular_velocity(self) -> FloatArray:
        """Return the reading of the Gyro (3,), forward, right, down [rad/s]."""
        rate: FloatArray = _FLIP * np.array(self._sensors["Gyro"].getValues())
        return rate

    def altitude(self) -> float:
        """Return the reading of the Altimeter [m]."""
        return float(self._sensors["Altimeter"].getValue())

    def attitude(self) -> FloatArray:
        """Return the reading of the InertialUnit as R (3, 3), north-east-down from body."""
        q = np.array(self._sensors["InertialUnit"].getQuaternion())
        R_ned_from_body: FloatArray = _NED_FROM_ENU @ quaternion.to_matrix(q) * _FLIP
        return R_ned_from_body

    def magnetic_field(self) -> FloatArray:
        """Return the field (3,) in the attitude of the InertialUnit, forward, right, down [gauss].

        0.48 gauss to the north of the world, with a dip of 63 deg.
        """
        field: FloatArray = _FIELD_NED @ self.attitude()
        return field

    def fix(self) -> Fix | None:
        """Return the reading of the GPS; None before its first one, or without a velocity."""
        gps = self._sensors["GPS"]
        latitude, longitude, altitude = gps.getValues()
        velocity = _NED_FROM_ENU @ np.array(gps.getSpeedVector())
        if math.isnan(latitude) or np.isnan(velocity).any():
            return None
        return Fix(latitude, longitude, altitude, velocity)

    def gps_accuracy(self) -> float:
        """Return the standard deviation of a position of the GPS [m]."""
        name = self._sensors["GPS"].getName()
        node = next(device.node for device in self._state.devices if device.name == name)
        return node.number("accuracy")

    def truth(self) -> tuple[FloatArray, FloatArray]:
        """Return true position and velocity of the robot, (3,) each, north, east, down."""
        states: BodyStates = self.world.scene.present(self._state.node)
        return _NED_FROM_ENU @ states.position[0], _NED_FROM_ENU @ states.velocity[0]
