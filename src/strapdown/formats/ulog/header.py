"""Header and definitions before the data of a ULog, new or existing.

References
----------
PX4 ULog file format, https://docs.px4.io/main/en/dev_log/ulog_file_format.html
"""

from __future__ import annotations

import struct
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Final

from strapdown.errors import UnsupportedError, ValueRangeError
from strapdown.formats.ulog.metadata import Contents
from strapdown.formats.ulog.payload_checks import FLAGS, SUBSCRIPTION, topic_name
from strapdown.formats.ulog.record_encoding import record
from strapdown.formats.ulog.records import HEADER_SIZE, MAGIC, Records, load_bytes

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

__all__ = ["NewFront", "OldFront"]

_VERSION: Final = b"\x01"
_DEFINITIONS: Final = "FIMPQ"
_FLAGS: Final = struct.Struct("<HB8s8s3Q")
_APPENDED: Final = 1


class NewFront:
    """Header and definitions of a new file.

    Parameters
    ----------
    start_us : int, optional
        Time in the header; by default the first stamp.

    Attributes
    ----------
    message_ids, written_us : dict
        As in :class:`OldFront`, empty.
    """

    def __init__(self, start_us: int | None) -> None:
        self.message_ids: dict[tuple[str, int], int] = {}
        self.written_us: dict[int, int] = {}
        self.is_written = False
        self._start_us = start_us
        self._records: dict[str, list[bytes]] = {kind: [] for kind in _DEFINITIONS}
        self._lock = Lock()

    def define(self, kind: str, payload: bytes) -> None:
        """Add a definition.

        Raises
        ------
        ValueRangeError
            The file contains rows already, or the definition is too long.
        """
        with self._lock:
            if self.is_written:
                raise ValueRangeError(
                    f"expected all definitions before the first rows, got {payload[:60]!r}; "
                    "declare topics before"
                )
            self._records[kind].append(record(kind, payload))

    def head(self, first_us: int) -> bytes:
        """Return header and definitions; no more definitions are accepted afterwards."""
        with self._lock:
            self.is_written = True
        start_us = first_us if self._start_us is None else self._start_us
        flags = bytes([bool(self._records["Q"])]).ljust(FLAGS.size, b"\0")
        head = MAGIC + _VERSION + struct.pack("<Q", start_us) + record("B", flags)
        return head + b"".join(chain.from_iterable(self._records.values()))


class OldFront:
    """Header and definitions of an existing file to append to.

    Parameters
    ----------
    path : Path
        The file.
    file : BinaryIO
        The same, open for reading and writing.

    Attributes
    ----------
    message_ids : dict of (str, int) to int
        By topic and instance.
    written_us : dict of int to int
        Last stamp of each message id.

    Raises
    ------
    FormatError
        The file is not a ULog; UnsupportedError where it has no flags, or no free entry in them.
    """

    is_written: Final = True

    def __init__(self, path: Path, file: BinaryIO) -> None:
        data = load_bytes(path)
        records = Records(data, path=path, salvage=True)  # it may end inside a record
        contents = Contents(data, records)
        self.message_ids: dict[tuple[str, int], int] = {}
        for part in records.chunks():
            contents.take(part)
            for each in part.records:
                if each.kind == "A":
                    multi_id, msg_id = SUBSCRIPTION.unpack_from(each.payload)
                    self.message_ids[topic_name(each.payload), multi_id] = msg_id
        self.written_us = dict.fromkeys(self.message_ids.values(), 0)
        for topic, seen in contents.seen.items():
            self.written_us[self.message_ids[topic]] = seen.last_us
        self._formats = records.formats.text
        self._file = file
        file.seek(HEADER_SIZE)
        flags = file.read(_FLAGS.size)
        if len(flags) < _FLAGS.size or flags[2] != ord("B") or all(_FLAGS.unpack(flags)[4:]):
            raise UnsupportedError(
                "expected a ULog with flags that was appended to twice at most", path=path
            )
        self._flags = flags

    def define(self, kind: str, payload: bytes) -> None:
        """Compare a format with those of the file.

        Raises
        ------
        ValueRangeError
            The file does not contain it, or this is another kind of definition.
        """
        name, _, text = payload.decode().partition(":")
        if kind != "F" or self._formats.get(name) != text:
            raise ValueRangeError(
                f"expected a format that the file to append to has, got {payload[:60]!r}"
            )

    def head(self, first_us: int) -> bytes:  # noqa: ARG002 (signature of NewFront)
        """Mark appended data in the flags, and move to the end of the file."""
        end = self._file.seek(0, 2)
        size, kind, compatible, incompatible, *offsets = _FLAGS.unpack(self._flags)
        offsets[offsets.index(0)] = end
        incompatible = bytes([incompatible[0] | _APPENDED]) + incompatible[1:]
        self._file.seek(HEADER_SIZE)
        self._file.write(_FLAGS.pack(size, kind, compatible, incompatible, *offsets))
        self._file.seek(end)
        return b""
