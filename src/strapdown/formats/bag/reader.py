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

from typing import TYPE_CHECKING

from strapdown.errors import FormatError
from strapdown.formats.bag.by_index import collect_some, collected_in_order
from strapdown.formats.bag.db3_rows import MAGIC as DB3_MAGIC
from strapdown.formats.bag.library import collected
from strapdown.formats.bag.parts import ROS1_MAGIC, is_ros1, mcap_parts
from strapdown.formats.bag.rescue import explain, rescue_ros1, rescue_ros2
from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.mcap import reader as mcap_reader
from strapdown.formats.topics.blocks import MessageBlocks
from strapdown.formats.topics.collector import Topics
from strapdown.formats.topics.whole import whole_recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from strapdown.formats.recording import Recording
    from strapdown.formats.topics.feed import Feed

__all__ = ["blocks", "read", "sniff"]


def sniff(head: bytes, path: Path) -> bool:
    """Return whether this is a bag: a file by its first bytes, a folder by the files in it."""
    if path.is_dir():
        return (path / "metadata.yaml").is_file()
    return head.startswith((ROS1_MAGIC, DB3_MAGIC))


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
        if only is None or feed.form != "rosbag1" or not collect_some(path, topics):
            for _ in collected(path, topics):
                pass
    except FormatError as error:
        if not salvage:
            explain(path, error)
        topics = Topics(path, salvage=True, only=only)
        rescue = rescue_ros1 if feed.form == "rosbag1" else rescue_ros2
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
        ordered = collected_in_order if self.form == "rosbag1" else collected
        try:
            yield from ordered(self._path, topics)
        except NeedsWhole:
            raise
        except FormatError as error:
            raise NeedsWhole(f"the bag is damaged: {error.message}", path=self._path) from error
