"""Contents of a recording without its data: topics, counts, times, frames.

Long files are summarised from their index where the format has one, or from the stamps alone, in
memory that depends on neither the number of columns nor of topics. Short files are read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from strapdown.formats.recording import imu_of, is_whole, reference_of
from strapdown.formats.reports import ReadReport
from strapdown.series import ImuSeries, Increments, Trajectory
from strapdown.series.timebase import TimeTally

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from strapdown.formats._series_headers import Series
    from strapdown.formats.recording import Recording
    from strapdown.series.timebase import TimeReport

__all__ = [
    "Source",
    "Summary",
    "TopicSummary",
    "of_rows",
    "of_stamps",
    "series_of",
    "summary_of",
    "topic_summaries",
]


_IMUS: Final = {ImuSeries.__name__, Increments.__name__}
_OF_STAMPS: Final = "counts and times are those of the stamps; --full reads all columns"


class Source(StrEnum):
    """What a summary was made from."""

    DATA = "data"
    """All samples were read, and all checksums verified."""
    STAMPS = "stamps"
    """The stamps of the samples, and the first samples."""
    INDEX = "index"
    """The index of the file, which has the times of recording, and the first samples."""


@dataclass(frozen=True)
class TopicSummary:
    """One topic of a recording.

    Parameters
    ----------
    topic : str
        Name.
    holds : str
        Class of its series: ImuSeries, Trajectory or Increments.
    clock : TimeReport
        Count, rate and gaps.
    frames : mapping of str to str
        ``body``, and ``world`` where the series has one.
    columns : tuple of str
        Optional columns that are present.
    is_whole : bool
        Whether angular velocity and specific force may both have values: of an IMU, false where
        the samples that were read lack one.
    """

    topic: str
    holds: str
    clock: TimeReport
    frames: Mapping[str, str]
    columns: tuple[str, ...]
    is_whole: bool = True


@dataclass(frozen=True)
class Summary:
    """Topics of a recording, and the report of reading them.

    Parameters
    ----------
    report : ReadReport
        Counts, and damage as far as it was noticed.
    topics : tuple of TopicSummary
        In the order of the recording.
    source : Source
        What the summary was made from.
    history : tuple of str
        Steps of processing, where they are known without the data.
    clock_offset_ns : int, optional
        As of a recording.
    recording : Recording, optional
        Where the file was read as a whole.
    """

    report: ReadReport
    topics: tuple[TopicSummary, ...]
    source: Source
    history: tuple[str, ...] = ()
    clock_offset_ns: int | None = None
    recording: Recording | None = None

    @property
    def imus(self) -> dict[str, TopicSummary]:
        """The topics of IMUs and increments, by name."""
        return {each.topic: each for each in self.topics if each.holds in _IMUS}

    def imu_topic(self, topic: str | None, path: Path, lame: Collection[str] = ()) -> str:
        """Return the topic that :meth:`Recording.imu_topic` chooses, with the same errors.

        ``lame`` are topics that are known to lack a triad.
        """
        counts = {name: each.clock.samples for name, each in self.imus.items()}
        whole = [name for name, each in self.imus.items() if each.is_whole and name not in lame]
        return imu_of(counts, whole, topic, path)

    @property
    def tracks(self) -> dict[str, int]:
        """Rows of every attitude by topic, as :attr:`Recording.tracks`."""
        own = [each for each in self.imus.values() if "q_world_from_body" in each.columns]
        others = [each for each in self.topics if each.holds == Trajectory.__name__]
        return {each.topic: each.clock.samples for each in (*own, *others)}

    def reference_topic(self) -> str | None:
        """Return the topic that :meth:`Recording.reference_topic` chooses."""
        return reference_of(self.tracks)


def summary_of(recording: Recording) -> Summary:
    """Return the summary of a recording that was read as a whole."""
    clocks = {}
    for name, series in series_of(recording):
        clocks[name] = TimeTally()
        clocks[name].add(series.t_ns)
    topics = topic_summaries(series_of(recording), clocks)
    return Summary(
        recording.report,
        topics,
        Source.DATA,
        recording.history,
        recording.clock_offset_ns,
        recording,
    )


def series_of(recording: Recording) -> Iterator[tuple[str, Series]]:
    """Yield topic and series: IMUs, increments, trajectories, fixes, barometers."""
    yield from recording.imu.items()
    yield from recording.increments.items()
    yield from recording.trajectories.items()
    yield from recording.gnss.items()
    yield from recording.barometers.items()


def topic_summaries(
    series: Iterable[tuple[str, Series]],
    clocks: Mapping[str, TimeTally],
) -> tuple[TopicSummary, ...]:
    """Return what is known of each topic: its stamps, and some of its samples as a series."""
    found = []
    for name, each in series:
        frames = {
            frame: str(getattr(each, frame)) for frame in ("body", "world") if hasattr(each, frame)
        }
        found.append(
            TopicSummary(
                topic=name,
                holds=type(each).__name__,
                clock=clocks[name].report(),
                frames=frames,
                columns=tuple(each.optional_columns),
                is_whole=_may_be_whole(each),
            )
        )
    return tuple(found)


def _may_be_whole(series: Series) -> bool:
    """Return whether some samples of a topic do not show that a triad has no values."""
    return not (isinstance(series, ImuSeries) and len(series)) or is_whole(series)


def of_stamps(
    form: str,
    series: Mapping[str, Series],
    clocks: Mapping[str, TimeTally],
    *,
    lost: tuple[int, int] = (0, 0),
    damage: Iterable[str] = (),
) -> Summary:
    """Return the summary of topics of which the stamps were read, and no other column.

    ``lost`` counts messages and bytes.
    """
    rows = sum(clock.samples for clock in clocks.values())
    report = ReadReport(form, rows, *lost, notes=(_OF_STAMPS,), damage=tuple(damage))
    return Summary(report, topic_summaries(series.items(), clocks), Source.STAMPS)


def of_rows(first: Recording, stamps: TimeTally, lost: int) -> Summary:
    """Return the summary of a text file: its first rows, and the stamps of all."""
    clocks = {name: stamps for name, _ in series_of(first)}
    report = replace(
        first.report,
        messages=stamps.samples,
        lost_messages=lost,
        notes=(*first.report.notes, _OF_STAMPS),
    )
    topics = topic_summaries(series_of(first), clocks)
    return Summary(report, topics, Source.STAMPS, first.history)
