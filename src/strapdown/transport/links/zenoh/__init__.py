"""Topics between hosts, by zenoh.

One end listens at an endpoint, others connect to it; there is no discovery by multicast, and
nothing listens unless an endpoint is given. A process that only connects, and to one endpoint, is a
client of zenoh: the listener there, a router or another process, forwards messages between its
clients. A process that starts before its listener waits as a peer, and so does one that connects to
several endpoints. Between two peers nobody forwards messages: one of them must listen, or have the
mode ``client`` in a configuration file of zenoh, with which it cannot start before the listener.

Keys begin with ``strapdown/v1/``, then come the type and the name of the topic:

===============================  ====================================================
below the topic                  holds
===============================  ====================================================
(itself)                         messages in their wire form, with an :mod:`attachment
                                 <strapdown.transport.links.zenoh.attachment>`
``@lv/p/GID``, ``@lv/s/GID``     liveliness of a process that publishes, or listens
``@wm/GID``                      of a publisher: answers which numbers it has sent, and what
                                 it retains
``@in/GID``                      of a listener: takes the farewell of a publisher, and answers
                                 once all that was sent before has come in
===============================  ====================================================

Messages that are missing are found by their numbers. What was lost at the end of a flood shows
no gap, so who listens asks each publisher that falls silent how far it has come.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from strapdown.errors import BackendMissingError

if TYPE_CHECKING:
    from strapdown.transport.backends import Zenoh
    from strapdown.transport.link import Channel, Link, Sink
    from strapdown.transport.links.zenoh._session import Endpoints

__all__ = ["find_type", "open_link"]


def open_link(backend: Zenoh, channel: Channel, sink: Sink) -> Link | None:
    """Join a topic; None where no endpoint is given, which reaches nobody.

    Raises
    ------
    BackendMissingError
        zenoh is not installed.
    FileNotFoundError
        There is no such file of settings.
    TransportError
        zenoh refuses an endpoint or the settings; or others use the topic with another type.
    TypeError
        An endpoint is given alone, not in a tuple.
    """
    endpoints = _endpoints(backend)
    if endpoints is None:
        return None
    from strapdown.transport.links.zenoh.link import ZenohLink  # noqa: PLC0415 (imports zenoh)

    return ZenohLink(endpoints, channel, sink)


def find_type(backend: Zenoh, name: str, timeout_s: float) -> type[Any] | None:
    """Return the type of messages with which others use a topic, as soon as one is seen.

    Raises
    ------
    BackendMissingError, FileNotFoundError, TransportError, TypeError
        As :func:`open_link`.
    """
    endpoints = _endpoints(backend)
    if endpoints is None:
        return None
    from strapdown.transport.links.zenoh.link import type_in_use  # noqa: PLC0415 (imports zenoh)

    return type_in_use(endpoints, name, timeout_s)


def _endpoints(backend: Zenoh) -> Endpoints | None:
    """Return where to connect and listen, by the environment if nothing is given, or None."""
    need_zenoh()
    from strapdown.transport.links.zenoh._session import Endpoints  # noqa: PLC0415 (imports zenoh)

    for given in (backend.connect, backend.listen):
        if isinstance(given, str):
            raise TypeError(f"zenoh: expected a tuple of endpoints, got {given!r}: {(given,)!r}")
    chosen = backend.resolved()
    if not chosen.reaches_others:
        return None
    return Endpoints(chosen.connect, chosen.listen, chosen.config)


def need_zenoh() -> None:
    """Raise BackendMissingError where zenoh is not installed."""
    try:
        import_module("zenoh")
    except ImportError:
        raise BackendMissingError("zenoh backend", extra="network") from None
