"""Interface between the ring of a topic in this process and the same topic elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import RLock

    from strapdown.transport.wire import WireForm

__all__ = ["Arrival", "Channel", "Link", "Sink"]


@dataclass(frozen=True)
class Channel:
    """Description of a topic for its link.

    Parameters
    ----------
    name : str
        Name of the topic, without a leading slash.
    form : WireForm
        Memory layout of its messages.
    capacity : int
        Messages that are retained, a power of two.
    reliable : bool
        Whether a sender waits for slow receivers; otherwise the oldest messages are replaced.
    """

    name: str
    form: WireForm[Any]
    capacity: int
    reliable: bool


class Arrival(NamedTuple):
    """A message from elsewhere, or one sent from here."""

    payload: bytes
    """In the wire form of the channel."""
    seq: int
    """Number that its publisher gave it: 0, 1, 2, ..."""
    publisher: str
    """Identifier of the sender, unique among publishers; a restarted one gets another."""
    sent_ns: int
    """Wall clock of the sender [ns since 1970]; 0 where it is not known."""
    received_ns: int
    """Wall clock here when it was received [ns since 1970]."""


class Sink(Protocol):
    """Destination of received messages: the ring of the topic. Every method is thread-safe."""

    @property
    def intake(self) -> RLock:
        """Reentrant lock held by the caller of ``Link.poll``."""
        ...

    @property
    def outgoing(self) -> RLock:
        """Lock held by the caller of ``Link.send``, unless the channel is reliable."""
        ...

    def deliver(self, arrivals: Sequence[Arrival]) -> None:
        """Append messages and wake waiting threads; leave out and count malformed ones."""
        ...

    def lose(self, messages: int, *, overwritten: bool = False) -> None:
        """Count messages that were sent and will not arrive, for every handle that listens.

        With ``overwritten`` they were replaced by newer ones because nobody here was quick
        enough; otherwise they were lost in transport.
        """
        ...

    def note(self, *, duplicates: int = 0, out_of_order: int = 0, malformed: int = 0) -> None:
        """Count messages that were received and not delivered, or received late."""
        ...

    def retained(self) -> Sequence[Arrival]:
        """Return the messages sent from this process that the ring still holds, oldest first."""
        ...


class Link(ABC):
    """One backend's connection of one topic; the whole process is one publisher on it.

    The ring opens one link when its first handle opens and closes it with the last.
    """

    name: ClassVar[str]
    """Name of the backend, such as ``"ipc"``."""
    is_network: ClassVar[bool] = False
    waits: ClassVar[bool] = False
    """Whether messages are only received in :meth:`poll` and :meth:`wait`; otherwise a thread of
    the link delivers them."""
    replays: ClassVar[bool] = False
    """Whether publishers elsewhere repeat retained messages, with time stamps of this host."""
    takes: bool = False
    """Whether :meth:`take` is implemented."""
    active: bool = True
    """Whether anybody elsewhere may listen, so that :meth:`send` is called. A link without
    listeners sets it to False, which makes sending within the process a good deal faster, and back
    to True in :meth:`tend` when one has joined. Its :meth:`send` then gets the messages that it
    has missed and the ring still holds."""

    @abstractmethod
    def send(self, message: Arrival) -> None:
        """Send a message of this process to all listeners elsewhere; called once each, in order.

        Called under the ring's lock for sending, not under that for receiving. On a ``reliable``
        channel the ring calls it from a separate thread, so that it may wait for room.
        """

    def poll(self) -> None:  # noqa: B027 (not every link needs it)
        """Deliver the messages that have arrived, without waiting."""

    def take(self) -> Arrival | None:
        """Return the next message, or None; deliver it instead if one is missing before it.

        Called instead of :meth:`poll`, under the ring's lock, while nobody polls.
        """
        return None

    def wait(self, timeout_s: float) -> None:  # noqa: B027 (not every link needs it)
        """Sleep until a message may have arrived, :meth:`wake` is called, or the timeout is over.

        Only for links with ``waits``; called by one thread at a time.
        """

    def wake(self) -> None:  # noqa: B027 (not every link needs it)
        """End the :meth:`wait` of another thread, even one that is just about to begin."""

    def tend(self) -> None:  # noqa: B027 (not every link needs it)
        """Do periodic work; called every 0.1 s while the topic is open."""

    def settle(self) -> None:  # noqa: B027 (not every link needs it)
        """Detect losses that are not known yet, such as those at the end of a burst.

        Called by ``stats()`` and before closing; takes 0.5 s at most.
        """

    def problem(self) -> str:
        """Describe a current obstacle to the transport, or return an empty string."""
        return ""

    @abstractmethod
    def publishers(self) -> int:
        """Count the publishers elsewhere."""

    @abstractmethod
    def subscribers(self) -> int:
        """Count the subscribers elsewhere."""

    @abstractmethod
    def close(self) -> None:
        """Leave the topic, and release every resource."""
