"""A topic of ROS 2 over zenoh."""

from __future__ import annotations

import time
from itertools import count
from logging import getLogger
from typing import TYPE_CHECKING, Any, Final

import zenoh
from zenoh import ext
from zenoh.handlers import Callback

from strapdown.errors import FormatError, TransportError
from strapdown.messages.cdr import Wire
from strapdown.transport.link import Arrival
from strapdown.transport.links.ros2.zenoh_names import (
    NO_HASH,
    NODE,
    PUBLISHER,
    SUBSCRIBER,
    Qos,
    Token,
    data_key,
    tokens_of_topic,
)
from strapdown.transport.links.zenoh import attachment
from strapdown.transport.links.zenoh._base import SessionLink
from strapdown.transport.links.zenoh._session import look
from strapdown.transport.links.zenoh._source import Sources
from strapdown.transport.ros_messages import type_carried

if TYPE_CHECKING:
    from strapdown.transport.link import Channel, Sink
    from strapdown.transport.links.zenoh._session import Declared, Endpoints
    from strapdown.transport.ros_messages import RosForm

__all__ = ["RosZenohLink", "quality", "type_in_use"]

_log = getLogger(__name__)
_NUMBERS: Final = count()
"""Of nodes and endpoints of this process, each its own."""
_HEARTBEAT_S: Final = 1.0


class RosZenohLink(SessionLink):
    """The connection of one topic; in the graph of ROS it is a node of its own.

    Parameters
    ----------
    endpoints : Endpoints
    channel : Channel
    sink : Sink
    domain : int
    style : tuple of (RosForm, str, Qos)
        How messages are written, the frame in their headers, and the quality of service.

    Raises
    ------
    FileNotFoundError, TransportError
        As :func:`strapdown.transport.links.ros2.open_link`.
    """

    name = "ros2"

    def __init__(
        self,
        endpoints: Endpoints,
        channel: Channel,
        sink: Sink,
        domain: int,
        style: tuple[RosForm, str, Qos],
    ) -> None:
        self._domain = domain
        self._form, self._frame_id, self._qos = style
        self._nid = str(next(_NUMBERS))
        self._is_shown = False  # as a publisher
        self._sources = Sources(sink, 0, answers=False)
        self._tokens: dict[str, set[str]] = {PUBLISHER: set(), SUBSCRIBER: set()}
        self._refused: set[str] = set()  # types and hashes that were warned of
        super().__init__(endpoints, channel, sink)

    def send(self, message: Arrival) -> None:
        """Publish a message, from the first one on as a publisher in the graph of ROS."""
        data = self._form.encode(message.payload, self._frame_id, Wire.CDR)
        label = attachment.pack(message.seq + 1, message.sent_ns, self._gid)
        try:
            if not self._is_shown:
                self._show(PUBLISHER)
                self._is_shown = True
            self._publisher.put(data, attachment=label)
        except zenoh.ZError as error:
            raise self._cannot_send(error) from error

    def publishers(self) -> int:
        """Count the publishers elsewhere."""
        return len(self._tokens[PUBLISHER])

    def subscribers(self) -> int:
        """Count the subscribers elsewhere, once messages reach them."""
        publisher = self._publisher
        if isinstance(publisher, zenoh.Publisher):
            status: object = publisher.matching_status
            if not getattr(status, "matching", status):
                return 0
        return len(self._tokens[SUBSCRIBER])

    def _open(self) -> None:
        others = _types(self._session, self._domain, self._channel.name) - {self._form.dds_name}
        if others:
            raise TransportError(self._clash(min(others)))
        self._publisher = self._declare_publisher()
        self._declared.append(self._publisher)
        self._declared.append(self._subscribe())
        self._show(NODE)
        self._show(SUBSCRIBER)
        self._declared.append(
            self._session.liveliness().declare_subscriber(
                tokens_of_topic(self._domain, self._channel.name),
                Callback(self._on_token, indirect=False),
                history=True,
            )
        )

    def _clash(self, other: str) -> str:
        return (
            f"topic {self._channel.name!r}: expected the type {self._form.dds_name}, which is "
            f"{self._channel.form.name}, others use it for {other!r}"
        )

    def _subscribe(self) -> Declared:
        key = data_key(self._domain, self._channel.name, self._form.dds_name, "*")
        handler = Callback(self._on_message, indirect=False)
        remote = zenoh.Locality.REMOTE
        if not self._qos.transient_local:
            return self._session.declare_subscriber(key, handler, allowed_origin=remote)
        return ext.declare_advanced_subscriber(
            self._session,
            key,
            handler,
            allowed_origin=remote,
            history=ext.HistoryConfig(detect_late_publishers=True, max_samples=self._qos.depth),
            recovery=ext.RecoveryConfig(periodic_queries=None, heartbeat=True),
            subscriber_detection=True,
        )

    def _declare_publisher(self) -> zenoh.Publisher | ext.AdvancedPublisher:
        key = data_key(self._domain, self._channel.name, self._form.dds_name, self._form.ros.rihs01)
        control = zenoh.CongestionControl
        congestion = control.BLOCK if self._qos.keep_all else control.DROP
        remote = zenoh.Locality.REMOTE
        if not self._qos.transient_local:
            return self._session.declare_publisher(
                key, congestion_control=congestion, allowed_destination=remote
            )
        return ext.declare_advanced_publisher(
            self._session,
            key,
            congestion_control=congestion,
            allowed_destination=remote,
            cache=ext.CacheConfig(self._qos.depth),
            sample_miss_detection=ext.MissDetectionConfig(
                heartbeat=None, sporadic_heartbeat=_HEARTBEAT_S
            ),
            publisher_detection=True,
        )

    def _show(self, kind: str) -> None:
        """Announce our node or an endpoint to the graph of ROS."""
        token = Token(
            self._domain,
            str(self._session.zid()),
            self._nid,
            self._nid if kind == NODE else str(next(_NUMBERS)),
            kind,
            f"strapdown_{self._process}_{self._nid}",
            self._channel.name,
            self._form.dds_name,
            self._form.ros.rihs01,
            self._qos,
        )
        self._declared.append(self._session.liveliness().declare_token(str(token)))

    def _on_message(self, sample: zenoh.Sample) -> None:
        try:
            self._check_hash(str(sample.key_expr).rpartition("/")[2])
            attached = sample.attachment
            seq, sent_ns, gid = attachment.parse(attached.to_bytes() if attached else b"")
            payload = self._form.decode(sample.payload.to_bytes(), Wire.CDR)
        except FormatError as error:
            self._note_malformed(error)
            return
        name = gid.hex()
        number = seq - 1  # ROS counts from one
        self._sources[name].take(Arrival(payload, number, name, sent_ns, time.time_ns()))

    def _check_hash(self, type_hash: str) -> None:
        ours = self._form.ros.rihs01
        if type_hash in {ours, NO_HASH}:
            return
        if type_hash not in self._refused:
            self._refused.add(type_hash)
            _log.warning(
                "topic %r: expected %s with the hash %s, got %r: another version of the message",
                self._channel.name,
                self._form.dds_name,
                ours,
                type_hash,
            )
        raise FormatError(f"expected the type hash {ours}, got {type_hash!r}")

    def _on_token(self, sample: zenoh.Sample) -> None:
        key = str(sample.key_expr)
        try:
            token = Token.parse(key)
        except FormatError as error:
            _log.debug("topic %r: %s", self._channel.name, error)
            return
        if token.zid == str(self._session.zid()) or token.kind not in self._tokens:
            return
        if token.dds_type != self._form.dds_name:
            if token.dds_type not in self._refused:
                self._refused.add(token.dds_type)
                _log.warning("%s", self._clash(token.dds_type))
            return
        keys = self._tokens[token.kind]
        (keys.add if sample.kind == zenoh.SampleKind.PUT else keys.discard)(key)


def quality(profile: str, channel: Channel) -> Qos:
    """Return what a profile of the backend means for a topic."""
    if profile == "sensor":
        return Qos(best_effort=True, depth=5)
    if profile == "latched":
        return Qos(transient_local=True, keep_all=channel.reliable, depth=channel.capacity)
    return Qos(keep_all=channel.reliable)


def type_in_use(
    endpoints: Endpoints, domain: int, topic: str, timeout_s: float
) -> type[Any] | None:
    """Return the type of messages with which others use a topic, as soon as one is seen."""

    def find(session: zenoh.Session) -> type[Any] | None:
        return type_carried(topic, _types(session, domain, topic))

    return look(endpoints, find, timeout_s)


def _types(session: zenoh.Session, domain: int, topic: str) -> set[str]:
    replies = session.liveliness().get(tokens_of_topic(domain, topic), timeout=1.0)
    return {str(reply.ok.key_expr).split("/")[10] for reply in replies if reply.ok is not None}
