"""Messages of any form by column, and conversion of IMU records to and from series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.geometry.quaternion import IDENTITY
from strapdown.messages._payloads import Payloads
from strapdown.messages._record import Record
from strapdown.messages.cdr import Batch
from strapdown.messages.covariance import HORUS_ABSENT, ROS_ABSENT, normal_form
from strapdown.messages.imu import Imu
from strapdown.messages.ros import RosImu
from strapdown.series import ImuSeries
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from strapdown._typing import AnyArray, BoolArray, ByteArray, FloatArray, IntArray
    from strapdown.messages.uorb import UorbMessage

__all__ = [
    "HORUS",
    "ROS",
    "Messages",
    "RosMessages",
    "as_batch",
    "as_float32",
    "as_records",
    "axes_from_bits",
    "bits_from_axes",
    "block",
    "common_id",
    "imu_payloads",
    "imu_records",
    "imu_series",
    "normalise",
    "sampled_ns",
    "stamped",
    "stamps_from_unsigned",
    "unsigned_from_stamps",
]

AbsentForms: TypeAlias = "Mapping[str, Sequence[float]]"
"""The block that marks an absent quantity, by covariance field."""

HORUS: Final[AbsentForms] = {
    "orientation_covariance": HORUS_ABSENT,
    "angular_velocity_covariance": ROS_ABSENT,
    "linear_acceleration_covariance": ROS_ABSENT,
}
ROS: Final[AbsentForms] = dict.fromkeys(HORUS, ROS_ABSENT)

_MEASURED: Final = ("angular_velocity", "linear_acceleration")

Messages: TypeAlias = "Record | Iterable[Record] | NDArray[np.void]"
"""One message, many, or a structured array of their ``dtype``."""
RosMessages: TypeAlias = "Batch | RosImu | Iterable[RosImu]"
"""One message, many, or many by column."""

_NUMBERS: Final = np.dtype(Imu.dtype.descr[:-1])
"""An IMU message without its stamp."""


def as_records(messages: Messages, kind: type[Record]) -> NDArray[np.void]:
    """Return messages as one structured array, shape (N,); a contiguous array is not copied.

    Raises
    ------
    TypeError
        A message is of another type.
    ShapeError
        An array is of another ``dtype``.
    """
    if isinstance(messages, np.ndarray):
        if messages.dtype != kind.dtype:
            raise ShapeError(f"expected an array of {kind.__name__}.dtype, got {messages.dtype}")
        return np.ascontiguousarray(messages).reshape(-1)
    return kind.array([messages] if isinstance(messages, Record) else messages)


def as_batch(messages: RosMessages) -> Batch:
    """Return ROS messages by column; a batch is not copied.

    Raises
    ------
    TypeError
        A message is no ``RosImu``.
    """
    if isinstance(messages, Batch):
        return messages
    batch = [messages] if isinstance(messages, RosImu) else list(messages)
    for row, message in enumerate(batch):
        if not isinstance(message, RosImu):
            raise TypeError(f"expected RosImu messages, got {type(message).__name__} in row {row}")
    return Batch(
        stamps_ns=np.array([message.header_stamp_ns for message in batch], np.int64),
        values=np.array([message.block for message in batch]).reshape(-1, 37),
        frame_ids=tuple(message.frame_id for message in batch),
        seq=np.array([message.seq for message in batch], np.int64),
    )


def block(records: NDArray[np.void]) -> FloatArray:
    """Return the 37 numbers of each record of ``Imu.dtype``, (N, 37): a view."""
    return records.view(np.float64).reshape(-1, 38)[:, :37]


def normalise(records: NDArray[np.void], forms: AbsentForms) -> None:
    """Convert the covariances of records of ``Imu.dtype`` to the normal form of a dialect."""
    for field, absent in forms.items():
        records[field] = normal_form(records[field], absent)


def imu_payloads(series: ImuSeries, forms: AbsentForms) -> Payloads:
    """Return the 37 numbers of each message of a series in FLU and ENU."""
    series = series.in_frames(body=BodyFrame.FLU, world=WorldFrame.ENU)
    bare = np.zeros((), _NUMBERS)
    bare["orientation"] = IDENTITY
    bare["orientation_covariance"] = forms["orientation_covariance"]
    columns: dict[str, AnyArray] = {
        "angular_velocity": series.angular_velocity,
        "linear_acceleration": series.specific_force,
    }
    covariances = series.angular_velocity_covariance, series.specific_force_covariance
    for quantity, covariance in zip(_MEASURED, covariances, strict=True):
        field = f"{quantity}_covariance"
        if covariance is not None:
            columns[field] = normal_form(covariance.reshape(-1, 9), forms[field])
        if np.isnan(columns[quantity][:, 0]).any():
            unmeasured = np.isnan(columns[quantity]).all(axis=1, keepdims=True)
            columns[field] = np.where(unmeasured, forms[field], columns.get(field, np.zeros(9)))
    if series.q_world_from_body is not None:
        known = ~np.isnan(series.q_world_from_body).any(axis=1, keepdims=True)
        stated = np.zeros((1, 9))
        if series.orientation_covariance is not None:
            stated = series.orientation_covariance.reshape(-1, 9)
            stated = normal_form(stated, forms["orientation_covariance"])
            known &= stated[:, :1] >= 0.0
        columns["orientation"] = np.where(known, series.q_world_from_body, bare["orientation"])
        columns["orientation_covariance"] = np.where(known, stated, bare["orientation_covariance"])
    return Payloads(bare, columns)


def imu_records(series: ImuSeries, forms: AbsentForms) -> NDArray[np.void]:
    """Return a series as records of ``Imu.dtype`` in FLU and ENU, without stamps."""
    records = np.zeros(len(series), Imu.dtype)
    block(records)[:] = imu_payloads(series, forms).rows().view(np.float64)
    return records


def imu_series(records: NDArray[np.void], t_ns: IntArray) -> ImuSeries:
    """Return records of ``Imu.dtype`` as a series in FLU and ENU; stamps are passed separately."""
    columns: dict[str, FloatArray | None] = {}
    for field in ROS:
        blocks = records[field]
        quantity = field.removesuffix("_covariance")
        if quantity in _MEASURED:  # NaN already marks it as absent
            unmeasured = np.isnan(records[quantity]).all(axis=1) & (blocks[:, 0] < 0.0)
            blocks = np.where(unmeasured[:, None], 0.0, blocks) if unmeasured.any() else blocks
        if blocks.any():
            columns[field] = normal_form(blocks, ROS_ABSENT).reshape(-1, 3, 3)
    absent = ~(records["orientation_covariance"][:, :1] >= 0.0)
    if absent.all():
        columns["orientation_covariance"] = None
    else:
        columns["q_world_from_body"] = np.where(absent, np.nan, records["orientation"])
    columns["specific_force_covariance"] = columns.pop("linear_acceleration_covariance", None)
    series = ImuSeries(t_ns, records["angular_velocity"], records["linear_acceleration"])
    return series.replace(**columns)


def common_id(ids: NDArray[np.uint32]) -> int:
    """Return the one value of a column of device ids, or 0."""
    return int(ids[0]) if ids.size and np.all(ids == ids[0]) else 0


def bits_from_axes(clipped: BoolArray | ByteArray) -> ByteArray:
    """Return the bits X=1, Y=2, Z=4 of the axes that are not 0, (N, 3) to (N,)."""
    x, y, z = ((axis != 0).view(np.uint8) for axis in clipped.T)
    bits: ByteArray = x | y << 1 | z << 2
    return bits


def axes_from_bits(bits: ByteArray) -> ByteArray:
    """Return 1 for each axis whose bit is set and 0 for others, (N,) to (N, 3)."""
    axes: ByteArray = bits[:, None] >> np.arange(3, dtype=np.uint8) & np.uint8(1)
    return axes


def as_float32(values: FloatArray, name: str) -> NDArray[np.float32]:
    """Return numbers rounded to float32.

    Raises
    ------
    ValueRangeError
        A finite number is beyond its range.
    """
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    if np.any(np.isinf(rounded) & np.isfinite(values)):
        raise ValueRangeError(f"expected {name} within float32, got {np.nanmax(np.abs(values))}")
    return rounded


def stamps_from_unsigned(
    stamps: NDArray[np.unsignedinteger], name: str, scale: int = 1
) -> IntArray:
    """Return unsigned times as int64 nanoseconds.

    Raises
    ------
    ValueRangeError
        A time does not fit.
    """
    limit = (2**63 - 1) // scale
    if stamps.size and int(stamps.max()) > limit:
        raise ValueRangeError(f"expected {name} of at most {limit}, got {stamps.max()}")
    return stamps.astype(np.int64) * scale


def unsigned_from_stamps(
    t_ns: IntArray, name: str, dtype: type[np.unsignedinteger], scale: int = 1
) -> NDArray[np.unsignedinteger]:
    """Return times as unsigned multiples of ``scale`` nanoseconds, rounded to the nearest.

    Raises
    ------
    ValueRangeError
        A time does not fit.
    """
    limit = np.iinfo(dtype).max
    rounded = (t_ns + scale // 2) // scale
    bad = np.flatnonzero((rounded < 0) | (rounded > limit))
    if bad.size:
        raise ValueRangeError(f"expected {name} of 0 to {limit * scale} ns, got {t_ns[bad[0]]}")
    return rounded.astype(dtype)


def sampled_ns(records: NDArray[np.void]) -> IntArray:
    """Return ``timestamp_sample`` of PX4 messages as int64 nanoseconds.

    Raises
    ------
    ValueRangeError
        A stamp reaches 2^63 ns.
    """
    return stamps_from_unsigned(records["timestamp_sample"], "timestamp_sample", NS_PER_US)


def stamped(kind: type[UorbMessage], t_ns: IntArray) -> NDArray[np.void]:
    """Return PX4 messages with times as both stamps, rounded to microseconds, and other fields 0.

    Raises
    ------
    ValueRangeError
        A time is negative.
    """
    records = np.zeros(len(t_ns), kind.dtype)
    stamps = unsigned_from_stamps(t_ns, "t_ns", np.uint64, NS_PER_US)
    records["timestamp"] = records["timestamp_sample"] = stamps
    return records
