"""Copying of the intact messages of a ROS 1 bag, of any type, into a new bag with an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.formats._output import replacing
from strapdown.formats.bag.records import Op, content, fields_of, text
from strapdown.formats.bag.scan import BagScan
from strapdown.formats.mcap.records import MAX_CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    from rosbags.interfaces import Connection as Written

    from strapdown.formats.bag.records import Connection, Record

__all__ = ["BagCopy"]


class BagCopy(BagScan):
    """Pass over a damaged bag, in salvage, that keeps message times and definitions.

    Parameters
    ----------
    source : Path
        The bag.

    Attributes
    ----------
    copied, undefined : int
        Numbers of messages that were written, and of those without a definition of their type.
    """

    def __init__(self, source: Path) -> None:
        super().__init__(source, salvage=True, wanted=lambda *_connection: True)
        self.copied = self.undefined = 0
        self._time_ns = 0
        self._definitions: dict[Connection, tuple[str, str]] = {}

    def write(self, target: Path, *, force: bool) -> None:
        """Write a new bag, compressed by lz4.

        Raises
        ------
        FileExistsError
            The file exists, and not ``force``.
        FormatError
            The source does not begin like a bag.
        """
        from rosbags.rosbag1 import Writer  # noqa: PLC0415 (only bags need it)

        with replacing(target, force=force) as partial:
            partial.unlink()  # rosbags creates the file itself
            writer = Writer(partial)
            writer.set_compression(Writer.CompressionFormat.LZ4)
            connections: dict[Connection, Written] = {}
            with writer:
                for connection, payload in self.messages():
                    if connection not in self._definitions:
                        self.undefined += 1
                        continue
                    if connection not in connections:
                        definition, md5 = self._definitions[connection]
                        kind = connection.kind.replace("/", "/msg/", 1)
                        connections[connection] = writer.add_connection(
                            connection.topic, kind, msgdef=definition, md5sum=md5
                        )
                    writer.write(connections[connection], self._time_ns, payload)
                    self.copied += 1

    def _define(self, stream: BinaryIO, record: Record) -> None:
        super()._define(stream, record)
        connection = self._connections[record.number("conn", 4)]
        said = fields_of(content(stream, record, most=MAX_CHUNK))
        md5 = text(said, "md5sum")
        if md5 and connection.kind.count("/") == 1:
            definition = said.get(b"message_definition", b"").decode(errors="replace")
            self._definitions.setdefault(connection, (definition, md5))

    def _take_content(self, stream: BinaryIO, record: Record) -> Iterator[tuple[Connection, bytes]]:
        if record.op is Op.MESSAGE:
            nanoseconds, seconds = divmod(record.number("time", 8), 2**32)
            self._time_ns = seconds * 10**9 + nanoseconds
        yield from super()._take_content(stream, record)
