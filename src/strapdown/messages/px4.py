"""PX4's ``VehicleImu``: angular velocity and specific force, integrated over one interval.

The message has two layouts. In memory its fields stand in the order below and are padded to
64 bytes; ULog files and DDS samples carry the first 60 of them, a DDS sample after the four
bytes of its encapsulation.

======  ==========================  ========  =================================================
offset  field                       type      meaning
======  ==========================  ========  =================================================
0       ``timestamp``               u64       time of publication [us since boot]
8       ``timestamp_sample``        u64       end of the interval [us since boot]
16      ``accel_device_id``         u32       which accelerometer
20      ``gyro_device_id``          u32       which gyroscope
24      ``delta_angle``             f32[3]    rotation vector of the interval [rad, FRD]
36      ``delta_velocity``          f32[3]    integrated specific force [m/s, FRD]
48      ``delta_angle_dt``          u32       interval of ``delta_angle`` [us]
52      ``delta_velocity_dt``       u32       interval of ``delta_velocity`` [us]
56      ``delta_angle_clipping``    u8        axes of the gyroscope that clipped: X=1 Y=2 Z=4
57      ``delta_velocity_clipping`` u8        axes of the accelerometer that clipped
58      ``accel_calibration_count`` u8        changes when its calibration changes; wraps
59      ``gyro_calibration_count``  u8        changes when its calibration changes; wraps
======  ==========================  ========  =================================================

References
----------
``VehicleImu.msg`` of PX4-Autopilot; ULog file format, PX4 guide.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from strapdown.errors import FormatError, TruncatedError
from strapdown.messages._record import Record, Unsigned, View
from strapdown.messages.cdr import byte_order, in_payload, rows_by_key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from strapdown._typing import IntArray
    from strapdown.messages.cdr import Order, Payload

__all__ = ["ULOG_FORMAT", "VehicleImu", "decode_vehicle_imu_batch", "encode_vehicle_imu_batch"]

ULOG_FORMAT: Final = (
    "vehicle_imu:uint64_t timestamp;uint64_t timestamp_sample;"
    "uint32_t accel_device_id;uint32_t gyro_device_id;"
    "float[3] delta_angle;float[3] delta_velocity;"
    "uint32_t delta_angle_dt;uint32_t delta_velocity_dt;"
    "uint8_t delta_angle_clipping;uint8_t delta_velocity_clipping;"
    "uint8_t accel_calibration_count;uint8_t gyro_calibration_count;uint8_t[4] _padding0;"
)
"""Payload of the FORMAT record of a ULog file."""

_LOGGED: Final = np.dtype(
    [
        ("timestamp", "<u8"),
        ("timestamp_sample", "<u8"),
        ("accel_device_id", "<u4"),
        ("gyro_device_id", "<u4"),
        ("delta_angle", "<f4", (3,)),
        ("delta_velocity", "<f4", (3,)),
        ("delta_angle_dt", "<u4"),
        ("delta_velocity_dt", "<u4"),
        ("delta_angle_clipping", "u1"),
        ("delta_velocity_clipping", "u1"),
        ("accel_calibration_count", "u1"),
        ("gyro_calibration_count", "u1"),
    ]
)
_ENCAPSULATION: Final = b"\0\1\0\0"


class VehicleImu(Record):
    """One PX4 ``VehicleImu`` message.

    Parameters
    ----------
    **fields : int or array_like
        Any field of the table above by name; the others are 0.

    Raises
    ------
    TypeError
        There is no such field, or an integer field gets something else.
    OverflowError
        An integer does not fit its field.
    ShapeError
        ``delta_angle`` or ``delta_velocity`` gets no three numbers.

    Examples
    --------
    >>> message = VehicleImu(timestamp_sample=1_005_000, delta_angle_dt=5000)
    >>> message.delta_angle[2] = 0.25
    >>> message.delta_angle.tolist()
    [0.0, 0.0, 0.25]
    """

    __slots__ = ()
    _fields_ = (
        ("_timestamp", ctypes.c_uint64),
        ("_timestamp_sample", ctypes.c_uint64),
        ("_accel_device_id", ctypes.c_uint32),
        ("_gyro_device_id", ctypes.c_uint32),
        ("_delta_angle", ctypes.c_float * 3),
        ("_delta_velocity", ctypes.c_float * 3),
        ("_delta_angle_dt", ctypes.c_uint32),
        ("_delta_velocity_dt", ctypes.c_uint32),
        ("_delta_angle_clipping", ctypes.c_uint8),
        ("_delta_velocity_clipping", ctypes.c_uint8),
        ("_accel_calibration_count", ctypes.c_uint8),
        ("_gyro_calibration_count", ctypes.c_uint8),
    )

    CLIPPING_X: ClassVar[int] = 1
    CLIPPING_Y: ClassVar[int] = 2
    CLIPPING_Z: ClassVar[int] = 4

    logged_dtype: ClassVar[np.dtype[np.void]] = _LOGGED
    """The 60 bytes of a ULog or DDS sample as one packed numpy record."""
    dtype: ClassVar[np.dtype[np.void]] = np.dtype(_LOGGED.descr, align=True)
    """The 64 bytes in memory."""

    timestamp = Unsigned(64)
    timestamp_sample = Unsigned(64)
    accel_device_id = Unsigned(32)
    gyro_device_id = Unsigned(32)
    delta_angle = View[np.float32]()
    delta_velocity = View[np.float32]()
    delta_angle_dt = Unsigned(32)
    delta_velocity_dt = Unsigned(32)
    delta_angle_clipping = Unsigned(8)
    delta_velocity_clipping = Unsigned(8)
    accel_calibration_count = Unsigned(8)
    gyro_calibration_count = Unsigned(8)

    def __init__(self, **fields: int | ArrayLike) -> None:
        super().__init__()
        for name, value in fields.items():
            if name not in (_LOGGED.names or ()):
                raise TypeError(f"expected fields of VehicleImu, got {name!r}")
            setattr(self, name, value)

    @classmethod
    def from_logged(cls, data: Payload) -> Self:
        """Read the 60 bytes of a ULog DATA record, after its message id.

        Raises
        ------
        FormatError
            There are not 60 bytes; :class:`~strapdown.errors.TruncatedError` if fewer.
        """
        _check_size(data, _LOGGED.itemsize)
        return cls.from_bytes(bytes(data) + bytes(cls.dtype.itemsize - _LOGGED.itemsize))

    def to_logged(self) -> bytes:
        """Return the 60 bytes of a ULog DATA record, without its message id."""
        return bytes(self)[: _LOGGED.itemsize]

    @classmethod
    def from_cdr(cls, data: Payload) -> Self:
        """Read a DDS sample.

        Raises
        ------
        FormatError
            There are not 64 bytes, or the encapsulation is not plain CDR.
        """
        sample = np.frombuffer(data, _checked_sample(data))
        return cls.from_record(sample["message"].astype(cls.dtype)[0])

    def to_cdr(self) -> bytes:
        """Return the 64 bytes of a DDS sample: XCDR version 1, little endian."""
        return _ENCAPSULATION + self.to_logged()

    def __repr__(self) -> str:
        values = self.to_numpy()
        fields = (f"{name}={values[name].tolist()}" for name in _LOGGED.names or ())
        return f"VehicleImu({', '.join(fields)})"


def decode_vehicle_imu_batch(
    payloads: Sequence[Payload], *, lenient: bool = False
) -> tuple[NDArray[np.void], IntArray]:
    """Read many DDS samples.

    Parameters
    ----------
    payloads : sequence of bytes-like
        One whole payload each.
    lenient : bool
        Leave out what cannot be read instead of raising.

    Returns
    -------
    records : (N,) array of VehicleImu.dtype
        The messages in the order of ``payloads``.
    malformed : (M,) int64
        Which payloads were left out.

    Raises
    ------
    FormatError
        As :meth:`VehicleImu.from_cdr`; the message begins with the index of the payload.
    """
    count = len(payloads)
    records, readable = np.zeros(count, VehicleImu.dtype), np.ones(count, np.bool_)
    kinds = (len(data) << 16 | int.from_bytes(data[:2], "big") for data in payloads)
    for rows in rows_by_key(np.fromiter(kinds, np.int64, count)):
        try:
            sample = _checked_sample(payloads[rows[0]])
        except FormatError as error:
            if not lenient:
                raise in_payload(int(rows[0]), error) from None
            readable[rows] = False
            continue
        joined = b"".join([payloads[row] for row in rows])
        records[rows] = np.frombuffer(joined, sample)["message"]
    return records[readable], np.flatnonzero(~readable)


def encode_vehicle_imu_batch(records: NDArray[np.void]) -> list[bytes]:
    """Return many messages as DDS samples.

    Parameters
    ----------
    records : (N,) array of VehicleImu.dtype
        The messages.

    Returns
    -------
    list of bytes
        N payloads of 64 bytes, as :meth:`VehicleImu.to_cdr` gives them.
    """
    samples = np.empty(len(records), _sample("<"))
    samples["encapsulation"] = np.void(_ENCAPSULATION)
    samples["message"] = records
    joined, size = samples.tobytes(), samples.itemsize
    return [joined[at : at + size] for at in range(0, len(joined), size)]


def _sample(order: Order) -> np.dtype[np.void]:
    return np.dtype([("encapsulation", "V4"), ("message", _LOGGED.newbyteorder(order))])


def _checked_sample(data: Payload) -> np.dtype[np.void]:
    order, _ = byte_order(data)
    _check_size(data, 4 + _LOGGED.itemsize)
    return _sample(order)


def _check_size(data: Payload, expected: int) -> None:
    if len(data) != expected:
        raise (TruncatedError if len(data) < expected else FormatError)(
            f"expected {expected} bytes of VehicleImu, got {len(data)}",
            offset=min(len(data), expected),
        )
