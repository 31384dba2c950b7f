"""Webots devices, worlds and controllers without Webots.

Library code gives a robot its world, and steps it as a controller does::

    from strapdown.webots import Robot

    robot = Robot("world.wbt", profile="documented")
    unit = robot.getDevice("inertial unit")
    unit.enable(32)
    while robot.step(32) != -1:
        print(robot.getTime(), unit.getRollPitchYaw())

A controller file of Webots runs as it is with ``strapdown webots run``.

The names below load on first use.
"""

from typing import TYPE_CHECKING

from strapdown._lazy import lazy_names

if TYPE_CHECKING:
    from strapdown.webots.api import (
        GPS,
        LED,
        Accelerometer,
        Altimeter,
        AnsiCodes,
        Brake,
        Camera,
        CameraRecognitionObject,
        Compass,
        Connector,
        ContactPoint,
        Device,
        Display,
        DistanceSensor,
        Emitter,
        Field,
        Gyro,
        InertialUnit,
        Joystick,
        Keyboard,
        Lidar,
        LidarPoint,
        LightSensor,
        LinearMotor,
        Motion,
        Motor,
        Mouse,
        MouseState,
        Node,
        Pen,
        PositionSensor,
        Proto,
        Radar,
        RadarTarget,
        RangeFinder,
        Receiver,
        Robot,
        RotationalMotor,
        Sensor,
        Skin,
        Speaker,
        Supervisor,
        TouchSensor,
        VacuumGripper,
    )
    from strapdown.webots.devices.part_models import fit_sensor
    from strapdown.webots.file.world_file import WorldFile, read_world
    from strapdown.webots.profiles import DIFFERENCES, PROFILES, Profile, find_profile
    from strapdown.webots.run.batch import measure
    from strapdown.webots.run.controller_module import controller_module
    from strapdown.webots.run.recording import record
    from strapdown.webots.run.sensor_log import SensorLog
    from strapdown.webots.world.world import World

_HOME = {
    "DIFFERENCES": "profiles",
    "PROFILES": "profiles",
    "Profile": "profiles",
    "SensorLog": "run.sensor_log",
    "World": "world.world",
    "WorldFile": "file.world_file",
    "controller_module": "run.controller_module",
    "find_profile": "profiles",
    "fit_sensor": "devices.part_models",
    "measure": "run.batch",
    "read_world": "file.world_file",
    "record": "run.recording",
}
"""Where a name lives that is not part of the controller interface."""

__all__ = [
    "DIFFERENCES",
    "GPS",
    "LED",
    "PROFILES",
    "Accelerometer",
    "Altimeter",
    "AnsiCodes",
    "Brake",
    "Camera",
    "CameraRecognitionObject",
    "Compass",
    "Connector",
    "ContactPoint",
    "Device",
    "Display",
    "DistanceSensor",
    "Emitter",
    "Field",
    "Gyro",
    "InertialUnit",
    "Joystick",
    "Keyboard",
    "Lidar",
    "LidarPoint",
    "LightSensor",
    "LinearMotor",
    "Motion",
    "Motor",
    "Mouse",
    "MouseState",
    "Node",
    "Pen",
    "PositionSensor",
    "Profile",
    "Proto",
    "Radar",
    "RadarTarget",
    "RangeFinder",
    "Receiver",
    "Robot",
    "RotationalMotor",
    "Sensor",
    "SensorLog",
    "Skin",
    "Speaker",
    "Supervisor",
    "TouchSensor",
    "VacuumGripper",
    "World",
    "WorldFile",
    "controller_module",
    "find_profile",
    "fit_sensor",
    "measure",
    "read_world",
    "record",
]

__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(__all__, "api") | _HOME)
