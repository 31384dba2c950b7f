"""Ports that bytes are received from: a serial one, and a socket for datagrams."""

from __future__ import annotations

import errno
import socket
import time
from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from strapdown.errors import BackendMissingError, TransportError

if TYPE_CHECKING:
    from strapdown.transport.backends import Serial, Udp

__all__ = ["Port", "SerialPort", "UdpPort", "device_path", "port_number"]

_WAIT_S: Final = 0.1
_DATAGRAM: Final = 65535
_BITS: Final = 10
"""Bits of a byte at a serial port: with start and stop."""


class Port(ABC):
    """A port that is open.

    Attributes
    ----------
    byte_ns : float
        Time that the transfer of a byte takes [ns]; 0 for datagrams.
    """

    IS_WHOLE: ClassVar[bool] = False
    """Whether what is read at once ends with the end of a message."""
    byte_ns: float = 0.0

    @abstractmethod
    def read(self) -> tuple[bytes, int]:
        """Wait up to 0.1 s for bytes; return them and the time of their arrival [ns since 1970].

        Raises
        ------
        OSError
            The port has gone.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the port."""


class SerialPort(Port):
    """A serial port, 8 data bits without parity, for this process alone.

    Parameters
    ----------
    path : str
        Path of its device.
    backend : Serial
    baud : int
        Rate [Bd].

    Raises
    ------
    BackendMissingError
        pyserial is not installed.
    TransportError
        There is no such port, it is in use, or the user may not open it.
    """

    def __init__(self, path: str, backend: Serial, baud: int) -> None:
        try:
            serial = import_module("serial")
        except ImportError:
            raise BackendMissingError(backend.name, extra="hardware") from None
        self._error: type[Exception] = serial.SerialException
        try:
            self._port: Any = serial.Serial(path, baud, timeout=_WAIT_S, exclusive=True)
        except (serial.SerialException, OSError, ValueError) as error:
            raise TransportError(f"{backend.name}:{path}: {_cause(error)}") from error
        self.byte_ns = _BITS * 1e9 / baud

    def read(self) -> tuple[bytes, int]:
        """Wait up to 0.1 s for bytes; OSError where the port has gone."""
        try:
            data: bytes = self._port.read(max(1, self._port.in_waiting))
        except self._error as error:
            raise OSError(errno.EIO, "the serial port has gone") from error
        return data, time.time_ns()

    def close(self) -> None:
        """Close the port."""
        self._port.close()


class UdpPort(Port):
    """A socket that receives datagrams, by default from this host only.

    Parameters
    ----------
    name : str
        Number of the port.
    backend : Udp

    Raises
    ------
    TransportError
        There is no such address, or the port is in use.
    """

    IS_WHOLE = True

    def __init__(self, name: str, backend: Udp) -> None:
        number = port_number(name)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((backend.host, number))
        except OSError as error:
            self._socket.close()
            raise TransportError(f"udp:{name} at {backend.host}: {error.strerror}") from error
        self._socket.settimeout(_WAIT_S)

    def read(self) -> tuple[bytes, int]:
        """Wait up to 0.1 s for a datagram."""
        try:
            return self._socket.recv(_DATAGRAM), time.time_ns()
        except TimeoutError:
            return b"", time.time_ns()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def device_path(name: str) -> str:
    """Return the path of a device; names of topics have lost its leading slash."""
    path = f"/{name.removeprefix('/')}"
    is_relative = "/" not in name or Path(name).exists()
    return name if is_relative and not Path(path).exists() else path


def port_number(name: str) -> int:
    """Return the number of a port for datagrams.

    Raises
    ------
    TransportError
        The name is none.
    """
    if not name.isdecimal() or not 0 < int(name) < 65536:
        raise TransportError(f"expected the number of a port, such as udp:5005, got udp:{name}")
    return int(name)


def _cause(error: Exception) -> str:
    """Return why a port cannot be opened, and what to do."""
    number = getattr(error, "errno", None)
    if number == errno.ENOENT:
        return "there is no such port; list them with: ls /dev/serial/by-id"
    if number == errno.EACCES:
        return "permission denied; add the user to the group of the device, often dialout"
    if number in {errno.EBUSY, errno.EAGAIN}:
        return "the port is in use by another program"
    if number == errno.EISDIR or "Could not configure port" in str(error):
        return "expected a serial port, got another file; list them with: ls /dev/serial/by-id"
    return str(error)
