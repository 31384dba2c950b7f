"""Backends that carry the messages of a topic, and their options.

==========  ==================================  ===================================  =============
backend     reaches                             through                              extra
==========  ==================================  ===================================  =============
``auto``    this host                           ring, and ``ipc`` where it is there
``local``   this process                        a ring in memory
``ipc``     this host                           iceoryx2, shared memory
``zenoh``   other hosts                         zenoh                                ``network``
``horus``   horus programs on this host         horus's own shared memory            ``horus``
``ros1``    a ROS 1 graph                       rospy                                Debian's ROS
``ros2``    a ROS 2 graph                       DDS (cyclonedds), or zenoh           ``ros2``
``serial``  a sensor at a serial port           pyserial                             ``hardware``
``udp``     a sensor that sends datagrams       a socket
``iio``     a sensor of this host               the IIO subsystem of Linux
==========  ==================================  ===================================  =============
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from logging import getLogger
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from strapdown.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown.transport.link import Channel, Link, Sink

__all__ = [
    "BACKENDS",
    "Backend",
    "Horus",
    "Iio",
    "Ipc",
    "Local",
    "Ros1",
    "Ros2",
    "Serial",
    "Udp",
    "Zenoh",
    "find_backend",
]

_log = getLogger(__name__)


@dataclass(frozen=True)
class Backend:
    """A transport of messages; equal options share one ring for each topic name."""

    name: ClassVar[str]
    module: ClassVar[str | None] = None
    """Module with its function ``open_link(backend, channel, sink) -> Link``."""
    files: ClassVar[frozenset[str]] = frozenset()
    """Options that name files."""
    can_send: ClassVar[bool] = True
    """Whether messages can be sent."""

    def check(self, name: str) -> None:
        """Raise an error if an option or the name of a topic is invalid; nothing is opened.

        Raises
        ------
        StrapdownError, OSError
            As :meth:`open_link` for the same option or name.
        """

    def open_link(self, channel: Channel, sink: Sink) -> Link | None:
        """Join a topic; None where it stays within the process.

        Raises
        ------
        BackendMissingError
            A package is not installed.
        TransportError
            Others use the topic differently, such as with another type of messages; or
            nobody answers.
        """
        if self.module is None:
            return None
        open_link: Callable[[Backend, Channel, Sink], Link] = import_module(self.module).open_link
        return open_link(self, channel, sink)


@dataclass(frozen=True)
class Local(Backend):
    """Within this process."""

    name = "local"


@dataclass(frozen=True)
class Ipc(Backend):
    """Among the processes of one user on one host, through shared memory."""

    name = "ipc"
    module = "strapdown.transport.links.ipc"


@dataclass(frozen=True)
class Zenoh(Backend):
    """Between hosts.

    Parameters
    ----------
    connect, listen : tuple of str
        Endpoints, such as ``"tcp/10.0.0.2:7447"``; by default those that the environment
        variables ``STRAPDOWN_ZENOH_CONNECT`` and ``STRAPDOWN_ZENOH_LISTEN`` name, separated by
        commas. Without any the topic reaches this process only.
    config : str
        A configuration file of zenoh, for TLS and passwords.
    """

    connect: tuple[str, ...] = ()
    listen: tuple[str, ...] = ()
    config: str = ""
    name = "zenoh"
    files = frozenset({"config"})
    module = "strapdown.transport.links.zenoh"
    CONNECT: ClassVar[str] = "STRAPDOWN_ZENOH_CONNECT"
    LISTEN: ClassVar[str] = "STRAPDOWN_ZENOH_LISTEN"

    @property
    def reaches_others(self) -> bool:
        """Whether any endpoint or configuration is given."""
        return bool(self.connect or self.listen or self.config)

    def resolved(self) -> Zenoh:
        """Return this with the endpoints of the environment, where none are given."""
        if self.reaches_others:
            return self
        return Zenoh(_listed(self.CONNECT), _listed(self.LISTEN))


@dataclass(frozen=True)
class Horus(Backend):
    """Programs on this host that use horus itself."""

    name = "horus"
    module = "strapdown.transport.links.horus.link"


@dataclass(frozen=True)
class Ros1(Backend):
    """A ROS 1 graph; the environment variable ``ROS_MASTER_URI`` names its master.

    Parameters
    ----------
    frame_id : str
        Frame in the headers of sent messages.
    """

    frame_id: str = ""
    name = "ros1"
    module = "strapdown.transport.links.ros1"


@dataclass(frozen=True)
class Ros2(Backend):
    """A ROS 2 graph, without a ROS installation.

    Parameters
    ----------
    rmw : {"dds", "zenoh"}
        Middleware.
    domain : int, optional
        By default that of the environment variable ``ROS_DOMAIN_ID``, or 0.
    frame_id : str
        Frame in the headers of sent messages.
    qos : {"default", "sensor", "latched"}
        Reliable sending and best-effort receiving, which match everybody; best effort, keep
        last 5; reliable and transient local.
    connect : str
        The zenoh router to connect to, by default ``tcp/localhost:7447``.
    """

    rmw: str = "dds"
    domain: int | None = None
    frame_id: str = ""
    qos: str = "default"
    connect: str = ""
    name = "ros2"
    module = "strapdown.transport.links.ros2"


@dataclass(frozen=True)
class _Sensor(Backend):
    """A sensor, of which messages are only received."""

    module = "strapdown.transport.links.hardware"
    files = frozenset({"protocol"})
    can_send = False

    def check(self, name: str) -> None:
        """Raise an error if an option or the name of the port is invalid; nothing is opened."""
        import_module("strapdown.transport.links.hardware").check(self, name)


@dataclass(frozen=True)
class Serial(_Sensor):
    """A sensor at a serial port, which only sends; the name of the topic is that of the port.

    Parameters
    ----------
    protocol : str
        Name of a protocol, or a file ``.toml`` that declares one.
    baud : int, optional
        Rate [Bd]; by default that of the protocol.
    stamps : {"device", "host"}
        Stamps of the device on the clock of the host, where it sends any, or arrivals.
    """

    protocol: str = ""
    baud: int | None = None
    stamps: str = "device"
    name = "serial"


@dataclass(frozen=True)
class Udp(_Sensor):
    """A sensor that sends datagrams; the name of the topic is the number of the port.

    Parameters
    ----------
    protocol, stamps : str
        As for :class:`Serial`.
    host : str
        Address of this host to listen at; ``0.0.0.0`` is every one.
    """

    protocol: str = ""
    host: str = "127.0.0.1"
    stamps: str = "device"
    name = "udp"


@dataclass(frozen=True)
class Iio(_Sensor):
    """A sensor of the IIO subsystem of Linux; the name of the topic is its number or its name.

    Parameters
    ----------
    mode : {"auto", "buffer", "poll"}
        From the buffer of the kernel, by reading attributes, or the latter where the former
        is not possible.
    root, dev : str
        Folders of the devices in sysfs, and of their nodes.
    """

    mode: str = "auto"
    root: str = "/sys/bus/iio/devices"
    dev: str = "/dev"
    name = "iio"


BACKENDS: Final[Mapping[str, type[Backend]]] = {
    kind.name: kind for kind in (Local, Ipc, Zenoh, Horus, Ros1, Ros2, Serial, Udp, Iio)
}
"""Every backend by name."""

AnyBackend: TypeAlias = str | Backend


def _listed(variable: str) -> tuple[str, ...]:
    """Return the items of an environment variable, which are separated by commas."""
    return tuple(filter(None, map(str.strip, os.environ.get(variable, "").split(","))))


def find_backend(backend: AnyBackend) -> Backend:
    """Return a backend by name; ``auto`` is that of ``STRAPDOWN_BACKEND``, or ``ipc``.

    Where iceoryx2 cannot be imported ``auto`` is ``local``.

    Raises
    ------
    UnknownNameError
        There is no such backend.
    """
    if isinstance(backend, Backend):
        return backend
    if backend == "auto":
        backend = os.environ.get("STRAPDOWN_BACKEND", "auto")
    if backend == "auto":
        return Ipc() if _has_iceoryx2() else Local()
    if backend not in BACKENDS:
        raise UnknownNameError("backend", backend, [*BACKENDS, "auto"])
    return BACKENDS[backend]()


@cache
def _has_iceoryx2() -> bool:
    """Whether shared memory is available; logged once if not."""
    try:
        import_module("iceoryx2")
    except (ImportError, OSError) as error:
        _log.warning("topics stay within this process, iceoryx2 cannot be imported: %s", error)
        return False
    return True
