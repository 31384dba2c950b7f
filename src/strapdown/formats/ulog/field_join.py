"""Assignment of magnetometer samples to the rows of ``sensor_combined``, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats._nearest_rows import MAGNETOMETER_WITHIN_NS, NearestRows, before, left_out
from strapdown.formats._time_cut import END_NS, TimeCut
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import FloatArray, IntArray
    from strapdown.series import ImuSeries

__all__ = ["FieldJoin"]

_PATIENCE_NS: Final = 60 * NS_PER_S
"""Time for which the first sample of a magnetometer is waited for [ns]."""


class FieldJoin:
    """Rows of one topic that wait for the samples of a magnetometer near them in time.

    Attributes
    ----------
    has_field : bool or None
        Whether the rows have a magnetic field, in all blocks or in none; None until it is known.
    """

    def __init__(self) -> None:
        self.has_field: bool | None = None
        self._source = ""
        self._cut = TimeCut(NS_PER_S, is_strict=False)
        self._nearest = NearestRows(MAGNETOMETER_WITHIN_NS)
        self._series: list[ImuSeries] = []
        self._records: list[NDArray[np.void]] = []
        self._last_ns = -END_NS

    def add_rows(self, series: ImuSeries, records: NDArray[np.void]) -> None:
        """Append rows and the messages that they come from."""
        self._series.append(series)
        self._records.append(records)
        self._cut.see("rows", series.t_ns)
        self._nearest.add(series.t_ns, None, None)

    def add_field(
        self, t_ns: IntArray, field: FloatArray, *, source: str, is_repeated: bool
    ) -> None:
        """Append samples.

        Parameters
        ----------
        t_ns : (M,) int64
            Stamps [ns].
        field : (M, 3)
            Magnetic field [T].
        source : str
            Their topic.
        is_repeated : bool
            Whether a sample that has come before comes again.
        """
        if self.has_field is False:
            return
        new = t_ns > self._last_ns if is_repeated else np.ones(len(t_ns), np.bool_)
        self._last_ns = max(self._last_ns, int(t_ns.max(initial=-END_NS)))
        self.has_field, self._source = True, source
        self._cut.see("field", t_ns[new])
        self._nearest.add(None, t_ns[new], field[new])

    def take(
        self, *, is_last: bool, is_expected: bool
    ) -> tuple[ImuSeries, NDArray[np.void]] | None:
        """Return the rows that are complete, and their messages; None where there are none.

        Where samples are expected, the first rows wait for them.
        """
        if not self._series:
            return None
        series = self._series[0].concatenate(self._series)
        records = np.concatenate(self._records)
        waits = self.has_field is None and is_expected and not is_last
        if waits and _span_ns(series.t_ns) < _PATIENCE_NS:
            return None
        self.has_field = bool(self.has_field)
        cut_ns = END_NS if is_last or not self.has_field else self._cut.advance()
        count = before(series.t_ns, cut_ns)
        self._series, self._records = [series[count:]], [records[count:]]
        ready = series[:count]
        if self.has_field:
            ready = ready.replace(magnetic_field=self._nearest.take(cut_ns))
        return (ready, records[:count]) if count else None

    def lines(self) -> list[str]:
        """Return a line with the number of samples that were left out, if any."""
        count = self._nearest.vectors
        left = count - self._nearest.placed
        return [left_out(self._source, left, count, MAGNETOMETER_WITHIN_NS)] if left else []


def _span_ns(t_ns: IntArray) -> int:
    return int(t_ns.max() - t_ns.min()) if len(t_ns) else 0
