"""Reading of MCAP files: ROS messages, PX4 messages and horus messages to series.

Types and joins are those of :mod:`strapdown.formats.topics`; messages of other types are counted.
All checksums are verified. In salvage, every intact record before damage is read, and reading
continues with the next chunk after it.

References
----------
MCAP Format Specification, https://mcap.dev/spec; well-known profiles ``ros1`` and ``ros2``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.formats.mcap.records import MAGIC
from strapdown.formats.mcap.scan import McapScan
from strapdown.formats.topics.blocks import MessageBlocks
from strapdown.formats.topics.collector import Topics
from strapdown.formats.topics.whole import whole_recording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from strapdown.formats.recording import Recording

__all__ = ["DESCRIPTION", "HISTORY", "McapFeed", "blocks", "read", "read_parts", "sniff"]

DESCRIPTION: Final = "strapdown/topic"
"""Name of the metadata records that describe a topic; see topics.description."""
HISTORY: Final = "strapdown/history"
"""Name of the metadata record with the processing of the samples, by number."""


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a file begins like MCAP, or is too short to tell."""
    return head[: len(MAGIC)] == MAGIC[: len(head)] and bool(head)


def read(path: Path, *, salvage: bool, only: frozenset[str] | None = None) -> Recording:
    """Read an MCAP file.

    Parameters
    ----------
    path : Path
        The file.
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
        The file ends early.
    ChecksumError
        A checksum does not match, or a chunk cannot be decompressed.
    UnsupportedError
        A chunk has an unsupported compression or size.
    FormatError
        Other damage. All four carry path and offset. In salvage, only where the file does not
        begin like MCAP.
    """
    return read_parts(path, [path], salvage=salvage, only=only)


def read_parts(
    path: Path, files: Sequence[Path], *, salvage: bool, only: frozenset[str] | None = None
) -> Recording:
    """Read a recording that is split over files, as :func:`read`; ``path`` is its name."""
    feed, topics = McapFeed(files, salvage=salvage), Topics(path, salvage=salvage, only=only)
    for _ in feed.into(topics):
        pass
    return whole_recording(feed, topics)


def blocks(path: Path, *, salvage: bool, only: frozenset[str] | None = None) -> MessageBlocks:
    """Read a file block by block, as :func:`read`."""
    return MessageBlocks(path, McapFeed([path], salvage=salvage), salvage=salvage, only=only)


class McapFeed:
    """Messages of the files of a recording, as a :class:`Feed`.

    Parameters
    ----------
    files : sequence of Path
        In order.
    salvage : bool
        Count damage and continue after it, instead of raising an error.
    """

    form = "mcap"
    has_checksums = True

    def __init__(self, files: Sequence[Path], *, salvage: bool) -> None:
        self.lost_messages = self.lost_bytes = 0
        self.history: tuple[str, ...] = ()
        self._files, self._salvage = files, salvage

    def into(self, topics: Topics) -> Iterator[float]:
        """Decode the messages, about 16 MiB at a time."""
        sizes = [file.stat().st_size for file in self._files]
        for number, file in enumerate(self._files):
            scan, known = McapScan(file, salvage=self._salvage, wanted=topics.wants), 0
            for batch in scan.batches():
                for key, payloads in batch.items():
                    channel = scan.channels[key]
                    kind = scan.schemas[channel.schema_id].name
                    topics.add(channel.topic, kind, channel.encoding, payloads)
                known = self._describe(topics, scan, known)
                yield (sum(sizes[:number]) + scan.position) / sum(sizes)
            for key, count in scan.passed_over.items():
                channel = scan.channels[key]
                schema = scan.schemas.get(channel.schema_id)
                kind = "" if schema is None else schema.name
                topics.pass_over(channel.topic, kind, channel.encoding, count)
            self.lost_messages += scan.lost_messages
            self.lost_bytes += scan.lost_bytes
            topics.damage += scan.damage
            self._describe(topics, scan, known)

    def _describe(self, topics: Topics, scan: McapScan, known: int) -> int:
        """Take the metadata records from number ``known`` on; return their number."""
        for name, entry in scan.metadata[known:]:
            if name == DESCRIPTION:
                topics.describe(entry)
            elif name == HISTORY:
                steps = (step for _, step in sorted(entry.items()))
                self.history = tuple(dict.fromkeys([*self.history, *steps]))
        return len(scan.metadata)
