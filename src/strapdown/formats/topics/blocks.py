"""Messages of a container as a recording in blocks, with the rows and the report of the whole.

Rows of a topic are passed on in the order of the file. Where there are several topics, or a
magnetometer, blocks end at a common time. What only the whole file determines (stamps that go back
by more than a second, topics or columns that begin later) raises :class:`NeedsWhole`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from strapdown.formats._coverage import Coverage
from strapdown.formats._nearest_rows import (
    MAGNETOMETER_WITHIN_NS,
    NearestRows,
    before,
    left_out,
)
from strapdown.formats._plausible import Tally, suspicions
from strapdown.formats._series_headers import heading
from strapdown.formats._time_cut import END_NS, TimeCut
from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.recording import HOLDS, Recording
from strapdown.formats.reports import ReadReport
from strapdown.formats.topics.collector import (
    INTERVALS,
    REMEDY,
    Content,
    Topics,
    converted,
    joined,
)
from strapdown.formats.topics.description import restore
from strapdown.formats.topics.gnss import TWISTS
from strapdown.formats.topics.magnetometer import is_magnetometer, owners
from strapdown.messages import ros_types
from strapdown.messages.cdr import Batch
from strapdown.messages.covariance import ROS_ABSENT, normal_form
from strapdown.messages.px4 import SensorCombined
from strapdown.series import ImuSeries
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from strapdown.formats._series_headers import Motion, Series
    from strapdown.formats.topics.collector import Part

__all__ = ["Feed", "MessageBlocks", "report_of"]

_FIELD: Final = ros_types.MAGNETIC_FIELD.name
_VECTOR: Final = ros_types.VECTOR3_STAMPED.name
_PATIENCE: Final = 1 << 17
"""Rows after which a topic is not waited for that has no messages yet."""
_MOTION: Final = {"imu", "trajectories", "increments"}


class Feed(Protocol):
    """Messages of a file, in order.

    Attributes
    ----------
    form : str
        Name of the format.
    lost_messages, lost_bytes : int
        Losses so far.
    history : tuple of str
        Steps of processing so far.
    has_checksums : bool
        Whether changed values are found; otherwise the report names implausible ones.
    """

    form: str
    lost_messages: int
    lost_bytes: int
    history: tuple[str, ...]
    has_checksums: bool

    def into(self, topics: Topics) -> Iterator[float]:
        """Decode messages, part by part; yield the fraction of the file that is read."""
        ...


def report_of(feed: Feed, topics: Topics) -> ReadReport:
    """Return the report of a file that was read to its end."""
    return ReadReport(
        feed.form,
        messages=topics.messages,
        lost_messages=feed.lost_messages + topics.lost,
        lost_bytes=feed.lost_bytes,
        skipped=topics.skipped,
        notes=tuple(topics.notes),
        damage=tuple(topics.damage),
        coverage=topics.coverage,
    )


class MessageBlocks:
    """Block-by-block reader of a container of messages, in bounded memory.

    Parameters
    ----------
    path : Path
        The file.
    feed : Feed
        Its messages.
    salvage : bool
        Count what cannot be decoded instead of raising.
    only : frozenset of str, optional
        The only topics to read, with what joins their series.

    Raises
    ------
    NeedsWhole
        During iteration: blocks would differ from the whole.
    FormatError
        As the reader of the format.
    """

    def __init__(
        self, path: Path, feed: Feed, *, salvage: bool, only: frozenset[str] | None = None
    ) -> None:
        self._path, self._feed = path, feed
        self._topics = Topics(path, salvage=salvage, only=only)
        self._report = ReadReport(feed.form)
        self.progress = 0.0

    @property
    def report(self) -> ReadReport:
        """Report of the reading, complete after the last block."""
        return self._report

    def __iter__(self) -> Iterator[Recording]:
        """Read the file from its beginning; a block holds the topics that have rows in it."""
        rows, feed, topics = _Rows(self._topics), self._feed, self._topics
        history: tuple[str, ...] | None = None
        for self.progress in feed.into(topics):
            if (content := rows.take(is_last=False)) is not None:
                history = feed.history if history is None else history
                yield self._block(content, rows)
        if (content := rows.take(is_last=True)) is not None:
            yield self._block(content, rows)
        if history not in {None, feed.history}:
            raise NeedsWhole("the file describes its processing after its first rows")
        rows.account(report_doubts=not feed.has_checksums)
        self._report = report_of(feed, topics)

    def _block(self, content: Content, rows: _Rows) -> Recording:
        """Return the rows of a block as a recording."""
        return Recording(
            self._path,
            ReadReport(self._feed.form),
            *content,
            sensor_combined=rows.combined,
            history=self._feed.history,
        )


@dataclass
class _Stream:
    """A topic with rows."""

    holds: str
    kind: str
    header: dict[str, Any]
    waiting: list[Series] = field(default_factory=list)
    records: list[NDArray[np.void]] = field(default_factory=list)
    covered: Coverage | None = None
    tally: Tally = field(default_factory=Tally)
    rows: int = 0
    last_ns: int | None = None
    passed_ns: int | None = None
    measured: tuple[bool, ...] = ()
    described: Mapping[str, str] | None = None


@dataclass
class _Vectors:
    """A topic of vectors, and its assignment to the rows of a series."""

    column: str
    waiting: list[Batch] = field(default_factory=list)
    nearest: NearestRows | None = None
    count: int = 0
    within_ns: int = 0


class _Rows:
    """Rows of messages that are waiting to be passed on."""

    def __init__(self, topics: Topics) -> None:
        self.combined: dict[str, NDArray[np.void]] = {}
        self._topics = topics
        self._streams: dict[str, _Stream] = {}
        self._vectors: dict[str, _Vectors] = {}
        self._joins: dict[str, str] = {}
        self._owner_notes: list[str] = []
        self._cut: TimeCut | None = None
        self._begun = False

    def take(self, *, is_last: bool) -> Content | None:
        """Return the rows that are complete; None where there are none yet."""
        for (topic, kind), parts in self._topics.taken().items():
            whole = joined(parts)
            if not len(whole):
                continue
            if kind in {_FIELD, _VECTOR, *TWISTS}:
                self._add_vectors(topic, kind, whole)
            else:
                self._add_rows(topic, kind, whole)
        if not is_last and (not self._streams or self._waits()):
            return None
        if not self._begun:
            self._begin()
        cut_ns = END_NS
        if not is_last:
            cut_ns = END_NS if self._cut is None else self._cut.advance()
        content = Content({}, {}, {}, {}, {})
        self.combined = {}
        for name, stream in self._streams.items():
            series = self._ready(name, stream, cut_ns)
            if len(series):
                getattr(content, stream.holds)[name] = series
        empty = not any(len(group) for group in content)
        return None if empty and not is_last else content

    # Arrival

    def _add_rows(self, topic: str, kind: str, messages: Part) -> None:
        holds, series = converted(kind, messages, topic)
        header = heading(holds, series)
        stream = self._streams.get(topic)
        if stream is None:
            if self._begun and (self._vectors or self._cut is None):
                raise NeedsWhole(f"{topic} begins later than others")
            stream = self._streams[topic] = _Stream(holds, kind, header)
        elif (stream.holds, stream.kind) != (holds, kind):
            raise NeedsWhole(f"{topic} has messages of two types")
        elif header != stream.header:
            series = _like(stream.header, series, messages)
        stream.waiting.append(series)
        if kind in INTERVALS and isinstance(messages, np.ndarray):
            ends, lengths = (messages[name].astype(np.int64) for name in INTERVALS[kind])
            stream.covered = stream.covered or Coverage()
            stream.covered.add(ends, lengths)
            if messages.dtype == SensorCombined.dtype:
                stream.records.append(messages)
        if self._begun:
            self._see(topic, series)

    def _add_vectors(self, topic: str, kind: str, batch: Part) -> None:
        if kind in TWISTS or not isinstance(batch, Batch):
            raise NeedsWhole(f"{topic} holds velocities of a receiver")
        if self._begun and topic not in self._vectors:
            raise NeedsWhole(f"{topic} begins later than others")
        column = "magnetic_field" if kind == _FIELD else "velocity_world"
        vectors = self._vectors.setdefault(topic, _Vectors(column))
        if vectors.column != column:
            raise NeedsWhole(f"{topic} has messages of two types")
        vectors.count += len(batch)
        if not self._begun:
            vectors.waiting.append(batch)
        elif vectors.nearest is not None:
            self._join(topic, vectors, batch)

    def _join(self, topic: str, vectors: _Vectors, batch: Batch) -> None:
        assert vectors.nearest is not None  # noqa: S101 (asked before)
        if self._cut is not None:
            self._cut.see(topic, batch.stamps_ns)
        vectors.nearest.add(None, batch.stamps_ns, batch.values[:, :3])

    def _see(self, name: str, series: Series) -> None:
        """Note further rows of a topic."""
        stream = self._streams[name]
        if self._cut is not None:
            self._cut.see(name, series.t_ns)
            if len(self._streams) > 1:
                last = series.t_ns[:1] if stream.last_ns is None else stream.last_ns
                if (np.diff(series.t_ns, prepend=last) < 0).any():
                    raise NeedsWhole(f"stamps of {name} go back, next to other topics")
        if name in self._joins:
            nearest = self._vectors[self._joins[name]].nearest
            assert nearest is not None  # noqa: S101 (of a join)
            nearest.add(series.t_ns, None, None)
        stream.last_ns = int(series.t_ns[-1]) if len(series) else stream.last_ns

    # The first block

    def _waits(self) -> bool:
        """Return whether a topic is expected that has no messages yet."""
        waiting = sum(len(each) for stream in self._streams.values() for each in stream.waiting)
        if self._begun or waiting > _PATIENCE:
            return False
        expected = {topic for topic, _ in self._topics.declared}
        return bool(expected - self._vectors.keys() - self._streams.keys())

    def _begin(self) -> None:
        """Decide which vectors belong to which rows."""
        self._begun = True
        series = {name: _one(stream.waiting) for name, stream in self._streams.items()}
        fields = self._fields()
        imu = {name: each for name, each in series.items() if isinstance(each, ImuSeries)}
        choices, self._owner_notes = owners(imu, fields, self._topics.fields_described())
        for name, names in choices.items():
            known = [each for each in names if each in fields]
            if len(known) > 1:
                raise NeedsWhole(f"{name} may have the samples of {' or '.join(known)}")
            if known:
                self._assign(name, known[0], MAGNETOMETER_WITHIN_NS)
        if len({*self._joins.values()}) < len(self._joins):
            raise NeedsWhole("several topics share their vectors")
        if len(self._streams) > 1 or self._joins:
            self._cut = TimeCut(NS_PER_S if self._joins else 0)
        for topic, vectors in self._vectors.items():
            for batch in vectors.waiting if vectors.nearest is not None else ():
                self._join(topic, vectors, batch)
            vectors.waiting.clear()
        for name, each in series.items():
            self._see(name, each)

    def _fields(self) -> dict[str, Batch]:
        """Return the magnetic fields by topic; assign velocities to their tracks."""
        fields = {}
        for topic, vectors in self._vectors.items():
            track = topic.removesuffix("/velocity")
            stream = self._streams.get(track)
            if vectors.column == "magnetic_field":
                batch = joined(vectors.waiting)
                assert isinstance(batch, Batch)  # noqa: S101 (only such are added)
                fields[topic] = batch
            elif stream is not None and stream.holds == "trajectories" and track != topic:
                self._assign(track, topic, 0)
            elif is_magnetometer(topic):
                raise NeedsWhole(f"the unit of {topic} follows from all of its samples")
        return fields

    def _assign(self, name: str, topic: str, within_ns: int) -> None:
        """Assign vectors to a topic of rows."""
        self._joins[name] = topic
        vectors = self._vectors[topic]
        vectors.nearest, vectors.within_ns = NearestRows(within_ns), within_ns

    # Departure

    def _ready(self, name: str, stream: _Stream, cut_ns: int) -> Series:
        """Return the rows of a topic before a time."""
        series = _one(stream.waiting)
        count = before(series.t_ns, cut_ns)
        stream.waiting = [series[count:]]
        series = series[:count]
        if stream.records:
            records = np.concatenate(stream.records)
            self.combined[name] = records[:count]
            stream.records = [records[count:]]
        if name in self._joins:
            vectors = self._vectors[self._joins[name]]
            assert vectors.nearest is not None  # noqa: S101 (of a join)
            placed = vectors.nearest.placed
            values = vectors.nearest.take(cut_ns)
            if not stream.rows and count and vectors.nearest.placed == placed:
                raise NeedsWhole(f"the first samples of {self._joins[name]} belong to no row")
            series = series.replace(**{vectors.column: values})
        series = self._restored(name, stream, series)
        self._judge(name, stream, series)
        stream.rows += count
        return series

    def _restored(self, name: str, stream: _Stream, series: Series) -> Series:
        """Return rows as the file describes them."""
        description = self._topics.description(stream.holds, name)
        stream.described = description if stream.described is None else stream.described
        if description != stream.described:
            raise NeedsWhole(f"{name} is described after its first rows")
        try:
            return restore(series, description)
        except ValueError as error:
            raise NeedsWhole(f"the description of {name} is damaged") from error

    def _judge(self, name: str, stream: _Stream, series: Series) -> None:
        """Count implausible rows."""
        if stream.holds not in _MOTION or not len(series):
            return
        motion: Motion = series  # type: ignore[assignment]  # of these groups
        if isinstance(series, ImuSeries):
            measured = tuple(
                bool(np.isfinite(each).any())
                for each in (series.angular_velocity, series.specific_force)
            )
            if stream.measured and measured != stream.measured:
                raise NeedsWhole(f"a sensor of {name} begins or ends")
            stream.measured = measured
        found = suspicions(motion, after_ns=stream.passed_ns)
        stream.tally.add(name, found, start=stream.rows)
        stream.passed_ns = int(series.t_ns[-1])

    # The end

    def account(self, *, report_doubts: bool) -> None:
        """Complete the notes and counts of the topics."""
        topics = self._topics
        for name, stream in self._streams.items():
            if stream.covered is not None:
                topics.coverage[name] = stream.covered.share
                topics.notes += stream.covered.shortfall(name, REMEDY)
        self._account_for("velocity_world")
        topics.notes += self._owner_notes
        self._account_for("magnetic_field")
        streams = sorted(self._streams.values(), key=lambda each: list(HOLDS).index(each.holds))
        for stream in streams if report_doubts else ():
            topics.notes += stream.tally.lines()

    def _account_for(self, column: str) -> None:
        """Count the vectors that belong to no row, as :class:`Topics` does."""
        topics = self._topics
        for topic, vectors in self._vectors.items():
            if vectors.column != column:
                continue
            nearest = vectors.nearest
            left = vectors.count - (0 if nearest is None else nearest.placed)
            if nearest is None and topics.only is not None:
                topics.messages -= vectors.count  # of another series
            elif left:
                nowhere = f"{topic}: left out, there is no topic that it belongs to"
                line = left_out(topic, left, vectors.count, vectors.within_ns)
                topics.notes.append(nowhere if nearest is None else line)
                topics.messages -= left
                topics.skip(topic, left)


def _one(parts: list[Series]) -> Series:
    """Return rows of a topic as one series."""
    if len(parts) == 1:
        return parts[0]
    try:
        return type(parts[0]).concatenate(parts)  # type: ignore[arg-type]  # all are of one class
    except (ValueError, TypeError) as error:
        raise NeedsWhole(str(error)) from error


def _like(header: dict[str, Any], series: Series, messages: Part) -> Series:
    """Return rows with the columns of the first block, where their values are known.

    Raises
    ------
    NeedsWhole
        They are not, or another property differs.
    """
    own = heading(header["holds"], series)
    missing = {*header["columns"]} - {*own["columns"]}
    if isinstance(series, ImuSeries) and isinstance(messages, Batch):
        rows = len(series)
        stated = normal_form(messages.values[:, 4:13], ROS_ABSENT).reshape(-1, 3, 3)
        none = normal_form(np.zeros((rows, 9)), ROS_ABSENT).reshape(-1, 3, 3)
        known = {
            "q_world_from_body": np.full((rows, 4), np.nan),
            "orientation_covariance": stated,
            "angular_velocity_covariance": none,
            "specific_force_covariance": none,
        }
        if missing <= known.keys():
            series = series.replace(**{name: known[name] for name in missing})
    if heading(header["holds"], series) != header:
        raise NeedsWhole("columns or frames of a topic change")
    return series
