"""Rows of messages that wait to be passed on in blocks.

Rows of a topic are passed on in the order of the file. Where there are several topics, or a
magnetometer, blocks end at a common time. What only the whole file determines (stamps that go back
by more than a second, topics or columns that begin later) raises :class:`NeedsWhole`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats._series_headers import heading
from strapdown.formats._time_cut import END_NS, TimeCut
from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.recording import HOLDS
from strapdown.formats.topics.content import Content
from strapdown.formats.topics.conversion import converted
from strapdown.formats.topics.decoding import joined
from strapdown.formats.topics.kinds import TWISTS, VECTORS, WITHIN_NS
from strapdown.formats.topics.stream_joins import join
from strapdown.formats.topics.streams import SeriesStream, VectorStream
from strapdown.messages.cdr import Batch
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown.formats._series_headers import Series
    from strapdown.formats.topics.collector import Topics
    from strapdown.formats.topics.decoding import Part

__all__ = ["BlockRows"]

_PATIENCE: Final = 1 << 17
"""Rows after which a topic is not waited for that has no messages yet."""


class BlockRows:
    """Rows of the messages that a collector has received and no block has passed on.

    Parameters
    ----------
    topics : Topics
        The collector, whose messages are taken.

    Attributes
    ----------
    combined : dict of str to array of SensorCombined.dtype
        The messages behind the rows that :meth:`take` returned last, of topics with mean rates.
    """

    def __init__(self, topics: Topics) -> None:
        self.combined: dict[str, NDArray[np.void]] = {}
        self._topics = topics
        self._streams: dict[str, SeriesStream] = {}
        self._vectors: dict[str, VectorStream] = {}
        self._join_notes: list[str] = []
        self._cut: TimeCut | None = None
        self._begun = False

    def take(self, *, is_last: bool) -> Content | None:
        """Return the rows that are complete; None where there are none yet."""
        for (topic, kind), parts in self._topics.taken().items():
            messages = joined(parts)
            if not len(messages):
                continue
            if kind in VECTORS or kind in TWISTS:
                self._add_vectors(topic, kind, messages)
            else:
                self._add_rows(topic, kind, messages)
        if not is_last and (not self._streams or self._waits()):
            return None
        if not self._begun:
            self._begin()
        content = self._before(END_NS if is_last or self._cut is None else self._cut.advance())
        return content if is_last or any(content) else None

    def _before(self, cut_ns: int) -> Content:
        """Return the rows before a time [ns]."""
        content = Content({}, {}, {}, {}, {})
        self.combined = {}
        for name, stream in self._streams.items():
            description = self._topics.description(stream.holds, name)
            series, records = stream.take(cut_ns, description)
            if records is not None:
                self.combined[name] = records
            if len(series):
                content.group(stream.holds)[name] = series
        return content

    # Arrival

    def _add_rows(self, topic: str, kind: str, messages: Part) -> None:
        holds, series = converted(kind, messages, topic)
        if topic not in self._streams:
            if self._begun and (self._vectors or self._cut is None):
                raise NeedsWhole(f"{topic} begins later than others")
            self._streams[topic] = SeriesStream(topic, holds, kind, heading(holds, series))
        stream = self._streams[topic]
        series = stream.add(holds, kind, series, messages)
        if self._begun:
            self._see(stream, series)

    def _add_vectors(self, topic: str, kind: str, batch: Part) -> None:
        if kind in TWISTS or not isinstance(batch, Batch):
            raise NeedsWhole(f"{topic} holds velocities of a receiver")
        if self._begun and topic not in self._vectors:
            raise NeedsWhole(f"{topic} begins later than others")
        vectors = self._vectors.setdefault(topic, VectorStream(topic, kind))
        if vectors.kind != kind:
            raise NeedsWhole(f"{topic} has messages of two types")
        vectors.count += len(batch)
        if not self._begun:
            vectors.waiting.append(batch)
        elif vectors.is_joined:
            self._see_vectors(vectors, batch)

    def _see(self, stream: SeriesStream, series: Series) -> None:
        """Note further rows of a topic."""
        if self._cut is not None:
            self._cut.see(stream.name, series.t_ns)
            if len(self._streams) > 1:
                last = series.t_ns[:1] if stream.last_ns is None else stream.last_ns
                if (np.diff(series.t_ns, prepend=last) < 0).any():
                    raise NeedsWhole(f"stamps of {stream.name} go back, next to other topics")
        if stream.vectors is not None:
            stream.vectors.nearest.add(series.t_ns, None, None)
        stream.last_ns = int(series.t_ns[-1]) if len(series) else stream.last_ns

    def _see_vectors(self, vectors: VectorStream, batch: Batch) -> None:
        """Note further vectors of a topic that joins another."""
        if self._cut is not None:
            self._cut.see(vectors.topic, batch.stamps_ns)
        vectors.nearest.add(None, batch.stamps_ns, batch.values[:, :3])

    # The first block

    def _waits(self) -> bool:
        """Return whether a topic is expected that has no messages yet."""
        if self._begun or sum(stream.waiting for stream in self._streams.values()) > _PATIENCE:
            return False
        expected = {topic for topic, _ in self._topics.declared}
        return bool(expected - self._vectors.keys() - self._streams.keys())

    def _begin(self) -> None:
        """Decide which vectors belong to which rows, and where blocks end."""
        self._begun = True
        self._join_notes = join(self._streams, self._vectors, self._topics.fields_described())
        has_joins = any(vectors.is_joined for vectors in self._vectors.values())
        if len(self._streams) > 1 or has_joins:
            self._cut = TimeCut(NS_PER_S if has_joins else 0)
        for vectors in self._vectors.values():
            for batch in vectors.waiting if vectors.is_joined else ():
                self._see_vectors(vectors, batch)
            vectors.waiting.clear()
        for stream in self._streams.values():
            self._see(stream, stream.series())

    # The end

    def account(self, *, report_doubts: bool) -> None:
        """Complete the notes and counts of the topics."""
        topics = self._topics
        for name, stream in self._streams.items():
            if stream.coverage is not None:
                topics.cover(name, stream.coverage)
        self._account_for("velocity_world")
        topics.notes += self._join_notes
        self._account_for("magnetic_field")
        streams = sorted(self._streams.values(), key=lambda each: list(HOLDS).index(each.holds))
        for stream in streams if report_doubts else ():
            topics.notes += stream.tally.lines()

    def _account_for(self, column: str) -> None:
        """Count the vectors that belong to no row."""
        for topic, vectors in self._vectors.items():
            if vectors.column == column:
                left = vectors.count - vectors.nearest.placed
                within_ns = WITHIN_NS[column] if vectors.is_joined else None
                self._topics.leave_out(topic, left, vectors.count, within_ns)
