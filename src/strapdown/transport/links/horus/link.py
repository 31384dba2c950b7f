"""Topics shared with programs that use horus itself, through ``horus.Topic``.

horus (distribution ``horus-robotics``) does not expose bytes, so messages are converted field by
field, in :mod:`strapdown.transport.links.horus.objects`. Three properties of its library, version
0.4.1, shape this module:

* A handle that both sends and receives stops receiving or being received. So a process has one
  handle to send with and one to receive with. The latter also receives messages of the former,
  which are left out.
* A topic with a single subscriber drops new messages when its 1024 slots are full, and reports
  that to the sender only. With two subscribers it drops old ones, and reports the number to each
  receiver. So a third handle, which belongs to another thread and is otherwise unused, is the
  second subscriber.

Nothing in horus wakes a receiver: waiting is polling.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections import deque
from contextlib import suppress
from functools import partial
from glob import escape
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from strapdown.errors import BackendMissingError, TransportError
from strapdown.transport.link import Arrival, Link
from strapdown.transport.links.horus.objects import CODECS
from strapdown.transport.wire import MESSAGE_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from strapdown.transport.backends import Backend
    from strapdown.transport.link import Channel, Sink

__all__ = ["HorusLink", "find_type", "open_link"]

_log = getLogger(__name__)

FIRST_PAUSE_S = 50e-6
LONGEST_PAUSE_S = 1e-3
BATCH = 4096
"""Messages received at once, so that a burst does not hold a lock for long."""
PATIENCE = 4
"""Share of a topic's slots that is filled before messages are fetched while tending."""
FAST_S = 100e-6
"""Mean interval of messages below which they are fetched in bulk: looking for each one of them
would take longer than the message [s]."""
SHARE = 8
"""Share of a topic's slots that may fill between two looks at a fast topic."""
SCAN_S = 0.25
"""Validity of a scan of the processes of this host [s]."""


def open_link(_backend: Backend, channel: Channel, sink: Sink) -> HorusLink:
    """Join a topic of horus.

    Raises
    ------
    BackendMissingError
        horus-robotics is not installed.
    TransportError
        horus has no such messages, the topic carries others or collides with a folder of its
        name, or ``channel`` is reliable.
    """
    return HorusLink(channel, sink)


def find_type(_backend: Backend, name: str, _timeout_s: float) -> type[Any] | None:
    """Return the type of a topic of horus, if it is there.

    Raises
    ------
    BackendMissingError
        horus-robotics is not installed.
    TransportError
        The topic carries messages that are not known here, or collides with a folder of its name.
    """
    horus = _library()
    bare = name.removeprefix("/")
    if not any(Path("/dev/shm").glob(f"horus_*/topics/{escape(bare)}")):  # noqa: S108 (horus's own place)
        return None
    try:
        horus.Topic(horus.Quaternion, endpoint=bare)
    except RuntimeError as error:
        found = _CLASH.search(str(error))
        if found is None:
            raise _explained(bare, error) from error
        if found[1] not in CODECS:
            raise _not_exchanged(bare, found[1]) from error
        return MESSAGE_TYPES[found[1]]
    return MESSAGE_TYPES["Quaternion"]


class HorusLink(Link):
    """One topic of horus."""

    name = "horus"
    waits = True

    def __init__(self, channel: Channel, sink: Sink) -> None:
        horus = _library()
        kind = channel.form.name
        if kind not in CODECS:
            raise _not_exchanged(channel.name, kind)
        if channel.reliable:
            raise TransportError(
                f"topic {channel.name!r}: horus cannot hold a sender back among several "
                "receivers; leave reliability='sensor', which counts what is lost"
            )
        if kind == "Odometry":
            _log.warning(
                "topic %r: horus's Python class hides covariances, frames and all but two "
                "speeds of Odometry; they arrive as zeros, and covariances are not sent",
                channel.name,
            )
        self._sink = sink
        self._from_horus: Callable[[Any], bytes] = CODECS[kind][0]
        self._to_horus: Callable[[bytes], Any] = partial(CODECS[kind][1], horus)
        self._topic_name = channel.name
        self._lock = threading.Lock()  # of the handles and of what is below
        self._delivery = threading.Lock()  # keeps deliveries in order
        self._inbox: list[Arrival] = []
        self._unheard: deque[bytes] = deque(maxlen=BATCH)  # sent here, not yet heard again
        self._patience = max(1, min(channel.capacity, BATCH) // PATIENCE)
        self._missed = self._dropped = 0  # as the handles count
        self._gap = self._own_gap = 0  # missed since the last settlement, and of those our own
        self._lost = 0  # of others, to be reported to the sink
        self._heard_s = self._collected_s = 0.0
        self._interval_s = math.inf  # mean, of the messages that came last
        self._slots = channel.capacity
        self._seq = 0
        self._sent = False
        self._publisher = f"horus-{os.getpid()}-{time.time_ns():x}"
        self._bell = threading.Lock()
        self._bell.acquire()
        self._scan = (-SCAN_S, 0)
        self._open(horus, getattr(horus, kind), channel)

    def _open(self, horus: ModuleType, kind: type[Any], channel: Channel) -> None:
        def handle() -> Any:  # noqa: ANN401 (a class of horus, which has no types)
            try:
                return horus.Topic(kind, channel.capacity, channel.name)
            except RuntimeError as error:
                if found := _CLASH.search(str(error)):
                    raise TransportError(
                        f"topic {channel.name!r} carries {found[1]} in horus, got "
                        f"{channel.form.name}: give this topic another name"
                    ) from error
                raise _explained(channel.name, error) from error

        self._receiver: Any = handle()
        self._sender: Any = handle()
        self._second: Any = handle()
        if (first := self._receiver.recv()) is not None:
            self._take(first)
        thread = threading.Thread(target=self._second.recv)  # which makes it a subscriber
        thread.start()
        thread.join()
        self._path = _path_of(channel.name)

    def send(self, message: Arrival) -> None:
        """Pass a message to horus, which drops the oldest where it has no room."""
        with self._lock:
            if self._sender is None:
                return
            self._sent = True
            theirs = self._to_horus(message.payload)
            self._sender.send(theirs)
            self._unheard.append(self._from_horus(theirs))  # horus does not return all of Odometry
            if len(self._unheard) >= self._patience:
                self._collect()

    def poll(self) -> None:
        """Deliver the messages that have arrived."""
        with self._delivery:
            with self._lock:
                self._collect()
                arrivals, self._inbox = self._inbox, []
                lost, self._lost = self._lost, 0
            if lost:
                self._sink.lose(lost, overwritten=True)
            if arrivals:
                self._sink.deliver(arrivals)

    def wait(self, timeout_s: float) -> None:
        """Poll, at intervals that grow as long as no message comes, or where many come at once."""
        until = time.monotonic() + timeout_s
        while not self._has_news() and (left := until - (now := time.monotonic())) > 0.0:
            pause = (now - self._heard_s) / 4.0
            if self._interval_s < FAST_S:
                pause = max(pause, self._interval_s * self._slots / SHARE)
            pause = min(max(pause, FIRST_PAUSE_S), LONGEST_PAUSE_S)
            if self._bell.acquire(timeout=min(pause, left)):
                return

    def wake(self) -> None:
        """End a :meth:`wait` that another thread is in."""
        with suppress(RuntimeError):  # it is ringing already
            self._bell.release()

    def tend(self) -> None:
        """Stay registered, and fetch messages before they are overwritten."""
        with self._lock:
            if self._second is not None:
                self._second.recv()
        self.poll()

    def settle(self) -> None:
        """Account for messages that were overwritten."""
        self.poll()

    def publishers(self) -> int:
        """Count the publishers elsewhere; those that ended may count until all others did."""
        with self._lock:
            counted = self._sender.pub_count() - self._sent if self._sender is not None else 0
        return self._alive(counted)

    def subscribers(self) -> int:
        """Count the subscribers elsewhere; those that ended may count until all others did."""
        with self._lock:
            counted = self._receiver.sub_count() - 2 if self._receiver is not None else 0
        return self._alive(counted)

    def close(self) -> None:
        """Drop the handles; with the last one of all processes the topic goes."""
        with self._lock:
            self._receiver = self._sender = self._second = None

    def _has_news(self) -> bool:
        with self._lock:
            self._collect()
            has_news = bool(self._inbox or self._lost)
        if has_news:
            self._heard_s = time.monotonic()
        return has_news

    def _collect(self) -> None:
        """Take in what has come; needs the lock."""
        receiver, waiting = self._receiver, len(self._inbox)
        for _ in range(BATCH if receiver is not None else 0):
            message = receiver.recv()
            grown = self._missed_more()
            if message is not None:
                self._take(message)
            elif not grown:  # all are received, none was skipped
                self._account()
                break
        if (fresh := len(self._inbox) - waiting) > 0:
            now = time.monotonic()
            self._interval_s = (now - self._collected_s) / fresh
            self._collected_s = now

    def _take(self, message: Any) -> None:  # noqa: ANN401 (a class of horus)
        """Store a message in the inbox, unless it was sent from here."""
        payload = self._from_horus(message)
        unheard = self._unheard
        if unheard and payload == unheard[0]:
            unheard.popleft()
            return
        if payload in unheard and self._gap:  # those before it were missed, too
            while unheard.popleft() != payload:
                self._own_gap += 1
            return
        arrival = Arrival(payload, self._seq, self._publisher, 0, time.time_ns())
        self._seq += 1
        self._inbox.append(arrival)

    def _missed_more(self) -> bool:
        """Look what the receiving handle has missed, and return whether that has grown.

        Messages are numbered here, so that a gap in the numbers shows where some are missing.
        """
        missed = self._receiver.missed_count()
        grown = missed - self._missed
        self._gap += grown
        self._seq += grown
        self._missed = missed
        return bool(grown)

    def _account(self) -> None:
        """Attribute missed messages to this process or others, once all are received."""
        dropped = self._sender.dropped_count() - self._dropped
        if dropped:
            if not self._dropped:
                _log.warning(
                    "topic %r: horus drops messages of this process; it serves 16 threads at "
                    "once, and keeps the place of one that was killed for 5 s",
                    self._topic_name,
                )
            self._dropped += dropped
        if self._gap or dropped:
            own = self._own_gap + max(0, len(self._unheard) - dropped)
            self._lost += max(0, self._gap - own)
            self._gap = self._own_gap = 0
            self._unheard.clear()

    def _alive(self, counted: int) -> int:
        """Return a count of horus, at most as many as processes have the topic open."""
        if counted <= 0 or self._path is None:
            return max(0, counted)
        now = time.monotonic()
        if now - self._scan[0] > SCAN_S:
            self._scan = (now, _others(self._path))
        return min(counted, self._scan[1])


def _library() -> ModuleType:
    try:
        import horus  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415 (optional)
    except ImportError as error:
        raise BackendMissingError("horus backend", extra="horus") from error
    if not hasattr(horus, "Topic"):  # another distribution has this import name too
        raise BackendMissingError("horus backend", extra="horus")
    module: ModuleType = horus
    return module


_CLASH: Final = re.compile(r"Existing type '([^']*)'")
_PLACE: Final = re.compile(r"(?:SHM|dir): (/[^ ]*?)\.(?: |$)")


def _not_exchanged(name: str, kind: str) -> TransportError:
    return TransportError(f"topic {name!r}: horus exchanges {', '.join(CODECS)}, got {kind}")


def _explained(name: str, error: RuntimeError) -> TransportError:
    """Return what horus means."""
    text = str(error)
    if "Allocation failed" in text:
        place = found[1] if (found := _PLACE.search(text)) else "its folder in /dev/shm"
        return TransportError(
            f"topic {name!r}: horus makes folders of names, so 'a' cannot be beside 'a/b', and an "
            f"empty folder stays behind; choose another name, or see what is at {place}"
        )
    return TransportError(f"topic {name!r}: {text.split('. Common causes', maxsplit=1)[0]}")


def _path_of(name: str) -> str | None:
    """Return the file of a topic that this process has open."""
    for link in _targets(Path("/proc/self/fd")):
        if link.endswith(f"/topics/{name}"):
            return link
    return None


def _others(path: str) -> int:
    """Count the other processes, of those that may be looked at, that have a file open."""
    folders = [
        each for each in Path("/proc").glob("[0-9]*/fd") if each.parts[2] != str(os.getpid())
    ]
    return sum(path in _targets(folder) for folder in folders)


def _targets(folder: Path) -> list[str]:
    found = []
    with suppress(OSError):  # it has ended, or is another user's
        for entry in folder.iterdir():
            with suppress(OSError):
                found.append(str(entry.readlink()))
    return found
