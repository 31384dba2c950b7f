"""Serialised forms of messages: their names, their byte order, and many payloads at a time."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from strapdown.errors import FormatError, TruncatedError

if TYPE_CHECKING:
    from strapdown._typing import AnyArray, IntArray

__all__ = ["ENCAPSULATION", "Order", "Payload", "Wire", "byte_order", "in_payload", "rows_by_key"]

Payload: TypeAlias = bytes | bytearray | memoryview
"""One serialised message; a memoryview is one-dimensional and of bytes."""

Order: TypeAlias = Literal["<", ">"]
"""Byte order, as numpy and struct write it."""

ENCAPSULATION: Final = b"\0\1\0\0"
"""The first four bytes of CDR as it is written: XCDR version 1, little endian."""
_REPRESENTATIONS: Final[dict[int, tuple[Order, int]]] = {
    0: (">", 8),
    1: ("<", 8),
    6: (">", 4),
    7: ("<", 4),
}
"""Byte order and alignment of a float64 by representation identifier."""


class Wire(StrEnum):
    """Serialisation format of a message."""

    CDR = "cdr"
    """ROS 2."""
    ROS1 = "ros1"
    """ROS 1."""


def byte_order(data: Payload) -> tuple[Order, int]:
    """Read the encapsulation: numpy's sign of the byte order, and the alignment of a float64.

    Raises
    ------
    TruncatedError
        There are no four bytes.
    FormatError
        The payload is not plain CDR, version 1 or 2.
    """
    if len(data) < 4:
        raise TruncatedError(
            f"expected an encapsulation of 4 bytes, got {len(data)}", offset=len(data)
        )
    representation = int.from_bytes(data[:2], "big")
    if representation not in _REPRESENTATIONS:
        raise FormatError(
            f"expected plain CDR (0000, 0001, 0006 or 0007), got {representation:04x}", offset=0
        )
    return _REPRESENTATIONS[representation]


def in_payload(row: int, error: FormatError) -> FormatError:
    """Return the error with the index of the payload in front."""
    return type(error)(f"message {row}: {error.message}", offset=error.offset)


def rows_by_key(keys: AnyArray) -> list[IntArray]:
    """Return the row numbers of each distinct key; fast where there is only one."""
    if not len(keys):
        return []
    if (keys == keys[0]).all():
        return [np.arange(len(keys))]
    _, labels, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])
