"""Decoding of the payloads of one topic."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats.topics.kinds import FIELDWISE, HORUS, PX4
from strapdown.messages import ros_types
from strapdown.messages.cdr import Batch, decode_batch
from strapdown.messages.px4_versions import decode_samples
from strapdown.messages.wire import ENCAPSULATION, Wire, in_payload
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from strapdown.messages.cdr import Payload
    from strapdown.messages.navsat import NavSatFix
    from strapdown.messages.ros_odometry import RosOdometry

__all__ = ["Part", "decode", "joined"]

Part: TypeAlias = "Batch | NDArray[np.void] | list[NavSatFix] | list[RosOdometry]"
"""Messages of one topic, in order."""
_LATEST_NS: Final = 2**63 - 1


def decode(
    kind: str, encoding: str, payloads: Sequence[Payload], *, lenient: bool
) -> tuple[Part, int]:
    """Decode messages of a type and encoding that can be read, named as in ROS 2.

    Returns
    -------
    Part
        The messages; if lenient, without those that cannot be decoded.
    int
        Number of stamps that were repaired.

    Raises
    ------
    FormatError
        A message is damaged. Never if lenient.
    """
    if kind in HORUS:
        dtype = HORUS[kind].dtype
        whole = [data for data in payloads if len(data) == dtype.itemsize]
        if len(whole) < len(payloads) and not lenient:
            raise FormatError(f"expected {dtype.itemsize} bytes of {kind} in every message")
        records = np.frombuffer(b"".join(whole), dtype)
        return _timely(records, "timestamp_ns", 1, lenient=lenient), 0
    if kind in PX4:
        if encoding == Wire.ROS1:  # the same bytes, as nothing in VehicleImu needs alignment
            payloads = [ENCAPSULATION + data for data in payloads]
        (records, _), _ = decode_samples(PX4[kind], payloads, lenient=lenient)
        stamp = "timestamp_sample" if "timestamp_sample" in _names(records) else "timestamp"
        return _timely(records, stamp, NS_PER_US, lenient=lenient), 0
    if kind in FIELDWISE:
        return _decode_each(kind, payloads, Wire(encoding), lenient=lenient), 0
    floats = ros_types.ROS_TYPES[kind].floats or 0
    batch = decode_batch(payloads, floats, Wire(encoding), lenient=lenient)
    return batch, batch.times_normalised


def _names(records: NDArray[np.void]) -> tuple[str, ...]:
    return records.dtype.names or ()


def _timely(
    records: NDArray[np.void], stamp: str, scale: int, *, lenient: bool
) -> NDArray[np.void]:
    """Leave out messages whose stamps do not fit into 64 bits of nanoseconds."""
    late = records[stamp] > _LATEST_NS // scale
    if late.any() and not lenient:
        raise FormatError(f"expected {stamp} below 2^63 ns, got {records[stamp].max()}")
    return records[~late]


def _decode_each(
    kind: str, payloads: Sequence[Payload], wire: Wire, *, lenient: bool
) -> list[NavSatFix] | list[RosOdometry]:
    """Decode messages field by field; the error of a damaged one begins with its index."""
    found: list[Any] = []
    for row, data in enumerate(payloads):
        try:
            found.append(FIELDWISE[kind].from_wire(data, wire))
        except FormatError as error:
            if not lenient:
                raise in_payload(row, error) from None
    return found


def joined(parts: Sequence[Part]) -> Part:
    """Return messages of one topic as one part."""
    if len(parts) == 1:
        return parts[0]
    lists: list[Any] = [part for part in parts if isinstance(part, list)]
    if lists:
        return list(chain.from_iterable(lists))
    batches = [part for part in parts if isinstance(part, Batch)]
    if not batches:
        records = [part for part in parts if isinstance(part, np.ndarray)]
        return np.concatenate(records, dtype=records[0].dtype)  # with its padding
    return Batch(
        np.concatenate([batch.stamps_ns for batch in batches]),
        np.concatenate([batch.values for batch in batches]),
        tuple(chain.from_iterable(batch.frame_ids for batch in batches)),
        np.concatenate([batch.seq for batch in batches]),
    )
