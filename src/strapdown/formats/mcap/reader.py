"""Reading of MCAP files: ROS messages, PX4 messages and horus messages to series.

Types and joins are those of :mod:`strapdown.formats._series_from_messages`; messages of other
types are counted. All checksums are verified. In salvage, every intact record before damage is
read, and reading continues with the next chunk after it.

References
----------
MCAP Format Specification, https://mcap.dev/spec; well-known profiles ``ros1`` and ``ros2``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.formats._series_from_messages import Topics
from strapdown.formats.mcap.records import MAGIC
from strapdown.formats.mcap.scan import McapScan
from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["DESCRIPTION", "HISTORY", "read", "read_parts", "sniff"]

DESCRIPTION: Final = "strapdown/topic"
"""Name of the metadata records that describe a topic; see _description."""
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
    topics = Topics(path, salvage=salvage, only=only)
    lost_messages = lost_bytes = 0
    history: dict[str, None] = {}
    for file in files:
        scan = McapScan(file, salvage=salvage, wanted=topics.wants)
        for batch in scan.batches():
            for number, payloads in batch.items():
                channel = scan.channels[number]
                kind = scan.schemas[channel.schema_id].name
                topics.add(channel.topic, kind, channel.encoding, payloads)
        for number, count in scan.passed_over.items():
            channel = scan.channels[number]
            kind = scan.schemas[channel.schema_id].name if channel.schema_id in scan.schemas else ""
            topics.pass_over(channel.topic, kind, channel.encoding, count)
        lost_messages += scan.lost_messages
        lost_bytes += scan.lost_bytes
        topics.damage += scan.damage
        for name, entry in scan.metadata:
            if name == DESCRIPTION:
                topics.describe(entry)
            elif name == HISTORY:
                history |= dict.fromkeys(step for _, step in sorted(entry.items()))
    content = topics.content()
    report = ReadReport(
        "mcap",
        messages=topics.messages,
        lost_messages=lost_messages + topics.lost,
        lost_bytes=lost_bytes,
        skipped=topics.skipped,
        notes=tuple(topics.notes),
        damage=tuple(topics.damage),
        coverage=topics.coverage,
    )
    return Recording(
        path,
        report,
        *content,
        sensor_combined=topics.sensor_combined,
        history=tuple(history),
    )
