"""Signals over time, and their extremes in a span: plain data for charts."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray, IntArray

__all__ = ["BINS", "Pyramid", "Signal", "Span"]

Rows = TypeVar("Rows", "FloatArray", "IntArray")

BINS: Final = 500
"""Bins of a span; each has the smallest and the largest value."""
_BLOCK: Final = 64
"""Samples whose extremes are stored, for spans of many samples."""
_CHUNK: Final = 1 << 18
"""Samples that are evaluated at one time; a multiple of the block."""
_GAP: Final = 5.0
"""Step that breaks a line, in median steps."""


@dataclass(frozen=True)
class Span:
    """A span of time [ns], begin included and end excluded."""

    start_ns: int
    stop_ns: int

    @property
    def seconds(self) -> float:
        """Length [s]."""
        return (self.stop_ns - self.start_ns) / NS_PER_S


class Pyramid:
    """Extremes, and first stamp, of each 64 samples of rows that may grow."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._rows = 0
        self._low = self._high = np.empty((0, 0))
        self._known = 0
        self._stamps = np.empty(0, np.int64)

    def of(
        self, read: Callable[[int, int], FloatArray], count: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the extremes (count / 64, K) of each block; only new rows are read."""
        with self._lock:
            first = self._rows // _BLOCK * _BLOCK if self._rows < count else count
            for start in range(first, count, _CHUNK):
                self._rows = min(start + _CHUNK, count)
                self._put(start // _BLOCK, read(start, self._rows))
            blocks = -(-count // _BLOCK)
            return self._low[:blocks], self._high[:blocks]

    def stamps(self, t_ns: IntArray) -> IntArray:
        """Return the first stamp (N / 64,) of each block; only new rows are read.

        Searching all stamps would bring most of a file of them into memory.
        """
        with self._lock:
            blocks = -(-len(t_ns) // _BLOCK)
            if blocks > self._known:
                self._stamps = _grown(self._stamps, blocks)
                self._stamps[self._known : blocks] = t_ns[self._known * _BLOCK :: _BLOCK]
                self._known = blocks
            return self._stamps[:blocks]

    def _put(self, first: int, values: FloatArray) -> None:
        """Write the extremes of blocks from one on."""
        starts = np.arange(0, len(values), _BLOCK)
        stop = first + len(starts)
        if not first:
            self._low = self._high = np.empty((0, values.shape[1]))
        self._low, self._high = _grown(self._low, stop), _grown(self._high, stop)
        columns = np.ascontiguousarray(values.T)  # reducing rows takes three times as long
        self._low[first:stop] = np.fmin.reduceat(columns, starts, axis=1).T
        self._high[first:stop] = np.fmax.reduceat(columns, starts, axis=1).T


def _grown(rows: Rows, count: int) -> Rows:
    """Return rows with room for a number of them; the room doubles, and is no memory until used."""
    if count <= len(rows):
        return rows
    room: Rows = np.empty((max(2 * len(rows), count), *rows.shape[1:]), rows.dtype)
    room[: len(rows)] = rows
    return room


@dataclass
class Signal:
    """One quantity over time, of one or more components.

    Parameters
    ----------
    name : str
        Quantity, such as "angular velocity".
    unit : str
        Of the values, such as "rad/s".
    frame : str
        Frame of the components, or empty.
    labels : tuple of str
        Name of each of the K components.
    t_ns : (N,) int64
        Stamps in ascending order [ns].
    read : callable
        Returns the values (n, K) of rows ``start`` to ``stop``.
    period : float, optional
        Of angles: a larger step than half of it is a wrap, where the line breaks.
    pyramid : Pyramid, optional
        Extremes of blocks; signals of the same rows that grow share it.
    """

    name: str
    unit: str
    frame: str
    labels: tuple[str, ...]
    t_ns: IntArray
    read: Callable[[int, int], FloatArray]
    period: float = np.inf
    pyramid: Pyramid = field(default_factory=Pyramid, repr=False)

    def within(self, span: Span, bins: int = BINS) -> tuple[IntArray, FloatArray]:
        """Return stamps (M,) and values (M, K) that draw the signal in a span.

        Few samples are returned as they are, with a row of NaN in each gap. Many are reduced to
        the smallest and the largest value of each bin, so that a peak of one sample remains
        visible. One sample before and after the span is included.
        """
        first, last = np.searchsorted(self.t_ns, [span.start_ns, span.stop_ns])
        first, last = max(0, int(first) - 1), min(len(self.t_ns), int(last) + 1)
        if last - first <= 4 * bins:
            return self._broken(self.t_ns[first:last], self.read(first, last))
        edges = np.linspace(self.t_ns[first], self.t_ns[last - 1] + 1, bins + 1)
        whole = np.ceil(edges).astype(np.int64)  # other types would copy all stamps
        if last - first < 4 * _BLOCK * (bins + 1):
            values = self.read(first, last)
            low, high = _reduced(values, values, np.searchsorted(self.t_ns[first:last], whole))
        else:
            blocks = np.searchsorted(self.pyramid.stamps(self.t_ns), whole)
            blocks[0], blocks[-1] = first // _BLOCK, -(-last // _BLOCK)
            low, high = _reduced(*self.pyramid.of(self.read, len(self.t_ns)), blocks)
        t = np.repeat(((edges[:-1] + edges[1:]) / 2.0).astype(np.int64), 2)
        return t, np.stack([low, high], axis=1).reshape(-1, low.shape[1])

    def _broken(self, t_ns: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
        """Insert a row of NaN in each gap and at each wrap."""
        if len(t_ns) < 3:
            return t_ns, values
        steps = np.diff(t_ns)
        with np.errstate(invalid="ignore"):
            wraps = (np.abs(np.diff(values, axis=0)) > self.period / 2.0).any(axis=1)
        breaks = np.flatnonzero((steps > _GAP * np.median(steps)) | wraps) + 1
        middle = (t_ns[breaks - 1] + t_ns[breaks]) // 2
        return np.insert(t_ns, breaks, middle), np.insert(values, breaks, np.nan, axis=0)


def _reduced(low: FloatArray, high: FloatArray, starts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return least and greatest of the rows between each two starts; NaN where there are none."""
    begin, end = starts[:-1], starts[1:]
    filled = end > begin
    bottom = np.full((len(begin), low.shape[1]), np.nan)
    top = bottom.copy()
    if filled.any():  # empty groups drop out, so that the next start ends the group before them
        rows = begin[filled]
        bottom[filled] = np.fmin.reduceat(low[: end[-1]], rows)
        top[filled] = np.fmax.reduceat(high[: end[-1]], rows)
    return bottom, top
