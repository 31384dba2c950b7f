"""ROS 1 bags and ROS 2 bags, through rosbags; the messages through our own codec.

* ``.bag`` of ROS 1, version 2.0, packed by bz2, lz4 or not at all;
* the folder of rosbag2 with ``metadata.yaml``, and a ``.db3`` without its folder;
* such a folder with MCAP files goes to :mod:`strapdown.formats.mcap_reader`.

Types and joins are those of :mod:`strapdown.formats._topics`. Bags have no checksums: what
damage makes of a number is read as it stands, and the notes name what is not plausible. A bag
whose recorder was killed has no index, and rosbags cannot read it.

References
----------
ROS bag format 2.0, http://wiki.ros.org/Bags/Format/2.0; rosbag2 storage plug-ins.
"""

from __future__ import annotations

import bz2
import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from strapdown.errors import FormatError, TruncatedError
from strapdown.formats import mcap_reader
from strapdown.formats._guard import foreign_reader
from strapdown.formats._mcap_records import MAX_CHUNK, MAX_RATIO
from strapdown.formats._plausible import doubts
from strapdown.formats._topics import Topics, can_read
from strapdown.formats.recording import ReadReport, Recording
from strapdown.messages.cdr import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rosbags.interfaces import Connection

__all__ = ["read", "sniff"]

_BAG: Final = b"#ROSBAG V"
_SQLITE: Final = b"SQLite format 3\0"
_NO_INDEX: Final = b"index_pos=" + bytes(8)
_ROWS: Final = 16384
"""Messages that are decoded at once."""


def sniff(head: bytes, path: Path) -> bool:
    """Tell whether this is a bag: a file by its first bytes, a folder by what lies in it."""
    if path.is_dir():
        return (path / "metadata.yaml").is_file()
    return head.startswith((_BAG, _SQLITE))


def read(path: Path, *, salvage: bool) -> Recording:
    """Read a bag.

    Parameters
    ----------
    path : Path
        A ``.bag``, a ``.db3``, or the folder of a ROS 2 bag.
    salvage : bool
        Count damage and read what comes before it, instead of raising.

    Returns
    -------
    Recording
        By topic.

    Raises
    ------
    TruncatedError
        A ROS 1 bag without its index. Also in salvage.
    FormatError
        The bag is damaged. In salvage, only where nothing can be read.
    """
    if path.is_dir() and (files := sorted(path.glob("*.mcap"), key=_numbered)):
        return mcap_reader.read_parts(path, files, salvage=salvage)
    topics = Topics(path, salvage=salvage)
    with _opened(path) as bag:
        lost = _collect(bag, topics)
    content = topics.content()
    for group in content:
        for topic, series in group.items():
            topics.notes += doubts(topic, series)
    report = ReadReport(
        bag.name,
        messages=topics.messages,
        lost_messages=lost + topics.lost,
        skipped=topics.skipped,
        notes=tuple(topics.notes),
        damage=tuple(topics.damage),
    )
    return Recording(path, report, *content)


class _Bag(NamedTuple):
    """An open bag."""

    path: Path
    name: str
    reader: Any  # Reader of rosbag1 or rosbag2, or the storage of one database

    def encoding(self, connection: Connection) -> str:
        """Return how the messages of a connection are serialised."""
        return str(getattr(connection.ext, "serialization_format", Wire.ROS1))

    def messages(self, chosen: list[Connection]) -> Iterator[tuple[Connection, bytes]]:
        """Yield the messages of some connections in the order of their times."""
        with foreign_reader(self.path, self.name):
            for connection, _, data in self.reader.messages(connections=chosen):
                yield connection, data if isinstance(data, bytes) else b""


@contextmanager
def _opened(path: Path) -> Iterator[_Bag]:
    """Open a bag; rosbags chooses by ending, we by content."""
    with foreign_reader(path, "ROS bag"):
        bag = _bag(path)
        bag.reader.open()
        if bag.name == "rosbag1":
            chunks = bag.reader.chunks.items()
            bag.reader.chunks = {at: _with_limit(chunk) for at, chunk in chunks}
    try:
        yield bag
    finally:
        with suppress(FormatError), foreign_reader(path, bag.name):
            bag.reader.close()


def _bag(path: Path) -> _Bag:
    if path.is_dir():
        from rosbags.rosbag2 import Reader as Reader2  # noqa: PLC0415 (only bags need it)

        return _Bag(path, "rosbag2", Reader2(path))
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(_SQLITE):
        from rosbags.rosbag2.storage_sqlite3 import Sqlite3Reader  # noqa: PLC0415 (as above)

        return _Bag(path, "rosbag2", Sqlite3Reader(Path(quote(str(path)))))  # it makes a URI of it
    if _NO_INDEX in head:
        raise TruncatedError(
            "expected a bag with an index, got one whose recorder was stopped before it wrote it; "
            "run 'rosbag reindex' on a copy",
            path=path,
            offset=head.index(_NO_INDEX),
        )
    from rosbags.rosbag1 import Reader as Reader1  # noqa: PLC0415 (as above)

    return _Bag(path, "rosbag1", Reader1(path))


def _with_limit(chunk: Any) -> Any:  # noqa: ANN401 (a named tuple of rosbags)
    """Let a chunk of a ROS 1 bag unpack to no more than an MCAP chunk may."""
    from lz4.frame import LZ4FrameDecompressor, decompress  # noqa: PLC0415 (as above)

    makers = {bz2.decompress: bz2.BZ2Decompressor, decompress: LZ4FrameDecompressor}
    make = makers.get(chunk.decompressor)
    if make is None:
        return chunk

    def unpack(packed: bytes) -> bytes:
        unpacker = make()
        data: bytes = unpacker.decompress(packed, min(MAX_CHUNK, MAX_RATIO * len(packed)))
        if not unpacker.eof:
            raise EOFError(f"a chunk unpacks to {len(data)} bytes and goes on")
        return data

    return chunk._replace(decompressor=unpack)


def _collect(bag: _Bag, topics: Topics) -> int:
    """Decode all messages that can be reached; return how many cannot."""
    chosen, expected = [], 0
    with foreign_reader(bag.path, bag.name):
        for connection in bag.reader.connections:
            count = max(int(connection.msgcount), 0)
            if can_read(connection.msgtype, bag.encoding(connection)):
                chosen.append(connection)
                expected += count
            elif count:
                topics.skip(connection.topic, count)
    reached = 0
    waiting: dict[tuple[str, str, str], list[bytes]] = {}
    try:
        for connection, data in bag.messages(chosen) if chosen else ():
            key = connection.topic, connection.msgtype, bag.encoding(connection)
            waiting.setdefault(key, []).append(data)
            reached += 1
            if reached % _ROWS == 0:
                _add(topics, waiting)
    except FormatError as error:
        if not topics.salvage:
            raise
        topics.damage.append(error.message)
    _add(topics, waiting)
    if reached < expected and not topics.salvage:
        raise FormatError(f"expected {expected} messages, got {reached}", path=bag.path)
    return max(expected - reached, 0)


def _add(topics: Topics, waiting: dict[tuple[str, str, str], list[bytes]]) -> None:
    for (topic, kind, encoding), payloads in waiting.items():
        topics.add(topic, kind, encoding, payloads)
    waiting.clear()


def _numbered(path: Path) -> list[str | int]:
    """Sort key that puts part 10 behind part 9."""
    return [int(text) if text.isdigit() else text for text in re.split(r"(\d+)", path.name)]
