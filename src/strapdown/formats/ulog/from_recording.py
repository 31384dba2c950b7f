"""Writing of a recording as a ULog, in the messages of PX4.

==========================================  ================================================
content                                     topics
==========================================  ================================================
Increments                                  ``vehicle_imu``
ImuSeries                                   ``sensor_gyro`` and ``sensor_accel``, one sample a
                                            message; a triad without values is left out
  its attitude                              ``vehicle_attitude``
Trajectory, only attitude                   ``vehicle_attitude``; a truth or reference
                                            ``vehicle_attitude_groundtruth``
Trajectory with position or velocity        ``vehicle_odometry``
GnssSeries                                  ``sensor_gps`` or ``vehicle_gps_position``
BarometerSeries                             ``vehicle_air_data``
==========================================  ================================================

Only these names are used: a series ``sensor_gyro.1`` or ``vehicle_imu.0`` keeps its number, any
other gets the first free one, and the notes list the new names. Axes are FRD and NED, times whole
microseconds, numbers float32. ``sensor_combined`` is left out: its rows are means over intervals
that a series does not hold, and not messages of one sensor.

From a PX4 log are also copied: infos, parameters with their defaults and changes, texts, dropouts
and ``vehicle_imu_status``; its receivers and barometers are left out. Unchanged rows of
``vehicle_imu``, of attitudes and of odometry are those of the log, with their time of publication
and resets; of changed rows these are lost.

References
----------
``msg/*.msg`` of PX4-Autopilot.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._version import __version__
from strapdown.formats._series_headers import Unheld, topics
from strapdown.formats.recording import REFERENCE_WORDS
from strapdown.formats.reports import WriteReport
from strapdown.formats.ulog.aiding_rows import FORMATS, aiding_rows, unheld_aiding
from strapdown.formats.ulog.copying import LogCopy, Part
from strapdown.formats.ulog.writer import LoggedRows, UlogWriter
from strapdown.geometry.frames import BodyFrame
from strapdown.messages._by_column import as_float32, unsigned_from_stamps
from strapdown.messages.conversion import (
    losses,
    vehicle_attitude_from_trajectory,
    vehicle_imu_from_increments,
    vehicle_odometry_from_trajectory,
)
from strapdown.messages.px4 import (
    SensorAccel,
    SensorGyro,
    VehicleAttitude,
    VehicleImu,
    VehicleOdometry,
)
from strapdown.series import BarometerSeries, GnssSeries, ImuSeries, Increments, Trajectory
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from strapdown._typing import ByteArray, FloatArray
    from strapdown.formats._series_headers import Motion
    from strapdown.formats.px4.log import Px4Log
    from strapdown.formats.recording import Recording
    from strapdown.messages.uorb import UorbMessage

__all__ = ["UlogBlockWriter", "ulog_writer", "write"]

_TRUTH: Final = "vehicle_attitude_groundtruth"
_KINDS: Final[dict[str, type[UorbMessage]]] = {
    SensorGyro.topic: SensorGyro,
    SensorAccel.topic: SensorAccel,
    VehicleImu.topic: VehicleImu,
    VehicleAttitude.topic: VehicleAttitude,
    _TRUTH: VehicleAttitude,
    VehicleOdometry.topic: VehicleOdometry,
}
_MEANS: Final = re.compile(r"(^|/)sensor_combined(\.\d+)?$")
_INSTANCES: Final = 2**8


def write(path: Path, recording: Recording, *, force: bool = False) -> WriteReport:
    """Write a recording.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    ValueRangeError
        A stamp is negative, or another number does not fit its field.
    """
    with UlogWriter(path, force=force) as writer:
        blocks = UlogBlockWriter(writer)
        if recording.log is not None:
            blocks.describe(recording.log)
        blocks.write(recording)
        blocks.finish()
    return WriteReport("ulog", blocks.messages, tuple(blocks.lost), tuple(blocks.notes))


@contextmanager
def ulog_writer(path: Path, *, force: bool = False) -> Iterator[UlogBlockWriter]:
    """Open a file that takes a recording block by block.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    """
    with UlogWriter(path, force=force) as writer:
        for topic, kind in _KINDS.items():  # a later block may contain any of them
            writer.declare(kind, topic)
        for topic, form in FORMATS.items():
            writer.declare(form, topic)
        blocks = UlogBlockWriter(writer)
        yield blocks
        blocks.finish()


class UlogBlockWriter:
    """Writer of a recording block by block."""

    def __init__(self, writer: UlogWriter) -> None:
        self._writer = writer
        self._log: LogCopy | None = None
        self._has_begun = False
        self._numbers: dict[tuple[str, tuple[str, ...]], int] = {}
        self._unheld = Unheld()
        self._means: Counter[str] = Counter()

    @property
    def messages(self) -> int:
        """Rows written so far."""
        return self._writer.rows

    @property
    def lost(self) -> list[str]:
        """Samples that the messages of PX4 cannot hold, one line a topic."""
        late = self._writer.late_rows
        lines = [*self._unheld.lost]
        for source, rows in self._means.items():
            lines.append(f"{source}: {rows} rows, which are means over intervals")
        if late:
            lines.append(f"{late} rows whose stamps go back")
        return [*lines, *(self._log.lost if self._log else ())]

    @property
    def notes(self) -> list[str]:
        """Other content that they cannot hold, and topics with new names, one line each."""
        lines = self._unheld.notes
        for (source, names), number in self._numbers.items():
            if source not in (*names, *(f"{name}.{number}" for name in names)):
                written = " and ".join(f"{name}.{number}" for name in names)
                lines.append(f"{source}: written as {written}")
        return lines

    def describe(self, log: Px4Log, *, shift_us: int = 0, topic: str | None = None) -> None:
        """Copy infos, parameters, texts and dropouts of a log; call this before the first block.

        Parameters
        ----------
        log : Px4Log
            The log of the blocks.
        shift_us : int
            Offset that was added to the stamps of the blocks [us].
        topic : str, optional
            The only selected topic; then the others do not count as lost.
        """
        self._log = LogCopy(log, self._writer, shift_us=shift_us, topic=topic)
        self._has_begun = True

    def finish(self) -> None:
        """Write the records of the log after the last block."""
        self._begin()
        if self._log is not None:
            self._log.finish()

    def _begin(self) -> None:
        """Write the name of this program, where no log gives another."""
        if not self._has_begun:
            self._has_begun = True
            self._writer.add_info("sys_name", "strapdown")
            self._writer.add_info("ver_sw", __version__)

    def write(self, block: Recording) -> None:
        """Append the rows of a block.

        Raises
        ------
        ValueRangeError
            A stamp is negative, or another number does not fit its field.
        """
        self._begin()
        found = []
        for _, source, series in topics(block):
            if source in block.sensor_combined or _MEANS.search(source):
                self._means[source] += len(series)
                continue
            if isinstance(series, GnssSeries | BarometerSeries):
                if self._log is None:  # it names what is not carried over
                    topic, records = aiding_rows(source, series)
                    found.append((source, {topic: records} if len(records) else {}))
                    self._unheld.add(source, unheld_aiding(source, series, records))
                continue
            found += [(source, rows) for rows in _messages(source, series) if rows]
            self._unheld.add(source, _unheld(source, series))
        found.sort(key=lambda each: each[0].partition(".")[0] not in each[1])
        parts = [
            (
                source,
                Part(_KINDS.get(topic, topic), self._number(source, tuple(rows)), records, topic),
            )
            for source, rows in found
            for topic, records in rows.items()
        ]
        if self._log is None:
            self._writer.write_many(LoggedRows(*part) for _, part in parts)
        else:
            self._log.write([self._log.restored(*each) for each in parts])

    def _number(self, source: str, names: tuple[str, ...]) -> int:
        """Return the instance of a series in these topics: its number, or a free one."""
        if (source, names) not in self._numbers:
            name, _, own = source.partition(".")
            first = int(own) if name in names and own.isdecimal() else 0
            taken = {
                number for (_, others), number in self._numbers.items() if {*others} & {*names}
            }
            self._numbers[source, names] = next(
                number
                for number in count(first if first < _INSTANCES else 0)
                if number not in taken
            )
        return self._numbers[source, names]


def _messages(source: str, series: Motion) -> Iterator[dict[str, NDArray[np.void]]]:
    """Yield the rows of a series by topic; the topics of one mapping share an instance."""
    if isinstance(series, Increments):
        yield {VehicleImu.topic: vehicle_imu_from_increments(series)}
    elif isinstance(series, Trajectory):
        yield _estimates(source, series)
    else:
        yield _readings(series.in_frames(body=BodyFrame.FRD))
        if series.q_world_from_body is not None:
            yield _estimates(
                "",
                Trajectory(
                    series.t_ns, series.q_world_from_body, body=series.body, world=series.world
                ),
            )


def _estimates(source: str, track: Trajectory) -> dict[str, NDArray[np.void]]:
    if track.position_world is not None or track.velocity_world is not None:
        return {VehicleOdometry.topic: vehicle_odometry_from_trajectory(track)}
    known = track[np.asarray(np.isfinite(track.q_world_from_body).all(axis=1))]
    named = f"{source} {track.name}".lower()
    is_truth = any(word in named for word in REFERENCE_WORDS)
    records = vehicle_attitude_from_trajectory(known)
    return {_TRUTH if is_truth else VehicleAttitude.topic: records} if len(known) else {}


def _readings(series: ImuSeries) -> dict[str, NDArray[np.void]]:
    """Return messages of one sample each, for the triads with values."""
    sensor = series.sensor
    gyro = series.angular_velocity, series.gyro_clipping, sensor.gyro_device_id
    accel = series.specific_force, series.accel_clipping, sensor.accel_device_id
    found = {
        kind.topic: _samples(kind, series, *measured)
        for kind, measured in ((SensorGyro, gyro), (SensorAccel, accel))
    }
    return {topic: records for topic, records in found.items() if len(records)}


def _samples(
    kind: type[UorbMessage],
    series: ImuSeries,
    values: FloatArray,
    clipping: ByteArray | None,
    device_id: int,
) -> NDArray[np.void]:
    measured = ~np.isnan(values).all(axis=1)
    records = np.zeros(len(series), kind.dtype)
    stamps = unsigned_from_stamps(series.t_ns, "t_ns", np.uint64, NS_PER_US)
    records["timestamp"] = records["timestamp_sample"] = stamps
    records["device_id"] = device_id
    for axis, column in zip("xyz", as_float32(values, "readings").T, strict=True):
        records[axis] = column
    records["temperature"] = np.nan
    if clipping is not None:
        records["clip_counter"] = np.unpackbits(
            clipping[:, None], axis=1, count=3, bitorder="little"
        )
    records["samples"] = 1
    return records[measured]


def _unheld(source: str, series: Motion) -> list[str]:
    """Return the names of the fields that the messages cannot hold."""
    if isinstance(series, Increments):
        return list(losses(series, VehicleImu))
    if isinstance(series, Trajectory):
        moves = series.position_world is not None or series.velocity_world is not None
        named = losses(series, VehicleOdometry if moves else VehicleAttitude)
        return [name for name in named if name != "name" or series.name != source]
    held = {"q_world_from_body", "world"}
    unheld = [name for name in losses(series, Increments) if name not in held]
    if np.any(series.t_ns % NS_PER_US):
        unheld.append("t_ns below one microsecond")
    if series.sensor.name:
        unheld.append("sensor.name")
    return unheld
