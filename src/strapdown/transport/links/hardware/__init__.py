"""Inertial sensors as topics: at a serial port, in UDP datagrams, in the IIO subsystem of Linux.

A topic of such a backend has the messages ``Imu`` of one sensor, without orientation, and only
receives. Its name is the port: ``serial:/dev/ttyUSB0?protocol=x-imu3``,
``udp:5005?protocol=csv``, ``iio:0``. Messages whose checksum does not fit, or whose fields are no
numbers, are counted as malformed, and samples that are missing by the count of the sensor as lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strapdown.errors import TransportError
from strapdown.messages import Imu
from strapdown.transport.backends import Iio, Serial
from strapdown.transport.links.hardware.iio import IioSensor, check_mode
from strapdown.transport.links.hardware.link import HardwareLink
from strapdown.transport.links.hardware.ports import SerialPort, UdpPort, device_path, port_number
from strapdown.transport.links.hardware.stream import StreamSensor, checked_protocol

if TYPE_CHECKING:
    from strapdown.transport.backends import Udp
    from strapdown.transport.link import Channel, Sink
    from strapdown.transport.links.hardware.ports import Port

__all__ = ["HardwareLink", "check", "find_type", "open_link"]


def open_link(backend: Serial | Udp | Iio, channel: Channel, sink: Sink) -> HardwareLink:
    """Open the port of a sensor.

    Raises
    ------
    BackendMissingError
        pyserial is not installed.
    TransportError
        The messages are not of type ``Imu``, there is no such port or device, it is in use, or the
        user may not open it.
    UnknownNameError, FormatError
        There is no such protocol, or its file declares none.
    """
    name = device_path(channel.name) if isinstance(backend, Serial) else channel.name
    if channel.form.msg_type is not Imu:
        raise TransportError(
            f"{backend.name}:{name} has messages of type Imu, got {channel.form.name}; it is a "
            "sensor, which only sends: receive Imu from it, and publish to another topic"
        )
    if isinstance(backend, Iio):
        return HardwareLink(backend.name, IioSensor(channel.name, backend), sink)

    def opened(baud: int) -> Port:
        if isinstance(backend, Serial):
            return SerialPort(name, backend, baud)
        return UdpPort(name, backend)

    return HardwareLink(backend.name, StreamSensor.of(name, backend, opened), sink)


def check(backend: Serial | Udp | Iio, name: str) -> None:
    """Raise the error of :func:`open_link` for an option or a name that is invalid.

    Raises
    ------
    TransportError, UnknownNameError, FormatError, OSError
        As :func:`open_link`, and where the file of a protocol cannot be read.
    """
    if isinstance(backend, Iio):
        check_mode(backend)
        return
    checked_protocol(name, backend)
    if not isinstance(backend, Serial):
        port_number(name)


def find_type(_backend: Serial | Udp | Iio, _name: str, _timeout_s: float) -> type[Any]:
    """Return ``Imu``, the type of every sensor."""
    return Imu
