"""One codec for every ROS message of the form "std_msgs/Header, then n float64".

``sensor_msgs/Imu`` (n = 37), ``sensor_msgs/MagneticField`` (12), ``geometry_msgs/PoseStamped``
(7), ``QuaternionStamped`` (4) and ``Vector3Stamped`` (3) differ on the wire only in n.

======  ========================  ========================
bytes   ROS 2, CDR                ROS 1
======  ========================  ========================
0       encapsulation             u32 seq
4       i32 sec                   u32 secs
8       u32 nanosec               u32 nsecs
12      u32 length, text and NUL  u32 length, text
then    zeros up to a multiple    -
        of 8, counted from 4
then    n float64                 n float64
======  ========================  ========================

Written are XCDR version 1, little endian (``00 01 00 00``), and the ROS 1 form. Read are also
big endian (``00 00``) and XCDR version 2 (``00 07``, ``00 06``), which aligns float64 to 4.
Stamps are integer nanoseconds and never pass through floating-point seconds.

References
----------
OMG Data Distribution Service Interoperability (DDSI-RTPS) 2.5, clause 10; OMG Extensible and
Dynamic Topic Types for DDS (DDS-XTypes) 1.3, clause 7.4; ROS 1 message serialisation.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.errors import FormatError, ValueRangeError
from strapdown.messages._header import (
    CDR_LITTLE_ENDIAN,
    HEAD,
    HEAD_FORMAT,
    bad_time,
    check_range,
    check_stamps,
    frame_bytes,
    read_header,
    record_dtype,
)
from strapdown.messages._payloads import Payloads
from strapdown.messages.wire import Payload, Wire, in_payload, rows_by_key
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from strapdown._typing import BoolArray, ByteArray, FloatArray, IntArray

__all__ = [
    "Batch",
    "Payload",
    "Stamped",
    "Wire",
    "behind_headers",
    "decode",
    "decode_batch",
    "encode",
    "encode_batch",
    "encode_rows",
]

_BLOCK: Final = 4096
"""Number of payloads joined at once, so that their copy stays in the processor's cache."""


class Stamped(NamedTuple):
    """One message: its header and its numbers."""

    stamp_ns: int
    """Time in the header [ns]."""
    frame_id: str
    """Frame that the header names."""
    values: FloatArray
    """The n numbers, (n,) float64."""
    seq: int = 0
    """Sequence number; only the ROS 1 form holds one."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Many messages: headers and numbers by column.

    ``len(batch)`` counts the messages, ``batch[i]`` is one :class:`Stamped`, and iteration gives
    them in order.

    Parameters
    ----------
    stamps_ns : (N,) int64
        Times in the headers [ns].
    values : (N, n) float64
        The numbers.
    frame_ids : tuple of str
        N names.
    seq : (N,) int64
        ROS 1 sequence numbers; zeros for CDR.
    malformed : (M,) int64
        Indices of the payloads that could not be read and were left out.
    times_normalised : int
        Stamps whose nanoseconds reached a whole second, or whose seconds were negative.
    """

    stamps_ns: IntArray
    values: FloatArray = field(repr=False)
    frame_ids: tuple[str, ...] = field(repr=False)
    seq: IntArray = field(repr=False)
    malformed: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    times_normalised: int = 0

    def __len__(self) -> int:
        return len(self.stamps_ns)

    def __getitem__(self, row: int) -> Stamped:
        return Stamped(
            int(self.stamps_ns[row]), self.frame_ids[row], self.values[row], int(self.seq[row])
        )

    def __iter__(self) -> Iterator[Stamped]:
        return (self[row] for row in range(len(self)))


def encode(message: Stamped, wire: Wire = Wire.CDR) -> bytes:
    """Serialise one message.

    Parameters
    ----------
    message : Stamped
        Header and numbers.
    wire : Wire
        ROS 2 CDR or ROS 1.

    Returns
    -------
    bytes

    Raises
    ------
    ValueRangeError
        The stamp, the sequence number or the frame name does not fit its field.
    TypeError
        The stamp or the sequence number is no int.
    """
    stamp_ns, seq = index(message.stamp_ns), index(message.seq)
    check_stamps(stamp_ns, stamp_ns, wire)
    if wire is Wire.ROS1:
        check_range("seq", seq, seq, 2**32)
    first = seq if wire is Wire.ROS1 else CDR_LITTLE_ENDIAN
    head = HEAD.pack(first, *divmod(stamp_ns, NS_PER_S))
    return head + frame_bytes(message.frame_id, wire) + np.asarray(message.values, "<f8").tobytes()


def encode_batch(batch: Batch, wire: Wire = Wire.CDR) -> list[bytes]:
    """Serialise many messages; fastest where all name the same frame.

    Parameters
    ----------
    batch : Batch
        Headers and numbers.
    wire : Wire
        ROS 2 CDR or ROS 1.

    Returns
    -------
    list of bytes
        One payload a message.

    Raises
    ------
    ValueRangeError
        A stamp, a sequence number or a frame name does not fit its field.
    """
    if len(set(batch.frame_ids)) != 1:
        return [encode(message, wire) for message in batch]
    rows = encode_rows(batch, wire).rows()
    joined, size = rows.tobytes(), rows.shape[1]
    return [joined[at : at + size] for at in range(0, len(joined), size)]


def encode_rows(batch: Batch, wire: Wire = Wire.CDR) -> Payloads:
    """Serialise many messages that all name the same frame.

    Parameters
    ----------
    batch : Batch
        Headers and numbers, at least one.
    wire : Wire
        ROS 2 CDR or ROS 1.

    Returns
    -------
    Payloads
        One payload a message.

    Raises
    ------
    ValueRangeError
        A stamp, a sequence number or the frame name does not fit its field, or frame names
        differ.
    """
    names = set(batch.frame_ids)
    if len(names) != 1:
        raise ValueRangeError(
            f"expected messages with one frame_id, got {len(names)}; use encode_batch"
        )
    bare = np.zeros((), [("values", "<f8", batch.values.shape[1:])])
    numbers = Payloads(bare, {"values": batch.values})
    if wire is Wire.CDR:
        return behind_headers(numbers, batch.stamps_ns, names.pop())
    check_range("seq", batch.seq.min(), batch.seq.max(), 2**32)
    rows = behind_headers(numbers, batch.stamps_ns, names.pop(), wire)
    return Payloads(rows.bare, {**rows.columns, "first": batch.seq})


def behind_headers(
    numbers: Payloads, stamps_ns: IntArray, frame_id: str, wire: Wire = Wire.CDR
) -> Payloads:
    """Prepend headers to the numbers of many messages.

    Parameters
    ----------
    numbers : Payloads
        The float64 of N messages, at least one.
    stamps_ns : (N,) int64
        Times in the headers [ns].
    frame_id : str
        Frame that all headers name.
    wire : Wire
        ROS 2 CDR, or ROS 1 with sequence numbers of 0.

    Returns
    -------
    Payloads
        One payload a message.

    Raises
    ------
    ValueRangeError
        A stamp or the frame name does not fit its field.
    """
    check_stamps(stamps_ns.min(), stamps_ns.max(), wire)
    frame = frame_bytes(frame_id, wire)
    first = 0 if wire is Wire.ROS1 else CDR_LITTLE_ENDIAN
    layout = [("first", "<u4"), ("stamp", "<u4", (2,)), ("frame", f"V{len(frame)}")]
    seconds = stamps_ns // NS_PER_S
    stamps = np.column_stack([seconds, stamps_ns - seconds * NS_PER_S])
    return numbers.behind(np.array((first, (0, 0), frame), layout), {"stamp": stamps})


def decode(data: Payload, floats: int, wire: Wire = Wire.CDR) -> Stamped:
    """Read one message.

    Parameters
    ----------
    data : bytes-like
        The whole payload.
    floats : int
        Number of float64 after the header: n.
    wire : Wire
        ROS 2 CDR or ROS 1.

    Returns
    -------
    Stamped

    Raises
    ------
    TruncatedError
        The payload ends early; carries the offset.
    FormatError
        The payload differs from the table above in another way; carries the offset.
    """
    order, frame_id, start = read_header(data, floats, wire)
    first, seconds, nanoseconds = struct.unpack_from(order + HEAD_FORMAT[wire], data)
    if seconds < 0 or nanoseconds >= NS_PER_S:
        raise bad_time(seconds, nanoseconds)
    values = np.frombuffer(data, order + "f8", floats, start).astype(np.float64)
    seq = first if wire is Wire.ROS1 else 0
    return Stamped(seconds * NS_PER_S + nanoseconds, frame_id, values, seq)


def decode_batch(
    payloads: Sequence[Payload], floats: int, wire: Wire = Wire.CDR, *, lenient: bool = False
) -> Batch:
    """Read many messages of one type, a run with equal headers at a time.

    Parameters
    ----------
    payloads : sequence of bytes-like
        One whole payload each. Fastest where all name the same frame.
    floats : int
        Number of float64 after each header: n.
    wire : Wire
        ROS 2 CDR or ROS 1.
    lenient : bool
        Leave out unreadable payloads and normalise impossible stamps, and count both, instead
        of raising.

    Returns
    -------
    Batch
        In the order of ``payloads``.

    Raises
    ------
    FormatError
        As :func:`decode`; the message begins with the index of the payload. Never if lenient.
    """
    count = len(payloads)
    stamps, values = np.zeros(count, np.int64), np.zeros((count, floats))
    seq, frame_ids = np.zeros(count, np.int64), np.full(count, "", dtype=object)
    readable = np.ones(count, dtype=np.bool_)
    normalised = 0
    for rows, table in _runs(payloads, floats, wire):
        bad = np.arange(1)
        try:
            order, frame_id, start = read_header(table[0].data, floats, wire)
            dtype = record_dtype(order, wire, start - HEAD.size, floats)
            records = table.view(dtype)[:, 0]
            bad = np.flatnonzero((records["sec"] < 0) | (records["nanosec"] >= NS_PER_S))
            if bad.size and not lenient:
                raise bad_time(*records[["sec", "nanosec"]][bad[0]].tolist())
        except FormatError as error:
            if not lenient:
                raise in_payload(int(rows[bad[0]]), error) from None
            readable[rows] = False
            continue
        normalised += bad.size
        stamps[rows] = records["sec"] * np.int64(NS_PER_S) + records["nanosec"]
        values[rows] = records["values"]
        frame_ids[rows] = frame_id
        if wire is Wire.ROS1:
            seq[rows] = records["first"]
    kept: slice | BoolArray = slice(None) if readable.all() else readable
    return Batch(
        stamps_ns=stamps[kept],
        values=values[kept],
        frame_ids=tuple(frame_ids[kept]),
        seq=seq[kept],
        malformed=np.flatnonzero(~readable),
        times_normalised=normalised,
    )


def _runs(
    payloads: Sequence[Payload], floats: int, wire: Wire
) -> Iterator[tuple[IntArray, ByteArray]]:
    """Split payloads into runs with equal length and frame bytes: their rows and their bytes."""
    for start in range(0, len(payloads), _BLOCK):
        for rows, table in _runs_of_block(payloads[start : start + _BLOCK], floats, wire):
            yield start + rows, table


def _runs_of_block(
    payloads: Sequence[Payload], floats: int, wire: Wire
) -> Iterator[tuple[IntArray, ByteArray]]:
    """Split payloads that are joined at once."""
    lengths = np.fromiter(map(len, payloads), np.int64, len(payloads))
    for rows in rows_by_key(lengths):
        chosen = payloads if len(rows) == len(payloads) else [payloads[row] for row in rows]
        length = int(lengths[rows[0]])
        table = np.frombuffer(b"".join(chosen), np.uint8).reshape(len(rows), length)
        head = length - 8 * floats
        if head <= HEAD.size:
            yield rows, table
            continue
        keys = np.delete(table[:, :head], slice(4, 12), axis=1)
        if wire is Wire.ROS1:
            keys[:, :4] = 0
        for part in rows_by_key(keys.view(f"V{keys.shape[1]}")[:, 0]):
            whole = len(part) == len(rows)
            yield (rows, table) if whole else (rows[part], table[part])
