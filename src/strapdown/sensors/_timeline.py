"""Columns of a sample except for the measured values: number, stamps, temperature, flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from strapdown.samples import SampleKind
from strapdown.sensors.clock import SampleClock
from strapdown.sensors.host import HostStamps
from strapdown.sensors.samples import Flag
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import ByteArray, FloatArray, IntArray
    from strapdown.sensors.noise import NoiseKey
    from strapdown.sensors.spec import ImuSpec
    from strapdown.sensors.temperature import TemperatureProfile

__all__ = ["Moments", "Timeline"]

_PIECE = 4096  # samples; their columns fit in the cache during the computation


class Moments(NamedTuple):
    """Columns of :class:`~strapdown.sensors.samples.Samples`, (N,) each."""

    seq: IntArray
    t_true_s: FloatArray
    t_ns: IntArray
    t_sensor_ns: IntArray
    ticks: IntArray
    t_host_ns: IntArray
    temperature_degC: FloatArray | None  # noqa: N815 (the unit)
    flags: ByteArray


class Timeline:
    """Clock of the device, transport to the host, and temperature.

    Parameters
    ----------
    spec : ImuSpec
    key : NoiseKey
    start_s : float
        True instant of sample 0 [s].
    start_ns : int
        Stamp of instant 0 [ns].
    window : int
        Internal samples an output sample.
    temperature : TemperatureProfile or None
    """

    def __init__(  # noqa: PLR0913 (where, when and what)
        self,
        spec: ImuSpec,
        key: NoiseKey,
        *,
        start_s: float,
        start_ns: int,
        window: int,
        temperature: TemperatureProfile | None,
    ) -> None:
        self.start_s = start_s
        self.clock = SampleClock(
            spec.clock, spec.rate_hz, key, start_s=start_s, oversampling=window
        )
        self._host = HostStamps(spec.latency, spec.fifo, spec.drop_probability, self.clock, key)
        self._start_ns = start_ns
        self._sensor_start_ns = start_ns + int(np.rint(start_s * NS_PER_S))
        self._temperature = temperature
        self._needs_previous = spec.sampling is SampleKind.VELOCITY_DIFFERENCE

    def moments(self, start: int, count: int) -> Moments:
        """Return the columns of samples ``start``, ``start + 1``, ..."""
        piece = self._moments(start, min(count, _PIECE))
        if count <= _PIECE:
            return piece
        whole: list[Any] = [None if own is None else np.empty(count, own.dtype) for own in piece]
        for first in range(0, count, _PIECE):
            if first:
                piece = self._moments(start + first, min(count - first, _PIECE))
            for column, own in zip(whole, piece, strict=True):
                if column is not None:
                    column[first : first + _PIECE] = own
        return Moments(*whole)

    def _moments(self, start: int, count: int) -> Moments:
        seq = np.arange(start, start + count)
        t_s = self.clock.instants(start, count)
        host = self._host.stamp(start, count)
        flags = Flag.OVERRUN * host.overrun.astype(np.uint8)
        flags |= Flag.DROPPED * (~host.kept).astype(np.uint8)
        if self._needs_previous:
            flags |= Flag.NOT_READY * (seq == 0).astype(np.uint8)
        return Moments(
            seq,
            t_s,
            self._start_ns + np.rint(t_s * NS_PER_S).astype(np.int64),
            self._sensor_start_ns + self.clock.device_ns(start, count),
            self.clock.ticks(start, count),
            self._start_ns + host.t_host_ns,
            None if self._temperature is None else self._temperature.at(t_s),
            flags,
        )

    def state(self) -> dict[str, Any]:
        """Return the position of clock and queue, as JSON-able values."""
        return {"clock": self.clock.state(), "host": self._host.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a position returned by :meth:`state`."""
        self.clock.restore(state["clock"])
        self._host.restore(state["host"])
