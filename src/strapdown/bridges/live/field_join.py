"""The field of a magnetometer on its own topic, joined to the messages of an IMU as they arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._words import counted
from strapdown.formats._nearest_rows import MAGNETOMETER_WITHIN_NS, nearest_rows, on_nearest_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.messages import MagneticField
    from strapdown.series import ImuSeries

__all__ = ["FieldJoin"]

_WAITING: Final = 1 << 12
"""Samples that wait for rows at most; of more, the newest."""


class FieldJoin:
    """Join of a magnetometer to an IMU, by the rule of recordings: to the row nearest in time.

    ``at_once`` answers rows as they arrive: a sample joins the nearest of the rows that are not
    answered yet, and waits where all of these are earlier. ``take`` holds rows back until the next
    call, so that a sample can arrive a little later than its row. One join uses one of the two.

    Attributes
    ----------
    received, joined : int
        Samples that arrived, and those that a row has got.
    replaced : int
        Samples without a row because a newer one arrived in time for the same row.
    left_out : int
        Samples that arrived too late, or 20 ms from every row.
    rows_before : int
        Rows before the first that has a field.
    """

    def __init__(self) -> None:
        self.received = self.joined = self.replaced = self.left_out = self.rows_before = 0
        self._has_begun = False
        self._held: ImuSeries | None = None
        self._stamps = np.empty(0, np.int64)
        self._vectors = np.empty((0, 3))

    def at_once(self, t_ns: IntArray, fields: Sequence[MagneticField]) -> FloatArray | None:
        """Return the field of rows that are not held back, NaN where a row has none.

        Parameters
        ----------
        t_ns : (N,) int64
            Stamps of the next rows, of which there are some [ns].
        fields : sequence of MagneticField
            What has arrived, in any order.

        Returns
        -------
        (N, 3), or None where no row has one
            [T, FLU].
        """
        self._add(fields)
        if self.joined and not len(self._stamps):
            return None
        if not self._has_begun:
            self._begin_at(int(t_ns.min()))
            self._has_begun = True
        return self._join(t_ns, int(t_ns.max()))

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
            if len(series):
                self._begin_at(int(series.t_ns[0]))
            return series[:0]
        last_ns = rows.t_ns[-1]
        end_ns = last_ns + MAGNETOMETER_WITHIN_NS
        if len(series):
            end_ns = last_ns + (series.t_ns[0] - last_ns) // 2
        return rows.replace(magnetic_field=self._join(rows.t_ns, end_ns))

    def losses(self) -> list[str]:
        """Return one line for each kind of sample of the magnetometer that was not used."""
        lines = []
        if self.left_out:
            samples = counted(self.left_out, "sample")
            lines.append(f"{samples} of the magnetometer late, or 20 ms from every message")
        if not self.joined:
            came = "came" if not self.received else "has a stamp within 20 ms of the messages"
            lines.append(f"no sample of the magnetometer {came}: heading is relative to the start")
        return lines

    def to_dict(self) -> dict[str, int]:
        """Return the counts as JSON holds them."""
        names = ("received", "joined", "replaced", "left_out", "rows_before")
        return {name: getattr(self, name) for name in names}

    def notes(self) -> list[str]:
        """Return a line for rows before the first sample, and for samples that shared a row."""
        lines = []
        if self.joined and self.rows_before:
            attitudes = counted(self.rows_before, "attitude")
            lines.append(
                f"{attitudes} before the first magnetic field: heading is relative to the start"
            )
        if self.replaced:
            samples = counted(self.replaced, "sample")
            lines.append(
                f"{samples} of the magnetometer replaced by a newer one for the same message"
            )
        return lines

    def _add(self, fields: Sequence[MagneticField]) -> None:
        if fields:
            self.received += len(fields)
            stamps = np.array([each.header_stamp_ns for each in fields], np.int64)
            vectors = np.array([each.magnetic_field for each in fields])
            stamps = np.concatenate([self._stamps, stamps])
            self.left_out += max(0, len(stamps) - _WAITING)
            self._stamps = stamps[-_WAITING:]
            self._vectors = np.concatenate([self._vectors, vectors])[-_WAITING:]

    def _begin_at(self, first_ns: int) -> None:
        """Forget what is older than the first row: no row was there to join."""
        self._forget(self._stamps < first_ns - MAGNETOMETER_WITHIN_NS)

    def _join(self, t_ns: IntArray, end_ns: int) -> FloatArray:
        """Assign the samples up to a time to rows, and forget them."""
        due = self._stamps <= end_ns
        stamps = self._stamps[due]
        within_ns = MAGNETOMETER_WITHIN_NS
        field, placed = on_nearest_rows(t_ns, stamps, self._vectors[due], within_ns=within_ns)
        if not self.joined:
            known = np.isfinite(field).any(axis=1)
            self.rows_before += int(known.argmax()) if known.any() else len(t_ns)
        is_near = np.abs(t_ns[nearest_rows(t_ns, stamps)] - stamps) <= within_ns
        self.joined += int(placed.sum())
        self.replaced += int((is_near & ~placed).sum())
        self.left_out += int((~is_near & ~placed).sum())
        self._forget(due)
        return field

    def _forget(self, rows: BoolArray) -> None:
        self._stamps, self._vectors = self._stamps[~rows], self._vectors[~rows]
