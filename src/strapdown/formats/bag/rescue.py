"""Damaged bags: what is wrong with them, and the messages that can be read."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from strapdown.formats.bag.batches import decode
from strapdown.formats.bag.library import opened, shortage
from strapdown.formats.bag.parts import is_ros1
from strapdown.formats.bag.scan import BagScan
from strapdown.formats.mcap.records import MAX_CHUNK, MAX_RATIO
from strapdown.formats.topics.kinds import can_read
from strapdown.messages.cdr import Wire

if TYPE_CHECKING:
    from pathlib import Path

    from strapdown.errors import FormatError
    from strapdown.formats.bag.db3_rows import Rows
    from strapdown.formats.bag.library import Bag
    from strapdown.formats.topics.collector import Topics

__all__ = ["explain", "rescue_ros1", "rescue_ros2"]


def explain(path: Path, error: FormatError) -> NoReturn:
    """Raise the error with its offset and a hint at the result of salvage."""
    if error.topic is not None:
        raise error
    if is_ros1(path):
        scan = BagScan(path, salvage=False, wanted=lambda _, kind: can_read(kind, Wire.ROS1))
        for _ in scan.messages():
            pass
        gives = f"{scan.whole} messages"
    else:
        with opened(path, rows=True) as bag:  # raises where the metadata are invalid
            error = shortage(bag) or error
        gives = "the rows of intact pages"
    what = f'{error.message}; on_error="salvage" gives {gives}'
    raise type(error)(what, path=path, offset=error.offset) from error


def rescue_ros1(path: Path, topics: Topics, error: FormatError) -> tuple[int, int]:
    """Decode the messages of a forward pass; return the numbers of lost messages and bytes."""
    scan = BagScan(
        path, salvage=True, wanted=lambda topic, kind: topics.wants(topic, kind, Wire.ROS1)
    )
    decode(topics, (((*connection, Wire.ROS1), data) for connection, data in scan.messages()))
    for (topic, kind), count in scan.skipped.items():
        topics.pass_over(topic, kind, Wire.ROS1, count)
    topics.damage += scan.damage or [error.message]
    return scan.lost_messages, scan.lost_bytes


def rescue_ros2(path: Path, topics: Topics, error: FormatError) -> tuple[int, int]:
    """Decode the rows of intact pages; return the number of lost ones, and zero bytes."""
    expected: Counter[str] = Counter()
    found: Counter[str] = Counter()
    damage = []
    with opened(path, rows=True) as bag:
        for connection in bag.reader.connections:
            expected[connection.topic] += int(connection.msgcount)
        parts = _parts(bag)
        packed = path.is_dir() and bag.reader.metadata.compression_mode == "message"
        for rows in parts:
            messages = rows.messages(topics.wants)
            decode(topics, ((key, _unpacked(data) if packed else data) for key, data in messages))
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


def _parts(bag: Bag) -> list[Rows]:
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
