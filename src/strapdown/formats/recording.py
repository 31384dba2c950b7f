"""Recordings: the series of a file by topic, and a report of the reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from strapdown.errors import FormatError, UnknownNameError
from strapdown.formats.reports import ReadReport
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.series import BarometerSeries, GnssSeries, ImuSeries, Increments, Trajectory

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from strapdown._typing import BoolArray, IntArray
    from strapdown.formats.px4.log import Px4Log
    from strapdown.series.columns import Columns

    Held = TypeVar("Held")
    Stamped = TypeVar("Stamped", bound=Columns)

__all__ = ["HOLDS", "Recording", "as_recording", "imu_of", "is_whole", "reference_of"]

REFERENCE_WORDS = ("truth", "reference")
SINCE_BOOT = frozenset({"ulog", "dataflash", "tlog"})
"""Formats whose stamps count from the start of the autopilot."""
HOLDS: Final[
    dict[str, type[ImuSeries | Trajectory | Increments | GnssSeries | BarometerSeries]]
] = {
    "imu": ImuSeries,
    "trajectories": Trajectory,
    "increments": Increments,
    "gnss": GnssSeries,
    "barometers": BarometerSeries,
}
"""Groups of a recording, and the class of the series in them."""


@dataclass(frozen=True)
class Recording:
    """The content of a file.

    Parameters
    ----------
    path : Path
        The file that was read, or is to be written.
    report : ReadReport
        Report of the reading.
    imu : mapping of str to ImuSeries
        By topic name.
    trajectories : mapping of str to Trajectory
        Attitude, pose or reference, by topic name.
    increments : mapping of str to Increments
        By topic name.
    gnss : mapping of str to GnssSeries
        Fixes of receivers, by topic name.
    barometers : mapping of str to BarometerSeries
        By topic name.
    log : Px4Log, optional
        The whole log, where the file is a PX4 log. Not compared.
    clock_offset_ns : int, optional
        Added to the stamps it gives nanoseconds since 1970; None where it is unknown.
    sensor_combined : mapping of str to array of SensorCombined.dtype
        For IMU topics whose rows are mean rates over intervals: the source messages with these
        intervals, row by row. Not compared.
    history : tuple of str
        Processing that the samples have passed, oldest first: calibration, decimation and so on.
        Stored in MCAP, npz, Parquet and CSV files. Not compared.
    unread : tuple of str
        Further IMU topics of the file, which were not read because others were asked for. Not
        compared.
    """

    path: Path = Path()
    report: ReadReport = field(default_factory=lambda: ReadReport("memory"))
    imu: Mapping[str, ImuSeries] = field(default_factory=dict)
    trajectories: Mapping[str, Trajectory] = field(default_factory=dict)
    increments: Mapping[str, Increments] = field(default_factory=dict)
    gnss: Mapping[str, GnssSeries] = field(default_factory=dict)
    barometers: Mapping[str, BarometerSeries] = field(default_factory=dict)
    log: Px4Log | None = field(default=None, compare=False, repr=False)
    clock_offset_ns: int | None = None
    sensor_combined: Mapping[str, NDArray[np.void]] = field(
        default_factory=dict, compare=False, repr=False
    )
    history: tuple[str, ...] = field(default=(), compare=False, repr=False)
    unread: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def knows_1970(self) -> bool:
        """Whether stamps count from 1970 or can be converted to such stamps."""
        return self.clock_offset_ns is not None or self.report.format not in SINCE_BOOT

    def imu_series(self, topic: str | None = None) -> ImuSeries:
        """Return the samples of one IMU.

        Parameters
        ----------
        topic : str, optional
            Its topic; by default the one with the most samples, preferably with both angular
            velocity and specific force. Increments are returned as mean rates, stamped at the
            middle of each interval.

        Returns
        -------
        ImuSeries
            In the frames of the file.

        Raises
        ------
        UnknownNameError
            There is no such topic; the message gives the nearest.
        FormatError
            The file holds no IMU at all.
        """
        name = self.imu_topic(topic)
        if name in self.imu:
            return self.imu[name]
        from strapdown.messages.conversion.px4 import series_from_increments  # noqa: PLC0415 (few need it)

        rates = series_from_increments(self.increments[name])
        return rates.replace(world=WorldFrame.NED) if rates.body == BodyFrame.FRD else rates

    def imu_topic(self, topic: str | None = None) -> str:
        """Return the topic that :meth:`imu_series` uses.

        Parameters
        ----------
        topic : str, optional
            A topic that must exist.

        Raises
        ------
        UnknownNameError
            There is no such topic; the message gives the nearest.
        FormatError
            The file holds no IMU at all.
        """
        sources: dict[str, ImuSeries | Increments] = {**self.imu, **self.increments}
        counts = {name: len(source) for name, source in sources.items()}
        whole = [name for name in sources if topic is None and is_whole(sources[name])]
        return imu_of(counts, whole, topic, self.path)

    def gnss_series(self, topic: str | None = None) -> GnssSeries:
        """Return the fixes of one receiver.

        Parameters
        ----------
        topic : str, optional
            Its topic; by default the one of :meth:`gnss_topic`.

        Returns
        -------
        GnssSeries

        Raises
        ------
        UnknownNameError
            There is no such topic; the message gives the nearest.
        FormatError
            The file holds no fixes at all.
        """
        return self.gnss[self.gnss_topic(topic)]

    def gnss_topic(self, topic: str | None = None) -> str:
        """Return the topic that :meth:`gnss_series` uses: by default the one with the most fixes.

        Parameters
        ----------
        topic : str, optional
            A topic that must exist.

        Raises
        ------
        UnknownNameError
            There is no such topic; the message gives the nearest.
        FormatError
            The file holds no fixes at all.
        """
        fixes = {name: int(series.has_fix.sum()) for name, series in self.gnss.items()}
        return _choose(fixes, topic, "GNSS topic", self.path)

    @property
    def tracks(self) -> dict[str, Trajectory]:
        """Every attitude by topic: the trajectories, and the attitudes that IMUs report."""
        own = {
            topic: Trajectory(
                series.t_ns,
                series.q_world_from_body,
                world=series.world,
                body=series.body,
                name=topic,
            )
            for topic, series in self.imu.items()
            if series.q_world_from_body is not None
        }
        return own | dict(self.trajectories)

    def trajectory(self, topic: str | None = None) -> Trajectory:
        """Return one attitude or pose track.

        Parameters
        ----------
        topic : str, optional
            Its topic; by default the track with the most rows.

        Returns
        -------
        Trajectory
            In the frames of the file.

        Raises
        ------
        UnknownNameError
            There is no such topic; the message gives the nearest.
        FormatError
            The file holds no attitude at all.
        """
        return self.tracks[self.track_topic(topic)]

    def track_topic(self, topic: str | None = None) -> str:
        """Return the topic that :meth:`trajectory` uses, with the same errors."""
        counts = {name: len(track) for name, track in self.tracks.items()}
        return _choose(counts, topic, "attitude topic", self.path)

    def reference_topic(self) -> str | None:
        """Return the attitude topic that an estimate from this recording is compared with.

        The track whose name contains truth or reference; otherwise the one with the most rows;
        None where there is no attitude.
        """
        return reference_of({name: len(track) for name, track in self.tracks.items()})

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """Earliest and latest stamp of all topics [ns]; None without samples."""
        stamps = [
            series.t_ns
            for holds in HOLDS
            for series in getattr(self, holds).values()
            if len(series)
        ]
        if not stamps:
            return None
        return min(int(t.min()) for t in stamps), max(int(t.max()) for t in stamps)

    def between_ns(self, start_ns: int, stop_ns: int) -> Recording:
        """Return the recording with the samples of ``start_ns <= t_ns < stop_ns`` in every topic.

        A topic without such samples is left out. The log of a PX4 recording is not cut.
        """

        def cut(topics: Mapping[str, Stamped]) -> dict[str, Stamped]:
            rows = {
                topic: _inside(series.t_ns, start_ns, stop_ns) for topic, series in topics.items()
            }
            return {
                topic: series[rows[topic]] for topic, series in topics.items() if rows[topic].any()
            }

        combined = {
            topic: rows[_inside(self.imu[topic].t_ns, start_ns, stop_ns)]
            for topic, rows in self.sensor_combined.items()
        }
        groups: dict[str, Any] = {holds: cut(getattr(self, holds)) for holds in HOLDS}
        return replace(self, sensor_combined=combined, **groups)

    def after(self, rows: Mapping[str, int]) -> Recording:
        """Return the recording without so many first rows of its topics."""

        def cut(topics: Mapping[str, Stamped]) -> dict[str, Stamped]:
            return {topic: series[rows.get(topic, 0) :] for topic, series in topics.items()}

        combined = {name: held[rows.get(name, 0) :] for name, held in self.sensor_combined.items()}
        groups: dict[str, Any] = {holds: cut(getattr(self, holds)) for holds in HOLDS}
        return replace(self, sensor_combined=combined, **groups)

    def only(self, topic: str) -> Recording:
        """Return the recording with this topic only.

        Raises
        ------
        UnknownNameError
            There is no such topic; the message gives the nearest.
        """
        groups: dict[str, Any] = {holds: _only(getattr(self, holds), topic) for holds in HOLDS}
        if not any(groups.values()):
            known = {name for holds in HOLDS for name in getattr(self, holds)}
            raise UnknownNameError("topic", topic, known)
        return replace(self, sensor_combined=_only(self.sensor_combined, topic), **groups)

    @property
    def is_empty(self) -> bool:
        """Whether no group has a topic."""
        return not any(getattr(self, holds) for holds in HOLDS)


def _inside(t_ns: IntArray, start_ns: int, stop_ns: int) -> BoolArray:
    return (t_ns >= start_ns) & (t_ns < stop_ns)


def as_recording(
    source: Recording | ImuSeries | Trajectory | Increments | GnssSeries | BarometerSeries,
) -> Recording:
    """Return a recording unchanged, and one series as a recording of one topic.

    Raises
    ------
    TypeError
        The source is neither, or a recording holds something else than series by topic.
    """
    if isinstance(source, ImuSeries):
        return Recording(imu={"imu/data": source})
    if isinstance(source, Trajectory):
        return Recording(trajectories={source.name or "pose": source})
    if isinstance(source, Increments):
        return Recording(increments={"vehicle_imu": source})
    if isinstance(source, GnssSeries):
        return Recording(gnss={"gnss/fix": source})
    if isinstance(source, BarometerSeries):
        return Recording(barometers={"barometer": source})
    if not isinstance(source, Recording):
        raise TypeError(
            "expected a Recording, ImuSeries, Trajectory or Increments to write, got "
            f"{type(source).__name__}; build a series from its columns first, such as "
            "ImuSeries(t_ns, angular_velocity, specific_force)"
        )
    for group, kind in HOLDS.items():
        _check_group(group, getattr(source, group), kind)
    return source


def _check_group(group: str, held: object, kind: type) -> None:
    """Raise TypeError where a group of a recording is no mapping from topic to its series."""
    name = kind.__name__
    if not isinstance(held, Mapping):
        raise TypeError(
            f"expected {group} of a recording by topic, got {type(held).__name__}; pass "
            f'{group}={{"topic": {name}(...)}}'
        )
    for topic, series in held.items():
        if not isinstance(series, kind):
            raise TypeError(
                f"expected {group}[{topic!r}] of a recording as {name}, got "
                f"{type(series).__name__}; convert it to {name} first"
            )


def _only(topics: Mapping[str, Held], topic: str) -> dict[str, Held]:
    return {name: held for name, held in topics.items() if name == topic}


def is_whole(source: ImuSeries | Increments) -> bool:
    """Return whether something of both triads was measured."""
    return isinstance(source, Increments) or all(
        np.isfinite(column).any() for column in (source.angular_velocity, source.specific_force)
    )


def imu_of(counts: Mapping[str, int], whole: Collection[str], topic: str | None, path: Path) -> str:
    """Return the IMU topic to use: by default the longest, preferably one with both triads.

    Parameters
    ----------
    counts : mapping of str to int
        Samples by topic.
    whole : collection of str
        Topics with angular velocity and specific force.
    topic : str, optional
        A topic that must exist.
    path : Path
        The file, for errors.

    Raises
    ------
    UnknownNameError
        There is no such topic.
    FormatError
        There is no topic at all.
    """
    if topic is None and whole:
        counts = {name: count for name, count in counts.items() if name in whole}
    return _choose(counts, topic, "IMU topic", path)


def reference_of(counts: Mapping[str, int]) -> str | None:
    """Return the attitude topic that an estimate is compared with, from the rows of each."""
    named = [name for name in counts if any(word in name.lower() for word in REFERENCE_WORDS)]
    return max(named or counts, key=lambda name: counts[name], default=None)


def _choose(counts: Mapping[str, int], topic: str | None, kind: str, path: Path) -> str:
    """Return the requested topic, or the longest one."""
    if topic is not None and topic not in counts:
        raise UnknownNameError(kind, topic, counts)
    if not counts:
        article = "an" if kind[0] in "aI" else "a"
        raise FormatError(f"expected {article} {kind}, the file holds none", path=path)
    return topic or max(counts, key=lambda name: counts[name])
