"""Creation of the measurement of a device, by its type and the profile."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import UnknownNameError
from strapdown.webots.devices.inertial_units import (
    CompassUnit,
    MatrixUnit,
    QuaternionUnit,
)
from strapdown.webots.devices.output_stage import Output, Setting
from strapdown.webots.devices.positioning import Altimeter, Gps
from strapdown.webots.devices.vectors import (
    Constant,
    DifferenceAccelerometer,
    ExactAccelerometer,
    Vector,
    in_sensor,
    lever_to_translation,
)
from strapdown.webots.file.node import Node
from strapdown.webots.profiles import Acceleration, Angles, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray
    from strapdown.webots.devices.measurement import Measurement, Row
    from strapdown.webots.file.conventions import Conventions
    from strapdown.webots.profiles import Profile
    from strapdown.webots.scene.scene import BodyStates

__all__ = ["MEASURED", "Warned", "make_measurement"]

MEASURED: Final = ("InertialUnit", "Accelerometer", "Gyro", "Compass", "GPS", "Altimeter")
"""Device types that :func:`make_measurement` supports."""

_NO_PHYSICS: Final = "Parent of Accelerometer node has no physics: measurements may be wrong."
_NO_BODY: Final = "this node or its parents requires a 'physics' field to be functional."


class Warned:
    """Measurement that warns at its refreshes, or at the first one.

    Parameters
    ----------
    inner : Measurement
        The underlying measurement.
    warn : callable
        Prints the warning.
    once : bool
        Whether only the first refresh warns.
    """

    def __init__(self, inner: Measurement, warn: Callable[[], None], *, once: bool) -> None:
        self._inner = inner
        self._warn = warn
        self._once = once
        self.silent = False
        """Whether it warns no more."""
        self.width = inner.width
        self.prepare = inner.prepare
        self.start = inner.start
        self.reset = inner.reset
        self.configure = inner.configure

    def take(self, row: Row, dt_s: float) -> list[float]:
        """Return the reading at one state."""
        self._speak()
        return self._inner.take(row, dt_s)

    def batch(self, states: BodyStates, dt_s: FloatArray) -> FloatArray:
        """Return the readings at N states."""
        for _ in dt_s:
            self._speak()
        return self._inner.batch(states, dt_s)

    def _speak(self) -> None:
        if not self.silent:
            self._warn()
            self.silent = self._once


def make_measurement(  # noqa: PLR0913 (what a device depends on)
    node: Node,
    *,
    profile: Profile,
    conventions: Conventions,
    gaussian: Callable[[], float],
    warn: Callable[[str], None],
    has_physics: bool,
    has_body: bool,
    noise_order: str = "zyx",
    axes: str = "FUR",
    world_info: Node | None = None,
    gps_noise: list[float] | None = None,
) -> Measurement:
    """Return the measurement of a device of a world.

    Parameters
    ----------
    node : Node
        One of :data:`MEASURED`, in its world.
    profile : Profile
    conventions : Conventions
        Conventions of the world, for the profile.
    gaussian : callable
        Returns the next standard normal number of the device's stream.
    warn : callable
        Called with the text of a warning.
    has_physics : bool
        Whether the nearest Solid above the device has Physics.
    has_body : bool
        Whether there is a body that a Gyro turns with.
    noise_order : {"zyx", "xyz"}
        Order in which an InertialUnit of a release draws the noise of its axes; on Linux the
        last axis comes first.
    axes : {"FUR", "FLU"}
        Mounting of an InertialUnit, in profile ``documented``: x forward with y up and z
        right, as the manual defines it, or with y left and z up, as in ROS.
    world_info : Node, optional
        For GPS and Altimeter.
    gps_noise : list of 3 float, optional
        State of the correlated noise that all GPS of a release share; by default each has its own.

    Raises
    ------
    UnknownNameError
        The node has none of these types, or an order or mounting is unknown.
    """
    setting = Setting(profile, conventions, gaussian, warn)
    match node.type:
        case "InertialUnit":
            return _inertial_unit(node, setting, noise_order=noise_order, axes=axes)
        case "Accelerometer":
            return _accelerometer(node, setting, has_physics=has_physics)
        case "Gyro":
            return _gyro(node, setting, has_body=has_body)
        case "Compass":
            north = np.array(conventions.north)
            return Vector(lambda states: in_sensor(states, north), Output(node, setting))
        case "GPS" | "Altimeter":
            info = Node("WorldInfo") if world_info is None else world_info
            if node.type == "Altimeter":
                return Altimeter(node, info, setting)
            noise = [0.0, 0.0, 0.0] if gps_noise is None else gps_noise
            return Gps(node, info, setting, has_physics=has_physics, noise=noise)
        case _:
            raise UnknownNameError("device that measures", node.type, MEASURED)


def _inertial_unit(node: Node, setting: Setting, *, noise_order: str, axes: str) -> Measurement:
    match setting.profile.angles:
        case Angles.AXES:
            return CompassUnit(node, setting, axes=axes)
        case Angles.MATRIX:
            return MatrixUnit(node, setting)
        case _:
            return QuaternionUnit(node, setting, noise_order=noise_order)


def _accelerometer(node: Node, setting: Setting, *, has_physics: bool) -> Measurement:
    profile, gravity = setting.profile, setting.conventions.gravity_world
    output = Output(node, setting)
    warn = partial(setting.warn, _NO_PHYSICS)
    if not has_physics and profile.without_physics is Unsupported.NAN:
        return Warned(Constant(math.nan), warn, once=True)
    if not has_physics and profile.without_physics is Unsupported.GRAVITY:
        against = -np.array(gravity)
        return Vector(lambda states: in_sensor(states, against), output)
    if profile.acceleration is Acceleration.EXACT:
        exact = ExactAccelerometer(gravity, output)
        return exact if has_physics else Warned(exact, warn, once=True)
    wrong_point = profile.acceleration is Acceleration.BODY_POINT_DIFFERENCE
    lever = lever_to_translation(node) if wrong_point else None
    return DifferenceAccelerometer(gravity, output, lever)


def _gyro(node: Node, setting: Setting, *, has_body: bool) -> Measurement:
    exact = Vector(lambda states: in_sensor(states, states.angular_velocity), Output(node, setting))
    if has_body:
        return exact
    warn = partial(setting.warn, _NO_BODY)
    if setting.profile.without_physics is Unsupported.MEASURED:
        return Warned(exact, warn, once=True)
    return Warned(Constant(0.0), warn, once=False)
