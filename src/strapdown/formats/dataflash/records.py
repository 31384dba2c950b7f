"""Messages of a DataFlash log: finding intact ones and places of damage.

A log is a sequence of messages ``a3 95, u8 number, fields``; FMT messages define number, name and
fields of the others. There are no checksums, so a message counts where the next begins directly
after it, or where the log ends.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FormatError, TruncatedError
from strapdown.formats._rows import rows_at
from strapdown.formats._salvage import Places
from strapdown.formats.dataflash.layouts import FMT, FMT_LAYOUT, HEAD, layout_of
from strapdown.formats.dataflash.units import Units

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from strapdown._typing import FloatArray
    from strapdown.formats.dataflash.layouts import Layout

__all__ = ["Records"]

_FIRST, _SECOND = HEAD
_DEFINITIONS: Final = frozenset({"FMT", "FMTU", "UNIT", "MULT"})
_REMEDY: Final = 'read with on_error="salvage" to go on'


class Records:
    """The messages of a log, by name.

    Parameters
    ----------
    data : bytes
        The log.
    path : Path
        For error messages.
    salvage : bool
        Count damage and leave it out, instead of raising an error.

    Attributes
    ----------
    layouts : dict of str to Layout
        Of the messages that the log contains, by name; of a second message of the same name by
        name and number, such as ``IMU:200``.
    counts : dict of str to int
        Intact messages by name, without those that define others.
    lost_bytes : int
        Bytes that belong to no intact message.
    damage : Places
        Places of damage.

    Raises
    ------
    FormatError
        Bytes are no message; TruncatedError where the log ends inside one. Never in salvage.
    """

    def __init__(self, data: bytes, *, path: Path, salvage: bool) -> None:
        self._data, self._path, self._salvage = data, path, salvage
        self._sizes = [0] * 256
        self._sizes[FMT] = FMT_LAYOUT.dtype.itemsize
        self._defined: dict[int, Layout] = {FMT: FMT_LAYOUT}
        self._starts: defaultdict[int, array[int]] = defaultdict(lambda: array("q"))
        self.lost_bytes = 0
        self.damage = Places()
        self._damaged_to = -1
        self._walk()
        self.layouts: dict[str, Layout] = {}
        for kind, layout in self._defined.items():
            if self._starts[kind]:
                is_second = layout.name in self.layouts
                self.layouts[f"{layout.name}:{kind}" if is_second else layout.name] = layout
        self.counts = {
            name: len(self._starts[layout.kind])
            for name, layout in self.layouts.items()
            if name not in _DEFINITIONS
        }
        self._units = Units(self)

    def rows(self, name: str) -> NDArray[np.void]:
        """Return the messages of a name as an array of the dtype of their layout."""
        layout = self.layouts[name]
        starts = np.frombuffer(self._starts[layout.kind], np.int64)
        return rows_at(self._data, starts, layout.dtype)

    def column(self, name: str, rows: NDArray[np.void], column: str) -> tuple[FloatArray, str]:
        """Return a field of messages as numbers, and the unit that the log states for it.

        The divisors of a format and the multipliers of the log are applied. The unit is empty
        where the log states none.
        """
        layout = self.layouts[name]
        values = np.asarray(rows[column], np.float64)
        unit, multiplier = self._units.of(layout, column)
        if column in layout.divisors:
            return values / layout.divisors[column], unit
        return values * multiplier, unit

    def _walk(self) -> None:
        """Find the starts of all messages, in order."""
        data, sizes, starts, size = self._data, self._sizes, self._starts, len(self._data)
        at = 0
        while at < size:
            end = at
            if at + 2 < size and data[at] == _FIRST and data[at + 1] == _SECOND:
                end = at + sizes[data[at + 2]]
            if at < end <= size and HEAD.startswith(data[end : end + 2]):
                kind = data[at + 2]
                starts[kind].append(at)
                if kind == FMT:
                    self._define(at)
                at = end
            else:
                at = self._beyond_damage(at, end)

    def _define(self, at: int) -> None:
        """Take the definition of a message."""
        row = rows_at(self._data, np.array([at]), FMT_LAYOUT.dtype)[0]
        kind, size = int(row["Type"]), int(row["Length"])
        texts = (row["Name"], row["Format"], row["Columns"])
        try:
            layout = layout_of(kind, size, *(bytes(text) for text in texts))
        except ValueError as error:  # UnicodeDecodeError too
            self._contradiction(at, str(error))
            return
        if layout == self._defined.setdefault(kind, layout):
            self._sizes[kind] = size
        else:
            self._contradiction(at, f"expected one layout of message {kind}, got a second")

    def _contradiction(self, at: int, what: str) -> None:
        """Note a definition that is not taken, or raise."""
        if not self._salvage:
            raise FormatError(f"{what}; {_REMEDY}", path=self._path, offset=at)
        self.damage.note(f"FMT at byte {at}: {what}")

    def _beyond_damage(self, at: int, end: int) -> int:
        """Count the bytes up to the next possible message, and return its place."""
        if not self._salvage:
            raise self._objection(at, end)
        found = self._data.find(HEAD, at + 1)
        beyond = len(self._data) if found < 0 else found
        if at != self._damaged_to:
            self.damage.note(f"no intact message at byte {at}")
        self._damaged_to = beyond
        self.lost_bytes += beyond - at
        return beyond

    def _objection(self, at: int, end: int) -> FormatError:
        """Return the error for bytes that are no intact message."""
        head = self._data[at : at + 3]
        if end > len(self._data) or (len(head) < 3 and HEAD.startswith(head[:2])):
            line = f"expected a whole message, the file ends inside; {_REMEDY}"
            return TruncatedError(line, path=self._path, offset=at)
        if end == at and head[:2] == HEAD:
            line = f"expected a message that a FMT before it defines, got number {head[2]}"
        elif end == at:
            line = f"expected a message that begins with a3 95, got {head.hex(' ')}"
        else:
            line = "expected the next message directly after this one, got other bytes"
        return FormatError(f"{line}; {_REMEDY}", path=self._path, offset=at)
