"""ROS messages as objects, in the forms of ROS 1 and ROS 2: their base, reader and writer.

Reader and writer go field by field, for messages with texts or numbers of several types;
:mod:`strapdown.messages.cdr` is faster where a message is a header and float64 only. Its docstring
describes both forms.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from strapdown.errors import FormatError, TruncatedError, ValueRangeError
from strapdown.messages.wire import ENCAPSULATION, Wire, byte_order
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from typing import Self

    from strapdown.messages.wire import Payload

__all__ = ["MessageReader", "MessageWriter", "RosMessage"]

_PADDING: Final = 3
"""Most bytes after a message: some middleware fills up to a multiple of 4."""


@dataclass(frozen=True)
class RosMessage(ABC):
    """A message with a header, in the forms of ROS 1 and ROS 2.

    Parameters
    ----------
    header_stamp_ns : int
        Time in the header [ns].
    frame_id : str
        Frame that the header names.
    """

    header_stamp_ns: int = 0
    frame_id: str = ""

    @classmethod
    def from_wire(cls, data: Payload, wire: Wire) -> Self:
        """Read a serialised message.

        Raises
        ------
        TruncatedError
            It ends early; carries the offset.
        FormatError
            It is longer, or its header is invalid.
        """
        return cls._read(data, wire)

    def to_wire(self, wire: Wire, *, seq: int = 0) -> bytes:
        """Serialise the message; only the ROS 1 form holds ``seq``.

        Raises
        ------
        ValueRangeError
            The stamp, the frame or a number does not fit its field.
        """
        return self._write(wire, seq)

    @classmethod
    def from_cdr(cls, data: Payload) -> Self:
        """Read the ROS 2 form; errors are those of :meth:`from_wire`."""
        return cls._read(data, Wire.CDR)

    def to_cdr(self) -> bytes:
        """Return the ROS 2 form; errors are those of :meth:`to_wire`."""
        return self._write(Wire.CDR, 0)

    @classmethod
    def from_ros1(cls, data: Payload) -> Self:
        """Read the ROS 1 form; errors are those of :meth:`from_wire`."""
        return cls._read(data, Wire.ROS1)

    def to_ros1(self) -> bytes:
        """Return the ROS 1 form; errors are those of :meth:`to_wire`."""
        return self._write(Wire.ROS1, 0)

    @classmethod
    @abstractmethod
    def _read(cls, data: Payload, wire: Wire) -> Self: ...

    @abstractmethod
    def _write(self, wire: Wire, seq: int) -> bytes: ...


class MessageReader:
    """Reader of the fields of one message, in their order.

    Parameters
    ----------
    data : bytes-like
        The whole payload.
    wire : Wire
        Form of the message.

    Raises
    ------
    FormatError
        The encapsulation is not plain CDR; TruncatedError where there is none.
    """

    def __init__(self, data: Payload, wire: Wire) -> None:
        self._data, self._wire = data, wire
        order, alignment = byte_order(data) if wire is Wire.CDR else ("<", 1)
        self._order, self._alignment = order, alignment
        self._at = len(ENCAPSULATION) if wire is Wire.CDR else 0

    def numbers(self, code: str, count: int = 1) -> tuple[Any, ...]:
        """Return numbers of the type that a letter of :mod:`struct` names.

        Raises
        ------
        TruncatedError
            The message ends before the last of them.
        """
        size = struct.calcsize("<" + code)
        start = self._at + _gap(self._at, min(size, self._alignment), self._wire)
        self._advance(start, start + size * count)
        return struct.unpack_from(f"{self._order}{count}{code}", self._data, start)

    def text(self) -> str:
        """Return a text.

        Raises
        ------
        FormatError
            It is not UTF-8; TruncatedError where the message ends before its end.
        """
        (length,) = self.numbers("I")
        start = self._at
        self._advance(start, start + length)
        raw = bytes(self._data[start : self._at])
        try:
            return (raw[:-1] if self._wire is Wire.CDR and raw[-1:] == b"\0" else raw).decode()
        except UnicodeDecodeError as error:
            raise FormatError(
                f"expected text in UTF-8, got {raw[:40]!r}", offset=start + error.start
            ) from None

    def header(self) -> tuple[int, str]:
        """Return time [ns] and frame of a ``std_msgs/Header``.

        Raises
        ------
        FormatError
            The time is negative, or its nanoseconds reach a second; or as :meth:`text`.
        """
        if self._wire is Wire.ROS1:
            self.numbers("I")
        start = self._at
        (seconds,) = self.numbers("I" if self._wire is Wire.ROS1 else "i")
        (nanoseconds,) = self.numbers("I")
        if seconds < 0 or nanoseconds >= NS_PER_S:
            raise FormatError(
                f"expected seconds from 0 and nanoseconds below 1000000000, got {seconds} s "
                f"{nanoseconds} ns",
                offset=start,
            )
        return seconds * NS_PER_S + nanoseconds, self.text()

    def finish(self) -> None:
        """Check that the message ends here.

        Raises
        ------
        FormatError
            There are more bytes than padding.
        """
        rest = len(self._data) - self._at
        if rest > (_PADDING if self._wire is Wire.CDR else 0):
            raise FormatError(f"expected the end of the message, got {rest} bytes", offset=self._at)

    def _advance(self, start: int, stop: int) -> None:
        if stop > len(self._data):
            raise TruncatedError(
                f"expected {stop - start} more bytes, got {max(len(self._data) - start, 0)}",
                offset=len(self._data),
            )
        self._at = stop


class MessageWriter:
    """Writer of the fields of one message, in their order.

    Parameters
    ----------
    wire : Wire
        Form of the message: little endian, for ROS 2 version 1 of XCDR.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._data = bytearray(ENCAPSULATION if wire is Wire.CDR else b"")

    def numbers(self, code: str, *values: float) -> None:
        """Append numbers of the type that a letter of :mod:`struct` names.

        Raises
        ------
        ValueRangeError
            A number does not fit.
        """
        size = struct.calcsize("<" + code) if self._wire is Wire.CDR else 1
        self._data += bytes(_gap(len(self._data), size, self._wire))
        try:
            self._data += struct.pack(f"<{len(values)}{code}", *values)
        except struct.error as error:
            raise ValueRangeError(f"expected numbers that fit their field: {error}") from None

    def header(self, stamp_ns: int, frame_id: str, seq: int = 0) -> None:
        """Append a ``std_msgs/Header``.

        Raises
        ------
        ValueRangeError
            The time or the number does not fit.
        """
        if self._wire is Wire.ROS1:
            self.numbers("I", seq)
        seconds, nanoseconds = divmod(stamp_ns, NS_PER_S)
        self.numbers("I" if self._wire is Wire.ROS1 else "i", seconds)
        self.numbers("I", nanoseconds)
        name = frame_id.encode() + (b"\0" if self._wire is Wire.CDR else b"")
        self.numbers("I", len(name))
        self._data += name

    def data(self) -> bytes:
        """Return the message."""
        return bytes(self._data)


def _gap(at: int, alignment: int, wire: Wire) -> int:
    """Return the bytes of padding before a field; CDR counts from behind the encapsulation."""
    return -(at - len(ENCAPSULATION)) % alignment if wire is Wire.CDR else 0
