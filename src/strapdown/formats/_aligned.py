"""Topics of a file that are stored one by one, as blocks that end at common times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown.formats._nearest_rows import before
from strapdown.formats._time_cut import END_NS
from strapdown.formats.block_reader import NeedsWhole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from strapdown.formats._series_headers import Series

__all__ = ["aligned"]


def aligned(parts: Mapping[str, Iterator[Series]]) -> Iterator[dict[str, Series]]:
    """Yield blocks of topics from the parts of each.

    Parameters
    ----------
    parts : mapping of str to iterator of series
        Successive rows of each topic, in at least one part.

    Yields
    ------
    dict of str to series
        Rows that are later than those before; the first block has all topics.

    Raises
    ------
    NeedsWhole
        There are several topics, and the stamps of one of them go back.
    """
    if len(parts) == 1:
        ((name, only),) = parts.items()
        for series in only:
            yield {name: series}
        return
    cursors = {name: _Cursor(name, each) for name, each in parts.items()}
    is_first = True
    while cursors:
        cut_ns = min(each.read_until() for each in cursors.values())
        block = {name: each.take(cut_ns) for name, each in cursors.items()}
        yield {name: series for name, series in block.items() if is_first or len(series)}
        cursors = {name: each for name, each in cursors.items() if not each.is_done}
        is_first = False


class _Cursor:
    """Rows of a topic that are not passed on yet."""

    def __init__(self, name: str, parts: Iterator[Series]) -> None:
        self._name, self._parts = name, parts
        self._series = next(parts)
        self._has_more = True
        self._check(self._series)

    @property
    def is_done(self) -> bool:
        return not self._has_more and not len(self._series)

    def read_until(self) -> int:
        """Read on until there are rows of two times; return the last of them [ns]."""
        while self._has_more:
            t_ns = self._series.t_ns
            if len(t_ns) and t_ns[0] < t_ns[-1]:
                return int(t_ns[-1])
            part = next(self._parts, None)
            self._has_more = part is not None
            if part is not None:
                self._series = type(part).concatenate([self._series, part])  # type: ignore[list-item]
                self._check(self._series)
        return END_NS

    def take(self, cut_ns: int) -> Series:
        """Remove and return the rows before a time."""
        count = before(self._series.t_ns, cut_ns)
        taken, self._series = self._series[:count], self._series[count:]
        return taken

    def _check(self, series: Series) -> None:
        if (np.diff(series.t_ns) < 0).any():
            raise NeedsWhole(f"stamps of {self._name} go back, next to other topics")
