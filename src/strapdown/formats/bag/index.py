"""Topics of a bag without its data, of which only the first messages of each topic are read.

A ROS 1 bag has an index. A database of a ROS 2 bag has none by topic: its pages are passed over,
without the data in them.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats.bag.chunk_index import ChunkIndex, times_of
from strapdown.formats.bag.db3_columns import message_columns
from strapdown.formats.bag.db3_rows import shortfall
from strapdown.formats.bag.parts import db3_parts, is_ros1, mcap_parts
from strapdown.formats.mcap.index import add_index as add_mcap_index
from strapdown.formats.summary import Source, Summary
from strapdown.formats.topics.kinds import can_read
from strapdown.formats.topics.sample import ROWS, TopicSample
from strapdown.messages.cdr import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from strapdown._typing import IntArray

__all__ = ["summarize"]

_PACKED: Final = re.compile(rb"compression_mode: *['\"]?\w")


def summarize(path: Path) -> Summary | None:
    """Summarise a bag; None where it has no intact index."""
    sample = TopicSample(path)
    if parts := mcap_parts(path):
        whole = all(add_mcap_index(part, sample) for part in parts)
        return sample.summary("mcap", Source.INDEX) if whole else None
    try:
        if path.is_dir() or not is_ros1(path):
            return _of_ros2(path, sample)
        return _of_ros1(path, sample)
    except (FormatError, sqlite3.Error, LookupError, ValueError, TypeError, OverflowError):
        # Reading the file reports it.
        return None


def _of_ros2(path: Path, sample: TopicSample) -> Summary | None:
    databases = db3_parts(path)
    packed = path.is_dir() and _PACKED.search((path / "metadata.yaml").read_bytes())
    if packed or not databases or any(map(shortfall, databases)):
        return None
    for each in databases:
        uri = f"file:{quote(bytes(each))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            _add_database(each, database, sample)
    return sample.summary("rosbag2", Source.INDEX)


def _add_database(path: Path, database: sqlite3.Connection, sample: TopicSample) -> None:
    """Add the times of all messages of a database, and the first messages of each topic.

    Raises
    ------
    FormatError
        The pages hold another number of messages than the last is numbered.
    """
    rows = database.execute("SELECT id, name, type, serialization_format FROM topics")
    topics = {number: (str(name), str(kind), str(code)) for number, name, kind, code in rows}
    missing = {number for number, (_, *form) in topics.items() if can_read(*form)}
    (last,) = database.execute("SELECT max(id) FROM messages").fetchone()
    found = 0
    for table in message_columns(path):
        found += len(table)
        for number, own in _by_topic(table):
            rows, _, times = own.T
            sample.add_times(
                *topics[number], np.sort(times, kind="stable")
            )  # quick where they are in order
            if number in missing:
                sample.add(*topics[number], _payloads(database, rows[:ROWS].tolist()))
                missing.remove(number)
    if found != (last or 0):
        raise FormatError(f"expected {last} messages, got {found}")


def _by_topic(table: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Yield the rows of each topic; often there is only one."""
    topics = table[:, 1]
    if len(topics) and (topics == topics[0]).all():
        yield int(topics[0]), table
        return
    for number in np.unique(topics).tolist():
        yield number, table[topics == number]


def _payloads(database: sqlite3.Connection, numbers: list[int]) -> list[bytes]:
    query = "SELECT data FROM messages WHERE id = ?"
    found = (database.execute(query, (number,)).fetchone()[0] for number in numbers)
    return [data if isinstance(data, bytes) else b"" for data in found]


def _of_ros1(path: Path, sample: TopicSample) -> Summary:
    with path.open("rb") as stream:
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
