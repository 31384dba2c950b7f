"""Parts that messages come from: a simulated device, a recording, a live topic."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import strapdown.formats as files
from strapdown.bridges.live.pipeline.part import Part
from strapdown.errors import ShapeError
from strapdown.formats.topics.gnss import velocity_topics
from strapdown.messages import (
    FluidPressure,
    Imu,
    MagneticField,
    NavSatFix,
    TwistWithCovarianceStamped,
    conversion,
)
from strapdown.series import BarometerSeries, GnssSeries, ImuSeries
from strapdown.simulation import find_motion, find_sensor
from strapdown.simulation.run import Run
from strapdown.transport.address import open_topic, parse_address
from strapdown.units import NS_PER_S
from strapdown.webots.devices.sensor_models import fit_sensor
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.run.sensor_log import INERTIAL, SensorLog
from strapdown.webots.world.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import ExitStack
    from threading import Event

    from strapdown.bridges.live.pipeline.tables import Table
    from strapdown.simulation import Ride
    from strapdown.transport import Topic

__all__ = ["LogSource", "MotionSource", "TopicSource", "WorldSource", "device_source"]

_ENDLESS_S: Final = 1e6
"""Length of a run on a motion without end [s]: eleven days."""
_AHEAD_S: Final = 0.25
"""Samples that are prepared at once [s]."""
_ROWS: Final = 4096
"""The same of a recording."""


class Pace:
    """Lets stamps pass at their time.

    Parameters
    ----------
    speed : float
        How many times faster than the wall clock; infinite: at once.
    stop : Event
        Ends a wait.
    """

    def __init__(self, speed: float, stop: Event) -> None:
        self._per_ns, self._stop = 1.0 / (speed * NS_PER_S), stop
        self._first_ns: int | None = None
        self._began_s = 0.0

    def wait(self, t_ns: int) -> bool:
        """Sleep until the time of a stamp; False if the stage is stopped before."""
        if self._first_ns is None:
            self._first_ns, self._began_s = t_ns, time.monotonic()
        due_s = self._began_s + (t_ns - self._first_ns) * self._per_ns
        early_s = due_s - time.monotonic()
        return not (self._stop.wait(early_s) if early_s > 0.0 else self._stop.is_set())


class PacedSource(Part):
    """Source that gives stamped samples at their time."""

    SOURCES = range(1)
    gives: type[Any] | None = Imu

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.speed = table.positive("speed") or 1.0

    @abstractmethod
    def blocks(self) -> Iterator[ImuSeries | GnssSeries | BarometerSeries]:
        """Yield the samples."""

    def work(self) -> None:
        """Give each sample at its time."""
        pace = Pace(self.speed, self.stop)
        for series in self.blocks():
            for t_ns, message in _messages(series, self.gives):
                if not pace.wait(t_ns):
                    return
                self.give(message)
                self.made(1)


def _messages(
    series: ImuSeries | GnssSeries | BarometerSeries, kind: type[Any] | None
) -> Iterator[tuple[int, object]]:
    """Yield the stamps and messages of a series: of the kind, where there are several."""
    if isinstance(series, GnssSeries) and kind is TwistWithCovarianceStamped:
        for stamp_ns, frame_id, values, _ in conversion.twist_from_gnss(series):
            numbers = tuple(values.tolist())
            twist = kind(stamp_ns, frame_id, numbers[:3], numbers[3:6], numbers[6:])
            yield stamp_ns, twist
        return
    if isinstance(series, GnssSeries):
        for fix in conversion.navsat_from_gnss(series):
            yield fix.header_stamp_ns, fix
        return
    if isinstance(series, BarometerSeries):
        for stamp_ns, frame_id, values, _ in conversion.fluid_pressure_from_barometer(series):
            yield stamp_ns, FluidPressure(stamp_ns, frame_id, *values.tolist())
        return
    if kind is MagneticField:
        for stamp_ns, frame_id, values, _ in conversion.ros_from_magnetic_field(series):
            yield stamp_ns, MagneticField(stamp_ns, frame_id, tuple(values[:3].tolist()))
        return
    for record in conversion.imu_from_series(series):
        yield int(record["timestamp_ns"]), Imu.from_record(record)


def _with_field(series: ImuSeries) -> ImuSeries:
    """Return the rows of a series that have a magnetic field."""
    field = series.magnetic_field
    if field is None:
        raise ShapeError("expected a recording with a magnetic field, got one without")
    return series[np.flatnonzero(~np.isnan(field).all(axis=1))]


def device_source(table: Table) -> PacedSource:
    """Return the simulated device that a table describes: in a world, or on a motion."""
    return WorldSource(table) if table.get("world", str) else MotionSource(table)


class DeviceSource(PacedSource):
    """Simulated device, stamped by the wall clock unless ``start_ns`` is given."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.rate_hz = table.positive("rate")
        self.seed = table.get("seed", int)
        self.sensor = table.get("sensor", str)
        self.duration_s = table.positive("duration")
        self._start_ns = table.get("start_ns", int)

    def start_ns(self) -> int:
        """Return the stamp of the first instant."""
        return time.time_ns() if self._start_ns is None else self._start_ns

    def ride(self, motion: str) -> Ride:
        """Return a motion as long as the device runs, or as long as it can be."""
        found = find_motion(self.table.place_or_name(motion), duration_s=self.duration_s)
        if self.duration_s is None and math.isinf(found.source.end_s):
            return replace(found, duration_s=_ENDLESS_S)
        return found


class MotionSource(DeviceSource):
    """A sensor on a motion."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        motion = table.need("motion", str, "or world")
        with table.about("motion", "duration"):
            ride = self.ride(motion)
        with table.about("sensor", "rate"):
            sensor = table.place_or_name(self.sensor or "ideal")
            spec = find_sensor(sensor, rate_hz=self.rate_hz, sampling="point")
        with table.about("duration", "seed"):
            self.seed = self.seed or 0
            self._run = Run(ride, spec, (self.name,), self.seed, 0, {})
        self.rate_hz = float(spec.rate_hz)
        self.notes += ride.notes

    def open(self, stack: ExitStack) -> None:  # noqa: ARG002 (nothing is to be closed)
        """Compile the sensor ahead of the first sample."""
        (simulator,) = self._run.simulators
        conversion.imu_from_series(simulator.run(1).series())
        simulator.reset(noise="restart")

    def blocks(self) -> Iterator[ImuSeries]:
        """Yield the samples of the sensor."""
        rows = max(1, round(_AHEAD_S * (self.rate_hz or 1.0)))
        start_ns = self.start_ns()
        for (samples,), _truth in self._run.blocks(rows):
            series = samples.series()
            yield series.replace(t_ns=series.t_ns + start_ns)


class WorldSource(DeviceSource):
    """The gyro, the accelerometer and the InertialUnit of a robot in a Webots world."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        path = table.place_or_name(table.need("world", str))
        motion = table.get("motion", str)
        with table.about("motion", "duration"):
            moved = None if motion is None else self.ride(motion)
        robot = table.get("robot", str)
        with table.about("world", "robot", "profile", "seed"):
            self._world = world = World(
                find_world(path),
                profile=table.get("profile", str, "R2025a"),
                seed=self.seed,
                motion={robot: moved} if robot and moved else moved,
                duration_s=self.duration_s,
            )
            self.seed = world.seed
            self._robot = world.port(robot).robot
        missing = {"Gyro", "Accelerometer"} - {each.kind for each in self._robot.devices}
        if missing:
            line = f"expected a robot with gyro and accelerometer, got one without {min(missing)}"
            raise table.error(line, "robot", "world")
        with table.about("sensor"):
            if self.sensor:
                part = table.place_or_name(self.sensor)
                fit_sensor(world, part, robot=self._robot.name)
        most_hz = 1e3 / world.basic_time_step
        self._steps = max(1, round(most_hz / (self.rate_hz or most_hz)))
        if self.rate_hz and not math.isclose(self.rate_hz * self._steps, most_hz, rel_tol=1e-9):
            line = f"expected a rate that divides that of the world, {most_hz:g} Hz"
            raise table.error(f"{line}, got {self.rate_hz:g} Hz", "rate")
        self.rate_hz = most_hz / self._steps

    def blocks(self) -> Iterator[ImuSeries]:
        """Yield what the devices measure, step by step."""
        world, start_ns = self._world, self.start_ns()
        for device in self._robot.devices:
            if device.kind in INERTIAL:
                world.enable(device, round(self._steps * world.basic_time_step))
        with SensorLog(world) as log:
            while not world.ended:
                world.advance_to(world.step_count + self._steps)
                if len(log):
                    series = log.imu_series(self._robot.name)
                    log.clear()
                    yield series.replace(t_ns=series.t_ns + start_ns)


class LogSource(PacedSource):
    """The IMU, its magnetometer, a GNSS receiver, its velocities, or a barometer of a recording."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        path = table.place(table.need("file", str))
        topic = table.get("topic", str)
        is_field = table.get("magnetic_field", bool, default=False)
        with table.about("file"):
            recording = files.open(path, on_error="salvage")
        self._series: ImuSeries | GnssSeries | BarometerSeries
        with table.about("magnetic_field", "topic", "file"):
            if is_field:
                self._series, self.gives = _with_field(recording.imu_series(topic)), MagneticField
            elif topic is not None and topic in recording.barometers:
                self._series, self.gives = recording.barometers[topic], FluidPressure
            elif (moving := _with_velocity(recording, topic)) is not None:
                self._series, self.gives = moving, TwistWithCovarianceStamped
            elif topic in recording.gnss or (recording.gnss and not recording.imu):
                self._series, self.gives = recording.gnss_series(topic), NavSatFix
            else:
                self._series = recording.imu_series(topic)
        if len(self._series) > 1:
            span_ns = int(self._series.t_ns[-1] - self._series.t_ns[0])
            self.rate_hz = (len(self._series) - 1) * NS_PER_S / span_ns if span_ns > 0 else None
        self._report = recording.report

    def blocks(self) -> Iterator[ImuSeries | GnssSeries | BarometerSeries]:
        """Yield all samples or fixes."""
        for start in range(0, len(self._series), _ROWS):
            yield self._series[start : start + _ROWS]

    def losses(self) -> list[str]:
        """Return what the file does not hold any more."""
        return [*super().losses(), *self._report.losses()]


def _with_velocity(recording: files.Recording, topic: str | None) -> GnssSeries | None:
    """Return the receiver of which a topic is the velocity."""
    moving = (
        series
        for name, series in recording.gnss.items()
        if series.velocity_world is not None and topic in [*velocity_topics(name)]
    )
    return next(moving, None)


class TopicSource(Part):
    """A live topic."""

    SOURCES = range(1)

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        with table.about("address"):
            self._address = parse_address(table.need("address", str), folder=table.folder)
        self.address = self._address.backend.name, self._address.name.removeprefix("/")
        self.gives = self._address.msg_type or Imu
        self._topic: Topic[Any] | None = None

    def open(self, stack: ExitStack) -> None:
        """Join the topic."""
        self._topic = stack.enter_context(open_topic(self._address, self.gives, history=0))

    def work(self) -> None:
        """Pass on every message."""
        for topic in self.outside():
            self.follow(topic, self.give)

    def outside(self) -> Sequence[Topic[Any]]:
        """Return the topic."""
        return [] if self._topic is None else [self._topic]
