"""Checksums of packets and lines, by name."""

from __future__ import annotations

from functools import reduce
from operator import xor
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CHECKSUMS", "Checksum", "crc16", "fletcher16", "xor_of"]


class Checksum(NamedTuple):
    """A kind of checksum.

    Parameters
    ----------
    size : int
        Bytes that it has at the end of a packet.
    of : callable
        Its value, big-endian, for the bytes before it.
    """

    size: int
    of: Callable[[bytes], int]


def xor_of(data: bytes) -> int:
    """Return the exclusive or of all bytes, as in NMEA 0183.

    Examples
    --------
    >>> hex(xor_of(b"GPGLL,5300.97914,N,00259.98174,E,125926,A"))
    '0x28'
    """
    return reduce(xor, data, 0)


def fletcher16(data: bytes) -> int:
    """Return the sums of Fletcher modulo 256, the plain sum in the upper byte.

    Examples
    --------
    >>> hex(fletcher16(bytes.fromhex("7565800E0E043E7A63A0BB8E3B297FE5BF7F")))  # of a MIP packet
    '0x84ee'
    """
    low = high = 0
    for byte in data:
        low = (low + byte) & 0xFF
        high = (high + low) & 0xFF
    return low << 8 | high


def crc16(data: bytes) -> int:
    """Return the CRC-16 of CCITT: polynomial 0x1021, start 0, most significant bit first.

    Examples
    --------
    >>> hex(crc16(b"123456789"))  # check value of CRC-16/XMODEM
    '0x31c3'
    """
    crc = 0
    for byte in data:
        crc = (crc >> 8 | crc << 8) & 0xFFFF ^ byte
        crc ^= (crc & 0xFF) >> 4
        crc ^= crc << 12 & 0xFFFF
        crc ^= (crc & 0xFF) << 5
    return crc


CHECKSUMS: Final[Mapping[str, Checksum]] = {
    "none": Checksum(0, lambda _: 0),
    "sum8": Checksum(1, lambda data: sum(data) & 0xFF),
    "zero-sum8": Checksum(1, lambda data: -sum(data) & 0xFF),
    "xor": Checksum(1, xor_of),
    "fletcher16": Checksum(2, fletcher16),
    "crc16-ccitt": Checksum(2, crc16),
}
"""Those that a packet may end with; ``zero-sum8`` makes the sum of all bytes zero."""
