"""Samples of the sensors of a world, as series in memory.

Every sample has the time at which it was taken, not the time at which a controller read it. Axes
are those of the sensor: FLU in an ENU world, FUR in a world whose y axis is up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import DeviceError, UnknownNameError
from strapdown.formats import Recording
from strapdown.geometry import quaternion
from strapdown.inertial import increments_from_rates
from strapdown.webots.profiles import Acceleration
from strapdown.webots.run import sensor_series
from strapdown.webots.run.device_samples import DeviceSamples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

    from strapdown._typing import FloatArray, IntArray
    from strapdown.series import GnssSeries, ImuSeries, Increments, Trajectory
    from strapdown.webots.devices.device import DeviceState, RobotState
    from strapdown.webots.world.world import World

__all__ = ["INERTIAL", "SensorLog"]

INERTIAL: Final = {
    "InertialUnit": "quaternion",
    "Accelerometer": "values",
    "Gyro": "values",
}
"""Device types with a column in a series, and the last part of their topics."""
_FIXES: Final = "values"
"""Last part of the topic of a GPS."""
_MANGLED: Final = str.maketrans("-. ()", "_____")


class SensorLog:
    """Record of every sample of the inertial sensors of a world, from its creation on.

    Those of every GPS are recorded, too: fixes in a world with the coordinate system WGS84, else a
    trajectory without attitude.

    A ``with`` statement or :meth:`stop` ends it. Time continues over a reset of the simulation, so
    that stamps never decrease.

    Parameters
    ----------
    world : World
        World of the sensors; samples of those that a controller enables are recorded.

    Attributes
    ----------
    resets : int
        Number of resets of the simulation between two samples.
    other : dict of str to str
        Device types by name, for devices that were sampled and have no column in a series.
    between_steps : callable or None
        Called when all samples of a step are recorded, before the first one of a later step.

    Examples
    --------
    >>> world = World("three_devices.wbt")  # doctest: +SKIP
    >>> with SensorLog(world) as log:  # doctest: +SKIP
    ...     run(Robot(world))
    >>> log.imu_series()  # doctest: +SKIP
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.resets = 0
        self.other: dict[str, str] = {}
        self.between_steps: Callable[[], object] | None = None
        self._samples: dict[tuple[str, int], DeviceSamples] = {}
        self._last = self._passed = 0
        self._run = world.resets
        self._watch = world.observe(self._take)

    def __enter__(self) -> Self:
        """Return the log itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def stop(self) -> None:
        """Stop recording; samples recorded so far are kept."""
        self._watch.stop()

    def device_series(self, device: str, robot: str | None = None) -> ImuSeries:
        """Return the samples of one device.

        Parameters
        ----------
        device : str
            Name of the device.
        robot : str, optional
            Name of its robot; by default the only robot with samples of such a device.

        Returns
        -------
        ImuSeries
            Quantities that the device does not measure are NaN, with a covariance marked absent
            (first element -1).

        Raises
        ------
        UnknownNameError
            There are no samples of such a device.
        DeviceError
            Several robots have such a device, and none is named.
        """
        candidates = {name for name, own in self._names() if own == device}
        if robot is not None:
            candidates &= {robot}
        if not candidates:
            raise UnknownNameError("device with samples", device, {own for _, own in self._names()})
        chosen = self._robot(None, candidates, device)
        samples = next(each for each in self._of(chosen) if each.device.name == device)
        return sensor_series.imu_series(self.world, {samples.device.kind: samples})

    def imu_series(self, robot: str | None = None) -> ImuSeries:
        """Return the samples of a robot's gyro and accelerometer, with its attitude.

        There is a row for each time at which both were sampled. Attitude is that of the
        InertialUnit at that time; NaN where it was not sampled. Of several devices of one type
        the one that was sampled first is used.

        Parameters
        ----------
        robot : str, optional
            Name of the robot; by default the only robot with such samples.

        Raises
        ------
        DeviceError
            The robot has no samples of both, or the devices are mounted with different axes;
            or several robots have samples, and none is named.
        """
        chosen = self._robot(robot, {name for name, _ in self._names()})
        return sensor_series.imu_series(self.world, self._triple(chosen))

    def gnss_series(self, robot: str | None = None) -> GnssSeries:
        """Return the samples of a robot's first GPS, in a world with the coordinate system WGS84.

        Parameters
        ----------
        robot : str, optional
            Name of the robot; by default the only robot with such samples.

        Raises
        ------
        DeviceError
            There are no such samples; or several robots have some, and none is named.
        """
        geodetic = {
            name: each
            for (name, _), each in reversed(self._samples.items())
            if each.device.kind == "GPS" and each.device.info.parameters["coordinate_system"]
        }
        chosen = self._robot(robot, set(geodetic), "gps")
        if chosen in geodetic:
            return sensor_series.gnss_series(self.world, geodetic[chosen])
        raise DeviceError(
            "expected samples of a GPS in a world whose gpsCoordinateSystem is 'WGS84', got none;"
            " set the field, and enable the GPS"
        )

    def increments(self, robot: str | None = None) -> Increments:
        """Return :meth:`imu_series` as increments, one from each sample to the next.

        Delta angles are integrated with coning correction. Delta velocities are integrated
        likewise where the accelerometer reads specific force at an instant; where it reads the
        velocity difference of its period, that is the delta velocity, rotated back to the middle
        of the interval.

        Raises
        ------
        DeviceError
            As :meth:`imu_series`.
        """
        series = self.imu_series(robot)
        increments, _report = increments_from_rates(series)
        if self.world.profile.acceleration is Acceleration.EXACT:
            return increments
        rows = np.searchsorted(series.t_ns, increments.t_ns)
        dt_s = increments.delta_velocity_dt_ns * 1e-9
        half = quaternion.from_rotation_vector(0.5 * increments.delta_angle)
        difference = series.specific_force[rows] * dt_s[:, np.newaxis]
        return increments.replace(delta_velocity=quaternion.rotate(half, difference))

    def recording(self) -> Recording:
        """Return all series by topic.

        ``DEVICE/quaternion`` or ``DEVICE/values`` for each device, and ``imu/data`` for a robot
        whose gyro and accelerometer were sampled together; in a world of several robots prefixed
        with the name of the robot. ``DEVICE/values`` of a GPS are fixes or a trajectory.
        """
        imu: dict[str, ImuSeries] = {}
        gnss: dict[str, GnssSeries] = {}
        tracks: dict[str, Trajectory] = {}
        for robot in dict.fromkeys(name for name, _ in self._samples):
            prefix = f"{_mangled(robot)}/" if len(self.world.robots) > 1 else ""
            triple = self._triple(robot, strict=False)
            if triple:
                imu[f"{prefix}imu/data"] = sensor_series.imu_series(self.world, triple)
            for samples in self._of(robot):
                device = samples.device
                topic = f"{prefix}{_mangled(device.name)}/{INERTIAL.get(device.kind, _FIXES)}"
                if device.kind == "GPS" and device.info.parameters["coordinate_system"]:
                    gnss[topic] = sensor_series.gnss_series(self.world, samples)
                elif device.kind == "GPS":
                    tracks[topic] = sensor_series.trajectory(self.world, samples)
                else:
                    imu[topic] = sensor_series.imu_series(self.world, {device.kind: samples})
        return Recording(
            imu={topic: series for topic, series in imu.items() if len(series)},
            gnss={topic: series for topic, series in gnss.items() if len(series)},
            trajectories={topic: series for topic, series in tracks.items() if len(series)},
        )

    def add(self, device: DeviceState, steps: IntArray, values: FloatArray) -> None:
        """Add samples of an inertial device: values (N, width) taken at ascending steps (N,)."""
        samples = self._of_device(device, values.shape[1])
        samples.add(steps + self._passed, values)

    def clear(self) -> None:
        """Discard the samples recorded so far, but keep the order in which devices were sampled."""
        for samples in self._samples.values():
            samples.clear()

    def __len__(self) -> int:
        return sum(len(samples) for samples in self._samples.values())

    def _take(self, _: RobotState, device: DeviceState, step: int, values: list[float]) -> None:
        resets = self.world.resets
        if step != self._last or resets != self._run:
            if self.between_steps is not None:
                self.between_steps()
            if resets != self._run:
                self._passed += self._last
                self.resets += resets - self._run
                self._run = resets
            self._last = step
        if device.kind == "GPS" or device.kind in INERTIAL:
            samples = self._of_device(device, len(values))
            samples.steps.append(self._passed + step)
            samples.values.extend(values)
        else:
            self.other.setdefault(device.name, device.kind)

    def _of_device(self, device: DeviceState, width: int) -> DeviceSamples:
        key = device.robot.name, device.tag
        if key not in self._samples:
            self._samples[key] = DeviceSamples(device, width)
        return self._samples[key]

    def _names(self) -> Iterator[tuple[str, str]]:
        for (robot, _tag), samples in self._samples.items():
            yield robot, samples.device.name

    def _of(self, robot: str) -> list[DeviceSamples]:
        return [each for (name, _), each in self._samples.items() if name == robot]

    def _robot(self, robot: str | None, candidates: set[str], device: str = "") -> str:
        if robot is not None:
            return robot
        if len(candidates) > 1:
            raise DeviceError(
                f"expected the name of a robot, for {len(candidates)} of them have samples of"
                f" {repr(device) if device else 'sensors'}: {', '.join(sorted(candidates))}"
            )
        return next(iter(candidates), "")

    def _triple(self, robot: str, *, strict: bool = True) -> dict[str, DeviceSamples]:
        """Return the first device of each type; empty if they do not form an IMU."""
        first: dict[str, DeviceSamples] = {}
        for samples in self._of(robot):
            if samples.device.kind in INERTIAL:
                first.setdefault(samples.device.kind, samples)
        missing = [kind for kind in ("Gyro", "Accelerometer") if kind not in first]
        axes = [self.world.scene.present(each.device.node)[0][0] for each in first.values()]
        apart = any(not np.allclose(other, axes[0], atol=1e-9) for other in axes[1:])
        if not missing and not apart:
            return first
        if not strict:
            return {}
        reason = (
            f"got none of {' and '.join(missing)}; enable them"
            if missing
            else "got devices with different axes; align them, or read them one by one"
        )
        whose = f"robot {robot!r}" if robot else "a robot"
        raise DeviceError(f"expected samples of gyro and accelerometer of {whose}, {reason}")


def _mangled(name: str) -> str:
    """Return a name as the ROS interface of Webots writes it."""
    return name.translate(_MANGLED)
