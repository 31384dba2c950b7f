"""Intact bags, read through rosbags."""

from __future__ import annotations

import bz2
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from strapdown.errors import FormatError, TruncatedError
from strapdown.formats._guard import BoundedPath, foreign_reader
from strapdown.formats.bag.batches import Key, decoded
from strapdown.formats.bag.db3_rows import Rows, shortfall
from strapdown.formats.bag.parts import is_ros1
from strapdown.formats.bag.records import unpack
from strapdown.formats.mcap.records import MAX_CHUNK, MAX_RATIO
from strapdown.messages.cdr import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rosbags.interfaces import Connection

    from strapdown.formats.topics.collector import Topics

__all__ = ["Bag", "collected", "opened", "shortage"]


def collected(path: Path, topics: Topics) -> Iterator[float]:
    """Decode all messages of an intact bag, part by part; yield their fraction."""
    with opened(path) as bag:
        if short := shortage(bag):
            raise short
        chosen, expected = [], 0
        with foreign_reader(path, "ROS bag"):
            for connection in bag.reader.connections:
                count = max(int(connection.msgcount), 0)
                message = connection.topic, connection.msgtype, bag.encoding(connection)
                if topics.wants(*message):
                    chosen.append(connection)
                    expected += count
                else:
                    topics.pass_over(*message, count)
        reached = 0
        for count in decoded(topics, bag.messages(chosen) if chosen else ()):
            reached += count
            yield reached / max(reached, expected)
    if reached < expected:
        raise FormatError(f"expected {expected} messages, got {reached}", path=path)


class Bag(NamedTuple):
    """An open bag."""

    path: Path
    reader: Any  # Reader of rosbag1 or rosbag2, or the storage of one database

    def encoding(self, connection: Connection) -> str:
        """Return the serialisation of the messages of a connection."""
        return str(getattr(connection.ext, "serialization_format", Wire.ROS1))

    def messages(self, chosen: list[Connection]) -> Iterator[tuple[Key, bytes]]:
        """Yield the messages of the chosen connections in the order of their times."""
        with foreign_reader(self.path, "ROS bag"):
            for connection, _, data in self.reader.messages(connections=chosen):
                key = connection.topic, connection.msgtype, self.encoding(connection)
                yield key, data if isinstance(data, bytes) else b""


@contextmanager
def opened(path: Path, *, rows: bool = False) -> Iterator[Bag]:
    """Open a bag; a damaged ROS 2 bag by its rows."""
    with foreign_reader(path, "ROS bag"):
        bag = Bag(path, _reader(path, rows=rows))
        bag.reader.open()
        if is_ros1(path):
            chunks = bag.reader.chunks.items()
            bag.reader.chunks = {at: _with_limit(chunk) for at, chunk in chunks}
    try:
        yield bag
    finally:
        with suppress(FormatError), foreign_reader(path, "ROS bag"):
            bag.reader.close()


def _reader(path: Path, *, rows: bool) -> Any:  # noqa: ANN401 (three classes of rosbags, one of ours)
    """Return the reader of a bag, chosen by content; rosbags would choose by ending."""
    if is_ros1(path):
        from rosbags.rosbag1 import Reader  # noqa: PLC0415 (only bags need it)

        return Reader(BoundedPath(path))  # type: ignore[arg-type]
    if path.is_dir():
        from rosbags.rosbag2.reader import DirectoryReader  # noqa: PLC0415 (as above)

        reader: Any = DirectoryReader(path)
        if rows:
            reader.STORAGE_PLUGINS = {"sqlite3": Rows}
        return reader
    if rows:
        return Rows(path)
    from rosbags.rosbag2.storage_sqlite3 import Sqlite3Reader  # noqa: PLC0415 (as above)

    return Sqlite3Reader(Path(quote(str(path))))  # it builds a URI from the path


def _with_limit(chunk: Any) -> Any:  # noqa: ANN401 (a named tuple of rosbags)
    """Limit the decompressed size of a chunk of a ROS 1 bag to that of an MCAP chunk."""
    from lz4.frame import decompress  # noqa: PLC0415 (as above)

    packing = {bz2.decompress: "bz2", decompress: "lz4"}.get(chunk.decompressor)
    if packing is None:
        return chunk

    def limited(packed: bytes) -> bytes:
        data, behind = unpack(packed, packing, most=min(MAX_CHUNK, MAX_RATIO * len(packed)))
        if behind is None:
            raise EOFError(f"a chunk decompresses to more than {len(data)} bytes")
        return data

    return chunk._replace(decompressor=limited)


def shortage(bag: Bag) -> TruncatedError | None:
    """Return an error if a database is cut: SQLite would read zeros inside its last page."""
    files = [part.path for part in bag.reader.storages] if bag.path.is_dir() else [bag.path]
    for file in files:
        if short := shortfall(file):
            what = f"{file.name}: {short}"
            return TruncatedError(what, path=bag.path, offset=file.stat().st_size)
    return None
