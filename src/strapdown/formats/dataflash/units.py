"""Units and multipliers of the fields of a DataFlash log.

FMTU names, with one letter a field, a unit that UNIT defines and a multiplier that MULT defines:
the value in the unit is the number in the log times the multiplier. Logs before 2018 have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        for row in _rows(messages, "UNIT", "Id", "Label"):
            self._units[int(row["Id"]) & 0xFF] = bytes(row["Label"]).decode("ascii", "replace")
        for row in _rows(messages, "MULT", "Id", "Mult"):
            # ArduPilot widens float32 to double; seven digits restore 0.001
            self._multipliers[int(row["Id"]) & 0xFF] = float(f"{row['Mult']:.7g}")
        for row in _rows(messages, "FMTU", "FmtType", "UnitIds", "MultIds"):
            letters = bytes(row["UnitIds"]), bytes(row["MultIds"])
            self._letters[int(row["FmtType"])] = letters

    def of(self, layout: Layout, column: str) -> tuple[str, float]:
        """Return the unit of a field, empty where none is stated, and its multiplier."""
        at = layout.columns.index(column)
        units, multipliers = self._letters.get(layout.kind, (b"", b""))
        unit = self._units.get(units[at], "") if at < len(units) else ""
        multiplier = self._multipliers.get(multipliers[at], 1.0) if at < len(multipliers) else 1.0
        return unit, multiplier if np.isfinite(multiplier) and multiplier > 0.0 else 1.0


def _rows(messages: _Messages, name: str, *columns: str) -> NDArray[np.void]:
    """Return the messages of a name; none where they lack a column."""
    layout = messages.layouts.get(name)
    if layout is None or not set(columns) <= set(layout.columns):
        return np.empty(0, np.dtype([(each, "u1") for each in columns]))
    return messages.rows(name)
