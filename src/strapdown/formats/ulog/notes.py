"""Notes about the streams of a log: coverage, gaps, implausible values, devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._words import counted
from strapdown.formats._coverage import Coverage
from strapdown.formats._plausible import Tally, suspicions
from strapdown.formats._salvage import Places
from strapdown.px4.device_id import DeviceId
from strapdown.series import ImuSeries
from strapdown.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from strapdown._typing import IntArray
    from strapdown.series import Increments, Trajectory

__all__ = ["StreamNotes", "uncalibrated"]

_LONG_STEP: Final = 1.5
_USUAL: Final = 1000
"""Steps from whose median others are judged, the same however a log is divided into blocks."""
_COLDEST: Final = -60.0
_HOTTEST: Final = 150.0
_OF_A_CHIP: Final = re.compile(r"(^|/)sensor_(gyro|accel)(_fifo)?(\.\d+)?$")


def uncalibrated(names: Iterable[str]) -> list[str]:
    """Return a line with the topics that hold raw measurements of a chip, if any."""
    found = [name for name in names if _OF_A_CHIP.search(name)]
    return [f"{', '.join(found)}: uncalibrated, in axes of the board"] if found else []


class StreamNotes:
    """Collector of notes about the streams of a log, block by block."""

    def __init__(self) -> None:
        self._known: dict[str, _Stream] = {}
        self._devices: dict[int, dict[tuple[str, int], str]] = {}

    @property
    def _streams(self) -> dict[str, _Stream]:
        """The streams in the order of their names: blocks have them in another one."""
        return {name: self._known[name] for name in sorted(self._known)}

    def see(
        self,
        name: str,
        series: ImuSeries | Trajectory | Increments,
        records: NDArray[np.void],
        intervals: tuple[IntArray, IntArray] | None = None,
    ) -> None:
        """Check the rows of a block.

        Parameters
        ----------
        name : str
            Name of the stream in the notes.
        series : ImuSeries, Trajectory or Increments
            N rows.
        records : (M,) structured array
            Their source messages.
        intervals : tuple of two (N,) int64, optional
            Ends and lengths of the intervals of the rows [ns].
        """
        if not len(series):
            return
        stream = self._known.setdefault(name, _Stream())
        start, names = stream.rows, records.dtype.names or ()
        stream.tally.add(name, suspicions(series, after_ns=stream.last_ns), start=start)
        if "temperature" in names:
            degrees = records["temperature"]
            odd = (degrees < _COLDEST) | (degrees > _HOTTEST)
            stream.tally.add(name, {"a temperature outside -60 to 150 degC": odd}, start=start)
        for number, field in enumerate(("device_id", "gyro_device_id", "accel_device_id")):
            if field in names:
                what = f"{name} {field.removesuffix('_device_id')}".removesuffix(" device_id")
                ids = records[field]
                for device in {int(ids[0]), *ids[1:][ids[1:] != ids[:-1]].tolist()}:
                    self._devices.setdefault(device, {})[name, number] = what
        if isinstance(series, ImuSeries) and intervals is not None:
            odd = (intervals[1] <= 0) | (intervals[1] > NS_PER_S)
            stream.tally.add(name, {"an interval outside 0 to 1 s": odd}, start=start)
        stream.add(series.t_ns)
        if intervals is not None:
            stream.cover(*intervals)

    @property
    def coverage(self) -> dict[str, float]:
        """Sum of the intervals of each stream over its time span, by name."""
        return {
            name: stream.covered.share
            for name, stream in self._streams.items()
            if stream.end_ns is not None
        }

    def lines(self) -> list[str]:
        """Return all notes, one line each."""
        lines = [line for stream in self._streams.values() for line in stream.tally.lines()]
        for name, share in self.coverage.items():
            lines.append(f"{name}: the intervals cover {share:.1%} of the time")
        for name, stream in self._streams.items():
            lines += [f"{name}: {said}" for said in stream.lines()]
        lines += uncalibrated(self._streams)
        devices = Places()
        for what in sorted({what for each in self._devices.values() for what in each.values()}):
            count = sum(what in each.values() for each in self._devices.values())
            if count > 1:
                devices.note(f"{what}: the device changes, there are {count}")
        first = {device: (min(found), device) for device, found in self._devices.items()}
        for device in sorted(first, key=first.__getitem__):
            found = self._devices[device]
            if device:
                streams = ", ".join(found[place] for place in sorted(found))
                devices.note(f"device {_device(device)}: {streams}")
        return [*lines, *devices.lines()]


class _Stream:
    """The times of one stream so far [ns]."""

    def __init__(self) -> None:
        self.rows = 0
        self.last_ns: int | None = None
        self.tally = Tally()
        self._early: list[IntArray] = []
        self._median_ns = 0.0
        self._long = 0
        self._longest_ns, self._longest_row = 0, 0
        self.covered = Coverage()
        self.end_ns: int | None = None  # of the last interval
        self._loose, self._lost_ns = 0, 0

    def add(self, t_ns: IntArray) -> None:
        """Check the steps between rows."""
        steps = np.diff(t_ns, prepend=t_ns[0] if self.last_ns is None else self.last_ns)
        forward = steps[steps > 0]
        if self._median_ns:
            self._long += int(np.count_nonzero(forward > _LONG_STEP * self._median_ns))
        else:
            self._early.append(forward)
            if sum(map(len, self._early)) >= _USUAL:
                self._judge_early()
        if steps.max() > self._longest_ns:
            self._longest_ns = int(steps.max())
            self._longest_row = self.rows + int(steps.argmax())
        self.rows += len(t_ns)
        self.last_ns = int(t_ns[-1])

    def _judge_early(self) -> None:
        """Compute the median of the first steps, and compare these steps with it."""
        early = np.concatenate([np.empty(0, np.int64), *self._early])
        self._early = []
        if len(early):
            self._median_ns = float(np.median(early[:_USUAL]))
            self._long += int(np.count_nonzero(early > _LONG_STEP * self._median_ns))

    def cover(self, ends_ns: IntArray, dt_ns: IntArray) -> None:
        """Check that each interval of the rows begins at the end of the previous one."""
        begin_ns = ends_ns[0] - dt_ns[0] if self.end_ns is None else self.end_ns
        loose = np.diff(ends_ns, prepend=begin_ns) - dt_ns
        self._loose += int(np.count_nonzero(loose > 0))
        self._lost_ns += int(loose[loose > 0].sum())
        self.covered.add(ends_ns, dt_ns)
        self.end_ns = int(ends_ns[-1])

    def lines(self) -> list[str]:
        """Return one line for each kind of gap."""
        self._judge_early()
        lines = []
        if 0 < self._loose < self.rows - 1:  # in a stream that is logged only occasionally, all are
            lines.append(
                f"{self._loose} of {self.rows - 1} steps are longer than their intervals, "
                f"{self._lost_ns / NS_PER_MS:.1f} ms are lost"
            )
        if self._long:
            lines.append(
                f"{counted(self._long, 'step')} above {_LONG_STEP:g} times the median of "
                f"{self._median_ns / NS_PER_MS:.3g} ms, the longest "
                f"{self._longest_ns / NS_PER_MS:.1f} ms before row {self._longest_row}"
            )
        return lines


def _device(device_id: int) -> str:
    device = DeviceId.decode(device_id)
    return f"0x{device_id:06X} {device.name} ({device.bus_type.name} {device.bus})"
