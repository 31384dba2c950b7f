"""The field of a magnetometer on its own topic, joined to the rows of an IMU as they arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats._nearest_rows import MAGNETOMETER_WITHIN_NS, on_nearest_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import BoolArray
    from strapdown.messages import MagneticField
    from strapdown.series import ImuSeries

__all__ = ["FieldJoin"]

_WAITING: Final = 1 << 12
"""Samples that wait for rows at most; of more, the newest."""


class FieldJoin:
    """Join of a magnetometer to an IMU, by the rule of recordings: to the row nearest in time.

    Rows are held back until the next call, so that a sample can arrive a little later than its
    row.

    Attributes
    ----------
    left_out : int
        Samples that arrived too late, or that no row within 20 ms was free for.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._held: ImuSeries | None = None
        self._stamps = np.empty(0, np.int64)
        self._vectors = np.empty((0, 3))

    def take(self, series: ImuSeries, fields: Sequence[MagneticField]) -> ImuSeries:
        """Add what has arrived; return the rows before with their field, NaN where there is none.

        Parameters
        ----------
        series : ImuSeries
            The next rows, in FLU and in order; without any, none are held back.
        fields : sequence of MagneticField
            In any order.
        """
        self._add(fields)
        rows, self._held = self._held, series if len(series) else None
        if rows is None:
            if len(series):  # what is older has no rows to join
                self._forget(self._stamps < series.t_ns[0] - MAGNETOMETER_WITHIN_NS)
            return series[:0]
        last_ns = rows.t_ns[-1]
        end_ns = last_ns + MAGNETOMETER_WITHIN_NS
        if len(series):
            end_ns = last_ns + (series.t_ns[0] - last_ns) // 2
        due = self._stamps <= end_ns
        field, placed = on_nearest_rows(
            rows.t_ns, self._stamps[due], self._vectors[due], within_ns=MAGNETOMETER_WITHIN_NS
        )
        self.left_out += len(placed) - int(placed.sum())
        self._forget(due)
        return rows.replace(magnetic_field=field)

    def _add(self, fields: Sequence[MagneticField]) -> None:
        if fields:
            stamps = np.array([each.header_stamp_ns for each in fields], np.int64)
            vectors = np.array([each.magnetic_field for each in fields])
            self._stamps = np.concatenate([self._stamps, stamps])[-_WAITING:]
            self._vectors = np.concatenate([self._vectors, vectors])[-_WAITING:]

    def _forget(self, rows: BoolArray) -> None:
        self._stamps, self._vectors = self._stamps[~rows], self._vectors[~rows]
