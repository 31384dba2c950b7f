"""Samples of the sensors of a world, as series in memory.

Every sample has the time at which it was taken, not the time at which a controller read it. Axes
are those of the sensor: FLU in an ENU world, FUR in a world whose y axis is up.
"""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.errors import DeviceError, UnknownNameError
from strapdown.formats import Recording
from strapdown.geometry import quaternion
from strapdown.geometry.euler import EulerConvention, to_quaternion
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.inertial import increments_from_rates
from strapdown.series import GnssSeries, ImuSeries, SensorIdentity, Trajectory
from strapdown.webots.devices.geodetic import EAST_NORTH_UP
from strapdown.webots.devices.sensor_models import ModelledMeasurement
from strapdown.webots.profiles import Acceleration, Angles, InertialFrame, InertialNoise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType
    from typing import Self

    from strapdown._typing import FloatArray, IntArray
    from strapdown.series import Increments
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
_SIGMA: Final = {InertialNoise.ANGLES: math.pi / 2.0, InertialNoise.ROTATION: math.pi}


class _Samples:
    """Samples of one device: steps and values."""

    def __init__(self, device: DeviceState, width: int) -> None:
        self.device = device
        self.steps = array("q")
        self.values = array("d")
        self._width = width
        self._blocks: list[tuple[IntArray, FloatArray]] = []
        """Blocks of batches, which precede ``steps`` and ``values``."""

    def add(self, steps: IntArray, values: FloatArray) -> None:
        """Add a block of samples; the caller must not modify it any more."""
        if self.steps:
            self._blocks.append(self._after_blocks())
            del self.steps[:], self.values[:]
        self._blocks.append((steps, values))

    def table(self) -> tuple[IntArray, FloatArray]:
        """Return the steps (N,) and the values (N, width)."""
        steps, values = zip(*self._blocks, self._after_blocks(), strict=True)
        return np.concatenate(steps), np.concatenate(values)

    def clear(self) -> None:
        """Discard all samples."""
        del self._blocks[:], self.steps[:], self.values[:]

    def __len__(self) -> int:
        return len(self.steps) + sum(len(steps) for steps, _ in self._blocks)

    def _after_blocks(self) -> tuple[IntArray, FloatArray]:
        return np.array(self.steps), np.array(self.values).reshape(-1, self._width)


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
        self._samples: dict[tuple[str, int], _Samples] = {}
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
        return self._series({samples.device.kind: samples})

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
        return self._series(self._triple(self._robot(robot, {name for name, _ in self._names()})))

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
            return self._fixes(geodetic[chosen])
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
                imu[f"{prefix}imu/data"] = self._series(triple)
            for samples in self._of(robot):
                device = samples.device
                topic = f"{prefix}{_mangled(device.name)}/{INERTIAL.get(device.kind, _FIXES)}"
                if device.kind == "GPS" and device.info.parameters["coordinate_system"]:
                    gnss[topic] = self._fixes(samples)
                elif device.kind == "GPS":
                    tracks[topic] = self._track(samples)
                else:
                    imu[topic] = self._series({device.kind: samples})
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

    def _of_device(self, device: DeviceState, width: int) -> _Samples:
        key = device.robot.name, device.tag
        if key not in self._samples:
            self._samples[key] = _Samples(device, width)
        return self._samples[key]

    def _names(self) -> Iterator[tuple[str, str]]:
        for (robot, _tag), samples in self._samples.items():
            yield robot, samples.device.name

    def _of(self, robot: str) -> list[_Samples]:
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

    def _triple(self, robot: str, *, strict: bool = True) -> dict[str, _Samples]:
        """Return the first device of each type; empty if they do not form an IMU."""
        first: dict[str, _Samples] = {}
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

    def _series(self, devices: Mapping[str, _Samples]) -> ImuSeries:
        """Return samples of one device, or of several at their common times, as a series."""
        tables = {kind: samples.table() for kind, samples in devices.items()}
        vectors = [kind for kind in tables if kind != "InertialUnit"] or list(tables)
        steps = tables[vectors[0]][0]
        for kind in vectors[1:]:
            steps = np.intersect1d(steps, tables[kind][0])
        columns: dict[str, Any] = {}
        for kind, (own, values) in tables.items():
            rows, at = np.isin(steps, own), np.isin(own, steps)
            picked = np.full((len(steps), values.shape[1]), np.nan)
            picked[rows] = values[at]
            columns |= self._columns(devices[kind].device, picked)
        absent = {"angular_velocity", "specific_force"} - columns.keys()
        for name in absent:
            columns[name] = np.full((len(steps), 3), np.nan)
            columns[f"{name}_covariance"] = np.zeros((len(steps), 3, 3))
            columns[f"{name}_covariance"][:, 0, 0] = -1.0
        world = WorldFrame(self.world.conventions.coordinate_system)
        name = next(iter(devices.values())).device.name if len(devices) == 1 else ""
        return ImuSeries(
            self._stamps(steps),
            **columns,
            body=BodyFrame.FLU if world is WorldFrame.ENU else BodyFrame.FUR,
            world=world,
            sensor=SensorIdentity(name),
        )

    def _fixes(self, samples: _Samples) -> GnssSeries:
        """Return the samples of a GPS with geodetic positions."""
        steps, values = samples.table()
        accuracy = samples.device.node.number("accuracy")
        system = self.world.conventions.coordinate_system
        return GnssSeries(
            self._stamps(steps),
            np.radians(values[:, 0]),
            np.radians(values[:, 1]),
            values[:, 2],
            np.broadcast_to(accuracy**2 * np.eye(3), (len(steps), 3, 3)),
            velocity_world=values[:, 4:7][:, EAST_NORTH_UP[system]],
            sensor=SensorIdentity(samples.device.name),
        )

    def _track(self, samples: _Samples) -> Trajectory:
        """Return the samples of a GPS with positions in the world."""
        steps, values = samples.table()
        accuracy = samples.device.node.number("accuracy")
        return Trajectory(
            self._stamps(steps),
            np.full((len(steps), 4), np.nan),
            position_world=values[:, :3],
            velocity_world=values[:, 4:7],
            position_covariance=np.broadcast_to(accuracy**2 * np.eye(3), (len(steps), 3, 3)),
            world=WorldFrame(self.world.conventions.coordinate_system),
            name=samples.device.name,
        )

    def _stamps(self, steps: IntArray) -> IntArray:
        """Return the times of steps [ns]."""
        stamps: IntArray = np.rint(steps * (self.world.basic_time_step * 1e6)).astype(np.int64)
        return stamps

    def _columns(self, device: DeviceState, values: FloatArray) -> dict[str, FloatArray]:
        """Return the measured columns of a device, and the covariance where its noise is known."""
        if device.kind == "InertialUnit":
            noise = float(device.info.parameters["noise"])
            sigma = noise * _SIGMA.get(self.world.profile.inertial_noise, 0.0)
            covariance = np.broadcast_to(sigma**2 * np.eye(3), (len(values), 3, 3))
            return {
                "q_world_from_body": self._attitude(values),
                "orientation_covariance": covariance,
            }
        name = "angular_velocity" if device.kind == "Gyro" else "specific_force"
        if isinstance(device.measurement, ModelledMeasurement):
            variance = np.broadcast_to(device.measurement.variance, values.shape)
        else:
            relative = _relative_noise(device.info.parameters["lookup_table"], values)
            variance = np.nan_to_num(np.abs(values) * relative) ** 2
        covariance = variance[:, :, np.newaxis] * np.eye(3)
        return {name: values, f"{name}_covariance": covariance}

    def _attitude(self, values: FloatArray) -> FloatArray:
        """Return q_world_from_body from the values of an InertialUnit in this profile."""
        profile, conventions = self.world.profile, self.world.conventions
        if profile.angles is Angles.MATRIX:
            q = to_quaternion(values, EulerConvention.WEBOTS_NUE)
        else:
            q = values[:, 3:] if profile.angles is Angles.AXES else values
        q_unit: FloatArray = q / np.linalg.norm(q, axis=1, keepdims=True)
        if profile.inertial_frame is InertialFrame.WRONG_SIDE:  # attitude times its inverse
            north, up = np.array(conventions.north), np.array(conventions.up)
            frame = np.stack([north, up, np.cross(north, up)], axis=1)
            return quaternion.multiply(q_unit, quaternion.from_matrix(frame))
        return q_unit


def _relative_noise(flat_table: list[float], values: FloatArray) -> FloatArray | float:
    """Return the relative noise of outputs (N, 3) of a lookup table; the largest if ambiguous."""
    if not flat_table:
        return 0.0
    _inputs, outputs, noise = np.array(flat_table).reshape(-1, 3).T
    order = np.argsort(outputs)
    if len(np.unique(outputs)) < len(outputs):
        return float(noise.max())
    return np.asarray(np.interp(values, outputs[order], noise[order]))


def _mangled(name: str) -> str:
    """Return a name as the ROS interface of Webots writes it."""
    return name.translate(_MANGLED)
