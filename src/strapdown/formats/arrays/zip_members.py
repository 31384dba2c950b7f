"""Members of a zip archive whose directory, at its end, is lost.

Every member begins with a header of its own, which repeats name, sizes and checksum.

References
----------
PKWARE, APPNOTE.TXT - .ZIP File Format Specification, sections 4.3.7 and 4.5.3.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["by_local_headers"]

_HEADER: Final = struct.Struct("<4s5HIIIHH")
"""Signature, version, flags, method, time, date, CRC-32, both sizes, lengths of name and extra."""
_SIGNATURE: Final = b"PK\x03\x04"
_SIZES_FOLLOW: Final = 1 << 3
"""Flag of a member whose sizes are behind its data."""
_UTF8: Final = 1 << 11
_ZIP64: Final = struct.Struct("<HHQQ")
_IN_ZIP64: Final = 2**32 - 1
_EMPTY: Final = b"PK\x05\x06" + bytes(18)


def by_local_headers(stream: IO[bytes]) -> zipfile.ZipFile:
    """Return the archive of the whole members at the beginning of a file.

    Parameters
    ----------
    stream : binary file
        It must stay open as long as the archive.
    """
    archive = zipfile.ZipFile(io.BytesIO(_EMPTY))
    archive.fp = stream
    for member in _members(stream):
        archive.filelist.append(member)
        archive.NameToInfo[member.filename] = member
    return archive


def _members(stream: IO[bytes]) -> Iterator[zipfile.ZipInfo]:
    """Yield the members from the first to the last that is whole."""
    size, at = stream.seek(0, os.SEEK_END), 0
    while True:
        stream.seek(at)
        header = stream.read(_HEADER.size)
        if len(header) < _HEADER.size or not header.startswith(_SIGNATURE):
            return
        _, _, flags, method, _, _, crc, packed, whole, named, extra = _HEADER.unpack(header)
        name, more = stream.read(named), stream.read(extra)
        if whole == _IN_ZIP64 and len(more) >= _ZIP64.size:
            kind, _, whole, packed = _ZIP64.unpack_from(more)
            if kind != 1:
                return
        begin, at = at, at + _HEADER.size + named + extra + packed
        if at > size or flags & _SIZES_FOLLOW:
            return
        member = zipfile.ZipInfo(name.decode("utf-8" if flags & _UTF8 else "cp437", "replace"))
        member.orig_filename = member.filename
        member.compress_type, member.flag_bits, member.CRC = method, flags, crc
        member.compress_size, member.file_size, member.header_offset = packed, whole, begin
        yield member
