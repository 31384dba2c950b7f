"""Topics of a bag from its index; of the data, only the first chunk of each topic is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.errors import FormatError
from strapdown.formats._series_from_messages import can_read
from strapdown.formats._topic_sample import ROWS, TopicSample
from strapdown.formats.bag.chunk_index import ChunkIndex, times_of
from strapdown.formats.bag.reader import mcap_parts
from strapdown.formats.bag.records import MAGIC
from strapdown.formats.mcap.index import add_index as add_mcap_index
from strapdown.formats.summary import Source, Summary
from strapdown.messages.cdr import Wire

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["summarize"]


def summarize(path: Path) -> Summary | None:
    """Summarise a bag; None where it has no intact index."""
    sample = TopicSample(path)
    if parts := mcap_parts(path):
        whole = all(add_mcap_index(part, sample) for part in parts)
        return sample.summary("mcap", Source.INDEX) if whole else None
    if path.is_dir():
        return None
    try:
        return _of_ros1(path, sample)
    except FormatError:  # the pass over the file reports it
        return None


def _of_ros1(path: Path, sample: TopicSample) -> Summary | None:
    with path.open("rb") as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            return None
        index = ChunkIndex(stream)
        missing = {
            number
            for number, connection in index.connections.items()
            if can_read(connection.kind, Wire.ROS1)
        }
        for chunk, entries in index.chunks():
            for number, mine in entries.items():
                sample.add_times(*index.connections[number], Wire.ROS1, times_of(mine))
            for number in missing & entries.keys():
                first = index.messages(chunk, entries[number][:ROWS])
                sample.add(*index.connections[number], Wire.ROS1, first)
            missing -= entries.keys()
    return sample.summary("rosbag1", Source.INDEX)
