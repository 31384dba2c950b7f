"""PX4's driver stage: raw samples of a chip to ``sensor_gyro`` and ``sensor_accel``.

A chip that is read sample by sample gives one message per sample. A chip with a FIFO gives
packets; each is converted to one message, the mean of the trapezoids between its samples::

    (0.5 (last + x[N-1]) + x[0] + ... + x[N-2]) scale / N

where ``last`` is the last sample of the previous packet. Such a mean belongs to the middle of the
packet, but is stamped with its end.

References
----------
PX4-Autopilot, ``src/lib/drivers/gyroscope/PX4Gyroscope.cpp`` and
``src/lib/drivers/accelerometer/PX4Accelerometer.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import numpy as np

from strapdown._checks import as_floats
from strapdown.errors import ValueRangeError
from strapdown.messages.px4 import SensorAccel, SensorAccelFifo, SensorGyro, SensorGyroFifo
from strapdown.px4._packets import (
    AXES,
    CAPACITY,
    copied,
    filled,
    is_clipped,
    last_samples,
    rotated,
    usable,
)
from strapdown.px4._rounding import as_int16, round_half_away
from strapdown.px4.rotations import rotate, rotation_matrix
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from strapdown._typing import ArrayLike, BoolArray

    Packet = TypeVar("Packet", SensorGyroFifo, SensorAccelFifo)

__all__ = ["RANGES", "DriverChannel", "Kind", "messages_from_fifo", "single_messages"]

Kind: TypeAlias = type[SensorGyro | SensorAccel]

RANGES: Final[dict[Kind, np.float32]] = {
    SensorGyro: np.float32(2000.0) * (np.float32(np.pi) / np.float32(180.0)),
    SensorAccel: np.float32(16.0) * np.float32(STANDARD_GRAVITY),
}
"""Default range of a sensor [rad/s], [m/s^2]."""
_SAME_SCALE: Final = np.finfo(np.float32).eps
_CLIP_SHARE: Final = np.float32(0.999)


class DriverChannel:
    """Driver of one gyroscope or accelerometer.

    Parameters
    ----------
    kind : SensorGyro or SensorAccel
        Message class of the sensor.
    device_id : int
        Device id in every message.
    scale : float
        Size of one unit of the chip [rad/s or m/s^2].
    sensor_range : float, optional
        Value at which it saturates [rad/s or m/s^2]; by default 2000 deg/s or 16 g.
    rotation : int
        Mounting of the chip on the board, see :func:`rotation_matrix`.

    Attributes
    ----------
    temperature : float
        Temperature in every message [degrees Celsius]; NaN at first.
    error_count : int
        Error count in every message.

    Raises
    ------
    ValueRangeError
        There is no such rotation, or the scale is not above 0.

    Examples
    --------
    >>> channel = DriverChannel(SensorGyro, 1310988)
    >>> channel.update(1000, (0.25, 0.0, 0.0)).x
    0.25
    """

    def __init__(
        self,
        kind: Kind,
        device_id: int = 0,
        *,
        scale: float = 1.0,
        sensor_range: float | None = None,
        rotation: int = 0,
    ) -> None:
        self.temperature = float("nan")
        self.error_count = 0
        self._kind = kind
        self._device_id = device_id
        self._rotation = rotation
        self._last = np.zeros(3, np.int16)
        self._scale = np.float32(1.0)
        self._range = RANGES[kind]
        self._clip_limit = self._range  # without margin until range or scale is set
        rotation_matrix(rotation)  # raises for an unknown rotation
        self.scale = scale
        if sensor_range is not None:
            self.sensor_range = sensor_range

    @property
    def scale(self) -> float:
        """Size of one unit of the chip [rad/s or m/s^2]; a change converts the last sample."""
        return float(self._scale)

    @scale.setter
    def scale(self, scale: float) -> None:
        if not 0.0 < scale < np.inf:
            raise ValueRangeError(f"expected a scale above 0, got {scale}")
        new = np.float32(scale)
        if abs(new - self._scale) > _SAME_SCALE:
            self._last = _rescaled(self._last, self._scale / new)
            self._scale = new
            self._set_clip_limit()

    @property
    def sensor_range(self) -> float:
        """Value at which the sensor saturates [rad/s or m/s^2]."""
        return float(self._range)

    @sensor_range.setter
    def sensor_range(self, sensor_range: float) -> None:
        self._range = np.float32(sensor_range)
        self._set_clip_limit()

    @property
    def clip_limit(self) -> float:
        """Reading from which a single sample counts as saturated [units of the chip]."""
        return float(self._clip_limit)

    def update(self, t_us: int, xyz: ArrayLike) -> SensorGyro | SensorAccel:
        """Publish a single sample.

        Parameters
        ----------
        t_us : int
            Its time [us].
        xyz : array_like, shape (3,)
            Reading in units and axes of the chip.

        Returns
        -------
        SensorGyro or SensorAccel
            In board FRD.
        """
        raw = as_floats(xyz, "xyz", (3,)).astype(np.float32)[None]
        records = single_messages(rotate(self._rotation, raw), self._scale, self._clip_limit)
        records["timestamp"] = records["timestamp_sample"] = t_us
        return self._published(records)

    def update_fifo(self, packet: Packet) -> tuple[Packet, SensorGyro | SensorAccel]:
        """Publish a packet.

        Parameters
        ----------
        packet : SensorGyroFifo or SensorAccelFifo
            In axes of the chip; its device id and scale are ignored.

        Returns
        -------
        fifo : SensorGyroFifo or SensorAccelFifo
            The packet in board FRD.
        mean : SensorGyro or SensorAccel
            Its mean.

        Raises
        ------
        ValueRangeError
            The packet has no samples, or more than 32.
        """
        records = copied(packet.to_numpy().reshape(1))
        records["device_id"], records["scale"] = self._device_id, self._scale
        records = rotated(records, self._rotation)
        mean = self._published(messages_from_fifo(records, last=self._last.tolist()))
        self._last = last_samples(records)[0]
        return type(packet).from_record(records[0]), mean

    def _set_clip_limit(self) -> None:
        self._clip_limit = abs(self._range / self._scale * _CLIP_SHARE)

    def _published(self, records: NDArray[np.void]) -> SensorGyro | SensorAccel:
        records["device_id"] = self._device_id
        records["temperature"] = self.temperature
        records["error_count"] = self.error_count
        return self._kind.from_record(records[0])


def messages_from_fifo(
    fifo_records: NDArray[np.void], *, last: Sequence[int] = (0, 0, 0), rotation: int = 0
) -> NDArray[np.void]:
    """Average FIFO packets as the driver does, in float32.

    Parameters
    ----------
    fifo_records : (K,) array of SensorGyroFifo.dtype or SensorAccelFifo.dtype
        Consecutive packets of one chip. Where their scale changes, the last sample of the previous
        packet is converted.
    last : sequence of 3 ints
        Sample before the first packet [counts, board FRD]; a driver begins with zeros.
    rotation : int
        From the axes of the packets to board FRD. Those in a log are in FRD.

    Returns
    -------
    (K,) array of SensorGyro.dtype, which is also SensorAccel.dtype
        Without temperature (NaN).

    Raises
    ------
    ValueRangeError
        A packet has no samples, more than 32, or no scale.
    """
    good = usable(fifo_records)
    if not good.all():
        row = int(np.argmin(good))
        samples, scale = fifo_records["samples"][row], fifo_records["scale"][row]
        raise ValueRangeError(
            f"expected packets of 1 to {CAPACITY} samples with a scale above 0, got {samples} "
            f"samples with scale {scale} in row {row}; leave it out"
        )
    packets = rotated(fifo_records, rotation)
    sizes, scales = packets["samples"], packets["scale"]
    newest = last_samples(packets)
    carried = _carried(np.concatenate([np.array([last], np.int16), newest[:-1]]), scales)
    inner, valid = filled(sizes - np.uint8(1)), filled(sizes)
    messages = np.zeros(len(packets), SensorGyro.dtype)
    for name in ("timestamp", "timestamp_sample", "device_id", "samples"):
        messages[name] = packets[name]
    messages["temperature"] = np.nan
    with np.errstate(over="ignore"):
        for column, axis in enumerate(AXES):
            counts = packets[axis]
            ends = carried[:, column].astype(np.int32) + newest[:, column]
            inside = np.sum(counts, axis=1, dtype=np.int32, where=inner)
            integral = np.float32(0.5) * ends.astype(np.float32) + inside.astype(np.float32)
            messages[axis] = integral * (scales / sizes.astype(np.float32))
            messages["clip_counter"][:, column] = (is_clipped(counts) & valid).sum(axis=1)
    return messages


def single_messages(
    raw: NDArray[np.floating], scale: np.float32, clip_limit: np.float32
) -> NDArray[np.void]:
    """Return readings in board FRD as messages without stamps and id.

    Parameters
    ----------
    raw : (N, 3) floating
        In units of the chip, board FRD.
    scale : float32
        Size of one unit [rad/s or m/s^2].
    clip_limit : float32
        Value from which a reading counts as saturated [units of the chip].

    Returns
    -------
    (N,) array of SensorGyro.dtype, which is also SensorAccel.dtype
        Without temperature (NaN).
    """
    records = np.zeros(len(raw), SensorGyro.dtype)
    for column, axis in enumerate(AXES):
        records[axis] = raw[:, column] * scale
    records["clip_counter"] = np.abs(raw) >= clip_limit
    records["temperature"], records["samples"] = np.nan, 1
    return records


def _carried(last: NDArray[np.int16], scales: NDArray[np.float32]) -> NDArray[np.int16]:
    """Return the sample before each packet, in the units of that packet."""
    last = last[: len(scales)]
    changed: BoolArray = np.abs(np.diff(scales, prepend=scales[:1])) > _SAME_SCALE
    if changed.any():
        with np.errstate(over="ignore"):
            ratio = np.roll(scales, 1)[changed] / scales[changed]
            last[changed] = _rescaled(last[changed], ratio[:, None])
    return last


def _rescaled(
    last: NDArray[np.int16], ratio: NDArray[np.float32] | np.float32
) -> NDArray[np.int16]:
    """Convert raw samples to another scale, rounding half away from zero and saturating."""
    with np.errstate(over="ignore", invalid="ignore"):
        product = np.nan_to_num(last.astype(np.float32) * ratio)
    return as_int16(round_half_away(product))
