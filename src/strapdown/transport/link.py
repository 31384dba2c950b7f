"""What joins the ring of a topic in this process to the same topic elsewhere."""

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
    """What a link has to know about its topic.

    Parameters
    ----------
    name : str
        Name of the topic, without a leading slash.
    form : WireForm
        How its messages stand in memory.
    capacity : int
        Messages that are retained, a power of two.
    reliable : bool
        Whether a sender waits for slow receivers; otherwise the oldest messages give way.
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
    """Who sent it; unlike any other publisher, and unlike itself after a restart."""
    sent_ns: int
    """Wall clock of the sender [ns since 1970]; 0 where it is not known."""
    received_ns: int
    """Wall clock here when it came [ns since 1970]."""


class Sink(Protocol):
    """Where a link puts what arrives: the ring of the topic. Every method is safe among threads."""

    @property
    def intake(self) -> RLock:
        """The lock that who calls ``Link.poll`` holds; a thread can take it twice."""
        ...

    @property
    def outgoing(self) -> RLock:
        """The lock that who calls ``Link.send`` holds, unless the channel is reliable."""
        ...

    def deliver(self, arrivals: Sequence[Arrival]) -> None:
        """Append messages and wake who waits; wrong sizes are counted as malformed, left out."""
        ...

    def lose(self, messages: int, *, overwritten: bool = False) -> None:
        """Count messages that were sent and will not come: for every handle that listens.

        ``overwritten`` says that they gave way to newer ones because nobody here was quick
        enough; otherwise they were lost on the way.
        """
        ...

    def note(self, *, duplicates: int = 0, out_of_order: int = 0, malformed: int = 0) -> None:
        """Count what came and was not delivered, or came late."""
        ...

    def retained(self) -> Sequence[Arrival]:
        """Return the messages sent from this process that the ring still holds, oldest first."""
        ...


class Link(ABC):
    """One backend's connection of one topic; the whole process is one publisher on it.

    The ring opens one link when its first handle opens and closes it with the last.
    """

    name: ClassVar[str]
    """Of the backend, such as ``"ipc"``."""
    is_network: ClassVar[bool] = False
    waits: ClassVar[bool] = False
    """Whether messages are only taken in by :meth:`poll` and :meth:`wait`; otherwise a thread of
    the link delivers them by itself."""
    replays: ClassVar[bool] = False
    """Whether publishers elsewhere send again what they retain, with the time of this host."""
    takes: bool = False
    """Whether it has :meth:`take`."""
    active: bool = True
    """Whether anybody elsewhere may listen, so that :meth:`send` is called. A link that knows of
    nobody sets it to False, which makes sending within the process a good deal faster, and back to
    True in :meth:`tend` when somebody came. It then gets, by :meth:`send`, what it has missed and
    the ring still holds."""

    @abstractmethod
    def send(self, message: Arrival) -> None:
        """Hand a message that was sent here to whoever listens elsewhere; in order, one by one.

        Called under the ring's lock for sending, not under that for receiving. A link on a
        ``reliable`` channel may wait for room here: the ring calls it from a thread of its own
        then.
        """

    def poll(self) -> None:  # noqa: B027 (not every link needs it)
        """Deliver what has arrived, without waiting."""

    def take(self) -> Arrival | None:
        """Return the next message, or None; deliver it if something is missing before it.

        Called instead of :meth:`poll`, under the ring's lock, while nobody polls.
        """
        return None

    def wait(self, timeout_s: float) -> None:  # noqa: B027 (not every link needs it)
        """Sleep until something may have arrived, :meth:`wake` is called, or time is over.

        Only of links that ``waits``; one thread at a time.
        """

    def wake(self) -> None:  # noqa: B027 (not every link needs it)
        """End a :meth:`wait` that another thread is in, or is just about to begin."""

    def tend(self) -> None:  # noqa: B027 (not every link needs it)
        """Do what must be done now and then: called every 0.1 s while the topic is open."""

    def settle(self) -> None:  # noqa: B027 (not every link needs it)
        """Learn of losses that nothing has told yet, such as the tail of a flood.

        Called by ``stats()`` and before closing; takes 0.5 s at most.
        """

    def problem(self) -> str:
        """Say what keeps messages from passing just now, if anything."""
        return ""

    @abstractmethod
    def publishers(self) -> int:
        """Count the publishers elsewhere."""

    @abstractmethod
    def subscribers(self) -> int:
        """Count the subscribers elsewhere."""

    @abstractmethod
    def close(self) -> None:
        """Leave, and give back every resource."""
