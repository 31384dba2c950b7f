"""Lines of a text file: its opening, and blocks of lines in bounded memory.

A file is read in blocks and long lines are clipped, so that memory depends on the number of rows
and not on the length of a hostile line.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Final

from strapdown.errors import FormatError
from strapdown.geometry.frames import BodyFrame, WorldFrame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "LONGEST_LINE",
    "Block",
    "Opening",
    "open_text",
    "opening_of",
    "read_opening",
    "split_opening",
    "utf8",
]

_BLOCK: Final = 1 << 18
LONGEST_LINE: Final = 1 << 16
_COMMENTS_KEPT: Final = 64
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Opening:
    """Comments and first line of a file.

    Parameters
    ----------
    comments : tuple of str
        The comment lines at the top, with their ``#``.
    line : str
        The first line that is neither comment nor blank; empty without one.
    """

    comments: tuple[str, ...] = ()
    line: str = ""

    @property
    def tags(self) -> dict[str, str] | None:
        """``key=value`` pairs of the line ``# strapdown ...``; None in files of other programs."""
        for comment in self.comments:
            words = comment.lstrip("#").split()
            if words[:1] == ["strapdown"]:
                return dict(word.split("=", 1) for word in words[1:] if "=" in word)
        return None

    def frames(self, path: Path) -> tuple[BodyFrame, WorldFrame, tuple[str, ...]]:
        """Return the frames from the tags, and a note where they are assumed."""
        tags = self.tags
        if tags is None:
            return BodyFrame.FLU, WorldFrame.ENU, ("frames are not named: FLU, ENU assumed",)
        try:
            return BodyFrame(tags.get("body", "FLU")), WorldFrame(tags.get("world", "ENU")), ()
        except ValueError as error:
            raise FormatError(f"expected the names of known frames: {error}", path=path) from error


@dataclass(frozen=True)
class Block:
    """Lines from ``number``, counted from 1, which end before byte ``stop``.

    ``open_at`` is the offset of a line without end.
    """

    number: int
    lines: list[bytes]
    stop: int
    open_at: int | None = None


def open_text(path: Path) -> BinaryIO:
    """Open a text file as bytes in UTF-8 or another superset of ASCII; UTF-16 is converted."""
    with path.open("rb") as file:
        if file.read(2) not in _UTF_16:
            return path.open("rb")
    return BytesIO(utf8(path.read_bytes()))


def utf8(text: bytes) -> bytes:
    """Return bytes that begin with the byte order mark of UTF-16 in UTF-8; others unchanged."""
    if not text.startswith(_UTF_16):
        return text
    return text.decode("utf-16", "replace").encode("utf-8")


def opening_of(head: bytes) -> Opening | None:
    """Return the opening of a file from its first bytes; None where they are not text."""
    if b"\0" in head:
        return None
    lines = head.decode("utf-8-sig", "replace").split("\n")
    comments = [line for line in lines if line.startswith("#")]
    content = [line for line in lines if line.strip() and not line.startswith("#")]
    return Opening(tuple(comments[:_COMMENTS_KEPT]), content[0] if content else "")


def read_opening(path: Path) -> Opening:
    """Return the opening of a file.

    Raises
    ------
    FormatError
        The file is not UTF-8.
    """
    return split_opening(path)[0]


def _blocks(path: Path) -> Iterator[Block]:
    """Yield the lines of a file without their ends; a long line is clipped."""
    number, offset, rest = 1, 0, b""
    with open_text(path) as file:
        while data := file.read(_BLOCK):
            if file.tell() == len(data):
                data = data.removeprefix(codecs.BOM_UTF8)
            *lines, tail = data.split(b"\n")
            if lines:
                lines[0] = rest + lines[0]
                offset = file.tell() - len(tail)
                yield Block(number, lines, offset)
                number += len(lines)
                rest = b""
            rest = (rest + tail)[: LONGEST_LINE + 1]
    if rest:
        yield Block(number, [rest], offset + len(rest), open_at=offset)


def split_opening(path: Path, encoding: str = "utf-8") -> tuple[Opening, Iterator[Block]]:
    """Split off the comments at the top; the remaining blocks begin with ``Opening.line``."""
    blocks = _blocks(path)
    comments: list[str] = []
    for block in blocks:
        for index, raw in enumerate(block.lines):
            number = block.number + index
            try:
                line = raw.decode(encoding).strip()
            except UnicodeDecodeError as error:
                raise FormatError(f"line {number}: expected UTF-8 text", path=path) from error
            if line.startswith("#"):
                comments += [line] if len(comments) < _COMMENTS_KEPT else []
            elif line:
                rest = replace(block, number=number, lines=block.lines[index:])
                return Opening(tuple(comments), line), chain([rest], blocks)
    return Opening(tuple(comments)), iter(())
