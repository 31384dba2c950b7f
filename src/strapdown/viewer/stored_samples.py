"""Samples of the IMU of a long recording on disk, their signals, and their faults."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats.spill import Table
from strapdown.geometry.frames import convert_vector
from strapdown.series import ImuSeries, timebase
from strapdown.viewer.quantities import Frames, field_signal, imu_signals
from strapdown.viewer.signals import Pyramid, Signal
from strapdown.viewer.sources import clock_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from strapdown._typing import AnyArray, FloatArray, IntArray
    from strapdown.viewer.sources import Figure

__all__ = ["PART", "StoredSamples"]

PART: Final = 1 << 18
"""Rows that are processed at one time."""


class StoredSamples:
    """Samples on disk, the magnetic field apart, as it is sparse; one thread appends.

    Parameters
    ----------
    first : ImuSeries
        Its first samples, one or more, which determine the frames and what is a gap.
    """

    def __init__(self, first: ImuSeries) -> None:
        self.frames = Frames(first.world, first.body)
        self._rows, self._field = Table(), Table()
        self._pyramids: defaultdict[tuple[Frames | None, str], Pyramid] = defaultdict(Pyramid)
        clock = timebase.report(first.t_ns)
        self._rate_hz, self._gap_ns = clock.rate_hz, clock.gap_after_ns
        self._faults = dict.fromkeys(("gaps", "out of order", "NaN", "clipped"), 0)
        self.append(first)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def t_ns(self) -> IntArray:
        """Stamps (N,) of the samples so far."""
        return self._rows.t_ns

    def later(self, series: ImuSeries) -> ImuSeries:
        """Return the samples that are later than those so far, and count the others."""
        early = int(np.searchsorted(series.t_ns, self.t_ns[-1], "right"))
        self._faults["out of order"] += early
        return series[early:]

    def append(self, series: ImuSeries) -> None:
        """Append samples, which must be later, and count their faults."""
        steps = np.diff(series.t_ns, prepend=self.t_ns[-1:])
        self._faults["gaps"] += int((steps > self._gap_ns).sum())
        columns: dict[str, AnyArray] = {
            "rate": series.angular_velocity,
            "force": series.specific_force,
        }
        self._faults["NaN"] += sum(int((~np.isfinite(each)).sum()) for each in columns.values())
        for name in ("gyro_clipping", "accel_clipping"):
            if (bits := getattr(series, name)) is not None:
                columns[name] = bits
                self._faults["clipped"] += int(np.count_nonzero(bits))
        field = series.magnetic_field
        if field is not None:
            there = np.isfinite(field).any(axis=1)
            self._field.append(series.t_ns[there], {"field": field[there]})
        self._rows.append(series.t_ns, columns)

    def figures(self) -> Sequence[Figure]:
        """Return rate, gaps, order, NaN and clipping of the samples so far."""
        return clock_figures(self._rate_hz, len(self), self._faults)

    def signals(self, frames: Frames | None) -> list[Signal]:
        """Return the quantities in frames; None means its own."""
        body = self.frames.body if frames is None else frames.body

        def column(table: Table, name: str) -> Callable[[int, int], FloatArray]:
            return lambda a, b: convert_vector(table.read(name, a, b), self.frames.body, body)

        magnetic = None
        if len(self._field):
            magnetic = field_signal(self._field.t_ns, column(self._field, "field"), body)
        rate, force = column(self._rows, "rate"), column(self._rows, "force")
        signals = imu_signals(self.t_ns, rate, force, body, magnetic)
        for signal in signals:
            signal.pyramid = self._pyramids[frames, signal.name]
        return signals

    def part(self, start: int, stop: int) -> ImuSeries:
        """Return samples as a series; the magnetic field is NaN between its samples."""
        table = self._rows
        t_ns = table.t_ns[start:stop]

        def bits(name: str) -> AnyArray | None:
            return table.read(name, start, stop) if name in table.names else None

        field = None
        if len(self._field):
            field = np.full((stop - start, 3), np.nan)
            first, last = np.searchsorted(self._field.t_ns, [t_ns[0], t_ns[-1] + 1]).tolist()
            rows = np.searchsorted(t_ns, self._field.t_ns[first:last])
            field[rows] = self._field.read("field", first, last)
        return ImuSeries(
            t_ns,
            table.read("rate", start, stop),
            table.read("force", start, stop),
            magnetic_field=field,
            world=self.frames.world,
            body=self.frames.body,
            gyro_clipping=bits("gyro_clipping"),
            accel_clipping=bits("accel_clipping"),
        )

    def parts(self) -> Iterator[ImuSeries]:
        """Yield all samples in successive series."""
        for start in range(0, len(self), PART):
            yield self.part(start, min(start + PART, len(self)))
