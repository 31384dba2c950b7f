"""ROS 2 over DDS, with Cyclone DDS: opens links where the package is installed.

Without settings of one's own (the environment variable ``CYCLONEDDS_URI``) nothing leaves the
host: the only interface is ``lo``, participants find each other by unicast, and sockets take
nothing from other interfaces.
"""

from __future__ import annotations

import time
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from strapdown.errors import BackendMissingError
from strapdown.transport.links.ros2 import domain_of
from strapdown.transport.ros_messages import ros_form, type_carried

if TYPE_CHECKING:
    from types import ModuleType

    from strapdown.transport.backends import Ros2
    from strapdown.transport.link import Channel, Link, Sink

__all__ = ["COMPATIBILITY", "FAST_DDS", "LOOPBACK", "find_type", "open_link"]

COMPATIBILITY: Final = (
    "<Compatibility><IgnoreTypeInformation>1.15</IgnoreTypeInformation></Compatibility>"
)
"""Setting that matches Fast DDS (vendor 1.15) by the names of types.

Cyclone DDS refuses the type descriptions of Fast DDS 3, as in ROS 2 Kilted ("invalid type
object"). An endpoint whose description was refused matches nobody.
"""

FAST_DDS: Final = f"""\
  {COMPATIBILITY}
  <Internal>
    <PrimaryReorderMaxSamples>8192</PrimaryReorderMaxSamples>
    <SecondaryReorderMaxSamples>8192</SecondaryReorderMaxSamples>
  </Internal>"""
"""Settings for the implementation of DDS in most programs of ROS 2.

Reliable messages wait for the first heartbeat of their writer, which Fast DDS sends late; those
that find no room are lost.
"""

LOOPBACK: Final = f"""\
<CycloneDDS><Domain>
  <General>
    <Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces>
    <AllowMulticast>false</AllowMulticast>
  </General>
  <Discovery>
    <ParticipantIndex>auto</ParticipantIndex>
    <MaxAutoParticipantIndex>99</MaxAutoParticipantIndex>
    <Peers><Peer address="127.0.0.1"/></Peers>
    <LeaseDuration>3s</LeaseDuration>
  </Discovery>
  <Internal><SocketReceiveBufferSize min="default" max="16MB"/></Internal>
{FAST_DDS}
</Domain></CycloneDDS>
"""
"""Settings that keep a domain on this host; others notice in 3 s that a process was killed."""


def open_link(backend: Ros2, channel: Channel, sink: Sink) -> Link:
    """Join a topic; see :func:`strapdown.transport.links.ros2.open_link`."""
    form = ros_form(channel.form.msg_type)
    resolved = replace(backend, domain=domain_of(backend))
    link: Link = _cyclone("dds_link").DdsLink(resolved, channel, form, sink)
    return link


def find_type(backend: Ros2, name: str, timeout_s: float) -> type[Any] | None:
    """Wait for a publisher; see :func:`strapdown.transport.links.ros2.find_type`."""
    resolved = replace(backend, domain=domain_of(backend))
    end = time.monotonic() + timeout_s
    with _cyclone("dds_session").session(resolved) as graph:
        while True:
            kinds = {endpoint.type_name for endpoint in graph.publishers(f"rt/{name}")}
            if kinds or time.monotonic() >= end:
                return type_carried(name, kinds)
            time.sleep(0.01)


def _cyclone(module: str) -> ModuleType:
    """Import a module that needs cyclonedds."""
    try:
        return import_module(f"strapdown.transport.links.ros2.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "cyclonedds":
            raise
        raise BackendMissingError("the ros2 backend over DDS", extra="ros2") from error
