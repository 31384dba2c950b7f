"""Classes of the controller interface by device type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.webots.api.accelerometer import Accelerometer
from strapdown.webots.api.altimeter import Altimeter
from strapdown.webots.api.brake import Brake
from strapdown.webots.api.camera import Camera
from strapdown.webots.api.compass import Compass
from strapdown.webots.api.connector import Connector
from strapdown.webots.api.display import Display
from strapdown.webots.api.distance_sensor import DistanceSensor
from strapdown.webots.api.emitter import Emitter
from strapdown.webots.api.gps import GPS
from strapdown.webots.api.gyro import Gyro
from strapdown.webots.api.inertial_unit import InertialUnit
from strapdown.webots.api.led import LED
from strapdown.webots.api.lidar import Lidar
from strapdown.webots.api.light_sensor import LightSensor
from strapdown.webots.api.motor import LinearMotor, RotationalMotor
from strapdown.webots.api.pen import Pen
from strapdown.webots.api.position_sensor import PositionSensor
from strapdown.webots.api.radar import Radar
from strapdown.webots.api.range_finder import RangeFinder
from strapdown.webots.api.receiver import Receiver
from strapdown.webots.api.skin import Skin
from strapdown.webots.api.speaker import Speaker
from strapdown.webots.api.touch_sensor import TouchSensor
from strapdown.webots.api.vacuum_gripper import VacuumGripper

if TYPE_CHECKING:
    from strapdown.webots.api.device import Device

__all__ = ["INERT", "KINDS"]

SIMULATED: dict[str, type[Device]] = {
    kind: device
    for device in (
        Accelerometer, Altimeter, Compass, DistanceSensor, GPS, Gyro, InertialUnit, LinearMotor,
        PositionSensor, RotationalMotor, TouchSensor,
    )
    for kind in device._kinds
}  # fmt: skip
INERT: dict[str, type[Device]] = {
    kind: device
    for device in (
        Brake, Camera, Connector, Display, Emitter, LED, Lidar, LightSensor, Pen, Radar,
        RangeFinder, Receiver, Skin, Speaker, VacuumGripper,
    )
    for kind in device._kinds
}  # fmt: skip
KINDS = SIMULATED | INERT
