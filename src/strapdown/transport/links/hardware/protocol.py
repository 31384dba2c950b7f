"""Protocols of inertial sensors, declared in TOML: framing, messages and their fields.

A protocol has lines of text or binary packets. Its messages contain fields:

=========  ==========================================  =================================
field      contents                                    units
=========  ==========================================  =================================
``gyro``   angular velocity, three numbers             ``rad/s``, ``deg/s``
``accel``  specific force, three numbers               ``m/s^2``, ``g``
``stamp``  time of the device                          ``s``, ``ms``, ``us``, ``ns``
``count``  a number that rises by one for each sample
=========  ==========================================  =================================

A field is ``{at, type, unit, scale, modulus}``. ``at`` is the first byte in a packet (or in an
item), or the first column of a line, from 0. ``type`` is one of ``u1 u2 u4 u8 i1 i2 i4 i8 f4 f8``
in packets. The value is multiplied by ``scale``. After ``modulus`` raw units a stamp or a count
begins again at 0; by default that is the range of an unsigned type.
"""

from __future__ import annotations

import math
import struct
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from strapdown.errors import FormatError, UnknownNameError
from strapdown.geometry.frames import BodyFrame
from strapdown.transport.links.hardware.checksums import CHECKSUMS
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    Value = TypeVar("Value")

__all__ = ["Field", "Items", "Layout", "Line", "Packet", "Protocol", "find_protocol", "protocols"]

_STANDARD_GRAVITY: Final = 9.80665
_UNITS: Final[Mapping[str, Mapping[str, float]]] = {
    "gyro": {"rad/s": 1.0, "deg/s": math.pi / 180.0},
    "accel": {"m/s^2": 1.0, "g": _STANDARD_GRAVITY},
    "stamp": {"s": NS_PER_S, "ms": NS_PER_S / 1e3, "us": NS_PER_S / 1e6, "ns": 1.0},
    "count": {"": 1.0},
}
_TYPES: Final = {
    "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i1": "b", "i2": "h", "i4": "i", "i8": "q",
    "f4": "f", "f8": "d",
}  # fmt: skip
_WORDS: Final[Mapping[type, str]] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list of tables [[message]]",
}


@dataclass(frozen=True)
class Field:
    """One quantity of a message.

    Parameters
    ----------
    at : int
        First byte, or first column.
    scale : float
        Factor from raw values to the unit of the library: SI, and nanoseconds.
    modulus : int
        Raw value at which it begins again at 0; 0 where it does not.
    numbers : struct.Struct, optional
        Types of its numbers in a packet.
    """

    at: int
    scale: float
    modulus: int = 0
    numbers: struct.Struct | None = None


@dataclass(frozen=True)
class Layout:
    """Fields of one kind of message.

    Parameters
    ----------
    fields : mapping of str to Field
        By name.
    begins : bool
        Whether a sample begins with it: values of earlier messages are not combined with it.
    columns : int
        Columns that a line has; 0 for packets.
    """

    fields: Mapping[str, Field]
    begins: bool = False
    columns: int = 0


@dataclass(frozen=True)
class Line:
    """Framing of text: one message a line, whose first column is its name.

    Parameters
    ----------
    separator : str
        Between columns.
    checksum : {"none", "nmea"}
        ``nmea``: ``$`` before the columns, and ``*`` with the exclusive or of the bytes between
        them behind.
    """

    separator: str = ","
    checksum: str = "none"


@dataclass(frozen=True)
class Packet:
    """Framing of binary packets.

    Parameters
    ----------
    sync : bytes
        Its first bytes.
    length : int
        Bytes of a packet; 0 where ``length_at`` is the byte that states the length.
    length_at, length_adds : int
        Place of that byte, and what is to be added to it for the length of the whole packet.
    checksum : str
        One of ``CHECKSUMS``, at the end.
    checksum_from : int
        First byte that it covers.
    id_at : int
        Place of the bytes that distinguish the messages.
    """

    sync: bytes
    length: int
    length_at: int
    length_adds: int
    checksum: str
    checksum_from: int
    id_at: int


@dataclass(frozen=True)
class Items:
    """Items within a packet, each with an identifier and a size.

    Parameters
    ----------
    packet : bytes
        The identifier of packets with items, at ``id_at`` of the packet; others are ignored.
    at : int
        Place of the first item.
    id_at, id_size, size_at, data_at : int
        Places within an item: identifier, its bytes, the byte with the size, the data.
    size_is_whole : bool
        Whether the size is that of the whole item; otherwise that of the data.
    """

    packet: bytes
    at: int
    id_at: int
    id_size: int
    size_at: int
    data_at: int
    size_is_whole: bool = False


@dataclass(frozen=True)
class Protocol:
    """Protocol of a sensor.

    Parameters
    ----------
    name : str
        Title.
    document : str
        Document of the maker in which it is specified.
    framing : Line or Packet
    messages : mapping of bytes to Layout
        By identifier; the empty one is that of every line.
    items : Items, optional
        Items that its packets consist of.
    baud : int
        Usual rate of the serial port [Bd].
    body : BodyFrame
        Axes of the sensor.
    """

    name: str
    document: str
    framing: Line | Packet
    messages: Mapping[bytes, Layout]
    items: Items | None = None
    baud: int = 115200
    body: BodyFrame = BodyFrame.FLU
    fields: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        names = {name for layout in self.messages.values() for name in layout.fields}
        object.__setattr__(self, "fields", frozenset(names))


def protocols() -> list[str]:
    """Return the names of the protocols of this package."""
    folder = resources.files(__package__) / "protocols"
    names = (each.name for each in folder.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def find_protocol(name: str) -> Protocol:
    """Return a protocol of this package, or of a file that ends in ``.toml``.

    Raises
    ------
    UnknownNameError
        There is no such protocol; the message gives the nearest names.
    FormatError
        The file declares none; the message names the key.
    OSError
        The file cannot be read.
    """
    if name.endswith(".toml"):
        path = Path(name)
        text = path.read_text("utf-8-sig")
    else:
        if name not in (known := protocols()):
            raise UnknownNameError("protocol", name, [*known, "a file.toml"])
        path = Path(f"{name}.toml")
        text = (resources.files(__package__) / "protocols" / path.name).read_text("utf-8")
    try:
        return _protocol(_Table(tomllib.loads(text), ""))
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"expected TOML: {error}", path=path) from error
    except FormatError as error:
        raise FormatError(error.message, path=path) from error


class _Table:
    """Table of a file, of which every key has to be asked for."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values, self.where = values, where
        self._asked: list[str] = []

    def get(self, key: str, kind: type[Value], default: Value | None = None) -> Value:
        """Return a value, or the default; an error where there is neither."""
        self._asked.append(key)
        value = self._values.get(key, default)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            got = "none" if value is None else repr(value)
            raise FormatError(f"expected {self.where}{key} as {_WORDS[kind]}, got {got}")
        return value

    def place(self, key: str, default: int | None = None) -> int:
        """Return a number from 0 on."""
        value = self.get(key, int, default)
        if value < 0:
            raise FormatError(f"expected {self.where}{key} from 0 on, got {value}")
        return value

    def choice(self, key: str, names: Mapping[str, Any] | list[str], default: str = "") -> str:
        """Return one of several texts."""
        value = self.get(key, str, default)
        if value not in names:
            raise FormatError(f"{self.where}{key}: {UnknownNameError(key, value, names)}")
        return value

    def hex(self, key: str, default: str | None = None) -> bytes:
        """Return bytes that are written in hexadecimal digits."""
        value = self.get(key, str, default)
        try:
            return bytes.fromhex(value)
        except ValueError:
            raise FormatError(
                f"expected {self.where}{key} in pairs of hexadecimal digits, got {value!r}"
            ) from None

    def table(self, key: str) -> _Table | None:
        """Return a table; None where there is none."""
        if key not in self._values:
            return None
        return _Table(self.get(key, dict), f"{self.where}{key}.")

    def finish(self) -> None:
        """Raise an error for a key that nobody asked for."""
        for key in self._values:
            if key not in self._asked:
                raise FormatError(f"{self.where}{UnknownNameError('key', key, self._asked)}")


def _protocol(table: _Table) -> Protocol:
    line, packet, items = table.table("line"), table.table("packet"), table.table("items")
    if (line is None) is (packet is None):
        raise FormatError("expected one of [line] and [packet]")
    framing = _packet(packet) if packet is not None else _line(line or _Table({}, ""))
    order = "<>"[table.choice("byte_order", ["little", "big"], "little") == "big"]
    messages = {}
    for number, content in enumerate(table.get("message", list)):
        where = f"message {number + 1}: "
        if not isinstance(content, dict):
            raise FormatError(f"{where}expected a table [[message]], got {content!r}")
        message = _Table(content, where)
        if isinstance(framing, Line):
            identifier = message.get("id", str, "").encode()
        else:
            identifier = message.hex("id", "")
        if identifier in messages:
            raise FormatError(f"{where}expected another id, an earlier message has this one")
        messages[identifier] = _layout(message, framing, order)
    found = Protocol(
        table.get("name", str),
        table.get("document", str, ""),
        framing,
        messages,
        None if items is None else _items(items),
        table.place("baud", 115200),
        BodyFrame(table.choice("body", [*BodyFrame.__members__], "FLU")),
    )
    table.finish()
    if not found.baud:
        raise FormatError("expected a positive baud, got 0")
    if not found.fields >= {"gyro", "accel"}:
        raise FormatError("expected messages with gyro and accel")
    return found


def _line(table: _Table) -> Line:
    found = Line(
        table.get("separator", str, ","), table.choice("checksum", ["none", "nmea"], "none")
    )
    table.finish()
    if not found.separator:
        raise FormatError("expected line.separator as a text that is not empty")
    return found


def _packet(table: _Table) -> Packet:
    found = Packet(
        table.hex("sync"),
        table.place("length", 0),
        table.place("length_at", 0),
        table.place("length_adds", 0),
        table.choice("checksum", CHECKSUMS, "none"),
        table.place("checksum_from", 0),
        table.place("id_at", 0),
    )
    table.finish()
    if not found.sync or not (found.length or found.length_adds):
        raise FormatError("expected packet.sync, and packet.length or packet.length_adds")
    return found


def _items(table: _Table) -> Items:
    found = Items(
        table.hex("packet"),
        at=table.place("at"),
        id_at=table.place("id_at"),
        id_size=table.place("id_size"),
        size_at=table.place("size_at"),
        data_at=table.place("data_at"),
        size_is_whole=table.get("size_is_whole", bool, default=False),
    )
    table.finish()
    return found


def _layout(table: _Table, framing: Line | Packet, order: str) -> Layout:
    is_line = isinstance(framing, Line)
    fields = {
        name: _field(entry, name, None if is_line else order)
        for name in _UNITS
        if (entry := table.table(name)) is not None
    }
    begins = table.get("begins", bool, default=False)
    found = Layout(fields, begins, table.place("columns") if is_line else 0)
    table.finish()
    for name, found_field in fields.items():
        needed = found_field.at + _count(name)
        if is_line and needed > found.columns:
            raise FormatError(
                f"{table.where}expected columns of {needed} or more for {name}, got {found.columns}"
            )
    return found


def _count(name: str) -> int:
    """Return how many numbers a field consists of."""
    return 3 if name in {"gyro", "accel"} else 1


def _field(table: _Table, name: str, order: str | None) -> Field:
    at, units = table.place("at"), _UNITS[name]
    scale = units[table.choice("unit", units)] * table.get("scale", float, 1.0)
    numbers, modulus = None, 0
    if order is not None:
        kind = table.choice("type", _TYPES)
        numbers = struct.Struct(order + _TYPES[kind] * _count(name))
        modulus = 1 << 8 * int(kind[1]) if kind[0] == "u" else 0
    found = Field(at, scale, table.place("modulus", modulus), numbers)
    table.finish()
    return found
