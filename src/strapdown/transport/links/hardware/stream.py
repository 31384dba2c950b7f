"""Sensor whose samples come as a stream of bytes in a declared protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.errors import TransportError
from strapdown.geometry.frames import BodyFrame, convert_vector
from strapdown.messages import Imu
from strapdown.transport.links.hardware.decoder import Decoder
from strapdown.transport.links.hardware.protocol import find_protocol, protocols
from strapdown.transport.links.hardware.stamps import DeviceClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from strapdown._typing import Three
    from strapdown.transport.backends import Serial, Udp
    from strapdown.transport.links.hardware.decoder import Reading
    from strapdown.transport.links.hardware.ports import Port
    from strapdown.transport.links.hardware.protocol import Protocol

__all__ = ["StreamSensor", "checked_protocol"]

_ENOUGH: Final = 2000
"""Bytes without a sample after which protocol or rate are wrong."""
_STAMPS: Final = ("device", "host")


class StreamSensor:
    """A sensor at a port.

    Samples are stamped by the time of the device, mapped to the clock of the host, where the
    protocol has a stamp and ``stamps`` is not ``"host"``; otherwise by their arrival, less the
    time of transfer of the bytes behind them.

    Parameters
    ----------
    protocol : Protocol
    open_port : callable
        Opens the port.
    is_host : bool
        Whether arrival is the stamp in any case.
    """

    def __init__(
        self, protocol: Protocol, open_port: Callable[[], Port], *, is_host: bool = False
    ) -> None:
        self._protocol, self._open = protocol, open_port
        self._is_host = is_host or "stamp" not in protocol.fields
        stamps = (m.fields["stamp"] for m in protocol.messages.values() if "stamp" in m.fields)
        self._clock = DeviceClock(next((f.modulus * f.scale for f in stamps), 0.0))
        self._rows = [
            [float(number) for number in row]
            for row in convert_vector([[1, 0, 0], [0, 1, 0], [0, 0, 1]], protocol.body, "FLU").T
        ]
        self._turns = protocol.body is not BodyFrame.FLU
        self._last_ns = 0
        self._decoder = Decoder(protocol)
        self._port = open_port()

    @classmethod
    def of(cls, name: str, backend: Serial | Udp, opened: Callable[[int], Port]) -> Self:
        """Return the sensor of an address.

        Raises
        ------
        TransportError
            The port cannot be opened.
        TransportError, UnknownNameError, FormatError, OSError
            As :func:`checked_protocol`.
        """
        protocol = checked_protocol(name, backend)
        baud = getattr(backend, "baud", None) or protocol.baud
        return cls(protocol, lambda: opened(baud), is_host=backend.stamps == "host")

    @property
    def damaged(self) -> int:
        """Messages that could not be used."""
        return self._decoder.counts.damaged

    @property
    def lost(self) -> int:
        """Samples that are missing by the count of the sensor."""
        return self._decoder.counts.lost

    def read(self) -> list[Imu]:
        """Wait up to 0.1 s for bytes, and return the samples that they complete."""
        data, arrival_ns = self._port.read()
        if not data:
            return []
        readings = self._decoder.feed(data, is_whole=self._port.IS_WHOLE)
        stamps = self._stamps(readings, arrival_ns)
        return [
            Imu(*self._in_body(each.accel), *self._in_body(each.gyro), stamp_ns)
            for each, stamp_ns in zip(readings, stamps, strict=True)
        ]

    def reopen(self) -> None:
        """Open the port again; the sensor may have restarted."""
        self._port.close()
        self._decoder.reset()
        self._clock.reset()
        self._port = self._open()

    def problem(self) -> str:
        """Report many bytes without a sample."""
        counts = self._decoder.counts
        if counts.samples or counts.bytes < _ENOUGH:
            return ""
        return (
            f"{counts.bytes} bytes and no sample of {self._protocol.name}: "
            "check protocol, baud and the output settings of the sensor"
        )

    def account(self) -> str:
        """Return the counts of the decoder as a line."""
        restarts = self._clock.restarts
        again = f", {restarts} restarts of the device" if restarts else ""
        return f"{self._protocol.name}: {self._decoder.counts}{again}"

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def _stamps(self, readings: list[Reading], arrival_ns: int) -> list[int]:
        """Return the stamps of readings that arrive together."""
        byte_ns = self._port.byte_ns
        arrivals = [arrival_ns - round(each.behind * byte_ns) for each in readings]
        times = [each.stamp_ns for each in readings]
        known = [time for time in times if time is not None]
        if not self._is_host and len(known) == len(times):
            return self._clock.stamps(zip(known, arrivals, strict=True))
        for row, arrival in enumerate(arrivals):
            self._last_ns = arrivals[row] = max(arrival, self._last_ns + 1)
        return arrivals

    def _in_body(self, vector: Three) -> Three:
        """Return a vector in FLU."""
        if not self._turns:
            return vector
        x, y, z = (sum(a * b for a, b in zip(row, vector, strict=True)) for row in self._rows)
        return x, y, z


def checked_protocol(name: str, backend: Serial | Udp) -> Protocol:
    """Return the protocol of a backend, whose options are valid.

    Raises
    ------
    TransportError
        No protocol is named, the rate is 0 or less, or there is no such kind of stamps.
    UnknownNameError, FormatError, OSError
        As :func:`~strapdown.transport.links.hardware.protocol.find_protocol`.
    """
    if not backend.protocol:
        raise TransportError(
            f"{backend.name}:{name}: expected ?protocol= with one of {', '.join(protocols())}, "
            "or a file.toml that declares one"
        )
    if backend.stamps not in _STAMPS:
        raise TransportError(f"expected stamps=device or stamps=host, got {backend.stamps!r}")
    baud = getattr(backend, "baud", None)
    if baud is not None and baud < 1:
        raise TransportError(f"{backend.name}:{name}: expected a positive baud, got {baud}")
    return find_protocol(backend.protocol)
