"""Decoding of the bytes of a sensor to readings, with counts of what is damaged or missing."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown._words import counted
from strapdown.transport.links.hardware.checksums import CHECKSUMS, xor_of
from strapdown.transport.links.hardware.protocol import Line

if TYPE_CHECKING:
    from strapdown._typing import Three
    from strapdown.transport.links.hardware.protocol import Field, Items, Layout, Packet, Protocol

__all__ = ["Counts", "Decoder", "Reading"]

_LONGEST_LINE: Final = 1024
_SMALL: Final = 1 << 15
"""Least difference between counts that is a restart, and not a loss."""


class Reading(NamedTuple):
    """One sample, in the axes of the sensor."""

    gyro: Three
    """[rad/s]."""
    accel: Three
    """[m/s^2]."""
    stamp_ns: float | None
    """Time of the device, less whole turns of its counter [ns]; None where it sends none."""
    behind: int
    """Bytes that were received after it, in the same piece."""


@dataclass
class Counts:
    """Counts of a decoder.

    Parameters
    ----------
    samples : int
        Readings.
    bad_checksums : int
        Packets or lines whose checksum does not fit.
    unreadable : int
        Messages whose fields are no numbers, or that end early.
    resyncs, skipped_bytes : int
        Places at which bytes belong to no message, other than after a bad checksum, and all bytes
        that were skipped after the first message.
    lost : int
        Samples that are missing by the count that the sensor sends.
    bytes : int
        All bytes.
    """

    samples: int = 0
    bad_checksums: int = 0
    unreadable: int = 0
    resyncs: int = 0
    skipped_bytes: int = 0
    lost: int = 0
    bytes: int = 0

    @property
    def damaged(self) -> int:
        """Places at which at least one message cannot be used."""
        return self.bad_checksums + self.unreadable + self.resyncs

    def __str__(self) -> str:
        parts = [counted(self.samples, "sample")]
        if self.bad_checksums:
            parts.append(counted(self.bad_checksums, "bad checksum"))
        if self.resyncs:
            parts.append(counted(self.resyncs, "resynchronisation"))
        if self.skipped_bytes:
            parts.append(f"{counted(self.skipped_bytes, 'byte')} skipped")
        if self.unreadable:
            parts.append(f"{self.unreadable} unreadable")
        if self.lost:
            parts.append(f"{self.lost} lost by the count of the sensor")
        return ", ".join(parts)


class Decoder:
    r"""Decoder of a protocol; it continues where the last bytes ended.

    Parameters
    ----------
    protocol : Protocol

    Attributes
    ----------
    counts : Counts

    Examples
    --------
    >>> from strapdown.transport.links.hardware.protocol import find_protocol
    >>> decoder = Decoder(find_protocol("x-imu3"))
    >>> decoder.feed(b"I,1000000,0.0000,0.0000,0.0000,0.0000,0.0000,1.0000\r\n")[0].accel
    (0.0, 0.0, 9.80665)
    """

    def __init__(self, protocol: Protocol) -> None:
        self.protocol, self.counts = protocol, Counts()
        self._found: list[Reading] = []
        self.reset()

    def reset(self) -> None:
        """Begin again with the next bytes, as after an interruption; the counts remain."""
        self._buffer = bytearray()
        self._synchronised = False
        self._skipping = False
        self._values: dict[str, Three] = {}
        self._stamp: float | None = None
        self._last_count: int | None = None

    def feed(self, data: bytes, *, is_whole: bool = False) -> list[Reading]:
        """Return the readings that bytes complete.

        Parameters
        ----------
        data : bytes
            Those that follow the ones before.
        is_whole : bool
            Whether they are a datagram, at whose end a message ends.
        """
        self.counts.bytes += len(data)
        self._buffer += data
        if is_whole and isinstance(self.protocol.framing, Line) and not data.endswith(b"\n"):
            self._buffer += b"\n"
        self._found = []
        if isinstance(self.protocol.framing, Line):
            self._lines(self.protocol.framing)
        else:
            self._packets(self.protocol.framing)
        if is_whole and self._buffer:
            self._skip(len(self._buffer))
        return self._found

    # -- framing ---------------------------------------------------------------------------------

    def _lines(self, framing: Line) -> None:
        """Take the lines in the buffer."""
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end]).rstrip(b"\r")
            del self._buffer[: end + 1]
            if line:
                self._line(line, framing)
        if len(self._buffer) > _LONGEST_LINE:
            self._skip(len(self._buffer))

    def _line(self, line: bytes, framing: Line) -> None:
        if framing.checksum == "nmea":
            body, star, stated = line.removeprefix(b"$").partition(b"*")
            if not line.startswith(b"$") or not star:
                self._skip(len(line) + 1, remove=False)
                return
            if stated.upper() != b"%02X" % xor_of(body):
                self.counts.bad_checksums += self._synchronised
                return
            line = body
        columns = line.split(framing.separator.encode())
        layout = self.protocol.messages.get(columns[0]) or self.protocol.messages.get(b"")
        if layout is None and line.isascii() and line.decode().isprintable():
            self._good()  # another message
            return
        if layout is None or len(columns) != layout.columns or not self._take(layout, columns):
            self.counts.unreadable += self._synchronised
            return
        self._good()
        self._emit()

    def _packets(self, framing: Packet) -> None:
        """Take the packets in the buffer."""
        buffer = self._buffer
        size, of = CHECKSUMS[framing.checksum]
        while True:
            start = buffer.find(framing.sync)
            if start < 0:  # the end may be the beginning of the next packet
                start = max(0, len(buffer) - len(framing.sync) + 1)
                while start < len(buffer) and not framing.sync.startswith(buffer[start:]):
                    start += 1
            if start:
                self._skip(start)
            length = framing.length
            if not length:
                if len(buffer) <= framing.length_at:
                    return
                length = buffer[framing.length_at] + framing.length_adds
            if len(buffer) < max(length, len(framing.sync)):
                return
            packet = bytes(buffer[:length])
            body = packet[: length - size]
            if of(body[framing.checksum_from :]) != int.from_bytes(packet[length - size :], "big"):
                self.counts.bad_checksums += self._synchronised and not self._skipping
                self._skipping = True
                self._skip(1)
                continue
            del buffer[:length]
            self._packet(body, framing)

    def _packet(self, body: bytes, framing: Packet) -> None:
        self._good()
        if self.protocol.items is None:
            for identifier, layout in self.protocol.messages.items():
                if body.startswith(identifier, framing.id_at):
                    self._note(self._take(layout, body))
        elif body.startswith(self.protocol.items.packet, framing.id_at):
            self._values.clear()
            self._items(body, self.protocol.items)
        else:
            return
        self._emit()

    def _items(self, body: bytes, items: Items) -> None:
        """Take the items of a packet."""
        at = items.at
        while at + items.data_at <= len(body):
            size = body[at + items.size_at] + (0 if items.size_is_whole else items.data_at)
            item = body[at : at + size]
            if size < items.data_at or len(item) < size:
                self._note(good=False)
                return
            layout = self.protocol.messages.get(item[items.id_at :][: items.id_size])
            if layout is not None:
                self._note(self._take(layout, item[items.data_at :]))
            at += size

    # -- messages --------------------------------------------------------------------------------

    def _take(self, layout: Layout, content: bytes | list[bytes]) -> bool:
        """Store the fields of a message; False where they are no numbers."""
        found: dict[str, tuple[float, ...]] = {}
        for name, field in layout.fields.items():
            count = 3 if name in {"gyro", "accel"} else 1
            if isinstance(content, list):
                values = _numbers(content[field.at : field.at + count])
            else:
                values = _unpacked(field, content)
            if len(values) != count or not all(map(math.isfinite, values)):
                return False
            found[name] = values
        if layout.begins:
            self._values.clear()
        for name, values in found.items():
            if name == "stamp":
                self._stamp = values[0] * layout.fields[name].scale
            elif name == "count":
                self._follow(int(values[0]), layout.fields[name].modulus)
            else:
                x, y, z = values
                scale = layout.fields[name].scale
                self._values[name] = x * scale, y * scale, z * scale
        return True

    def _emit(self) -> None:
        """Return a reading where both vectors are new."""
        if self._values.keys() >= {"gyro", "accel"}:
            reading = Reading(
                self._values["gyro"], self._values["accel"], self._stamp, len(self._buffer)
            )
            self._values.clear()
            self.counts.samples += 1
            self._found.append(reading)

    def _follow(self, count: int, modulus: int) -> None:
        """Count the samples between two counts."""
        if self._last_count is not None:
            step = count - self._last_count
            missing = (step % modulus if modulus else step) - 1
            if 0 < missing < (min(modulus // 2, _SMALL) if modulus else _SMALL):
                self.counts.lost += missing
        self._last_count = count

    # -- counts ----------------------------------------------------------------------------------

    def _good(self) -> None:
        self._synchronised, self._skipping = True, False

    def _note(self, good: bool) -> None:  # noqa: FBT001 (the result of taking a message)
        self.counts.unreadable += not good

    def _skip(self, count: int, *, remove: bool = True) -> None:
        """Leave out bytes that belong to no message."""
        if remove:
            del self._buffer[:count]
        if self._synchronised:
            self.counts.skipped_bytes += count
            self.counts.resyncs += not self._skipping
            self._skipping = True


def _numbers(columns: list[bytes]) -> tuple[float, ...]:
    """Return columns as numbers; none where one is no number."""
    try:
        return tuple(map(float, columns))
    except ValueError:
        return ()


def _unpacked(field: Field, content: bytes) -> tuple[float, ...]:
    """Return the numbers of a field of a packet; none where the packet ends before."""
    assert field.numbers is not None  # noqa: S101 (a packet has types)
    try:
        return field.numbers.unpack_from(content, field.at)
    except struct.error:
        return ()
