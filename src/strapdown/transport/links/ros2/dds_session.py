"""Participant in a DDS domain and its view of the graph, shared by the links of a process."""

from __future__ import annotations

import os
import socket
import stat
import time
from contextlib import contextmanager, suppress
from logging import getLogger
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from cyclonedds.builtin import (
    BuiltinDataReader,
    BuiltinTopicDcpsParticipant,
    BuiltinTopicDcpsPublication,
    BuiltinTopicDcpsSubscription,
)
from cyclonedds.core import DDSException, Entity, InstanceState, WaitSet
from cyclonedds.domain import Domain, DomainParticipant

from strapdown.errors import TransportError
from strapdown.transport.links.ros2.dds import FAST_DDS, LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyclonedds.builtin import DcpsEndpoint

    from strapdown.transport.backends import Ros2

__all__ = ["Session", "dds_errors", "session"]

_MET_S: Final = 0.1
_LISTED_S: Final = 1.5
_INTRODUCED_S: Final = 0.05
_BY_FAST_DDS: Final = bytes((1, 15))
"""Vendor, with which the keys of a participant begin."""
_URI: Final = "CYCLONEDDS_URI"
_log = getLogger(__name__)


class Session:
    """One participant, and the endpoints of others that it knows of."""

    def __init__(self, domain: int) -> None:
        self.users = 0
        self.lost = False
        """Whether this process is a fork of the one that opened it."""
        self._domain = domain
        self._lock = Lock()
        self._bare: set[Any] = set()  # participants that were waited for without effect
        self._known: dict[str, dict[Any, Any]] = {"pub": {}, "sub": {}, "participant": {}}
        _join(domain)
        with dds_errors(f"domain {domain}"):
            self.participant = DomainParticipant(domain)
            self._own = self.participant.guid
            self._readers = {
                "pub": BuiltinDataReader(self.participant, BuiltinTopicDcpsPublication),
                "sub": BuiltinDataReader(self.participant, BuiltinTopicDcpsSubscription),
                "participant": BuiltinDataReader(self.participant, BuiltinTopicDcpsParticipant),
            }
        if domain in _domains and not os.environ.get(_URI):
            _keep_to_loopback(domain)
        self._opened = time.monotonic()

    def meet(self) -> None:
        """Wait for the endpoints of participants that are here already.

        Fast DDS matches a reader as soon as it hears of it, and lists its own writers 0.1 s, at
        times 1.1 s later. Cyclone DDS drops what comes from writers that it does not know. So the
        ends here are created once those of the others are known.
        """
        time.sleep(max(0.0, self._opened + _MET_S - time.monotonic()))
        if not self._silent():
            return
        end = time.monotonic() + _LISTED_S
        while (silent := self._silent()) and time.monotonic() < end:
            time.sleep(0.01)
        self._bare |= silent
        time.sleep(0.02)  # the others of the same list

    def look_around(self) -> None:
        """Give others the time to hear of new ends."""
        time.sleep(_INTRODUCED_S)

    def publishers(self, topic: str) -> list[DcpsEndpoint]:
        """Return the writers on a topic that other participants have."""
        return self._on(topic, "pub")

    def subscribers(self, topic: str) -> list[DcpsEndpoint]:
        """Return the readers on a topic that other participants have."""
        return self._on(topic, "sub")

    def _on(self, topic: str, role: str) -> list[DcpsEndpoint]:
        return [
            endpoint
            for endpoint in self._alive(role)
            if endpoint.topic_name == topic and endpoint.participant_key != self._own
        ]

    def _silent(self) -> set[Any]:
        """Return participants of Fast DDS without endpoints of both kinds, as all in ROS have."""
        heard = [{end.participant_key for end in self._alive(role)} for role in ("pub", "sub")]
        keys = {one.key for one in self._alive("participant")}
        fast = {key for key in keys if key.bytes.startswith(_BY_FAST_DDS)}
        return fast - (heard[0] & heard[1]) - self._bare

    def _alive(self, role: str) -> list[Any]:
        """Return what the domain has of a kind."""
        known, reader = self._known[role], self._readers[role]
        with self._lock:
            while news := reader.take(64):
                for one in news:
                    if one.sample_info.instance_state == InstanceState.Alive:
                        known[one.key] = one
                    else:
                        known.pop(one.key, None)
            return list(known.values())

    def close(self) -> None:
        """Leave the domain."""
        self._readers.clear()
        del self.participant
        _leave(self._domain)


@contextmanager
def session(backend: Ros2) -> Iterator[Session]:
    """Share the session of a backend; the last one to leave closes it.

    Raises
    ------
    TransportError
        The domain cannot be joined; or this process is a fork of one that had joined it.
    """
    if _inherited:
        raise TransportError(
            "DDS does not survive a fork: start processes with multiprocessing's 'spawn', or "
            "close the topics of the backend ros2 before"
        )
    with _sessions_lock:
        shared = _sessions.get(backend)
        if shared is None:
            shared = _sessions[backend] = Session(backend.domain or 0)
        shared.users += 1
    try:
        yield shared
    finally:
        with _sessions_lock:
            shared.users -= 1
            if not shared.users and _sessions.get(backend) is shared:
                del _sessions[backend]
                shared.close()


@contextmanager
def dds_errors(what: str) -> Iterator[None]:
    """Raise what DDS complains about as TransportError."""
    try:
        yield
    except DDSException as error:
        raise TransportError(f"{what}: DDS says {error}") from error


_sessions: dict[Ros2, Session] = {}
_domains: dict[int, Domain] = {}
"""Those that were created here, with settings."""
_inherited: list[Session] = []
"""Of the process that this one was forked from: they have lost their threads."""
_sessions_lock = Lock()


def _join(domain: int) -> None:
    """Create a domain that keeps to this host, or has the settings of the environment."""
    if domain in _domains:
        return
    given = os.environ.get(_URI)
    settings = f"<CycloneDDS><Domain>{FAST_DDS}</Domain></CycloneDDS>,{given}"
    try:
        _domains[domain] = Domain(domain, settings if given else LOOPBACK)
    except DDSException as error:
        if error.code != DDSException.DDS_RETCODE_PRECONDITION_NOT_MET:
            raise TransportError(f"domain {domain}: DDS says {error}") from error
        _log.info("domain %d has settings already: those of this program itself", domain)


def _leave(domain: int) -> None:
    """Forget a domain that nobody in this process is in."""
    if domain in _domains and not _domains[domain].get_participants():
        del _domains[domain]


def _keep_to_loopback(domain: int) -> None:
    """Restrict the sockets of a domain to ``lo``: the library binds them to all interfaces."""
    ports = range(7400 + 250 * domain, 7400 + 250 * (domain + 1))
    for one in _own_sockets():
        with one:
            if one.family != socket.AF_INET or one.type != socket.SOCK_DGRAM:
                continue
            host, port = one.getsockname()
            if host == "0.0.0.0" and port in ports:  # noqa: S104 (to be closed)
                try:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
                except OSError as error:
                    _log.warning("other hosts can reach UDP port %d: %s", port, error)


def _own_sockets() -> Iterator[socket.socket]:
    """Give every socket of this process, as a duplicate."""
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # closed in the meantime
            number = int(path.name)
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                yield socket.socket(fileno=os.dup(number))


def _forget() -> None:
    """In a fork, leave alone what the parent made: its threads are not here."""
    global _sessions_lock  # noqa: PLW0603 (another thread of the parent may have held it)
    _sessions_lock = Lock()
    for shared in _sessions.values():
        shared.lost = True
        _inherited.append(shared)
    _sessions.clear()
    if _inherited:
        known = Entity._entities  # noqa: SLF001 (nothing public keeps them from being deleted)
        entities = list(known.values())
        known.clear()
        for entity in entities:
            if isinstance(entity, WaitSet):
                entity.attached.clear()


os.register_at_fork(after_in_child=_forget)
