"""InertialUnit: attitude."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NoReturn, Self, cast

from strapdown.webots.api.owner import session_of
from strapdown.webots.api.sensor import Sensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from strapdown.webots.api.owner import Owner
    from strapdown.webots.profiles import Angles

__all__ = ["InertialUnit"]


class InertialUnit(Sensor):
    """InertialUnit with attitude in the world, as a quaternion and as roll, pitch and yaw.

    A robot of the profile ``R2020a`` has neither the quaternion nor ``noise``.
    """

    _function = "inertial_unit"
    _kinds = ("InertialUnit",)

    def __new__(
        cls, name: str | int, sampling_period: int | None = None, *, robot: Owner | None = None
    ) -> Self:
        """Select the interface of the robot's profile."""
        del name, sampling_period
        if cls is InertialUnit and not session_of(robot).profile.has_quaternion:
            return cast("Self", super().__new__(_AnglesOnly))
        return super().__new__(cls)

    def getRollPitchYaw(self) -> list[float]:
        """Return roll, pitch and yaw [rad]; NaN before the first measurement."""
        session = self._session
        state = self._state
        if state is None:
            self._refuse("get_roll_pitch_yaw")
            return session.angles[:3]  # as in Webots, which has one buffer of angles for all units
        if not state.period:
            self._say_disabled("get_roll_pitch_yaw")
        values = state.values
        if len(values) == 4:  # quaternion only; other profiles send angles first
            coordinate_system = state.info.parameters["coordinate_system"]
            values = list(_angles(session.profile.angles, coordinate_system)(*values))
        session.angles = values
        return values[:3]

    def getQuaternion(self) -> list[float]:
        """Return the attitude x, y, z, w; NaN before the first measurement."""
        state = self._state
        if state is None or not state.period:
            state = self._read("get_quaternion")
        return state.values[-4:]

    def getNoise(self) -> float:
        """Return the field ``noise``."""
        return self._parameter("noise", "get_noise", 0.0)

    @property
    def roll_pitch_yaw(self) -> list[float]:
        """Roll, pitch and yaw [rad]."""
        return self.getRollPitchYaw()

    @property
    def quaternion(self) -> list[float]:
        """Attitude x, y, z, w."""
        return self.getQuaternion()

    @property
    def noise(self) -> float:
        """The field ``noise``."""
        return self.getNoise()


class _Absent:
    """Attribute that is absent, although the base class has it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        raise AttributeError(f"'InertialUnit' object has no attribute {self._name!r}")


class _AnglesOnly(InertialUnit):
    """Interface of R2020a."""

    getQuaternion = _Absent()
    getNoise = _Absent()
    quaternion = _Absent()
    noise = _Absent()

    def __dir__(self) -> Iterable[str]:
        return [
            name
            for name in super().__dir__()
            if not isinstance(vars(_AnglesOnly).get(name), _Absent)
        ]


_AnglesOnly.__name__ = _AnglesOnly.__qualname__ = InertialUnit.__name__


@cache
def _angles(
    angles: Angles, coordinate_system: str
) -> Callable[[float, float, float, float], tuple[float, float, float]]:
    from strapdown.webots.devices.inertial_units import client_angles  # noqa: PLC0415 (loads NumPy)

    return client_angles(angles, coordinate_system)
