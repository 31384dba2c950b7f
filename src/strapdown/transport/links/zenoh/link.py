"""One topic over zenoh."""

from __future__ import annotations

import struct
import time
from contextlib import suppress
from functools import partial
from logging import getLogger
from queue import SimpleQueue
from threading import Event, Thread, current_thread
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import zenoh
from zenoh.handlers import Callback

from strapdown.errors import FormatError, TransportError
from strapdown.transport.link import Arrival
from strapdown.transport.links.zenoh import attachment
from strapdown.transport.links.zenoh._base import SessionLink
from strapdown.transport.links.zenoh._session import CLOSING_S, look
from strapdown.transport.links.zenoh._source import Sources
from strapdown.transport.wire import MESSAGE_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown.transport.link import Channel, Sink
    from strapdown.transport.links.zenoh._session import Endpoints
    from strapdown.transport.links.zenoh._source import Source

__all__ = ["ZenohLink", "type_in_use"]

Item = TypeVar("Item")
_log = getLogger(__name__)

IDLE_S: Final = 1.0
"""A publisher that is silent for this long is asked for its newest number [s]."""
ANSWER_S: Final = 2.0
"""Longest wait for an answer [s]."""
SETTLING_S: Final = 0.5
PAUSE_S: Final = 0.02
ASKING_S: Final = 0.1
"""Interval after which a question is repeated, since it may have been dropped [s]."""
PATIENCE_S: Final = 5.0
"""Longest wait, when leaving a reliable topic, for listeners that lack messages [s]."""

_QUESTION: Final[Mapping[str, Any]] = {
    "target": zenoh.QueryTarget.ALL,
    "congestion_control": zenoh.CongestionControl.DROP,
    "allowed_destination": zenoh.Locality.REMOTE,
}
"""Questions and answers never block; they are repeated. Blocking on a peer that takes no data would
block zenoh in the whole process."""
_MARK: Final = struct.Struct("<QQ")
_LENGTH: Final = struct.Struct("<I")


class ZenohLink(SessionLink):
    """The connection of one topic.

    Parameters
    ----------
    endpoints : Endpoints
    channel : Channel
    sink : Sink

    Raises
    ------
    FileNotFoundError, TransportError
        As :func:`strapdown.transport.links.zenoh.open_link`.
    """

    name = "zenoh"

    def __init__(self, endpoints: Endpoints, channel: Channel, sink: Sink) -> None:
        self._key = f"strapdown/v1/{channel.form.name}/{channel.name}"
        self._end = 0  # the number after the last that was sent
        self._publisher: zenoh.Publisher | None = None
        self._sources = Sources(sink, channel.capacity)
        self._listeners: set[str] = set()
        self._other_types: set[str] = set()
        self._chores: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._worker = Thread(target=self._work, name=f"zenoh {channel.name}", daemon=True)
        super().__init__(endpoints, channel, sink)

    def send(self, message: Arrival) -> None:
        """Publish a message, from the first one on as a publisher that others see."""
        try:
            publisher = self._publisher or self._publish()
            publisher.put(
                message.payload,
                attachment=attachment.pack(message.seq, message.sent_ns, self._gid),
            )
        except zenoh.ZError as error:
            raise self._cannot_send(error) from error
        self._end = message.seq + 1

    def tend(self) -> None:
        """Ask those who fell silent, and those whose earlier messages are missing."""
        now = time.monotonic()
        for gid, source in list(self._sources.items()):
            is_idle = source.asked_at < source.heard_at < now - IDLE_S
            is_open = source.is_present and (is_idle or source.needs_history)
            if (is_open or source.holds) and now - source.asked_at > IDLE_S:
                self._ask(gid, source)

    def settle(self) -> None:
        """Ask every publisher how far it has come, and wait for the answers."""
        end = time.monotonic() + SETTLING_S
        unsettled = {gid: item for gid, item in list(self._sources.items()) if item.is_present}
        while unsettled and time.monotonic() < end:
            answers = {gid: self._ask(gid, source) for gid, source in unsettled.items()}
            again = time.monotonic() + ASKING_S
            for answer in answers.values():
                answer.wait(max(0.0, again - time.monotonic()))
            unsettled = {
                gid: source
                for gid, source in unsettled.items()
                if not (answers[gid].is_set() or source.is_busy)  # there is no room for messages
            }

    def publishers(self) -> int:
        """Count the processes elsewhere that have sent, once their earlier messages are here."""
        sources = list(self._sources.values())
        return sum(source.is_present and not source.needs_history for source in sources)

    def subscribers(self) -> int:
        """Count the processes elsewhere that have the topic open."""
        return len(self._listeners)

    def close(self) -> None:
        """Publish the newest number of this process, and leave."""
        super().close()
        self._chores.put(None)
        if self._worker.is_alive() and self._worker is not current_thread():
            # Its last step frees the session unless the caller outlives it, and a thread that is
            # within zenoh when the interpreter ends aborts the process.
            self._worker.join(CLOSING_S)

    def _open(self) -> None:
        self._refuse_other_types()
        self._worker.start()
        alive, declared = self._session.liveliness(), self._declared
        remote = zenoh.Locality.REMOTE
        handler = Callback(self._on_message, indirect=False)
        declared.append(self._session.declare_subscriber(self._key, handler, allowed_origin=remote))
        declared.append(
            self._session.declare_queryable(
                f"{self._key}/@in/{self._gid.hex()}",
                Callback(self._on_farewell, indirect=False),
                allowed_origin=remote,
            )
        )
        declared.append(alive.declare_token(self._token("s")))
        # Of two that open a topic at the same moment with different types, the later one to ask
        # finds the token of the other.
        self._refuse_other_types()
        tokens = _tokens(self._channel.name)
        declared.append(alive.declare_subscriber(tokens, self._later(self._see), history=True))

    def _refuse_other_types(self) -> None:
        others = _types(self._session, self._channel.name) - {self._channel.form.name}
        if others:
            raise TransportError(self._clash(min(others)))

    def _publish(self) -> zenoh.Publisher:
        control = zenoh.CongestionControl
        self._declared += [
            self._session.declare_queryable(
                f"{self._key}/@wm/{self._gid.hex()}",
                self._later(self._answer),
                allowed_origin=zenoh.Locality.REMOTE,
            ),
            self._session.liveliness().declare_token(self._token("p")),
        ]
        self._publisher = self._session.declare_publisher(
            self._key,
            congestion_control=control.BLOCK if self._channel.reliable else control.DROP,
            allowed_destination=zenoh.Locality.REMOTE,
        )
        self._declared.append(self._publisher)
        return self._publisher

    def _patience(self) -> float:
        return PATIENCE_S if self._channel.reliable else CLOSING_S

    def _leave(self) -> None:
        if self._publisher is not None:
            self._say_farewell()
        super()._leave()

    def _say_farewell(self) -> None:
        """Send the newest number to every listener, and wait until all have everything."""
        patience = self._patience()
        end = time.monotonic() + patience
        confirmed: set[str] = set()

        def take(reply: zenoh.Reply) -> None:
            if reply.ok is not None:
                confirmed.add(str(reply.ok.key_expr).rpartition("/")[2])

        while time.monotonic() < end:
            over = Event()
            self._session.get(
                f"{self._key}/@in/*",
                Callback(take, over.set, indirect=False),
                payload=self._gid + self._mark(),
                timeout=patience,
                **_QUESTION,
            )
            over.wait(ASKING_S)
            if self._listeners <= confirmed:
                return
            time.sleep(PAUSE_S)

    def _token(self, kind: str) -> str:
        return f"{self._key}/@lv/{kind}/{self._gid.hex()}"

    def _clash(self, other: str) -> str:
        return (
            f"topic {self._channel.name!r} carries {other!r} elsewhere, got "
            f"{self._channel.form.name}: give this topic another name"
        )

    def _mark(self) -> bytes:
        """Return the oldest number retained, and the one after the last sent."""
        retained = self._sink.retained()
        end = self._end
        return _MARK.pack(min([end, *(arrival.seq for arrival in retained[:1])]), end)

    def _ask(self, gid: str, source: Source) -> Event:
        """Ask a publisher how far it has come; the event is set with its answer."""
        answered = Event()
        source.asked_at = time.monotonic()

        def take(reply: zenoh.Reply) -> None:
            if reply.ok is not None:
                self._learn(gid, reply.ok.payload.to_bytes())
                answered.set()

        with suppress(zenoh.ZError):  # as if nobody answered
            self._session.get(
                f"{self._key}/@wm/{gid}" + ("?history" if source.needs_history else ""),
                Callback(take, source.give_up, indirect=False),
                timeout=ANSWER_S,
                **_QUESTION,
            )
        return answered

    # What follows is called by the thread of zenoh that reads the network, so that messages,
    # farewells and answers of one publisher come in the order of sending.

    def _on_message(self, sample: zenoh.Sample) -> None:
        try:
            attached = sample.attachment
            seq, sent_ns, gid = attachment.parse(attached.to_bytes() if attached else b"")
        except FormatError as error:
            self._note_malformed(error)
            return
        name = gid.hex()
        message = Arrival(sample.payload.to_bytes(), seq, name, sent_ns, time.time_ns())
        self._sources[name].take(message)

    def _on_farewell(self, query: zenoh.Query) -> None:
        data = query.payload.to_bytes() if query.payload else b""
        gid = data[: attachment.GID_SIZE].hex()
        self._learn(gid, data[attachment.GID_SIZE :])
        self._chores.put(partial(self._reply, query, "in", b""))

    def _learn(self, gid: str, answer: bytes) -> None:
        try:
            first, end, history = _read_answer(answer, gid)
        except FormatError as error:
            self._note_malformed(error)
            return
        self._sources[gid].learn(first, end, history)

    # The methods below may block, and run in a thread of this module; those that zenoh would
    # start keep the interpreter from exiting.

    def _later(self, action: Callable[[Item], None]) -> Callback[Item]:
        return Callback(lambda item: self._chores.put(partial(action, item)), indirect=False)

    def _work(self) -> None:
        while (chore := self._chores.get()) is not None:
            chore()
            del chore  # a question is over once nobody has it

    def _answer(self, query: zenoh.Query) -> None:
        answer = [self._mark()]
        if "history" in str(query.parameters):
            end = _MARK.unpack(answer[0])[1]
            for arrival in self._sink.retained():
                if arrival.seq < end:
                    answer += (
                        attachment.pack(arrival.seq, arrival.sent_ns, self._gid),
                        _LENGTH.pack(len(arrival.payload)),
                        arrival.payload,
                    )
        self._reply(query, "wm", b"".join(answer))

    def _reply(self, query: zenoh.Query, kind: str, answer: bytes) -> None:
        with suppress(zenoh.ZError):  # who asked is gone
            query.reply(f"{self._key}/@{kind}/{self._gid.hex()}", answer)

    def _see(self, sample: zenoh.Sample) -> None:
        of_type, kind, gid = _read_token(str(sample.key_expr))
        is_present = sample.kind == zenoh.SampleKind.PUT
        if of_type != self._channel.form.name:
            if is_present and of_type not in self._other_types:
                self._other_types.add(of_type)
                _log.warning("%s", self._clash(of_type))
            return
        if gid == self._gid.hex():
            return
        if kind == "s":
            (self._listeners.add if is_present else self._listeners.discard)(gid)
        elif kind == "p":
            source = self._sources[gid]
            source.is_present = is_present
            if not is_present:
                source.pause()
            elif source.needs_history:
                self._ask(gid, source)


def type_in_use(endpoints: Endpoints, name: str, timeout_s: float) -> type[Any] | None:
    """Return the type of messages with which others use a topic, as soon as one is seen."""

    def find(session: zenoh.Session) -> type[Any] | None:
        known = _types(session, name) & MESSAGE_TYPES.keys()
        return MESSAGE_TYPES[min(known)] if known else None

    return look(endpoints, find, timeout_s)


def _types(session: zenoh.Session, name: str) -> set[str]:
    replies = session.liveliness().get(_tokens(name), timeout=1.0)
    return {_read_token(str(reply.ok.key_expr))[0] for reply in replies if reply.ok is not None}


def _tokens(name: str) -> str:
    """Return the keys of all tokens of a topic, regardless of its type."""
    return f"strapdown/v1/*/{name}/@lv/*/*"


def _read_token(key: str) -> tuple[str, str, str]:
    """Return type, kind and gid of a liveliness token."""
    parts = key.split("/")
    return parts[2], parts[-2], parts[-1]


def _read_answer(data: bytes, gid: str) -> tuple[int, int, list[Arrival]]:
    """Decode the state of a publisher: first and end of its numbers, and those it retains."""
    try:
        first, end = cast("tuple[int, int]", _MARK.unpack_from(data))
        history: list[Arrival] = []
        now, offset = time.time_ns(), _MARK.size
        while offset < len(data):
            seq, sent_ns, whose = attachment.parse(data[offset : offset + attachment.SIZE])
            offset += attachment.SIZE
            (length,) = _LENGTH.unpack_from(data, offset)
            offset += _LENGTH.size
            payload = data[offset : offset + length]
            if len(payload) < length or whose.hex() != gid:
                raise FormatError("expected whole messages of one publisher")
            history.append(Arrival(payload, seq, gid, sent_ns, now))
            offset += length
    except struct.error:
        raise FormatError(
            f"expected two numbers and messages from a publisher, got {len(data)} bytes"
        ) from None
    if first > end:
        raise FormatError(f"expected numbers that ascend, got {first} and {end}")
    return first, end, history
