"""A topic's link to the other processes of this host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from weakref import WeakSet

from strapdown.transport.link import Link
from strapdown.transport.links.ipc import _node
from strapdown.transport.links.ipc._bell import Bell
from strapdown.transport.links.ipc._receiver import Receiver
from strapdown.transport.links.ipc._sender import Sender
from strapdown.transport.links.ipc._service import Service

if TYPE_CHECKING:
    from strapdown.transport.link import Arrival, Channel, Sink

__all__ = ["IpcLink"]


class IpcLink(Link):
    """One topic of this process, joined to that of others.

    A port to receive exists from the start, so that messages of others are queued before the first
    poll; a process that only sends gives it up. A port to send exists while others listen.
    """

    name = "ipc"
    waits = True
    replays = True

    def __init__(self, channel: Channel, sink: Sink) -> None:
        self._service = Service(channel)
        self._bell = Bell(self._service)
        self._receiver = Receiver(self._service, sink)
        self._sender = Sender(self._service, sink, self._receiver, self._bell)
        send = self._sender.send_reliably if channel.reliable else self._sender.send
        self.send = send  # type: ignore[method-assign]  # no call in between: somebody waits
        self.take = self._receiver.take  # type: ignore[method-assign]  # as send
        self.wait = self._bell.wait  # type: ignore[method-assign]  # as send
        try:
            self._receiver.open()
        except BaseException:
            self._service.close()
            raise
        self.takes = channel.form.size is not None and not channel.reliable
        self.subscribers()
        _LINKS.add(self)

    def send(self, message: Arrival) -> None:  # of the class; each link has its own
        raise NotImplementedError

    def poll(self) -> None:
        self._receiver.poll()

    def wake(self) -> None:
        self._bell.ring_here()

    def tend(self) -> None:
        _node.clean()
        self._receiver.meet()
        self._sender.serve()
        self.subscribers()

    def publishers(self) -> int:
        return self._service.publishers() - self._sender.ports

    def subscribers(self) -> int:
        others = self._sender.others()
        self.active = others > 0
        return others

    def close(self) -> None:
        self._sender.close()
        self._receiver.close()
        self._bell.close()
        self._service.close()
        _LINKS.discard(self)


_LINKS: WeakSet[IpcLink] = WeakSet()


def _leave_to_parent() -> None:
    """Keep the objects of the parent in a forked child, whose topics are joined again."""
    for link in list(_LINKS):
        _node.keep_for_ever(link)  # to destroy it would destroy the parent's
    _LINKS.clear()


os.register_at_fork(after_in_child=_leave_to_parent)
