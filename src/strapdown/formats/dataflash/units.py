"""Units and multipliers of the fields of a DataFlash log.

FMTU names, with one letter a field, a unit that UNIT defines and a multiplier that MULT defines:
the value in the unit is the number in the log times the multiplier. Logs before 2018 have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from strapdown.formats.dataflash.layouts import Layout

__all__ = ["Units"]


class _Messages(Protocol):
    """The messages of a log."""

    @property
    def layouts(self) -> Mapping[str, Layout]: ...

    def rows(self, name: str) -> NDArray[np.void]: ...


class Units:
    """Units of a log.

    Parameters
    ----------
    messages : Records
        The messages of the log.
    """

    def __init__(self, messages: _Messages) -> None:
        self._units: dict[int, str] = {}
        self._multipliers: dict[int, float] = {}
        self._letters: dict[int, tuple[bytes, bytes]] = {}
        for row in _rows(messages, "UNIT", {"Id": "iu", "Label": "S"}):
            self._units[int(row["Id"]) & 0xFF] = bytes(row["Label"]).decode("ascii", "replace")
        for row in _rows(messages, "MULT", {"Id": "iu", "Mult": "f"}):
            # ArduPilot widens float32 to double; seven digits restore 0.001
            self._multipliers[int(row["Id"]) & 0xFF] = float(f"{row['Mult']:.7g}")
        for row in _rows(messages, "FMTU", {"FmtType": "iu", "UnitIds": "S", "MultIds": "S"}):
            self._letters[int(row["FmtType"])] = bytes(row["UnitIds"]), bytes(row["MultIds"])

    def of(self, layout: Layout, column: str) -> tuple[str, float]:
        """Return the unit of a field, empty where none is stated, and its multiplier."""
        at = layout.columns.index(column)
        units, multipliers = self._letters.get(layout.kind, (b"", b""))
        unit = self._units.get(units[at], "") if at < len(units) else ""
        multiplier = self._multipliers.get(multipliers[at], 1.0) if at < len(multipliers) else 1.0
        return unit, multiplier if np.isfinite(multiplier) and multiplier > 0.0 else 1.0


def _rows(messages: _Messages, name: str, columns: Mapping[str, str]) -> Iterable[np.void]:
    """Return the messages of a name; none where they lack a field of its kind."""
    layout = messages.layouts.get(name)
    if layout is None or not all(layout.has(kinds, each) for each, kinds in columns.items()):
        return ()
    return messages.rows(name)
