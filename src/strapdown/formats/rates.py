"""Conversion of recordings so that every IMU is a series of rates, as ROS and tables need.

Increments become mean rates over their intervals, stamped at the middle like those of
``sensor_combined``. Optionally an attitude is joined to them, stamps are counted from 1970, and
noise densities give covariances. Long recordings are converted block by block.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar, get_args

import numpy as np

from strapdown._html import FieldsAsHtml
from strapdown.errors import UnknownNameError
from strapdown.formats._coverage import Coverage
from strapdown.formats.recording import REFERENCE_WORDS, Recording
from strapdown.formats.ulog.notes import uncalibrated
from strapdown.formats.ulog.source_log import SourceLog, latest
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages.conversion import (
    fifo_delays_ns,
    join_attitude,
    series_from_increments,
    white_noise_covariance,
)
from strapdown.messages.conversion.px4 import Stamp
from strapdown.messages.px4 import VehicleAttitude
from strapdown.series import ImuSeries, Increments, Trajectory
from strapdown.units import NS_PER_S, NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from strapdown._typing import IntArray
    from strapdown.series.columns import Columns

    Held = TypeVar("Held", bound=Columns)
    Entry = TypeVar("Entry")

__all__ = ["AUTO", "SINCE_BOOT", "RateOptions", "RateReport", "RateStream"]

AUTO: Final = "auto"
"""Selects the attitude that the vehicle itself estimated."""
SINCE_BOOT: Final = "stamps count from the start of the autopilot; the log has no other clock"
_PATIENCE_NS: Final = 2 * NS_PER_S
"""Rows later than the last attitude by more than this are passed on without one."""
_KEPT: Final = 64
"""Attitudes kept before the first waiting row, from which their period is computed."""
_REMEDY: Final = "windows are missing, or it was not logged or sent at its full rate"


@dataclass(frozen=True)
class RateOptions:
    """Options for increments, mean rates with known intervals, attitude and stamps.

    Parameters
    ----------
    rates : bool
        Convert increments to rates. Means are rates already.
    stamp : {"middle", "end"}
        Time of the interval that stamps its rate.
    fifo_delay : bool
        Subtract the half packet by which a gyroscope with a FIFO is stamped late, computed from
        ``vehicle_imu_status`` of a PX4 log.
    attitude : str, optional
        Trajectory whose attitude is joined to every IMU that has none; ``"auto"`` for the longest
        that is neither truth nor reference.
    gyro_noise_density, accel_noise_density : float, optional
        White noise, for covariances [rad/s/sqrt(Hz), m/s^2/sqrt(Hz)].
    epoch : bool
        Count stamps from 1970 where the recording has a ``clock_offset_ns``.
    """

    rates: bool = True
    stamp: Stamp = "middle"
    fifo_delay: bool = False
    attitude: str | None = None
    gyro_noise_density: float | None = None
    accel_noise_density: float | None = None
    epoch: bool = True


@dataclass
class RateReport(FieldsAsHtml):
    """Report of the conversion, by topic.

    Parameters
    ----------
    rows, clipped, joined : dict of str to int
        Rows of an IMU; those with a saturated axis, and those with a joined attitude.
    early : dict of str to int
        Rows left out because their interval would begin before the zero of the clock.
    coverage : dict of str to Coverage
        Of the intervals of mean rates.
    delayed : dict of str to bool
        Whether the delay of a FIFO is known, where it was requested.
    shifted_ns : int, optional
        Offset that was added to every stamp [ns].
    since_boot : bool
        Stamps should count from 1970, but the log does not contain the offset of its clock.
    """

    rows: dict[str, int] = field(default_factory=dict)
    clipped: dict[str, int] = field(default_factory=dict)
    joined: dict[str, int] = field(default_factory=dict)
    early: dict[str, int] = field(default_factory=dict)
    coverage: dict[str, Coverage] = field(default_factory=dict)
    delayed: dict[str, bool] = field(default_factory=dict)
    shifted_ns: int | None = None
    since_boot: bool = False

    @property
    def lost(self) -> list[str]:
        """Rows that were left out, one line a topic."""
        return [
            f"{name}: {count} rows whose interval would begin before the clock"
            for name, count in self.early.items()
        ]

    def lines(self, topic: str | None = None) -> list[str]:
        """Return notes for the user, one line each, of one topic or of all."""

        def of(entries: Mapping[str, Entry]) -> Iterator[tuple[str, Entry]]:
            return ((name, entry) for name, entry in entries.items() if topic in {None, name})

        lines = []
        if means := [name for name, _ in of(self.coverage)]:
            lines.append(
                f"{', '.join(means)}: mean rates over intervals; that of the accelerometer may "
                "end up to half a sample earlier or later"
            )
        for name, coverage in of(self.coverage):
            lines += coverage.shortfall(name, _REMEDY)
        lines += [
            f"{name}: {count} of {self.rows[name]} rows are saturated, kept unchanged"
            for name, count in of(self.clipped)
            if count
        ]
        lines += [
            f"{name}: {count} of {self.rows[name]} rows have the joined attitude"
            for name, count in of(self.joined)
        ]
        lines += [
            f"{name}: no delay is subtracted, the recording has no vehicle_imu_status of it"
            for name, known in of(self.delayed)
            if not known
        ]
        lines += uncalibrated(name for name, _ in of(self.rows))
        if self.since_boot:
            lines.append(SINCE_BOOT)
        return lines


class RateStream:
    """Converter of a recording, at once or block by block.

    Parameters
    ----------
    options : RateOptions
        Options of the conversion.

    Raises
    ------
    UnknownNameError
        There is no such stamp.

    Attributes
    ----------
    report : RateReport
        Complete after :meth:`finish`.

    Examples
    --------
    >>> import numpy as np
    >>> still = np.zeros((3, 3))
    >>> dt_ns = np.full(3, 5_000_000)
    >>> flight = Increments(np.arange(1, 4) * 5_000_000, still, still, dt_ns, dt_ns)
    >>> stream = RateStream(RateOptions())
    >>> rates = stream.convert(Recording(increments={"vehicle_imu.0": flight}))
    >>> rates.imu["vehicle_imu.0"].t_ns.tolist()
    [2500000, 7500000, 12500000]
    """

    def __init__(self, options: RateOptions) -> None:
        if options.stamp not in get_args(Stamp):
            raise UnknownNameError("stamp", options.stamp, get_args(Stamp))
        self.options = options
        self.report = RateReport()
        self._attitude: Trajectory | None = None
        self._resets: tuple[IntArray, IntArray] | None = None
        self._delays: dict[str, tuple[IntArray, IntArray]] = {}
        self._log = SourceLog()
        self._topic: str | None = None
        self._tracks: dict[str, None] = {}
        self._held: dict[str, ImuSeries] = {}

    def convert(self, block: Recording) -> Recording:
        """Convert a block; rows whose attitude is not yet available wait for the next.

        Raises
        ------
        ValueRangeError
            A noise density is negative or not finite.
        """
        imu = dict(block.imu)
        for topic in filter(imu.__contains__, block.sensor_combined):
            imu[topic] = self._means(topic, imu[topic], block)
        increments = dict(block.increments)
        if self.options.rates:
            imu |= {topic: self._rates(topic, each, block) for topic, each in increments.items()}
            increments = {}
        for topic, series in imu.items():
            imu[topic] = self._after_start(topic, series, block)
            self._count(topic, imu[topic])
        if self.options.attitude is not None:
            self._take_attitude(block)
            imu = self._join(imu)
        if self.options.epoch:
            self.report.shifted_ns = block.clock_offset_ns
            self.report.since_boot = not block.knows_1970
        return replace(
            block,
            clock_offset_ns=0 if self.report.shifted_ns is not None else block.clock_offset_ns,
            log=None if self.report.shifted_ns else block.log,  # its stamps would differ
            imu=self._shifted(imu),
            trajectories=self._shifted(block.trajectories),
            increments=self._shifted(increments),
            gnss=self._shifted(block.gnss),
            barometers=self._shifted(block.barometers),
            sensor_combined={},
        )

    def finish(self) -> Recording:
        """Return the remaining rows.

        Raises
        ------
        UnknownNameError
            No block had the trajectory that ``attitude`` names.
        """
        wanted = self.options.attitude
        if wanted not in {None, AUTO, self._topic}:
            raise UnknownNameError("attitude topic", str(wanted), self._tracks)
        return Recording(imu=self._shifted(self._join({}, last=True)))

    def _rates(self, topic: str, increments: Increments, block: Recording) -> ImuSeries:
        """Return mean rates; a PX4 vehicle moves in NED."""
        coverage = self.report.coverage.setdefault(topic, Coverage())
        coverage.add(increments.t_ns, increments.delta_angle_dt_ns)
        series = series_from_increments(
            increments,
            stamp=self.options.stamp,
            fifo_delay_ns=self._delay_ns(topic, increments.t_ns, block),
            gyro_noise_density=self.options.gyro_noise_density,
            accel_noise_density=self.options.accel_noise_density,
        )
        return series.replace(world=WorldFrame.NED) if series.body == BodyFrame.FRD else series

    def _means(self, topic: str, series: ImuSeries, block: Recording) -> ImuSeries:
        """Return mean rates with the stamps that the options select."""
        options, records = self.options, block.sensor_combined[topic]
        gyro_dt_ns, accel_dt_ns = (
            records[f"{sensor}_integral_dt"].astype(np.int64) * NS_PER_US
            for sensor in ("gyro", "accelerometer")
        )
        half_ns = gyro_dt_ns // 2
        ends_ns = series.t_ns + half_ns
        self.report.coverage.setdefault(topic, Coverage()).add(ends_ns, gyro_dt_ns)
        delay_ns = self._delay_ns(topic, ends_ns, block)
        series = series.replace(
            t_ns=ends_ns - delay_ns - (half_ns if options.stamp == "middle" else 0)
        )
        if (gyro := options.gyro_noise_density) is not None:
            covariance = white_noise_covariance(gyro, gyro_dt_ns)
            series = series.replace(angular_velocity_covariance=covariance)
        if (accel := options.accel_noise_density) is not None:
            covariance = white_noise_covariance(accel, accel_dt_ns)
            series = series.replace(specific_force_covariance=covariance)
        return series

    def _after_start(self, topic: str, series: ImuSeries, block: Recording) -> ImuSeries:
        """Leave out means over intervals that would begin before the zero of the clock."""
        offset_ns = (block.clock_offset_ns or 0) if self.options.epoch else 0
        early = series.t_ns < -offset_ns
        if topic not in self.report.coverage or not early.any():
            return series
        self.report.early[topic] = self.report.early.get(topic, 0) + int(np.count_nonzero(early))
        return series[~early]

    def _delay_ns(self, topic: str, t_ns: IntArray, block: Recording) -> int | IntArray:
        """Return the delay of each row, from the latest status before it."""
        if not self.options.fifo_delay:
            return 0
        if topic not in self._delays:
            records = self._log.status(block, topic)
            stamps = records["timestamp"].astype(np.int64) * NS_PER_US
            self._delays[topic] = stamps, fifo_delays_ns(records)
            self.report.delayed[topic] = len(stamps) > 0
        stamps, delays = self._delays[topic]
        return delays[latest(stamps, t_ns)] if len(stamps) else 0

    def _take_attitude(self, block: Recording) -> None:
        """Add the attitudes of a block to those in use."""
        self._tracks.update(dict.fromkeys(block.trajectories))
        if self._topic is None:
            self._topic = _choose(str(self.options.attitude), block.trajectories)
        track = block.trajectories.get(self._topic or "")
        if track is None or not len(track):
            return
        track = Trajectory(track.t_ns, track.q_world_from_body, world=track.world, body=track.body)
        known = [track] if self._attitude is None else [self._attitude, track]
        self._attitude = Trajectory.concatenate(known)
        if self._resets is None:
            records = self._log.records(block, VehicleAttitude, str(self._topic))
            stamps = records["timestamp_sample"].astype(np.int64) * NS_PER_US
            self._resets = stamps, records["quat_reset_counter"].astype(np.int64)

    def _join(self, imu: Mapping[str, ImuSeries], *, last: bool = False) -> dict[str, ImuSeries]:
        """Return the rows whose attitude is known or cannot arrive any more; keep the others."""
        waiting = {topic: [series] for topic, series in self._held.items()}
        for topic, series in imu.items():
            waiting.setdefault(topic, []).append(series)
        self._held.clear()
        done = {}
        for topic, parts in waiting.items():
            series = ImuSeries.concatenate(parts)
            if series.q_world_from_body is None:
                ready = series.t_ns <= self._until_ns(series, last=last)
                series, self._held[topic] = series[ready], series[~ready]
                series = self._with_attitude(topic, series)
            done[topic] = series
        self._forget()
        return {topic: series for topic, series in done.items() if len(series)}

    def _until_ns(self, series: ImuSeries, *, last: bool) -> int:
        newest = int(series.t_ns.max()) if len(series) else 0
        if last:
            return newest
        late = newest - _PATIENCE_NS
        return late if self._attitude is None else max(late, int(self._attitude.t_ns.max()))

    def _with_attitude(self, topic: str, series: ImuSeries) -> ImuSeries:
        joined = np.zeros(len(series), np.bool_)
        if self._attitude is not None:
            series, joined = join_attitude(series, self._attitude, self._counts())
        if series.q_world_from_body is None:  # every block has the same columns
            series = series.replace(q_world_from_body=np.full((len(series), 4), np.nan))
        joins = self.report.joined
        joins[topic] = joins.get(topic, 0) + int(joined.sum())
        return series

    def _counts(self) -> IntArray | None:
        """Return the count of resets at each attitude, where the log contains it."""
        if self._attitude is None or self._resets is None or not len(self._resets[0]):
            return None
        return self._resets[1][latest(self._resets[0], self._attitude.t_ns)]

    def _forget(self) -> None:
        """Drop attitudes that no later row needs."""
        if self._attitude is not None:
            begins = [series.t_ns.min() for series in self._held.values() if len(series)]
            needed = min(begins, default=self._attitude.t_ns.max())
            first = int(np.searchsorted(self._attitude.t_ns, needed)) - _KEPT
            self._attitude = self._attitude[max(first, 0) :]

    def _count(self, topic: str, series: ImuSeries) -> None:
        rows, clipped = self.report.rows, self.report.clipped
        rows[topic] = rows.get(topic, 0) + len(series)
        bits = [each for each in (series.gyro_clipping, series.accel_clipping) if each is not None]
        count = int(np.count_nonzero(np.bitwise_or.reduce(bits))) if bits else 0
        clipped[topic] = clipped.get(topic, 0) + count

    def _shifted(self, group: Mapping[str, Held]) -> dict[str, Held]:
        shift_ns = self.report.shifted_ns or 0
        return {
            topic: series.replace(t_ns=series.t_ns + shift_ns) if shift_ns else series
            for topic, series in group.items()
        }


def _choose(wanted: str, tracks: Mapping[str, Trajectory]) -> str | None:
    """Return the name of the wanted trajectory of this block, if any."""
    if wanted != AUTO:
        return wanted if wanted in tracks else None
    own = [name for name in tracks if not any(word in name.lower() for word in REFERENCE_WORDS)]
    return max(own, key=lambda name: len(tracks[name]), default=None)
