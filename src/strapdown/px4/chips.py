"""Simulated chips: messages that two drivers would publish for the samples of a series.

References
----------
PX4-Autopilot, simulator interface.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ValueRangeError
from strapdown.geometry.frames import BodyFrame
from strapdown.messages._by_column import axes_from_bits, stamped, unsigned_from_stamps
from strapdown.messages.px4 import SensorAccel, SensorAccelFifo, SensorGyro, SensorGyroFifo
from strapdown.px4._packets import AXES, CAPACITY
from strapdown.px4._rounding import as_int16, round_half_away
from strapdown.px4.driver import RANGES, DriverChannel, messages_from_fifo, single_messages
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import FloatArray, IntArray
    from strapdown.px4.driver import Kind
    from strapdown.series import ImuSeries

__all__ = ["ChannelSpec", "fifo_from_series", "sensor_messages_from_series"]


@dataclass(frozen=True)
class ChannelSpec:
    """Quantisation and saturation of a chip.

    Parameters
    ----------
    device_id : int
        Device id in every message.
    scale : float, optional
        Size of one count [rad/s or m/s^2]. By default packets use the range over 32768, and single
        samples are not quantised.
    sensor_range : float, optional
        Value from which single samples count as saturated [rad/s or m/s^2]; by default 2000 deg/s
        or 16 g.
    truncate : bool
        Truncate counts towards zero, as PX4's simulation does, instead of rounding.

    Raises
    ------
    ValueRangeError
        ``scale`` is not above 0.
    """

    device_id: int = 0
    scale: float | None = None
    sensor_range: float | None = None
    truncate: bool = False

    def __post_init__(self) -> None:
        if self.scale is not None and not self.scale > 0.0:
            raise ValueRangeError(
                f"expected scale above 0, got {self.scale}; leave it out if unknown"
            )

    def counts(self, values: FloatArray, scale: np.float32) -> NDArray[np.int16]:
        """Return values as saturated counts of the chip, in the same shape."""
        with np.errstate(over="ignore"):
            quotient = as_finite(values, "values", (3,)).astype(np.float32) / scale
        whole = np.trunc(quotient) if self.truncate else round_half_away(quotient)
        return as_int16(whole)


def fifo_from_series(
    series: ImuSeries,
    *,
    samples: int,
    gyro: ChannelSpec = ChannelSpec(),
    accel: ChannelSpec = ChannelSpec(),
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """Return the FIFO packets that two chips would produce.

    Parameters
    ----------
    series : ImuSeries
        N finite samples at the rate of the chips, in any body frame.
    samples : int
        Samples per packet, 1 to 32; the last packet has the remainder.
    gyro, accel : ChannelSpec
        The chips.

    Returns
    -------
    gyro, accel : (ceil(N / samples),) array of SensorGyroFifo.dtype and SensorAccelFifo.dtype
        In FRD, stamped with the last sample, to the microsecond.

    Raises
    ------
    ValueRangeError
        A value is not finite, a stamp does not fit, or ``samples`` is not 1 to 32.
    """
    if not 1 <= samples <= CAPACITY:
        raise ValueRangeError(f"expected 1 to {CAPACITY} samples a packet, got {samples}")
    series = series.in_frames(body=BodyFrame.FRD)
    return (
        _packets(series.t_ns, series.angular_velocity, samples, SensorGyro, gyro),
        _packets(series.t_ns, series.specific_force, samples, SensorAccel, accel),
    )


def sensor_messages_from_series(
    series: ImuSeries,
    *,
    samples: int = 1,
    gyro: ChannelSpec = ChannelSpec(),
    accel: ChannelSpec = ChannelSpec(),
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """Return the messages that the drivers of two chips would publish.

    With more than one sample per message they are means of packets, equal to
    ``messages_from_fifo(fifo_from_series(...))``.

    Parameters
    ----------
    series : ImuSeries
        N samples at the rate of the chips, in any body frame; finite where they are quantised.
        Axes that it marks as saturated are also counted as clipped.
    samples : int
        Samples per message, 1 to 32.
    gyro, accel : ChannelSpec
        The chips.

    Returns
    -------
    gyro, accel : (ceil(N / samples),) array of SensorGyro.dtype and SensorAccel.dtype
        In FRD, without temperature.

    Raises
    ------
    ValueRangeError
        As :func:`fifo_from_series`.
    """
    series = series.in_frames(body=BodyFrame.FRD)
    if samples == 1:
        messages = (
            _singles(series.t_ns, series.angular_velocity, SensorGyro, gyro),
            _singles(series.t_ns, series.specific_force, SensorAccel, accel),
        )
    else:
        packets = fifo_from_series(series, samples=samples, gyro=gyro, accel=accel)
        messages = messages_from_fifo(packets[0]), messages_from_fifo(packets[1])
    starts = np.arange(0, len(series), samples)
    for records, bits in zip(messages, (series.gyro_clipping, series.accel_clipping), strict=True):
        if bits is not None:
            marked = np.add.reduceat(axes_from_bits(bits), starts)
            records["clip_counter"] = np.maximum(records["clip_counter"], marked)
    return messages


def _singles(t_ns: IntArray, values: FloatArray, kind: Kind, spec: ChannelSpec) -> NDArray[np.void]:
    """Return single samples in board FRD as messages."""
    channel = DriverChannel(kind, scale=spec.scale or 1.0, sensor_range=spec.sensor_range)
    scale = np.float32(channel.scale)
    raw = values if spec.scale is None else spec.counts(values, scale)
    records = single_messages(raw.astype(np.float32), scale, np.float32(channel.clip_limit))
    stamps = unsigned_from_stamps(t_ns, "t_ns", np.uint64, NS_PER_US)
    records["timestamp"] = records["timestamp_sample"] = stamps
    records["device_id"] = spec.device_id
    return records


def _packets(
    t_ns: IntArray, values: FloatArray, samples: int, kind: Kind, spec: ChannelSpec
) -> NDArray[np.void]:
    """Return samples in board FRD as packets."""
    rows = np.arange(len(t_ns))
    ends = np.minimum(rows[::samples] + samples, len(t_ns)) - 1
    fifo = SensorGyroFifo if kind is SensorGyro else SensorAccelFifo
    records = stamped(fifo, t_ns[ends])
    records["device_id"] = spec.device_id
    scale = np.float32(spec.scale or RANGES[kind] / np.float32(32768.0))
    records["scale"] = scale
    records["samples"] = ends - rows[::samples] + 1
    if len(t_ns) > 1:
        records["dt"] = np.median(np.diff(t_ns)) / NS_PER_US
    counts = spec.counts(values, scale)
    for column, axis in enumerate(AXES):
        records[axis][rows // samples, rows % samples] = counts[:, column]
    return records
