"""Conversion of ULog topics to series, block by block."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats.recording import Recording
from strapdown.formats.ulog.field_join import FieldJoin
from strapdown.formats.ulog.fifo import FifoReader
from strapdown.formats.ulog.notes import StreamNotes
from strapdown.messages.conversion.px4 import increments_from_vehicle_imu
from strapdown.messages.conversion.px4_estimates import (
    trajectory_from_vehicle_attitude,
    trajectory_from_vehicle_odometry,
)
from strapdown.messages.conversion.px4_gnss import barometer_from_air_data, gnss_from_sensor_gps
from strapdown.messages.conversion.px4_rates import (
    series_from_sensor_accel,
    series_from_sensor_combined,
    series_from_sensor_gyro,
)
from strapdown.messages.px4 import (
    SensorAccel,
    SensorAccelFifo,
    SensorCombined,
    SensorGyro,
    SensorGyroFifo,
    VehicleAttitude,
    VehicleImu,
    VehicleOdometry,
)
from strapdown.messages.px4_versions import US_PER_S, upgrade
from strapdown.series import BarometerSeries, GnssSeries, ImuSeries, Increments, Trajectory
from strapdown.units import GAUSS, NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from strapdown._typing import FloatArray, IntArray
    from strapdown.formats._series_headers import Series
    from strapdown.formats.ulog.records import Topic
    from strapdown.messages.px4_versions import Upgraded
    from strapdown.messages.uorb import UorbMessage

__all__ = ["AIDING", "LATEST_US", "TOPICS", "SeriesReader", "belongs_to"]


class _Kind(NamedTuple):
    """Message class and group of a topic."""

    message: type[UorbMessage]
    required: tuple[str, ...]
    numbered: bool = False
    """Whether its name in a recording always contains the number of the instance."""


_AXES: Final = ("x", "y", "z")
_ATTITUDE: Final = _Kind(VehicleAttitude, ("q",))
_KINDS: Final = {
    "vehicle_imu": _Kind(
        VehicleImu,
        ("delta_angle", "delta_velocity", "delta_angle_dt", "delta_velocity_dt"),
        numbered=True,
    ),
    "sensor_combined": _Kind(
        SensorCombined,
        (
            "gyro_rad",
            "gyro_integral_dt",
            "accelerometer_m_s2",
            "accelerometer_timestamp_relative",
        ),
    ),
    "sensor_gyro": _Kind(SensorGyro, _AXES, numbered=True),
    "sensor_accel": _Kind(SensorAccel, _AXES, numbered=True),
    "sensor_gyro_fifo": _Kind(SensorGyroFifo, (*_AXES, "scale", "samples"), numbered=True),
    "sensor_accel_fifo": _Kind(SensorAccelFifo, (*_AXES, "scale", "samples"), numbered=True),
    "vehicle_attitude": _ATTITUDE,
    "vehicle_attitude_groundtruth": _ATTITUDE,
    "vehicle_odometry": _Kind(VehicleOdometry, ("q",)),
}
_MAGNETOMETER: Final = "vehicle_magnetometer"
_GNSS: Final = frozenset({"sensor_gps", "vehicle_gps_position"})
AIDING: Final = frozenset({*_GNSS, "vehicle_air_data"})
"""Names of the topics of GNSS receivers and barometers."""
TOPICS: Final = frozenset({*_KINDS, _MAGNETOMETER, *AIDING})
"""Names of the topics that are read."""
_INTERVALS: Final = ("gyro_integral_dt", "delta_angle_dt", "delta_velocity_dt")
LATEST_US: Final = (2**63 - 1) // NS_PER_US
"""The latest stamp whose nanoseconds fit into 64 bits."""
_LONGEST_US: Final = 2**32 - 1


class SeriesReader:
    """Converter of the rows of a log, whole or in blocks, to series.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Count rows with impossible times and leave them out, instead of raising an error.

    Attributes
    ----------
    messages, lost_messages : int
        Rows that were converted to samples, and those that were left out.
    skipped : Counter
        Intact rows that were not used, by topic.
    """

    def __init__(self, path: Path, *, salvage: bool) -> None:
        self.messages = 0
        self.lost_messages = 0
        self.skipped: Counter[str] = Counter()
        self._path, self._salvage = path, salvage
        self._streams = StreamNotes()
        self._fifo = FifoReader()
        self._joins: dict[Topic, FieldJoin] = {}
        self._fields: Counter[Topic] = Counter()

    def block(
        self,
        rows: Mapping[Topic, NDArray[np.void]],
        *,
        is_last: bool,
        logged: Collection[Topic] = (),
    ) -> Recording:
        """Convert the rows of a block; rows that wait for a magnetometer come with a later one.

        Parameters
        ----------
        rows : mapping of Topic to structured array
            The messages of the block.
        is_last : bool
            Whether no block follows.
        logged : collection of Topic, optional
            The topics of the log so far.

        Raises
        ------
        FormatError
            A required field is missing or has another type, or a time is impossible.
        """
        with np.errstate(invalid="ignore", over="ignore"):  # signalling NaN, doubles
            sound = {topic: self._sound(topic, found) for topic, found in rows.items()}
            read = {_name(topic): self._series(topic, sound) for topic in sorted(sound)}
        self._add_fields(sound)
        imu = {name: each for name, each in read.items() if isinstance(each, ImuSeries)}
        combined = {}
        is_expected = any(topic.name == _MAGNETOMETER for topic in logged)
        for topic, join in self._joins.items():
            imu.pop(_name(topic), None)
            if (ready := join.take(is_last=is_last, is_expected=is_expected)) is not None:
                imu[_name(topic)], combined[_name(topic)] = ready
        self._count(sound, {topic for topic in sound if read[_name(topic)] is None})
        if is_last:
            self._count_fields()
        return Recording(
            self._path,
            imu=imu,
            trajectories={k: each for k, each in read.items() if isinstance(each, Trajectory)},
            increments={k: each for k, each in read.items() if isinstance(each, Increments)},
            gnss={k: each for k, each in read.items() if isinstance(each, GnssSeries)},
            barometers={k: each for k, each in read.items() if isinstance(each, BarometerSeries)},
            sensor_combined=combined,
        )

    def _series(self, topic: Topic, rows: Mapping[Topic, NDArray[np.void]]) -> Series | None:
        """Convert one topic; return None for the magnetometer, which is joined to an IMU.

        It is also None for a receiver or a barometer whose rows lack the measurement.
        """
        if topic.name == _MAGNETOMETER:
            return None
        name = _name(topic)
        if topic.name in AIDING:
            convert = gnss_from_sensor_gps if topic.name in _GNSS else barometer_from_air_data
            return convert(rows[topic], name=name)
        records, absent = self._upgraded(topic, rows[topic])
        if topic.name == "vehicle_imu":
            return self._increments(name, records)
        if topic.name == "sensor_combined":
            return self._rates(topic, records, absent)
        if topic.name.startswith("sensor_"):
            return self._readings(name, records, absent)
        return self._trajectory(name, records)

    def _count(self, rows: Mapping[Topic, NDArray[np.void]], unread: set[Topic]) -> None:
        """Count converted rows."""
        for topic, found in rows.items():
            if topic.name == _MAGNETOMETER:
                self._fields[topic] += len(found)
            elif topic in unread:
                self.skipped[topic.name] += len(found)
            else:
                self.messages += len(found)

    def _count_fields(self) -> None:
        """Count the samples of magnetometers, of which only the first is joined."""
        joined = any(join.has_field for join in self._joins.values())
        for topic, count in self._fields.items():
            if joined and topic == min(self._fields):
                self.messages += count
            else:
                self.skipped[topic.name] += count

    @property
    def coverage(self) -> dict[str, float]:
        """Coverage of each stream of increments or mean rates."""
        return self._streams.coverage

    def notes(self) -> list[str]:
        """Return notes for the user, one line each."""
        lost = [line for join in self._joins.values() for line in join.lines()]
        return [*lost, *self._streams.lines(), *self._fifo.lines()]

    def _sound(self, topic: Topic, rows: NDArray[np.void]) -> NDArray[np.void]:
        """Leave out the rows whose time does not fit into 64 bits of nanoseconds."""
        sound = np.ones(len(rows), np.bool_)
        for name in ("timestamp", "timestamp_sample"):
            if _is_number(rows, name, "iu"):
                sound &= (rows[name] >= 0) & (rows[name] <= LATEST_US)
        for name in _INTERVALS:
            if _is_number(rows, name, "iuf") and not np.can_cast(rows.dtype[name], np.uint32):
                seconds = rows.dtype[name].kind == "f"
                us = rows[name].astype(np.float64) * (US_PER_S if seconds else 1.0)
                sound &= (us >= 0.0) & (us <= _LONGEST_US)
        if sound.all():
            return rows
        if not self._salvage:
            row = int(sound.argmin())
            raise FormatError(
                "expected stamps below 2^63 ns and intervals below 2^32 us, got others in row "
                f"{row}",
                path=self._path,
                topic=topic.name,
            )
        self.lost_messages += int(np.count_nonzero(~sound))
        return rows[sound]

    def _upgraded(self, topic: Topic, rows: NDArray[np.void]) -> Upgraded:
        """Return the rows as current messages, with all required fields."""
        kind = _KINDS[topic.name]
        try:
            upgraded = upgrade(rows, kind.message)
        except FormatError as error:
            raise FormatError(error.message, path=self._path, topic=topic.name) from error
        missing = [name for name in kind.required if name in upgraded.absent]
        if missing:
            raise FormatError(
                f"expected a field {missing[0]}, got {', '.join(rows.dtype.names or ())[:200]}",
                path=self._path,
                topic=topic.name,
            )
        if "timestamp_sample" in (upgraded.records.dtype.names or ()):
            records = upgraded.records
            unset = records["timestamp_sample"] == 0  # by simulators, in the true attitude
            records["timestamp_sample"][unset] = records["timestamp"][unset]
        return upgraded

    def _increments(self, name: str, records: NDArray[np.void]) -> Increments:
        increments = increments_from_vehicle_imu(records)
        intervals = increments.t_ns, increments.delta_angle_dt_ns
        self._streams.see(name, increments, records, intervals)
        return increments

    def _rates(
        self,
        topic: Topic,
        records: NDArray[np.void],
        absent: tuple[str, ...],
    ) -> ImuSeries:
        series = series_from_sensor_combined(records)
        if "gyro_clipping" in absent:
            series = series.replace(gyro_clipping=None)
        if "accelerometer_clipping" in absent:
            series = series.replace(accel_clipping=None)
        ends_ns = records["timestamp"].astype(np.int64) * NS_PER_US
        dt_ns = records["gyro_integral_dt"].astype(np.int64) * NS_PER_US
        self._streams.see(_name(topic), series, records, (ends_ns, dt_ns))
        self._joins.setdefault(topic, FieldJoin()).add_rows(series, records)
        return series

    def _readings(self, name: str, records: NDArray[np.void], absent: tuple[str, ...]) -> ImuSeries:
        if "_fifo" in name:
            series = self._fifo.read(name, records)
        elif name.startswith("sensor_gyro"):
            series = series_from_sensor_gyro(records)
        else:
            series = series_from_sensor_accel(records)
        if "clip_counter" in absent:
            series = series.replace(gyro_clipping=None, accel_clipping=None)
        self._streams.see(name, series, records)
        return series

    def _trajectory(self, name: str, records: NDArray[np.void]) -> Trajectory:
        if name.startswith("vehicle_attitude"):
            trajectory = trajectory_from_vehicle_attitude(records, name=name)
        else:
            trajectory = trajectory_from_vehicle_odometry(records, name=name)
            unknown = np.full((len(records), 3), np.nan)  # a later block may have it
            if trajectory.position_world is None:
                trajectory = trajectory.replace(position_world=unknown)
            if trajectory.velocity_world is None:
                trajectory = trajectory.replace(velocity_world=unknown)
        self._streams.see(name, trajectory, records)
        return trajectory

    def _add_fields(self, rows: Mapping[Topic, NDArray[np.void]]) -> None:
        """Pass the samples of the first magnetometer to the rows that they belong to."""
        own = [each for each in rows if each.name == _MAGNETOMETER]
        held = _magnetic_field(rows[min(own)]) if own else None
        for topic, join in self._joins.items():
            if held is not None:
                join.add_field(*held, source=_MAGNETOMETER, is_repeated=False)
            elif not own and topic in rows and (again := _repeated_field(rows[topic])) is not None:
                join.add_field(*again, source=topic.name, is_repeated=True)


def belongs_to(topic: Topic, names: frozenset[str] | None) -> bool:
    """Return whether the rows of a topic are in the series of some names; in any for None."""
    if names is None or _name(topic) in names:
        return True
    return topic.name == _MAGNETOMETER and SensorCombined.topic in names


def _magnetic_field(rows: NDArray[np.void]) -> tuple[IntArray, FloatArray] | None:
    """Return the stamps [ns] and vectors [T] of vehicle_magnetometer."""
    if not len(rows) or not _is_number(rows, "magnetometer_ga", "f", (3,)):
        return None
    sampled = _is_number(rows, "timestamp_sample", "iu")
    stamps = rows["timestamp_sample" if sampled else "timestamp"].astype(np.int64) * NS_PER_US
    return stamps, rows["magnetometer_ga"].astype(np.float64) * GAUSS


def _repeated_field(rows: NDArray[np.void]) -> tuple[IntArray, FloatArray] | None:
    """Return the same from a sensor_combined of 2016, whose rows repeat the latest sample."""
    held, age = _magnetic_field(rows), "magnetometer_timestamp_relative"
    if held is None or not _is_number(rows, age, "iu"):
        return None
    age_us = rows[age].astype(np.int64)
    measured = age_us != SensorCombined.RELATIVE_TIMESTAMP_INVALID
    t_ns, first = np.unique((held[0] + age_us * NS_PER_US)[measured], return_index=True)
    return t_ns, held[1][measured][first]


def _name(topic: Topic) -> str:
    """Return the name of a topic in a recording."""
    numbered = (
        topic.multi_id
        or topic.name == "sensor_gps"
        or (topic.name in _KINDS and _KINDS[topic.name].numbered)
    )
    return f"{topic.name}.{topic.multi_id}" if numbered else topic.name


def _is_number(rows: NDArray[np.void], name: str, kinds: str, shape: tuple[int, ...] = ()) -> bool:
    """Return whether rows have a numeric field of one of the kinds."""
    field = rows.dtype[name] if name in (rows.dtype.names or ()) else np.dtype("V1")
    return field.base.kind in kinds and field.shape == shape
