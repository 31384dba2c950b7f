"""Topics of a container of messages: the stamps of all messages, and the first as series."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport
from strapdown.formats.summary import Source, Summary, series_of, topic_summaries
from strapdown.formats.topics.collector import Topics
from strapdown.formats.topics.conversion import stamps_of
from strapdown.formats.topics.kinds import can_read, modern
from strapdown.formats.topics.whole import content_of
from strapdown.series.timebase import TimeTally

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from strapdown._typing import IntArray
    from strapdown.messages.cdr import Payload

__all__ = ["ROWS", "TopicSample"]

ROWS: Final = 500
"""Messages of a topic that are decoded where its times are in an index."""
_FROM_INDEX: Final = (
    "counts and times of recording are those of the index; --full reads and verifies the data"
)


class TopicSample(Topics):
    """Collector of the stamps of all messages, and of the series of the first.

    Parameters
    ----------
    path : Path
        The file.

    Attributes
    ----------
    history : dict of str to None
        Steps of processing, in order.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, salvage=True)
        self.history: dict[str, None] = {}
        self._clocks: defaultdict[tuple[str, str], TimeTally] = defaultdict(TimeTally)

    def add_times(self, topic: str, kind: str, encoding: str, t_ns: IntArray) -> None:
        """Add times of messages by the index of a file."""
        if can_read(kind, encoding):
            self._clocks[topic, modern(kind)].add(t_ns)
        else:
            self.skip(topic, len(t_ns))

    def add_stamps(self, topic: str, kind: str, encoding: str, payloads: Sequence[Payload]) -> None:
        """Decode messages in order; the first of a topic are kept, of all others the stamps."""
        self.add(topic, kind, encoding, payloads)
        key = topic, modern(kind)
        kept = self._parts[key]
        stamps = stamps_of(key[1], kept[-1])
        if stamps is not None:
            self._clocks[key].add(stamps)
        self._parts[key] = kept[:1]

    def summary(self, form: str, source: Source, *, lost: tuple[int, int] = (0, 0)) -> Summary:
        """Return the summary of the file; ``lost`` counts its messages and bytes."""
        recording = Recording(self.path, ReadReport(form), *content_of(self))
        counted = sum(clock.samples for clock in self._clocks.values())
        report = ReadReport(
            form,
            messages=counted if source is Source.INDEX else self.messages,
            lost_messages=lost[0] + self.lost,
            lost_bytes=lost[1],
            skipped=self.skipped,
            notes=(_FROM_INDEX,) if source is Source.INDEX else (),
            damage=tuple(self.damage),
        )
        clocks = {name: self._clocks[key] for name, key in self.sources.items()}
        topics = topic_summaries(series_of(recording), clocks)
        return Summary(report, topics, source, tuple(self.history))
