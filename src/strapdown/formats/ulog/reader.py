"""Reading of ULog, the log of PX4, to series.

The following topics are read, in every version that the formats in the file describe:

* ``vehicle_imu``, as ``increments["vehicle_imu.0"]``, one for each IMU;
* ``sensor_combined``, as ``imu["sensor_combined"]``: mean rates, stamped at the middle of their
  interval, ``timestamp - gyro_integral_dt / 2``. Specific force that PX4 marks invalid is NaN.
  ``vehicle_magnetometer``, in logs of 2016 part of the same topic, becomes the magnetic field on
  the row that is nearest in time, and NaN on the others;
* ``sensor_gyro`` and ``sensor_accel``, as ``imu["sensor_gyro.0"]``: the output of one driver,
  uncalibrated and in board axes; the other triad is NaN;
* ``sensor_gyro_fifo`` and ``sensor_accel_fifo``, the same sample by sample;
* ``vehicle_attitude``, ``vehicle_attitude_groundtruth`` and ``vehicle_odometry``, as
  trajectories;
* ``vehicle_gps_position`` and ``sensor_gps``, as ``gnss["vehicle_gps_position"]`` and
  ``gnss["sensor_gps.0"]``, in ENU, with the altitude above the ellipsoid;
* ``vehicle_air_data``, as ``barometers["vehicle_air_data"]``.

Frames of the others are those of PX4, NED and FRD. Stamps are those of the autopilot: time since
its start, or in simulation since 1970; ``Recording.clock_offset_ns`` converts them to time since
1970. PX4 often logs ``vehicle_imu`` at 2 Hz only. The report gives the coverage, the sum of the
intervals over the time; a stream below 1 must not be integrated.

The rest of a log is in :mod:`strapdown.formats.px4.log`.

References
----------
PX4 ULog file format, https://docs.px4.io/main/en/dev_log/ulog_file_format.html;
PX4-Autopilot/msg: VehicleImu, SensorCombined, SensorGyroFifo, VehicleAttitude, VehicleOdometry,
VehicleMagnetometer, SensorGps.
"""

from __future__ import annotations

import mmap
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from strapdown.formats._rows import rows_at
from strapdown.formats.px4.log import load, read_report
from strapdown.formats.reports import ReadReport
from strapdown.formats.ulog.metadata import Contents
from strapdown.formats.ulog.records import BLOCK, MAGIC, Records, Topic, load_bytes
from strapdown.formats.ulog.series import LATEST_US, TOPICS, SeriesReader, belongs_to
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from strapdown.formats.recording import Recording
    from strapdown.formats.ulog.message_formats import Value

__all__ = ["UlogBlocks", "blocks", "read", "sniff"]

_CLOCKS: Final = frozenset({"sensor_gps", "vehicle_gps_position"})
_MODERN_US: Final = 10**15
"""Later stamps count from 1970: this is September 2001, or 31 years of uptime."""


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a file begins with the magic bytes of ULog."""
    return head.startswith(MAGIC)


def read(path: Path, *, salvage: bool, only: frozenset[str] | None = None) -> Recording:
    """Read a ULog.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Count damaged records and leave them out, instead of raising an error.
    only : frozenset of str, optional
        The only series to convert, by their names in the recording.

    Returns
    -------
    Recording
        The topics of the module docstring, as far as the file has them, and the log.

    Raises
    ------
    TruncatedError
        The file ends inside a record.
    UnsupportedError
        The flags of the file require an unknown feature.
    FormatError
        The file is not a ULog, or a record is damaged: the offset is that of the record.
    """
    log = load(path, salvage=salvage)
    series = SeriesReader(path, salvage=salvage)
    filled = {Topic(*topic): each.rows for topic, each in log.topics.items() if each.rows}
    wanted = [topic for topic in filled if topic.name in TOPICS and belongs_to(topic, only)]
    recording = series.block({topic: log.rows(*topic) for topic in wanted}, is_last=True)
    clock_ns = _clock_of(log.info, log.start_us)
    if clock_ns is None:
        clocks = (_clock_of_rows(log.rows(*topic)) for topic in filled if topic.name in _CLOCKS)
        clock_ns = next((each for each in clocks if each is not None), None)
    return replace(
        recording,
        report=_with_series(log.report, filled, series),
        log=log,
        clock_offset_ns=clock_ns,
    )


def blocks(path: Path, *, salvage: bool, only: frozenset[str] | None = None) -> UlogBlocks:
    """Read a ULog block by block, as :func:`read`."""
    return UlogBlocks(path, salvage=salvage, only=only)


class UlogBlocks:
    """Block-by-block reader of a ULog, in bounded memory.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Count damaged records and leave them out, instead of raising an error.
    only : frozenset of str, optional
        The only series to convert, by their names in the recording.
    block_bytes : int, optional
        Bytes of the file in one block.

    Raises
    ------
    FormatError
        During iteration, as :func:`read`.
    """

    def __init__(
        self,
        path: Path,
        *,
        salvage: bool,
        only: frozenset[str] | None = None,
        block_bytes: int | None = None,
    ) -> None:
        self._path, self._salvage, self._only = path, salvage, only
        self._block_bytes = block_bytes or BLOCK
        self.report = ReadReport("ulog")
        self.progress = 0.0

    def __iter__(self) -> Iterator[Recording]:
        """Read the file from its beginning; a block holds the topics that have rows in it."""
        data = load_bytes(self._path)
        records = Records(data, path=self._path, salvage=self._salvage)
        contents, series = Contents(data, records), SeriesReader(self._path, salvage=self._salvage)
        clock_ns, begin, is_last = None, 0, False
        for number, chunk in enumerate(records.chunks(self._block_bytes)):
            rows = {
                topic: rows_at(data, offsets, records.formats.dtype(topic.name))
                for topic, offsets in contents.take(chunk).items()
                if topic.name in TOPICS and belongs_to(topic, self._only)
            }
            if not number:
                clock_ns = _clock_of(contents.info, contents.start_us)
                if clock_ns is None:
                    clock_ns = next(self._clocks_ahead(), None)
            self.progress = chunk.stop / len(data)
            is_last = chunk.stop >= len(data)
            block = series.block(rows, is_last=is_last, logged=records.topics)
            del rows
            if not number or not block.is_empty:
                yield replace(block, report=ReadReport("ulog"), clock_offset_ns=clock_ns)
            begin = _forget(data, begin, chunk.stop)
        if not is_last:  # of a file that is cut
            block = series.block({}, is_last=True)
            yield replace(block, report=ReadReport("ulog"), clock_offset_ns=clock_ns)
        read = {topic: seen.rows for topic, seen in contents.seen.items()}
        self.report = _with_series(read_report(records, contents), read, series)

    def _clocks_ahead(self) -> Iterator[int]:
        """Search the file for GNSS receivers with a valid time; yield their clock offsets [ns]."""
        data = load_bytes(self._path)
        records, begin = Records(data, path=self._path, salvage=True), 0
        for chunk in records.chunks():
            for slot, topic in enumerate(records.topics):
                if topic.name in _CLOCKS:
                    offsets = chunk.offsets[chunk.slots == slot]
                    rows = rows_at(data, offsets, records.formats.dtype(topic.name))
                    clock_ns = _clock_of_rows(rows)
                    if clock_ns is not None:
                        yield clock_ns
            begin = _forget(data, begin, chunk.stop)


def _with_series(report: ReadReport, rows: Mapping[Topic, int], series: SeriesReader) -> ReadReport:
    """Complete the report of a log with that of its series."""
    skipped = Counter(report.skipped)
    for topic, count in rows.items():
        if topic.name not in TOPICS:
            skipped[topic.name] += count
    return replace(
        report,
        messages=series.messages,
        lost_messages=series.lost_messages,
        skipped=dict(skipped + series.skipped),
        notes=(*report.notes, *series.notes()),
        coverage=series.coverage,
    )


def _clock_of(info: Mapping[str, Value], start_us: int) -> int | None:
    """Return the offset from stamps to time since 1970 [ns], if the start of a log gives it."""
    boot_us = info.get("boot_time_utc_us")
    if isinstance(boot_us, int) and _MODERN_US <= boot_us <= LATEST_US:
        return boot_us * NS_PER_US
    return 0 if start_us >= _MODERN_US else None


def _clock_of_rows(rows: NDArray[np.void]) -> int | None:
    """Return the same from the first message of a GNSS receiver with a valid time."""
    names = rows.dtype.names or ()
    if "time_utc_usec" not in names or rows.dtype["time_utc_usec"].kind not in "iu":
        return None
    known = rows[(rows["time_utc_usec"] >= _MODERN_US) & (rows["time_utc_usec"] <= LATEST_US)]
    if not len(known):
        return None
    return (int(known["time_utc_usec"][0]) - int(known["timestamp"][0])) * NS_PER_US


def _forget(data: bytes | mmap.mmap, begin: int, stop: int) -> int:
    """Release the pages of a mapped file; return the start of the next block."""
    page = stop - stop % mmap.PAGESIZE
    if isinstance(data, mmap.mmap) and page > begin:
        data.madvise(mmap.MADV_DONTNEED, begin, page - begin)
    return max(page, begin)
