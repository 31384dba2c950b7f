"""Sessions of zenoh, each shared by the topics of a process that use the same endpoints."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import zenoh

from strapdown.errors import TransportError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Declared", "Endpoints", "join", "leave", "look", "message_of", "within"]

Found = TypeVar("Found")
_log = getLogger(__name__)

CLOSING_S: Final = 2.0
"""A peer that takes nothing in any more holds up nobody for longer than this."""

_OURS: Final[Mapping[str, Any]] = {
    # A process that is killed leaves no shared memory behind.
    "transport/shared_memory/enabled": False,
    # Room for a few thousand messages, and none of them waits for others to travel with. Once
    # there is no room a message that may be dropped waits for a millisecond, and others for hours.
    "transport/link/tx/queue/size/data": 16,
    "transport/link/tx/queue/batching/time_limit": 0,
    "transport/link/tx/queue/congestion_control/block/wait_before_close": 3_600_000_000,
}
_WHERE_NOTHING_IS_SAID: Final[Mapping[str, Any]] = {
    "scouting/multicast/enabled": False,
    "connect/retry": {
        "period_init_ms": 100,
        "period_max_ms": 2000,
        "period_increase_factor": 2,
    },
}
_CLIENT: Final[Mapping[str, Any]] = {"mode": "client", "connect/timeout_ms": 1000}
_PEER: Final[Mapping[str, Any]] = {"mode": "peer"}


@dataclass(frozen=True)
class Endpoints:
    """Endpoints to which a session connects and on which it listens.

    Parameters
    ----------
    connect, listen : tuple of str
    config : str
        A configuration file of zenoh.
    timestamps : bool
        Whether zenoh stamps messages, as its caches need it.
    meeting_s : float
        Longest wait of a new session for the peers that a router announces.
    """

    connect: tuple[str, ...] = ()
    listen: tuple[str, ...] = ()
    config: str = ""
    timestamps: bool = False
    meeting_s: float = 0.0

    @property
    def has_one_way_out(self) -> bool:
        """Whether all goes by one endpoint, as clients of zenoh have it."""
        return len(self.connect) == 1 and not (self.listen or self.config)

    def settings(self, mode: Mapping[str, Any] = _PEER) -> zenoh.Config:
        """Return zenoh's settings, completed with those of the mode.

        Raises
        ------
        FileNotFoundError
            There is no such file.
        TransportError
            zenoh does not understand the file or an endpoint.
        """
        if self.config and not Path(self.config).is_file():
            raise FileNotFoundError(f"there is no file of zenoh settings {self.config!r}")
        try:
            config = zenoh.Config.from_file(self.config) if self.config else zenoh.Config()
            for key, value in self._changes(config, mode).items():
                config.insert_json5(key, json.dumps(value))
        except zenoh.ZError as error:
            what = self.config or ", ".join((*self.connect, *self.listen))
            raise TransportError(
                f"zenoh does not understand {what}: {message_of(error)}"
            ) from error
        return config

    def _changes(self, config: zenoh.Config, mode: Mapping[str, Any]) -> dict[str, Any]:
        changes = dict(_OURS) | {
            key: value
            for key, value in {**_WHERE_NOTHING_IS_SAID, **mode}.items()
            if not _is_said(json.loads(config.get_json(key)))
        }
        if self.connect:
            changes["connect/endpoints"] = self.connect
        unsaid = zenoh.Config().get_json("listen/endpoints")
        if self.listen or config.get_json("listen/endpoints") == unsaid:
            changes["listen/endpoints"] = self.listen
        if self.timestamps:
            changes["timestamping/enabled"] = True
        return changes


class Declared(Protocol):
    """Declaration in a session, valid until it is undeclared."""

    def undeclare(self) -> object: ...


class _Pool:
    """The sessions that are open in this process, with the number of their users."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sessions: dict[Endpoints, zenoh.Session] = {}
        self.users: dict[Endpoints, int] = {}
        self.has_run = False
        self.ran_before_fork = False
        self.left_behind: list[object] = []

    def start_anew(self) -> None:
        """Forget the parent's sessions, whose threads this process does not have."""
        self.lock = threading.Lock()
        self.ran_before_fork = self.has_run
        self.left_behind.append(self.sessions)
        self.sessions, self.users = {}, {}


_POOL: Final = _Pool()
os.register_at_fork(after_in_child=_POOL.start_anew)


def join(endpoints: Endpoints) -> zenoh.Session:
    """Return the session with these endpoints; each is given back by :func:`leave`.

    Raises
    ------
    FileNotFoundError
        There is no such file of settings.
    TransportError
        zenoh does not understand the settings, or cannot listen; or it was in use when this
        process was forked.
    """
    with _POOL.lock:
        if _POOL.ran_before_fork:
            raise TransportError(
                "zenoh does not survive a fork, and the parent of this process was using it: "
                "start processes by 'spawn', or before the first topic is opened"
            )
        if not _POOL.users.setdefault(endpoints, 0):
            _POOL.has_run = True
            _POOL.sessions[endpoints] = _open(endpoints)
        _POOL.users[endpoints] += 1
        return _POOL.sessions[endpoints]


def leave(endpoints: Endpoints) -> None:
    """Give a session back; the last one closes it."""
    with _POOL.lock:
        _POOL.users[endpoints] -= 1
        if _POOL.users[endpoints]:
            return
        # Who joins meanwhile waits: until then the endpoints are in use.
        within(CLOSING_S, _POOL.sessions.pop(endpoints).close)


def look(
    endpoints: Endpoints, find: Callable[[zenoh.Session], Found | None], timeout_s: float
) -> Found | None:
    """Return what a function finds on a session; it is asked until it finds something.

    Raises
    ------
    FileNotFoundError, TransportError
        As :func:`join`.
    """
    session = join(endpoints)
    try:
        end = time.monotonic() + timeout_s
        while (found := find(session)) is None and time.monotonic() < end:
            time.sleep(0.05)
        return found
    finally:
        leave(endpoints)


def within(seconds: float, action: Callable[[], object]) -> None:
    """Call a function that may hang, and continue without it if it does."""

    def act() -> None:
        try:
            action()
        except zenoh.ZError as error:
            _log.debug("while closing: %s", error)

    try:
        thread = threading.Thread(target=act, name="zenoh-closing", daemon=True)
        thread.start()
    except RuntimeError:  # the interpreter is ending
        act()
    else:
        thread.join(seconds)


def message_of(error: zenoh.ZError) -> str:
    """Return an error of zenoh as one line, without the positions in its source."""
    text = " ".join(str(error).split())
    _, is_nested, message = text.partition('msg: "')
    if is_nested:
        text = message.rpartition('", location')[0].replace('\\"', '"')
    return text.partition(" at /")[0].partition(". at ")[0]


def _open(endpoints: Endpoints) -> zenoh.Session:
    if endpoints.has_one_way_out:
        # The listener forwards messages between its clients, and not between its peers; but only
        # a peer can start before a listener does.
        with suppress(zenoh.ZError):
            return zenoh.open(endpoints.settings(_CLIENT))
    try:
        session = zenoh.open(endpoints.settings())
    except zenoh.ZError as error:
        raise TransportError(f"zenoh cannot start: {message_of(error)}") from error
    if session.info.peers_zid() or session.info.routers_zid():
        time.sleep(endpoints.meeting_s)
    elif endpoints.connect:
        _log.warning(
            "no zenoh peer at %s yet: trying again now and then (two that begin before it is "
            "there do not hear each other through it)",
            ", ".join(endpoints.connect),
        )
    return session


def _is_said(value: object) -> bool:
    """Return whether a setting, or any of a group, is not null."""
    if isinstance(value, dict):
        return any(map(_is_said, value.values()))
    return value is not None
