"""Messages of one sensor by column, from records or from a series."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from strapdown.messages._by_column import as_records, axes_from_bits, sampled_ns
from strapdown.messages.px4 import SensorGyro
from strapdown.px4._packets import usable
from strapdown.px4._rounding import nearest_us
from strapdown.px4.driver import messages_from_fifo
from strapdown.px4.fifo import unroll
from strapdown.px4.scheduling import Inputs
from strapdown.px4.vehicle_imu.savage import Readings
from strapdown.samples import SampleKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import ByteArray, FloatArray, IntArray
    from strapdown.messages.uorb import UorbMessage

__all__ = ["Samples", "samples_from_fifo", "samples_from_readings", "samples_from_records"]


@dataclass(frozen=True, eq=False)
class Samples:
    """Messages of one sensor in the order of their stamps, all finite.

    Parameters
    ----------
    t_ns : (N,) int64
        Stamps [ns].
    values : (N, 3)
        [rad/s or m/s^2, board FRD].
    temperature : (N,)
        [degC]; NaN where unknown.
    whole : (N, 5) int64
        Samples averaged, error count, and samples clipped by axis.
    device_id : int
        Device id of the last message; 0 without messages.
    came, not_finite, repeated, out_of_order : int
        Numbers of all messages, and of those with the defect.
    """

    t_ns: IntArray
    values: FloatArray
    temperature: NDArray[np.float32]
    whole: IntArray
    device_id: int
    came: int
    not_finite: int
    repeated: int
    out_of_order: int

    @property
    def inputs(self) -> Inputs:
        """Inputs of the kernel, in float32 and microseconds."""
        with np.errstate(over="ignore"):
            values = self.values.astype(np.float32)
        return Inputs(
            np.ascontiguousarray(np.column_stack([nearest_us(self.t_ns), self.whole])),
            np.ascontiguousarray(np.column_stack([values, self.temperature])),
        )

    @property
    def readings(self) -> Readings:
        """Readings for savage mode; a message that averages samples is a mean."""
        averaged = len(self.whole) > 0 and np.median(self.whole[:, 0]) > 1.0
        kind = SampleKind.MEAN if averaged else SampleKind.POINT
        return Readings(self.t_ns, self.values, kind)


def samples_from_records(records: NDArray[np.void], kind: type[UorbMessage]) -> Samples:
    """Return messages by column.

    Parameters
    ----------
    records : (N,) array of kind.dtype
        SensorGyro or SensorAccel.
    kind : type of UorbMessage
        Class of the messages.

    Returns
    -------
    Samples

    Raises
    ------
    ShapeError
        The records have another type.
    ValueRangeError
        A stamp reaches 2^63 ns.
    """
    records = as_records(records, kind)
    return _in_order(
        sampled_ns(records),
        np.column_stack([records[axis].astype(np.float64) for axis in "xyz"]),
        records["temperature"],
        np.column_stack(
            [records[name].astype(np.int64) for name in ("samples", "error_count", "clip_counter")]
        ),
        int(records["device_id"][-1]) if len(records) else 0,
    )


def samples_from_fifo(
    packets: NDArray[np.void], kind: type[UorbMessage]
) -> tuple[Samples, Readings]:
    """Return packets by column: their means, and the samples in them.

    Parameters
    ----------
    packets : (N,) array of kind.dtype
        SensorGyroFifo or SensorAccelFifo; those without samples or scale are left out.
    kind : type of UorbMessage
        Class of the messages.

    Returns
    -------
    Samples
        Means of the packets, as by a driver.
    Readings
        The samples, at their true times.

    Raises
    ------
    ShapeError
        The packets have another type.
    ValueRangeError
        A stamp reaches 2^63 ns.
    """
    packets = as_records(packets, kind)
    came = len(packets)
    packets = packets[usable(packets)]
    packets = packets[np.argsort(packets["timestamp_sample"], kind="stable")]
    means = samples_from_records(messages_from_fifo(packets), SensorGyro)
    means = replace(means, came=came, not_finite=means.not_finite + came - len(packets))
    samples = unroll(packets)
    return means, Readings(samples.t_ns, samples.values, SampleKind.POINT)


def samples_from_readings(
    t_ns: IntArray, values: FloatArray, clipping: ByteArray | None, device_id: int
) -> Samples:
    """Return readings at instants by column.

    Parameters
    ----------
    t_ns : (N,) int64
        Stamps [ns].
    values : (N, 3)
        [rad/s or m/s^2, board FRD].
    clipping : (N,) uint8 or None
        Saturated axes: bits X=1, Y=2, Z=4.
    device_id : int
        Id of the sensor.

    Returns
    -------
    Samples
    """
    whole = np.zeros((len(t_ns), 5), np.int64)
    whole[:, 0] = 1
    if clipping is not None:
        whole[:, 2:] = axes_from_bits(clipping)
    return _in_order(t_ns, values, np.full(len(t_ns), np.nan, np.float32), whole, device_id)


def _in_order(
    t_ns: IntArray,
    values: FloatArray,
    temperature: NDArray[np.float32],
    whole: IntArray,
    device_id: int,
) -> Samples:
    """Leave out messages that are not finite, and sort the others."""
    came, finite = len(t_ns), np.isfinite(values).all(axis=1)
    rows = np.flatnonzero(finite)
    steps = np.diff(t_ns[rows])
    if (steps < 0).any():
        rows = rows[np.argsort(t_ns[rows], kind="stable")]
    return Samples(
        t_ns[rows],
        values[rows],
        temperature[rows],
        whole[rows],
        device_id,
        came,
        came - len(rows),
        int(np.count_nonzero(np.diff(t_ns[rows]) == 0)),
        int(np.count_nonzero(steps < 0)),
    )
