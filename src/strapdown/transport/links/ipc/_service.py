"""The two services of iceoryx2 behind one topic, and the ports on them."""

from __future__ import annotations

import ctypes
import time
from contextlib import ExitStack, suppress
from functools import cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, TypeVar

import iceoryx2 as iox

from strapdown.errors import TransportError
from strapdown.transport.links.ipc import _node

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown.transport.link import Channel

__all__ = ["Service", "block", "layout"]

Made = TypeVar("Made")

HEADER: Final = "<5Q"
"""Before each message: its number and when it was sent [ns since 1970]; who sent it, the number of
his first message, and when he opened the port [ns of the monotonic clock]."""

MAX_PUBLISHERS, MAX_SUBSCRIBERS, MAX_PROCESSES = 16, 32, 64
PATIENCE_S = 2.0  # for processes that are just ending
TYPICAL_BYTES = 512  # of messages of varying size; the library makes room for larger ones

_FAILURES: Final = (
    iox.PublishSubscribeOpenError,
    iox.PublishSubscribeCreateError,
    iox.EventOpenOrCreateError,
    iox.PublisherCreateError,
    iox.SubscriberCreateError,
    iox.ListenerCreateError,
    iox.NotifierCreateError,
)


@cache
def layout(size: int) -> Struct:
    """Return the layout of a header and a message of so many bytes."""
    return Struct(f"{HEADER}{size}s")


@cache
def block(size: int) -> type[ctypes.Array[ctypes.c_char]]:
    """Return the type of memory for them."""
    return ctypes.c_char * layout(size).size


class Service:
    """A topic as the processes of this host share it.

    Raises
    ------
    TransportError
        Others use it differently, or it cannot be opened.
    """

    _messages: Any = None  # the two of iceoryx2, while they are open
    _events: Any = None

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._attributes = {
            "type": channel.form.name,
            "bytes": str(channel.form.size or "any"),
            "reliability": "reliable" if channel.reliable else "sensor",
        }
        self._node: Any = _node.join()
        try:
            self._patiently(self._open)
        except BaseException:
            self.close()
            raise
        self.buffer: int = self._messages.static_config.subscriber_max_buffer_size
        """Messages that wait for a subscriber at most, and that a late one gets at most."""

    def publisher(self) -> Any:  # noqa: ANN401 (iceoryx2 has no types)
        """Create a port to send; a subscriber without room does not get the message."""
        builder = self._messages.publisher_builder()
        builder = builder.backpressure_strategy(iox.BackpressureStrategy.DiscardData)
        if self.channel.form.size is None:
            builder = builder.initial_max_slice_len(TYPICAL_BYTES)
            builder = builder.allocation_strategy(iox.AllocationStrategy.PowerOfTwo)
        return self._patiently(builder.create)

    def subscriber(self) -> Any:  # noqa: ANN401 (as publisher)
        """Make a port to receive."""
        return self._patiently(self._messages.subscriber_builder().create)

    def notifier(self) -> Any:  # noqa: ANN401 (as publisher)
        """Make a port that wakes all listeners."""
        return self._patiently(self._events.notifier_builder().create)

    def listener(self) -> Any:  # noqa: ANN401 (as publisher)
        """Make a port to wait at."""
        return self._patiently(self._events.listener_builder().create)

    def publishers(self) -> int:
        """Count the ports to send, of all processes."""
        messages = self._messages  # another thread may close
        return 0 if messages is None else messages.dynamic_config.number_of_publishers

    def subscribers(self) -> int:
        """Count the ports to receive, of all processes."""
        messages = self._messages
        return 0 if messages is None else messages.dynamic_config.number_of_subscribers

    def close(self) -> None:
        """Leave; the ports should be gone."""
        with ExitStack() as stack:
            with suppress(_node.BusyError):  # to leave never fails
                stack.enter_context(_node.alone(_node.LEAVING_S))
            self._messages = self._events = self._node = None  # all that refers to them
            _node.leave()

    @_node.alone()
    def _open(self) -> None:
        self._messages, self._events = self._open_messages(), self._open_events()

    def _open_messages(self) -> Any:  # noqa: ANN401 (as publisher)
        """Open the service, or create it with the capacity of this process."""
        channel = self.channel

        def builder() -> Any:  # noqa: ANN401 (as publisher)
            topic = self._node.service_builder(_node.service_name(channel.name))
            messages = topic.publish_subscribe(_payload(channel.form.name, channel.form.size))
            return messages.user_header(_Header).enable_safe_overflow(not channel.reliable)

        required, defined = iox.AttributeVerifier.new(), iox.AttributeSpecifier.new()
        for key, value in self._attributes.items():
            attribute = iox.AttributeKey.new(key), iox.AttributeValue.new(value)
            required, defined = required.require(*attribute), defined.define(*attribute)
        try:
            return builder().open_with_attributes(required)
        except iox.PublishSubscribeOpenError as error:
            if str(error) != "DoesNotExist":
                self._check_use()
                raise
        new = builder().max_publishers(MAX_PUBLISHERS).max_subscribers(MAX_SUBSCRIBERS)
        new = new.max_nodes(MAX_PROCESSES)
        new = new.subscriber_max_buffer_size(channel.capacity).history_size(channel.capacity)
        return new.create_with_attributes(defined)

    def _open_events(self) -> Any:  # noqa: ANN401 (as publisher)
        events = self._node.service_builder(_node.service_name(self.channel.name)).event()
        events = events.max_nodes(MAX_PROCESSES).max_listeners(MAX_SUBSCRIBERS)
        return events.max_notifiers(MAX_PROCESSES).open_or_create()

    def _check_use(self) -> None:
        """Raise an error that names the difference if others use the topic differently."""
        _node.clean_at_once()  # dead processes use nothing
        used = _node.description(self.channel.name)
        if used not in (None, self._attributes):
            raise TransportError(
                f"topic {self.channel.name!r} carries {_described(used)} in another process, "
                f"got {_described(self._attributes)}: give this topic another name"
            )

    def _patiently(self, make: Callable[[], Made]) -> Made:
        """Make something; who uses the same, or has the last port, may have died meanwhile."""
        end_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                return make()
            except _FAILURES as error:
                if time.monotonic() > end_s:
                    raise TransportError(
                        f"topic {self.channel.name!r} cannot be shared among processes ({error}); "
                        f"it takes {MAX_PUBLISHERS} publishers, {MAX_SUBSCRIBERS} subscribers and "
                        f"{MAX_PROCESSES} processes"
                    ) from error
            _node.clean_at_once()
            time.sleep(0.01)


class _Header(ctypes.Structure):
    _fields_ = (("values", ctypes.c_uint64 * 5),)

    @staticmethod
    def type_name() -> str:
        return "strapdown::Header"


def _payload(name: str, size: int | None) -> Any:  # noqa: ANN401 (as publisher)
    """Return the type by which iceoryx2 knows messages."""
    aligned = size is not None and size % 8 == 0
    item = ctypes.c_uint64 if aligned else ctypes.c_uint8
    count = 1 if size is None else size // ctypes.sizeof(item)
    kind = type(
        name,
        (ctypes.Structure,),
        {"_fields_": [("items", item * count)], "type_name": staticmethod(lambda: name)},
    )
    return iox.Slice[kind] if size is None else kind


def _described(attributes: Mapping[str, str]) -> str:
    return "{type} ({bytes} bytes, {reliability})".format(**attributes)
