"""Deprecated functions that return devices by their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from strapdown.webots.api import texts
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
from strapdown.webots.api.motor import Motor
from strapdown.webots.api.pen import Pen
from strapdown.webots.api.position_sensor import PositionSensor
from strapdown.webots.api.radar import Radar
from strapdown.webots.api.range_finder import RangeFinder
from strapdown.webots.api.receiver import Receiver
from strapdown.webots.api.skin import Skin
from strapdown.webots.api.speaker import Speaker
from strapdown.webots.api.texts import say
from strapdown.webots.api.touch_sensor import TouchSensor

if TYPE_CHECKING:
    from strapdown.webots.api.device import Device

    Kind = TypeVar("Kind", bound=Device)

__all__ = ["OldGetters"]


class OldGetters:
    """Deprecated functions of a robot, for old controllers."""

    if TYPE_CHECKING:  # methods of the robot

        def getDevice(self, name: str) -> Device | None:
            """Return a device; None, with a message on stderr, if there is none."""

    def getAccelerometer(self, name: str) -> Accelerometer | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Accelerometer, name)

    def getAltimeter(self, name: str) -> Altimeter | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Altimeter, name)

    def getBrake(self, name: str) -> Brake | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Brake, name)

    def getCamera(self, name: str) -> Camera | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Camera, name)

    def getCompass(self, name: str) -> Compass | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Compass, name)

    def getConnector(self, name: str) -> Connector | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Connector, name)

    def getDisplay(self, name: str) -> Display | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Display, name)

    def getDistanceSensor(self, name: str) -> DistanceSensor | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(DistanceSensor, name)

    def getEmitter(self, name: str) -> Emitter | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Emitter, name)

    def getGPS(self, name: str) -> GPS | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(GPS, name)

    def getGyro(self, name: str) -> Gyro | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Gyro, name)

    def getInertialUnit(self, name: str) -> InertialUnit | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(InertialUnit, name)

    def getLED(self, name: str) -> LED | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(LED, name, "Led")

    def getLidar(self, name: str) -> Lidar | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Lidar, name)

    def getLightSensor(self, name: str) -> LightSensor | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(LightSensor, name)

    def getMotor(self, name: str) -> Motor | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Motor, name)

    def getPen(self, name: str) -> Pen | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Pen, name)

    def getPositionSensor(self, name: str) -> PositionSensor | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(PositionSensor, name)

    def getRadar(self, name: str) -> Radar | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Radar, name)

    def getRangeFinder(self, name: str) -> RangeFinder | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(RangeFinder, name)

    def getReceiver(self, name: str) -> Receiver | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Receiver, name)

    def getSkin(self, name: str) -> Skin | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Skin, name)

    def getSpeaker(self, name: str) -> Speaker | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(Speaker, name)

    def getTouchSensor(self, name: str) -> TouchSensor | None:
        """Return a device; use :meth:`getDevice` instead."""
        return self._deprecated(TouchSensor, name)

    def _deprecated(self, kind: type[Kind], name: str, word: str | None = None) -> Kind | None:
        say(texts.DEPRECATED_GETTER, word or kind.__name__)
        return cast("Kind | None", self.getDevice(name))
