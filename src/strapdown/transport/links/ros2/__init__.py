"""Topics of a ROS 2 graph, without a ROS installation: over DDS, or over zenoh.

Both middlewares carry the bytes of :mod:`strapdown.transport.ros_messages`. Names follow the rules
of ROS 2, which are narrower than those of topics here.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from strapdown.errors import TransportError, UnknownNameError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from strapdown.transport.backends import Ros2
    from strapdown.transport.link import Channel, Link, Sink

__all__ = ["QOS", "check_name", "domain_of", "find_type", "open_link"]

QOS: Final = ("default", "sensor", "latched")
"""Names of the profiles of quality of service."""

_MODULES: Final[Mapping[str, str]] = {
    "dds": "strapdown.transport.links.ros2.dds",
    "zenoh": "strapdown.transport.links.ros2.zenoh",
}
"""Modules with the ``open_link`` and ``find_type`` of each middleware."""


def open_link(backend: Ros2, channel: Channel, sink: Sink) -> Link:
    """Join a topic of ROS 2.

    Raises
    ------
    UnknownNameError
        There is no such ``rmw`` or ``qos``.
    ValueRangeError
        The topic's name or the domain is not allowed in ROS 2.
    BackendMissingError
        The package is not installed.
    TransportError
        ROS has no type for the messages, others use the topic for another type, nobody answers,
        or a topic whose senders wait is to be best effort.
    """
    if backend.qos not in QOS:
        raise UnknownNameError("qos profile", backend.qos, QOS)
    if backend.qos == "sensor" and channel.reliable:
        raise TransportError(
            f'topic {channel.name!r}: expected reliability "sensor" with the qos "sensor", '
            'got "reliable"; use qos "default"'
        )
    check_name(channel.name)
    link: Link = _module(backend).open_link(backend, channel, sink)
    return link


def find_type(backend: Ros2, name: str, timeout_s: float) -> type[Any] | None:
    """Return the type of messages that others publish on a topic, as soon as one is seen.

    Raises
    ------
    UnknownNameError, ValueRangeError, BackendMissingError
        As :func:`open_link`.
    TransportError
        No message type here fits what they publish, or nobody answers.
    """
    name = name.removeprefix("/")
    check_name(name)
    kind: type[Any] | None = _module(backend).find_type(backend, name, timeout_s)
    return kind


def domain_of(backend: Ros2) -> int:
    """Return the domain: the given one, or that of ``ROS_DOMAIN_ID``, or 0.

    Raises
    ------
    ValueRangeError
        It is not a whole number from 0 to 232.
    """
    where, given = "domain", str(backend.domain)
    if backend.domain is None:
        where, given = "ROS_DOMAIN_ID", os.environ.get("ROS_DOMAIN_ID", "").strip() or "0"
    if not given.isdecimal() or int(given) > 232:
        raise ValueRangeError(f"expected {where} as a number from 0 to 232, got {given}")
    return int(given)


def check_name(name: str) -> None:
    """Refuse a topic name that ROS 2 does not know.

    Raises
    ------
    ValueRangeError
        A token between slashes is not letters, digits and underscores, or begins with a digit.
    """
    bad = next((part for part in name.split("/") if not _PART.fullmatch(part)), None)
    if bad is not None:
        raise ValueRangeError(
            f"topic name {name!r}: ROS 2 allows letters, digits and single underscores between "
            f"slashes, and no digit first, got {bad!r}"
        )


_PART: Final = re.compile(r"(?!.*__)[A-Za-z_][A-Za-z0-9_]*")


def _module(backend: Ros2) -> ModuleType:
    if backend.rmw not in _MODULES:
        raise UnknownNameError("rmw", backend.rmw, _MODULES)
    return import_module(_MODULES[backend.rmw])
