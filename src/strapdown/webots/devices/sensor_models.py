"""Sensor models behind devices: the errors of a specification instead of a lookup table.

The noise of a lookup table is relative to the reading, so that an axis that reads zero has none.
A specification contains data sheet values: noise densities, bias instability, range, rounding.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, cast

from strapdown.errors import DeviceError, UnknownNameError
from strapdown.samples import SampleKind
from strapdown.sensors import ImuSimulator
from strapdown.simulation import find_sensor
from strapdown.webots.devices.measurement import one_by_one

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from strapdown._typing import FloatArray
    from strapdown.sensors import ImuSpec
    from strapdown.webots.devices.measurement import Measurement, Row
    from strapdown.webots.scene.scene import BodyStates
    from strapdown.webots.world.world import World

__all__ = ["ModelledMeasurement", "fit_sensor"]

_REST: Final = (0.0, 0.0, 0.0)


class ModelledMeasurement:
    """Gyro or accelerometer with the errors of a sensor model.

    The perfect reading is constant between two refreshes: a world has no motion within its basic
    step. Noise and filters of the sensor still run at their own rate.

    Parameters
    ----------
    perfect : Measurement
        Measurement without errors.
    spec : ImuSpec
        Specification of the sensor; its rate is replaced by that of the refreshes.
    gyro : bool
        Whether it is the gyro of the specification, else the accelerometer.
    seed : int
        Seed of the noise.
    name : str
        Name of the device; devices with different names have independent noise.
    """

    width = 3

    def __init__(
        self, perfect: Measurement, spec: ImuSpec, *, gyro: bool, seed: int, name: str
    ) -> None:
        self._perfect = perfect
        self._spec = replace(spec, sampling=SampleKind.POINT, mag=None)
        self._gyro, self._seed, self._name = gyro, seed, name
        self._dt_s = 1.0
        self._imu = self._powered(self._dt_s)

    @property
    def variance(self) -> FloatArray:
        """Variance (3,) of the noise of a sample, without slow errors."""
        return self._imu.variance[:3] if self._gyro else self._imu.variance[3:]

    def prepare(self, states: BodyStates) -> Sequence[Row]:
        """Return the history-free part of the perfect reading, one row for each state."""
        return self._perfect.prepare(states)

    def start(self, row: Row) -> None:
        """Start a first period at the state at which the device was enabled."""
        self._perfect.start(row)

    def take(self, row: Row, dt_s: float) -> list[float]:
        """Return the reading at one state; a new period restarts the sensor."""
        perfect = self._perfect.take(row, dt_s)
        if dt_s not in {self._dt_s, math.inf}:
            self._dt_s, self._imu = dt_s, self._powered(dt_s)
        inputs = (perfect, _REST) if self._gyro else (_REST, perfect)
        sample = self._imu.feed(*inputs)
        while sample is None:
            sample = self._imu.feed(*inputs)
        values = sample.angular_velocity if self._gyro else sample.specific_force
        return list(cast("list[float]", values))

    def batch(self, states: BodyStates, dt_s: FloatArray) -> FloatArray:
        """Return refreshes at N states, (N, 3)."""
        return one_by_one(self, states, dt_s)

    def reset(self) -> None:
        """Restart the sensor, with the same noise as in the first run."""
        self._perfect.reset()
        self._imu = self._powered(self._dt_s)

    def configure(self) -> None:
        """Read the fields of the node again."""
        self._perfect.configure()

    def _powered(self, dt_s: float) -> ImuSimulator:
        rate_hz = Fraction(1.0 / dt_s).limit_denominator(10**6)
        spec = replace(self._spec, rate_hz=rate_hz)
        return ImuSimulator(spec, seed=self._seed, name=self._name)


def fit_sensor(
    world: World,
    sensor: ImuSpec | str | PathLike[str],
    *,
    device: str | None = None,
    robot: str | None = None,
) -> None:
    """Simulate gyros and accelerometers of a world by a sensor specification.

    Lookup table and resolution of the devices are not used; switched-off axes still are.

    Parameters
    ----------
    world : World
        Before its first step, or at any time.
    sensor : ImuSpec, str or path-like
        A specification, the name of a profile, or a TOML file.
    device, robot : str, optional
        Only the device, or the robot, of that name.

    Raises
    ------
    UnknownNameError, FormatError
        There is no such robot, profile or file.
    DeviceError
        There is no gyro or accelerometer of that name.
    """
    spec = find_sensor(sensor)
    if robot is not None and robot not in world.robots:
        raise UnknownNameError("robot", robot, world.robots)
    fitted = 0
    for state in world.robots.values():
        for own in state.devices:
            chosen = robot in {None, state.name} and device in {None, own.name}
            if chosen and own.kind in {"Gyro", "Accelerometer"}:
                own.measurement = ModelledMeasurement(
                    world.perfect_measurement(own),
                    spec,
                    gyro=own.kind == "Gyro",
                    seed=world.seed,
                    name=f"{state.name}/{own.name}",
                )
                fitted += 1
    if not fitted:
        which = "" if device is None else f" {device!r}"
        raise DeviceError(f"expected a gyro or accelerometer{which} to fit, got none in the world")
