"""ROS 1 and ROS 2 bags, read through rosbags; messages are decoded by our own codec.

* ``.bag`` of ROS 1, version 2.0, compressed by bz2 or lz4, or uncompressed;
* the folder of rosbag2 with ``metadata.yaml``, and a ``.db3`` without its folder;
* such a folder with MCAP files is read by :mod:`strapdown.formats.mcap.reader`.

Types and joins are those of :mod:`strapdown.formats.topics`. Bags have no
checksums: a number changed by damage is read unchanged, and the notes name implausible values.

In salvage, a bag that rosbags cannot read to its end is read in the order of the file: all
intact messages before damage, then from the next chunk (ROS 1) or the next page that is whole
(ROS 2). This also reads the bag of a recorder that was killed, which has no index.

References
----------
ROS bag format 2.0, http://wiki.ros.org/Bags/Format/2.0; rosbag2 storage plug-ins.
"""

from __future__ import annotations

import bz2
import re
from bisect import bisect_left
from collections import Counter
from contextlib import contextmanager, suppress
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeAlias
from urllib.parse import quote

import numpy as np

from strapdown.errors import FormatError, TruncatedError
from strapdown.formats._guard import BoundedPath, foreign_reader
from strapdown.formats.bag.chunk_index import ChunkIndex, times_of
from strapdown.formats.bag.db3_rows import MAGIC, Rows, shortfall
from strapdown.formats.bag.records import unpack
from strapdown.formats.bag.scan import BagScan
from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.mcap import reader as mcap_reader
from strapdown.formats.mcap.records import MAX_CHUNK, MAX_RATIO
from strapdown.formats.topics.blocks import MessageBlocks
from strapdown.formats.topics.collector import Topics
from strapdown.formats.topics.kinds import can_read
from strapdown.formats.topics.whole import whole_recording
from strapdown.messages.cdr import Wire

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from rosbags.interfaces import Connection

    from strapdown.formats.bag.chunk_index import Entries
    from strapdown.formats.recording import Recording
    from strapdown.formats.topics.feed import Feed

__all__ = ["blocks", "db3_parts", "is_ros1", "mcap_parts", "read", "sniff"]

_BAG: Final = b"#ROSBAG V"
_ROWS: Final = 16384
"""Messages decoded at once."""
_NEVER_NS: Final = 2**63 - 1

_Key: TypeAlias = tuple[str, str, str]
"""Topic, type and encoding."""


def sniff(head: bytes, path: Path) -> bool:
    """Return whether this is a bag: a file by its first bytes, a folder by the files in it."""
    if path.is_dir():
        return (path / "metadata.yaml").is_file()
    return head.startswith((_BAG, MAGIC))


def read(path: Path, *, salvage: bool, only: frozenset[str] | None = None) -> Recording:
    """Read a bag.

    Parameters
    ----------
    path : Path
        A ``.bag``, a ``.db3``, or the folder of a ROS 2 bag.
    salvage : bool
        Count damage and read the rest, instead of raising an error.
    only : frozenset of str, optional
        The only topics to read, with what joins their series.

    Returns
    -------
    Recording
        By topic.

    Raises
    ------
    TruncatedError
        The file ends early, or a ROS 1 bag has no index.
    ChecksumError
        A chunk of a ROS 1 bag cannot be decompressed.
    UnsupportedError
        A chunk has an unsupported compression or size.
    FormatError
        Other damage. For ROS 1 bags all four carry the offset. In salvage, only where nothing can
        be read.
    """
    if files := mcap_parts(path):
        return mcap_reader.read_parts(path, files, salvage=salvage, only=only)
    feed, topics = _BagFeed(path), Topics(path, salvage=salvage, only=only)
    try:
        if only is None or not _collect_some(path, topics):
            _collect(path, topics)
    except FormatError as error:
        if not salvage:
            _explain(path, error)
        topics = Topics(path, salvage=True, only=only)
        rescue = _rescue_ros1 if feed.form == "rosbag1" else _rescue_ros2
        feed.lost_messages, feed.lost_bytes = rescue(path, topics, error)
    return whole_recording(feed, topics)


def blocks(path: Path, *, salvage: bool, only: frozenset[str] | None = None) -> MessageBlocks:
    """Read a bag block by block, as :func:`read`; a damaged one only as a whole."""
    if files := mcap_parts(path):
        feed: Feed = mcap_reader.McapFeed(files, salvage=salvage)
    else:
        feed = _BagFeed(path)
    return MessageBlocks(path, feed, salvage=salvage, only=only)


class _BagFeed:
    """Messages of an intact bag, as a :class:`Feed`."""

    has_checksums = False
    history: tuple[str, ...] = ()
    lost_messages = lost_bytes = 0

    def __init__(self, path: Path) -> None:
        self.form = "rosbag1" if is_ros1(path) else "rosbag2"
        self._path = path

    def into(self, topics: Topics) -> Iterator[float]:
        """Decode the messages in the order of their times of recording."""
        ordered = _by_index if self.form == "rosbag1" else _collected
        try:
            yield from ordered(self._path, topics)
        except NeedsWhole:
            raise
        except FormatError as error:
            raise NeedsWhole(f"the bag is damaged: {error.message}", path=self._path) from error


def _by_index(path: Path, topics: Topics) -> Iterator[float]:
    """Decode the messages of a ROS 1 bag by its index; yield the fraction of its chunks."""
    with path.open("rb") as stream:
        index = ChunkIndex(stream)
        keys = {
            number: (*connection, str(Wire.ROS1))
            for number, connection in index.connections.items()
            if topics.wants(*connection, Wire.ROS1)
        }
        first = [_first_ns(entries, keys.keys()) for _, entries in index.chunks()]
        later = np.minimum.accumulate([*first, _NEVER_NS][::-1])[::-1].tolist()
        found: list[tuple[int, _Key, bytes]] = []
        for number, (chunk, entries) in enumerate(index.chunks(), 1):
            for connection, mine in sorted(entries.items()):
                if connection not in keys:
                    topics.pass_over(*index.connections[connection], Wire.ROS1, len(mine))
                    continue
                times, messages = times_of(mine).tolist(), index.messages(chunk, mine)
                found += zip(times, [keys[connection]] * len(mine), messages, strict=True)
            found.sort(key=itemgetter(0))
            ready = bisect_left(found, later[number], key=itemgetter(0))
            waiting: dict[_Key, list[bytes]] = {}
            for _, key, data in found[:ready]:
                waiting.setdefault(key, []).append(data)
            _add(topics, waiting)
            del found[:ready]
            yield number / len(first)


def _first_ns(entries: Mapping[int, Entries], wanted: Collection[int]) -> int:
    """Return the time of the first wanted message of a chunk [ns]."""
    times = (int(times_of(each)[0]) for number, each in entries.items() if number in wanted)
    return min(times, default=_NEVER_NS)


def db3_parts(path: Path) -> list[Path]:
    """Return the databases of a ROS 2 bag, in order."""
    return sorted(path.glob("*.db3"), key=_numbered) if path.is_dir() else [path]


def is_ros1(path: Path) -> bool:
    """Return whether a file is a ROS 1 bag."""
    if path.is_dir():
        return False
    with path.open("rb") as file:
        return file.read(len(_BAG)) == _BAG


def mcap_parts(path: Path) -> list[Path]:
    """Return the MCAP files of the folder of a ROS 2 bag, in order."""
    return sorted(path.glob("*.mcap"), key=_numbered) if path.is_dir() else []


def _numbered(path: Path) -> list[str | int]:
    """Return a sort key that orders part 10 after part 9."""
    return [int(text) if text.isdigit() else text for text in re.split(r"(\d+)", path.name)]


# Intact bags


class _Bag(NamedTuple):
    """An open bag."""

    path: Path
    reader: Any  # Reader of rosbag1 or rosbag2, or the storage of one database

    def encoding(self, connection: Connection) -> str:
        """Return the serialisation of the messages of a connection."""
        return str(getattr(connection.ext, "serialization_format", Wire.ROS1))

    def messages(self, chosen: list[Connection]) -> Iterator[tuple[_Key, bytes]]:
        """Yield the messages of the chosen connections in the order of their times."""
        with foreign_reader(self.path, "ROS bag"):
            for connection, _, data in self.reader.messages(connections=chosen):
                key = connection.topic, connection.msgtype, self.encoding(connection)
                yield key, data if isinstance(data, bytes) else b""


@contextmanager
def _opened(path: Path, *, rows: bool = False) -> Iterator[_Bag]:
    """Open a bag; a damaged ROS 2 bag by its rows."""
    with foreign_reader(path, "ROS bag"):
        bag = _Bag(path, _reader(path, rows=rows))
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
    from rosbags.rosbag2.storage_sqlite3 import Sqlite3Reader  # noqa: PLC0415 (as above)

    return (
        Rows(path) if rows else Sqlite3Reader(Path(quote(str(path))))
    )  # it builds a URI from the path


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


def _collect(path: Path, topics: Topics) -> None:
    """Decode all messages of an intact bag."""
    for _ in _collected(path, topics):
        pass


def _collected(path: Path, topics: Topics) -> Iterator[float]:
    """Decode all messages of an intact bag, part by part; yield their fraction."""
    with _opened(path) as bag:
        if short := _shortage(bag):
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
        for count in _decoded(topics, bag.messages(chosen) if chosen else ()):
            reached += count
            yield reached / max(reached, expected)
    if reached < expected:
        raise FormatError(f"expected {expected} messages, got {reached}", path=path)


def _collect_some(path: Path, topics: Topics) -> bool:
    """Decode the wanted topics of a ROS 1 bag by its index; return whether that is possible.

    The library keeps the index of all topics as objects.
    """
    if not is_ros1(path):
        return False
    found: list[tuple[int, _Key, bytes]] = []
    try:
        with path.open("rb") as stream:
            index = ChunkIndex(stream)
            keys = {
                number: (*connection, str(Wire.ROS1))
                for number, connection in index.connections.items()
                if topics.wants(*connection, Wire.ROS1)
            }
            for chunk, entries in index.chunks():
                for number in sorted(keys.keys() & entries.keys()):
                    mine = entries[number]
                    times, messages = times_of(mine).tolist(), index.messages(chunk, mine)
                    found += zip(times, [keys[number]] * len(mine), messages, strict=True)
    except FormatError:  # the pass over the file reports it
        return False
    found.sort(key=itemgetter(0))
    _decode(topics, ((key, data) for _, key, data in found))
    return True


def _decode(topics: Topics, messages: Iterable[tuple[_Key, bytes]]) -> None:
    """Decode messages in batches."""
    for _ in _decoded(topics, messages):
        pass


def _decoded(topics: Topics, messages: Iterable[tuple[_Key, bytes]]) -> Iterator[int]:
    """Decode messages in batches; yield the number of messages in each."""
    waiting: dict[_Key, list[bytes]] = {}
    rest = iter(messages)
    while batch := list(islice(rest, _ROWS)):
        for key, data in batch:
            waiting.setdefault(key, []).append(data)
        _add(topics, waiting)
        yield len(batch)


def _add(topics: Topics, waiting: dict[_Key, list[bytes]]) -> None:
    for key, payloads in waiting.items():
        topics.add(*key, payloads)
    waiting.clear()


# Damaged bags


def _explain(path: Path, error: FormatError) -> NoReturn:
    """Raise the error with its offset and a hint at the result of salvage."""
    if error.topic is not None:
        raise error
    if is_ros1(path):
        scan = BagScan(path, salvage=False, wanted=lambda _, kind: can_read(kind, Wire.ROS1))
        for _ in scan.messages():
            pass
        gives = f"{scan.whole} messages"
    else:
        with _opened(path, rows=True) as bag:  # raises where the metadata are invalid
            error = _shortage(bag) or error
        gives = "the rows of intact pages"
    what = f'{error.message}; on_error="salvage" gives {gives}'
    raise type(error)(what, path=path, offset=error.offset) from error


def _shortage(bag: _Bag) -> TruncatedError | None:
    """Return an error if a database is cut: SQLite would read zeros inside its last page."""
    files = [part.path for part in bag.reader.storages] if bag.path.is_dir() else [bag.path]
    for file in files:
        if short := shortfall(file):
            what = f"{file.name}: {short}"
            return TruncatedError(what, path=bag.path, offset=file.stat().st_size)
    return None


def _rescue_ros1(path: Path, topics: Topics, error: FormatError) -> tuple[int, int]:
    """Decode the messages of a forward pass; return the numbers of lost messages and bytes."""
    scan = BagScan(
        path, salvage=True, wanted=lambda topic, kind: topics.wants(topic, kind, Wire.ROS1)
    )
    _decode(topics, (((*connection, Wire.ROS1), data) for connection, data in scan.messages()))
    for (topic, kind), count in scan.skipped.items():
        topics.pass_over(topic, kind, Wire.ROS1, count)
    topics.damage += scan.damage or [error.message]
    return scan.lost_messages, scan.lost_bytes


def _rescue_ros2(path: Path, topics: Topics, error: FormatError) -> tuple[int, int]:
    """Decode the rows of intact pages; return the number of lost ones, and zero bytes."""
    expected: Counter[str] = Counter()
    found: Counter[str] = Counter()
    damage = []
    with _opened(path, rows=True) as bag:
        for connection in bag.reader.connections:
            expected[connection.topic] += int(connection.msgcount)
        parts = _parts(bag)
        packed = path.is_dir() and bag.reader.metadata.compression_mode == "message"
        for rows in parts:
            messages = rows.messages(topics.wants)
            _decode(topics, ((key, _unpacked(data) if packed else data) for key, data in messages))
            damage += rows.damage
            for topic, count in rows.found.items():
                found[topic.name] += count
                if not topics.wants(*topic):
                    topics.pass_over(*topic, count)
    if not any(rows.topics for rows in parts):
        raise error
    topics.damage += damage or [error.message]
    between = sum(rows.lost for rows in parts)
    return max((expected - found).total(), between), 0


def _parts(bag: _Bag) -> list[Rows]:
    """Return the databases of a ROS 2 bag that was opened by its rows."""
    return list(getattr(bag.reader, "storages", [bag.reader]))


def _unpacked(data: bytes) -> bytes:
    """Return a separately compressed message; nothing where it is broken or too large."""
    import zstandard  # noqa: PLC0415 (only packed files need it)

    with suppress(zstandard.ZstdError):
        size = zstandard.frame_content_size(data)
        if 0 <= size <= min(MAX_CHUNK, MAX_RATIO * len(data)):
            return zstandard.ZstdDecompressor().decompress(data)
    return b""
