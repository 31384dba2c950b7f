"""The host side of a device: arrival, stamps and loss of its samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.sensors._blocks import BLOCK, Blocks
from strapdown.sensors.clock import whole
from strapdown.sensors.noise import DEVICE, Process, normals, uniforms
from strapdown.sensors.spec import Fifo, FifoStamps
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.sensors.clock import SampleClock
    from strapdown.sensors.noise import NoiseKey
    from strapdown.sensors.spec import Latency

__all__ = ["HostStamped", "HostStamps"]

_LONG_AGO_NS = -(2**62)


class HostStamped(NamedTuple):
    """Samples at the host.

    Parameters
    ----------
    t_host_ns : (N,) int64
        Stamps, since the instant 0 of the run [ns].
    kept : (N,) bool
        Whether a sample reached the host: neither dropped in transport nor lost in the queue.
    overrun : (N,) bool
        Whether the reading that the sample belongs to found samples lost in the queue.
    """

    t_host_ns: IntArray
    kept: BoolArray
    overrun: BoolArray


class HostStamps:
    """Stamps of the host.

    A sample arrives after its true instant by the constant latency plus a random part. The
    random part is a normal distribution about zero cut off at zero, which is |sigma n|, or a
    table of quantiles. Arrivals stay in order: one that would arrive before or with its
    predecessor arrives one nanosecond after it.

    A queue of watermark W is read when it contains samples gW to gW + W - 1: at the arrival of the
    last one, with its latency. All are stamped with the time of the reading (``"burst"``), with
    that less (W - 1 - i) nominal periods (``"reconstructed"``), or with the device's own time
    (``"device"``). Only the last kind can repeat or go back.

    A queue of a certain depth overruns when the reading is late: sample k is lost if sample
    k + depth is taken before the reading that k belongs to. It is the oldest in the queue then.
    The samples after it keep their groups and stamps.

    Samples drop independently of each other, after they were stamped. A lost or dropped sample
    does not affect the others.

    Parameters
    ----------
    latency : Latency
        From instant to arrival.
    fifo : Fifo or None
        The queue on the device, if there is one.
    drop_probability : float
        Of each sample; its resolution is 2**-24.
    clock : SampleClock
        Sampling instants.
    key : NoiseKey
        Of latency and drops.
    compiled : bool, optional
        Compile the noise; the bits are the same.

    Raises
    ------
    ValueRangeError
        The probability is not within 0 to 1.
    """

    def __init__(  # noqa: PLR0913 (one argument a part of the specification)
        self,
        latency: Latency,
        fifo: Fifo | None,
        drop_probability: float,
        clock: SampleClock,
        key: NoiseKey,
        *,
        compiled: bool = False,
    ) -> None:
        if not 0.0 <= drop_probability <= 1.0:
            raise ValueRangeError(f"expected drop_probability from 0 to 1, got {drop_probability}")
        self._latency = latency
        self._fifo = fifo
        self._drop_probability = drop_probability
        self._clock = clock
        self._key = key
        self._compiled = compiled
        self._blocks: Blocks | None = None
        if fifo is not None or latency.sigma_s or latency.quantiles_s:
            watermark = 1 if fifo is None else fifo.watermark
            self._rows = watermark * -(-BLOCK // watermark)
            self._blocks = Blocks(self._rows, self._block, _LONG_AGO_NS)

    def stamp(self, start: int, count: int) -> HostStamped:
        """Return stamps and loss of the output samples ``start``, ``start + 1``, ..."""
        if self._blocks is None:
            t_s = self._clock.instants(start, count) + self._latency.constant_s
            t_ns, lost = _ns(t_s), np.zeros(count, np.bool_)
            overrun = lost
        else:
            t_ns, lost, overrun = self._blocks.rows(start, count)
        if self._drop_probability:
            drawn = uniforms(self._key, DEVICE, Process.DROPS, start, count)
            lost = lost | (drawn < self._drop_probability)
        return HostStamped(t_ns, ~lost, overrun)

    def state(self) -> list[list[Any]]:
        """Return the position of the arrivals, as JSON-able values; without the clock."""
        return [] if self._blocks is None else self._blocks.state()

    def restore(self, state: list[list[Any]]) -> None:
        """Restore a position returned by :meth:`state`; stamps are the same, at less cost."""
        if self._blocks is not None:
            self._blocks.restore(state)

    def _block(self, block: int, latest: int) -> tuple[tuple[IntArray, BoolArray, BoolArray], int]:
        """Return a block, given the latest reading so far less its number."""
        fifo = self._fifo or Fifo(watermark=1, stamps=FifoStamps.BURST)
        start, every = block * self._rows, fifo.watermark
        arrival_s = self._clock.instants(start, self._rows) + self._latencies(start)
        arrival_ns = _ns(arrival_s[every - 1 :: every])
        number = start // every + np.arange(len(arrival_ns))
        ordered = np.maximum.accumulate(np.concatenate(([latest], arrival_ns - number)))
        reading_ns = np.repeat(ordered[1:] + number, every)

        lost = np.zeros(self._rows, np.bool_)
        if fifo.depth is not None:
            lost = _ns(self._clock.instants(start + fifo.depth, self._rows)) < reading_ns
        overrun = np.repeat(lost.reshape(-1, every).any(axis=1), every)
        return (self._stamps(fifo, start, reading_ns), lost, overrun), int(ordered[-1])

    def _stamps(self, fifo: Fifo, start: int, reading_ns: IntArray) -> IntArray:
        if fifo.stamps is FifoStamps.DEVICE:
            return _ns(np.array(self._clock.start_s)) + self._clock.device_ns(start, self._rows)
        if fifo.stamps is FifoStamps.RECONSTRUCTED:
            to_last = fifo.watermark - 1 - np.arange(self._rows) % fifo.watermark
            return reading_ns - whole(to_last, NS_PER_S / self._clock.rate_hz, nearest=True)
        return reading_ns

    def _latencies(self, start: int) -> FloatArray | float:
        """Return the latencies of a block [s]."""
        where = self._key, DEVICE, Process.LATENCY, start, self._rows
        latency = self._latency
        if latency.quantiles_s:
            probability = np.linspace(0.0, 1.0, len(latency.quantiles_s))
            drawn = np.interp(uniforms(*where), probability, latency.quantiles_s)
            return latency.constant_s + drawn
        if latency.sigma_s:
            noise = normals(*where, compiled=self._compiled).astype(np.float64)
            return latency.constant_s + latency.sigma_s * np.abs(noise)
        return latency.constant_s


def _ns(t_s: FloatArray) -> IntArray:
    return np.rint(t_s * NS_PER_S).astype(np.int64)
