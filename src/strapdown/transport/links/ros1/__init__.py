"""Topics on a ROS 1 graph.

A topic is on the graph under its name from the root: ``imu/data`` is ``/imu/data``. Messages are
serialised by :mod:`strapdown.transport.ros_messages`. ``header.seq`` counts from 0, and gaps of a
foreign ``header.seq`` are losses. A slow subscriber loses the oldest of 1000 messages; where
the topic is reliable the sender waits for it.

Other nodes have no history: a late subscriber gets the messages sent from then on. A topic of ROS
has one type, so nobody else may use the name with another one.
"""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING, Any

from strapdown.errors import FormatError, TransportError
from strapdown.messages.cdr import Wire
from strapdown.transport.link import Arrival, Link
from strapdown.transport.links.ros1.node import (
    Master,
    RawPublisher,
    graph_name,
    ros1_name,
    ros1_node,
)
from strapdown.transport.ros_messages import ros_form, type_carried

if TYPE_CHECKING:
    from strapdown.transport.backends import Ros1
    from strapdown.transport.link import Channel, Sink
    from strapdown.transport.ros_messages import RosForm

__all__ = ["Ros1Link", "find_type", "open_link", "ros1_node"]

_COUNT = 1 << 32
"""Modulus of ``header.seq``."""


def open_link(backend: Ros1, channel: Channel, sink: Sink) -> Ros1Link:
    """Join a topic of the graph.

    Raises
    ------
    TransportError
        ROS 1 is not installed, no master answers, ROS 1 has no such message, or others use the
        topic with another type.
    ValueRangeError
        ROS does not allow the name.
    """
    return Ros1Link(backend, channel, sink)


def find_type(_backend: Ros1, name: str, _timeout_s: float) -> type[Any] | None:
    """Return the messages that a topic of the graph has; None where nobody uses it.

    Raises
    ------
    TransportError
        ROS 1 is not installed, no master answers, or no message type here fits the ROS type.
    ValueRangeError
        ROS does not allow the name.
    """
    kind = Master().topic_type(graph_name(name.removeprefix("/")))
    return None if kind is None else type_carried(name, [kind])


class _Peer:
    """A publisher elsewhere, and the number that its next message should have."""

    def __init__(self, name: str, header: dict[str, str], first: int) -> None:
        self.name = name
        self.header = header
        self.next = first


class Ros1Link(Link):
    """A topic of the graph."""

    name = "ros1"
    is_network = True

    def __init__(self, backend: Ros1, channel: Channel, sink: Sink) -> None:
        self._form = form = ros_form(channel.form.msg_type, Wire.ROS1)
        topic = graph_name(channel.name)
        self._node = ros1_node()
        _check_type(self._node.master, topic, form)
        self._frame_id = backend.frame_id
        self._sink = sink
        self._peers: dict[str, _Peer] = {}
        self._connections = 0
        self._publisher = RawPublisher(self._node, topic, form.ros, waits=channel.reliable)
        self._subscriber = self._node.rospy.Subscriber(
            topic, self._node.raw(form.ros), self._receive, tcp_nodelay=True
        )
        self._impl = self._subscriber.impl

    def send(self, message: Arrival) -> None:
        """Publish a message, if another node listens."""
        if self._publisher.subscribers():
            seq = message.seq % _COUNT
            data = self._form.encode(message.payload, self._frame_id, Wire.ROS1, seq)
            self._publisher.send(data)

    def problem(self) -> str:
        """Report a master that does not answer, as long as it does not."""
        return "the ROS master does not answer" if self._node.is_lost else ""

    def publishers(self) -> int:
        """Count the publishers elsewhere that are connected."""
        mine = self._node.uri
        return sum(
            each.header is not None and each.endpoint_id != mine for each in self._impl.connections
        )

    def subscribers(self) -> int:
        """Count the subscribers elsewhere that are connected."""
        return len(self._publisher.subscribers())

    def tend(self) -> None:
        """Forget publishers that have gone."""
        if len(self._peers) > len(self._impl.connections):
            here = {id(each.header) for each in self._impl.connections}
            for caller, peer in tuple(self._peers.items()):
                if id(peer.header) not in here and self._node.MARK not in peer.header:
                    self._peers.pop(caller, None)

    def close(self) -> None:
        """Leave the topic; what was sent has a moment to arrive."""
        if self._node.is_alive:
            self._node.look()
            self._subscriber.unregister()
            self._publisher.close()

    def _receive(self, message: Any) -> None:  # noqa: ANN401 (made at run time)
        """Take a message in the thread of its connection."""
        header: dict[str, str] = message._connection_header  # noqa: SLF001 (documented by rospy)
        caller = header["callerid"]
        if caller == self._node.name:
            return
        received_ns = time_ns()
        data: bytes = message.data
        peer = self._peers.get(caller)
        try:
            payload = self._form.decode(data, Wire.ROS1)
        except FormatError:
            self._sink.note(malformed=1)
            if peer is not None:
                peer.next += 1
            return
        seq = int.from_bytes(data[:4], "little")
        if peer is None or (peer.header is not header and self._node.MARK not in header):
            self._connections += 1
            self._peers[caller] = peer = _Peer(f"{caller}#{self._connections}", header, seq)
        missed = (seq - peer.next) % _COUNT
        if 0 < missed < _COUNT // 2:  # otherwise it restarted
            self._sink.lose(missed)
        peer.header, peer.next = header, seq + 1
        self._sink.deliver([Arrival(payload, seq, peer.name, 0, received_ns)])


def _check_type(master: Master, topic: str, form: RosForm) -> None:
    """Refuse a topic that others use with another type."""
    ours, theirs = ros1_name(form.ros), master.topic_type(topic)
    if theirs not in {None, ours}:
        raise TransportError(
            f"topic {topic} of the ROS master at {master.uri} has messages of type {theirs}, and "
            f"{form.msg_type.__name__} is {ours}: choose another name, or that type"
        )
