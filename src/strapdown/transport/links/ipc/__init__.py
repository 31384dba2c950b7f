"""Topics among the processes of one user on one host, through iceoryx2's shared memory.

A process joins the service ``strapdown/NAME`` of iceoryx2: messages by publish and subscribe,
and an event that wakes waiting threads. It publishes only while another process listens. A late
subscriber gets the messages that the ring of the sender retains.

Files belong to the user alone (mode 0600, in directories of mode 0750), regardless of the umask:
``/tmp/strapdown-UID`` and, in shared memory, ``/dev/shm/strapdown-UID_*``. Every program of that
user may send and receive; there is no further check.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from strapdown.errors import BackendMissingError
from strapdown.transport.wire import MESSAGE_TYPES

if TYPE_CHECKING:
    from strapdown.transport.backends import Backend
    from strapdown.transport.link import Channel, Link, Sink

__all__ = ["find_type", "open_link"]


def open_link(_backend: Backend, channel: Channel, sink: Sink) -> Link:
    """Join a topic.

    Raises
    ------
    BackendMissingError
        iceoryx2 cannot be imported.
    TransportError
        Another process uses the topic with another type of messages or another reliability, or
        too many take part.
    """
    _need_iceoryx2()
    from strapdown.transport.links.ipc._link import IpcLink  # noqa: PLC0415 (iceoryx2 loads at first use)

    return IpcLink(channel, sink)


def find_type(_backend: Backend, name: str, timeout_s: float) -> type[Any] | None:
    """Return the type of messages that other processes use on a topic; None if nobody does.

    Raises
    ------
    BackendMissingError
        iceoryx2 cannot be imported.
    """
    _need_iceoryx2()
    from strapdown.transport.links.ipc import _node  # noqa: PLC0415 (iceoryx2 loads at first use)

    deadline = time.monotonic() + timeout_s
    while (found := _node.description(name)) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return None if found is None else MESSAGE_TYPES.get(found["type"])


def _need_iceoryx2() -> None:
    try:
        import iceoryx2  # noqa: F401, PLC0415 (whether it is there shows only here)
    except ImportError as error:
        raise BackendMissingError(f"ipc backend ({error})") from error
