"""Topics of a bag without its data, of which only the first messages of each topic are read.

A ROS 1 bag has an index. A database of a ROS 2 bag has none by topic: SQLite passes over the rows
and leaves out their data.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats._series_from_messages import can_read
from strapdown.formats._topic_sample import ROWS, TopicSample
from strapdown.formats.bag.chunk_index import ChunkIndex, times_of
from strapdown.formats.bag.db3_rows import shortfall
from strapdown.formats.bag.reader import db3_parts, is_ros1, mcap_parts
from strapdown.formats.mcap.index import add_index as add_mcap_index
from strapdown.formats.summary import Source, Summary
from strapdown.messages.cdr import Wire

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["summarize"]

_PACKED: Final = re.compile(rb"compression_mode: *['\"]?\w")
_BATCH: Final = 2**14
"""Rows of a database that are fetched at once."""


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
            _add_database(database, sample)
    return sample.summary("rosbag2", Source.INDEX)


def _add_database(database: sqlite3.Connection, sample: TopicSample) -> None:
    """Add the columns of times and topics of a database, and the first messages of each topic."""
    rows = database.execute("SELECT id, name, type, serialization_format FROM topics")
    topics = {number: (str(name), str(kind), str(code)) for number, name, kind, code in rows}
    missing = {number for number, (_, *form) in topics.items() if can_read(*form)}
    rows = database.execute("SELECT topic_id, timestamp, id FROM messages")
    while batch := rows.fetchmany(_BATCH):
        table = np.array(batch, np.int64)
        for number in np.unique(table[:, 0]).tolist():
            mine = table[table[:, 0] == number]
            sample.add_times(*topics[number], np.sort(mine[:, 1]))
            if number in missing:
                sample.add(*topics[number], _payloads(database, mine[:ROWS, 2].tolist()))
                missing.remove(number)


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
