"""GPS: position and speed."""

from __future__ import annotations

import math
from typing import ClassVar

from strapdown.webots.api.sensor import Sensor

__all__ = ["GPS"]


class GPS(Sensor):
    """GPS with position and speed in the world."""

    LOCAL: ClassVar[int] = 0
    WGS84: ClassVar[int] = 1

    _function = "gps"
    _kinds = ("GPS",)

    def getValues(self) -> list[float]:
        """Return the position [m]; NaN before the first measurement.

        In the coordinate system :attr:`WGS84`: latitude and longitude [deg], and altitude [m].
        """
        return self._read("get_values").values[:3]

    def getSpeed(self) -> float:
        """Return the speed [m/s]."""
        return self._scalar("get_speed", 3)

    def getSpeedVector(self) -> list[float]:
        """Return the velocity in world axes [m/s]."""
        return self._read("get_speed_vector").values[4:7]

    def getCoordinateSystem(self) -> int:
        """Return :attr:`LOCAL` or :attr:`WGS84`."""
        return int(self._parameter("coordinate_system", "get_coordinate_system", -1))

    @staticmethod
    def convertToDegreesMinutesSeconds(decimalDegrees: float) -> str:
        """Return an angle in degrees as a text of degrees, minutes and seconds."""
        minutes, seconds = divmod(math.trunc(abs(decimalDegrees) * 3600.0), 60)
        degrees, minutes = divmod(minutes, 60)
        sign = "-" if decimalDegrees < 0 else ""
        return f"{sign}{degrees}° {minutes}′ {seconds}″"  # noqa: RUF001 (minutes of arc)

    @property
    def value(self) -> list[float]:
        """Position [m]."""
        return self.getValues()

    @property
    def speed(self) -> float:
        """Speed [m/s]."""
        return self.getSpeed()

    @property
    def speed_vector(self) -> list[float]:
        """Velocity in world axes [m/s]."""
        return self.getSpeedVector()

    @property
    def coordinate_system(self) -> int:
        """:attr:`LOCAL` or :attr:`WGS84`."""
        return self.getCoordinateSystem()
