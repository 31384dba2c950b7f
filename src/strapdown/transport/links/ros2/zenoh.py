"""ROS 2 over zenoh, in the form of ``rmw_zenoh``: opens links where zenoh is installed.

As there, a session connects to the router at ``tcp/localhost:7447`` (the backend's ``connect``
names another), learns of the others from it, and talks to them directly. For that it listens at
a free port of the loopback. The environment variable ``ZENOH_SESSION_CONFIG_URI`` names a file
of zenoh's own settings instead.

ROS 2 Humble has no type hashes: messages of its programs are understood, but those sent here do
not reach them.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from strapdown.transport.links.ros2 import domain_of
from strapdown.transport.links.zenoh import need_zenoh
from strapdown.transport.ros_messages import ros_form

if TYPE_CHECKING:
    from strapdown.transport.backends import Ros2
    from strapdown.transport.link import Channel, Link, Sink
    from strapdown.transport.links.zenoh._session import Endpoints

__all__ = ["find_type", "open_link"]

_ROUTER: Final = "tcp/localhost:7447"
_LOOPBACK: Final = "tcp/localhost:0"
_MEETING_S: Final = 0.5


def open_link(backend: Ros2, channel: Channel, sink: Sink) -> Link:
    """Join a topic; see :func:`strapdown.transport.links.ros2.open_link`."""
    form = ros_form(channel.form.msg_type)
    domain = domain_of(backend)
    endpoints = _endpoints(backend)
    from strapdown.transport.links.ros2.zenoh_link import (  # noqa: PLC0415 (imports zenoh)
        RosZenohLink,
        quality,
    )

    qos = quality(backend.qos, channel)
    return RosZenohLink(endpoints, channel, sink, domain, (form, backend.frame_id, qos))


def find_type(backend: Ros2, name: str, timeout_s: float) -> type[Any] | None:
    """Wait for a publisher; see :func:`strapdown.transport.links.ros2.find_type`."""
    domain = domain_of(backend)
    endpoints = _endpoints(backend)
    from strapdown.transport.links.ros2.zenoh_link import type_in_use  # noqa: PLC0415 (imports zenoh)

    return type_in_use(endpoints, domain, name, timeout_s)


def _endpoints(backend: Ros2) -> Endpoints:
    need_zenoh()
    from strapdown.transport.links.zenoh._session import Endpoints  # noqa: PLC0415 (imports zenoh)

    config = os.environ.get("ZENOH_SESSION_CONFIG_URI", "")
    if config and not backend.connect:
        where = Endpoints(config=config.removeprefix("file://"))
    else:
        where = Endpoints((backend.connect or _ROUTER,), (_LOOPBACK,))
    return replace(where, timestamps=True, meeting_s=_MEETING_S)
