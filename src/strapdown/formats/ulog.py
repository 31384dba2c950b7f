"""ULog, the log of PX4, read through pyulog.

Read are the topics ``vehicle_imu`` (as ``increments["vehicle_imu.0"]``, one for each IMU),
``sensor_combined`` (as ``imu["sensor_combined"]``) and ``vehicle_attitude`` (as
``trajectories["vehicle_attitude"]``), in every version that the formats in the file describe;
``vehicle_magnetometer``, in logs of 2016 a part of ``sensor_combined``, becomes the magnetic
field on the IMU row that is nearest in time, and NaN on the others. Frames are those of PX4,
NED and FRD.

* ``sensor_combined`` holds mean rates. They are stamped at the middle of their interval,
  ``timestamp - gyro_integral_dt / 2``. Rows whose accelerometer PX4 marks invalid are NaN.
* ``vehicle_imu`` is often logged at 2 Hz only. The notes give its coverage, the sum of the
  intervals over the time; a stream below 1 must not be integrated.
* Stamps are those of the autopilot: time since its start, or in simulation the epoch.

ULog has no checksum. Damage to the framing is found (see :mod:`strapdown.formats._ulog_records`);
a flipped bit in a value cannot be, unless the value becomes implausible, which is noted.

References
----------
PX4 ULog file format, https://docs.px4.io/main/en/dev_log/ulog_file_format.html;
PX4-Autopilot/msg: VehicleImu, SensorCombined, VehicleAttitude, VehicleMagnetometer.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats._guard import foreign_reader
from strapdown.formats._plausible import doubts
from strapdown.formats._rows import MAGNETOMETER_WITHIN_NS, on_nearest_rows, unplaced
from strapdown.formats._ulog_records import MAGIC, select
from strapdown.formats.recording import ReadReport, Recording
from strapdown.geometry import quaternion
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages.conversion import increments_from_vehicle_imu
from strapdown.messages.px4 import VehicleImu
from strapdown.series import ImuSeries, Trajectory
from strapdown.units import GAUSS, NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from strapdown._typing import AnyArray, ByteArray, FloatArray, IntArray
    from strapdown.formats._ulog_records import Selection
    from strapdown.series import Increments

__all__ = ["read", "sniff"]

_TOPICS: Final = ("vehicle_imu", "sensor_combined", "vehicle_attitude", "vehicle_magnetometer")
_OPTIONAL: Final = (
    "accel_device_id",
    "gyro_device_id",
    "delta_angle_clipping",
    "delta_velocity_clipping",
    "accel_calibration_count",
    "gyro_calibration_count",
)
_INVALID: Final = 0x7FFFFFFF
_LATEST_US: Final = (2**63 - 1) // NS_PER_US
_LONGEST_US: Final = 2**32 - 1


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (every format is asked in one way)
    """Tell whether a file begins with the magic bytes of ULog."""
    return head.startswith(MAGIC)


def read(path: Path, *, salvage: bool) -> Recording:
    """Read a ULog.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Whether damaged records are counted and left out, rather than raised.

    Returns
    -------
    Recording
        The topics that the module names, as far as they are there.

    Raises
    ------
    TruncatedError
        The file ends inside a record.
    UnsupportedError
        The file says that it cannot be read without a feature that is unknown.
    FormatError
        This is no ULog, or a record is damaged: the offset is that of the record.
    """
    selection = select(path.read_bytes(), _TOPICS, path=path, salvage=salvage)
    logged, notes = _parse(path, selection)
    topics = [_sound(topic, salvage=salvage) for topic in logged]
    increments = {topic.key: _increments(topic) for topic in topics if topic.name == "vehicle_imu"}
    attitude = {topic.key: _attitude(topic) for topic in topics if topic.name == "vehicle_attitude"}
    imu = {}
    for topic in topics:
        if topic.name == "sensor_combined":
            imu[topic.key], said = _with_magnetometer(_rates(topic), topic, topics)
            notes += said
    for name, series in (increments | imu | attitude).items():
        notes += doubts(name, series)
    notes += [_coverage(name, series) for name, series in increments.items() if len(series)]
    report = ReadReport(
        "ulog",
        messages=sum(map(len, (increments | imu | attitude).values())),
        lost_messages=sum(map(len, logged)) - sum(map(len, topics)),
        lost_bytes=selection.lost_bytes,
        skipped=selection.skipped,
        notes=(*selection.notes, *notes),
    )
    return Recording(path, report, imu, attitude, increments)


@dataclass(frozen=True)
class _Topic:
    """The rows of one instance of a topic, by column; arrays are ``name[0]``, ``name[1]``..."""

    path: Path
    name: str
    multi_id: int
    columns: Mapping[str, AnyArray]

    def __len__(self) -> int:
        return len(self.columns["timestamp"])

    @property
    def key(self) -> str:
        """What the recording calls it."""
        numbered = self.multi_id or self.name == "vehicle_imu"
        return f"{self.name}.{self.multi_id}" if numbered else self.name

    @property
    def t_ns(self) -> IntArray:
        """When the row was sampled; early versions only say when it was published."""
        name = "timestamp_sample" if "timestamp_sample" in self.columns else "timestamp"
        return self.whole(name).astype(np.int64) * NS_PER_US

    def column(self, name: str) -> AnyArray:
        """Return one column."""
        if name not in self.columns:
            raise FormatError(f"expected a field {name}", path=self.path, topic=self.name)
        return self.columns[name]

    def whole(self, name: str) -> AnyArray:
        """Return one column of integers."""
        values = self.column(name)
        if values.dtype.kind not in "iu":
            raise FormatError(
                f"expected whole numbers in {name}, got {values.dtype}",
                path=self.path,
                topic=self.name,
            )
        return values

    def vector(self, name: str, size: int) -> FloatArray:
        """Return a vector of float64."""
        parts = [self.column(f"{name}[{axis}]") for axis in range(size)]
        with np.errstate(invalid="ignore"):  # a signalling NaN
            return np.stack(parts, axis=1, dtype=np.float64)

    def intervals_us(self, name: str) -> FloatArray:
        """Return intervals; logs of 2016 give seconds as float."""
        values = self.column(name)
        with np.errstate(invalid="ignore", over="ignore"):
            us = values.astype(np.float64) * (1e6 if values.dtype.kind == "f" else 1.0)
            return np.rint(us)


def _parse(path: Path, selection: Selection) -> tuple[list[_Topic], list[str]]:
    """Let pyulog decode the records; return the topics, and what it and the log say."""
    from pyulog import ULog  # noqa: PLC0415 (only logs need it)

    talk = io.StringIO()
    with foreign_reader(path, "ULog"), redirect_stdout(talk):
        log = ULog(io.BytesIO(selection.ulog), list(_TOPICS))
        topics = [_Topic(path, data.name, data.multi_id, data.data) for data in log.data_list]
        dropouts_ms = [dropout.duration for dropout in log.dropouts]
    rows = sum(map(len, topics))
    if log.file_corruption or rows != selection.rows:
        raise FormatError(f"expected {selection.rows} rows from pyulog, got {rows}", path=path)
    notes = talk.getvalue().splitlines()
    if dropouts_ms:
        notes.append(f"dropouts: {len(dropouts_ms)}, together {sum(dropouts_ms)} ms")
    return topics, notes


def _sound(topic: _Topic, *, salvage: bool) -> _Topic:
    """Leave out the rows whose time does not fit into 64 bits of nanoseconds."""
    sound = np.ones(len(topic), np.bool_)
    for name in topic.columns.keys() & {"timestamp", "timestamp_sample"}:
        sound &= (topic.columns[name] >= 0) & (topic.columns[name] <= _LATEST_US)
    for name in topic.columns.keys() & {"gyro_integral_dt", "delta_angle_dt", "delta_velocity_dt"}:
        us = topic.intervals_us(name)
        sound &= (us >= 0) & (us <= _LONGEST_US)
    if sound.all():
        return topic
    if not salvage:
        row = int(sound.argmin())
        raise FormatError(
            f"expected stamps below 2^63 ns and intervals below 2^32 us, got others in row {row}",
            path=topic.path,
            topic=topic.name,
        )
    columns = {name: values[sound] for name, values in topic.columns.items()}
    return replace(topic, columns=columns)


def _increments(topic: _Topic) -> Increments:
    """Read vehicle_imu; a field that its version does not have is 0."""
    records = np.zeros(len(topic), VehicleImu.dtype)
    for name in ("delta_angle", "delta_velocity"):
        with np.errstate(over="ignore"):  # a format of double
            records[name] = topic.vector(name, 3)
        records[f"{name}_dt"] = topic.intervals_us(f"{name}_dt")
    records["timestamp_sample"] = topic.t_ns // NS_PER_US
    for name in _OPTIONAL:
        older = "calibration_count" if name.endswith("calibration_count") else name  # v1.12
        logged = name if name in topic.columns else older
        if logged in topic.columns:
            records[name] = topic.whole(logged)
    return increments_from_vehicle_imu(records)


def _rates(topic: _Topic) -> ImuSeries:
    """Read sensor_combined."""
    specific_force = topic.vector("accelerometer_m_s2", 3)
    invalid = topic.column("accelerometer_timestamp_relative") == _INVALID
    specific_force[invalid] = np.nan
    half_ns = topic.intervals_us("gyro_integral_dt").astype(np.int64) * (NS_PER_US // 2)
    return ImuSeries(
        topic.t_ns - half_ns,
        topic.vector("gyro_rad", 3),
        specific_force,
        gyro_clipping=_bits(topic, "gyro_clipping"),
        accel_clipping=_bits(topic, "accelerometer_clipping"),
        body=BodyFrame.FRD,
        world=WorldFrame.NED,
    )


def _bits(topic: _Topic, name: str) -> ByteArray | None:
    return topic.whole(name).astype(np.uint8) if name in topic.columns else None


def _attitude(topic: _Topic) -> Trajectory:
    """Read vehicle_attitude."""
    return Trajectory(
        topic.t_ns,
        quaternion.from_wxyz(topic.vector("q", 4)),
        body=BodyFrame.FRD,
        world=WorldFrame.NED,
        name=topic.key,
    )


def _with_magnetometer(
    imu: ImuSeries, combined: _Topic, topics: list[_Topic]
) -> tuple[ImuSeries, list[str]]:
    """Put each magnetometer sample on the nearest IMU row; say what found no place."""
    source = next((topic for topic in topics if topic.name == "vehicle_magnetometer"), combined)
    if "magnetometer_ga[0]" not in source.columns or not len(imu) or not len(source):
        return imu, []
    t_ns, field = source.t_ns, source.vector("magnetometer_ga", 3) * GAUSS
    if source is combined:  # 2016: every row repeats the latest sample, and says how old it is
        age_us = source.whole("magnetometer_timestamp_relative").astype(np.int64)
        measured = age_us != _INVALID
        t_ns, first = np.unique((t_ns + age_us * NS_PER_US)[measured], return_index=True)
        field = field[measured][first]
    values, placed = on_nearest_rows(imu.t_ns, t_ns, field, within_ns=MAGNETOMETER_WITHIN_NS)
    note = [] if placed.all() else [unplaced(source.key, placed, MAGNETOMETER_WITHIN_NS)]
    return imu.replace(magnetic_field=values), note


def _coverage(name: str, increments: Increments) -> str:
    """Say how much of the time the increments cover."""
    covered_ns = int(increments.delta_angle_dt_ns.sum())
    span_ns = int(increments.t_ns.max() - increments.t_ns.min()) + int(
        increments.delta_angle_dt_ns[0]
    )
    share = covered_ns / span_ns if span_ns else 0.0
    return f"{name}: the intervals cover {share:.1%} of the time"
