"""The rings of this process, and the thread that tends their links."""

# ruff: noqa: SLF001 (a ring and its handles are one thing)

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from logging import getLogger
from typing import TYPE_CHECKING, Final

from strapdown.errors import StrapdownError, TransportError
from strapdown.transport.ring import CLOSE_WAIT_S, NO_LINK, Ring

if TYPE_CHECKING:
    from strapdown.transport.backends import Backend
    from strapdown.transport.link import Channel
    from strapdown.transport.slots import Handle

__all__ = ["RELIABILITIES", "close_handle", "open_handle"]

RELIABILITIES: Final = ("sensor", "reliable")
TEND_S: Final = 0.1

_log = getLogger(__name__)
_RINGS: dict[tuple[Backend, str], Ring] = {}
_LOCK = threading.RLock()
_keeper: threading.Thread | None = None
_ending = threading.Event()


def open_handle(
    handle: Handle,
    backend: Backend,
    channel: Channel,
    history: int | None,
    *,
    any_capacity: bool,
) -> None:
    """Join a topic: the ring that all handles of this process on it share.

    Raises
    ------
    TransportError
        The topic carries another type, has another capacity or reliability; or its link cannot
        be opened.
    """
    _shut_forgotten()
    with _LOCK:
        ring = _RINGS.get((backend, channel.name))
        if ring is None:
            ring = _RINGS[backend, channel.name] = Ring(backend, channel, _keep)
        else:
            _check_alike(ring.channel, channel, any_capacity=any_capacity)
        ring.enter(handle, history)
    try:
        ring.join()
    except BaseException:
        close_handle(handle)
        raise


def close_handle(handle: Handle) -> None:
    """Leave the topic; the last handle closes its link."""
    with _LOCK:
        ring = handle._ring
        if not isinstance(ring, Ring):  # it is closed
            return
        ring.leave(handle)
        if ring.handles:
            return
        _forget(ring)
    ring.shut()


def _forget(ring: Ring) -> None:
    key = ring.backend, ring.channel.name
    if _RINGS.get(key) is ring:
        del _RINGS[key]


def _shut_forgotten() -> None:
    """Shut the rings whose handles have all been garbage collected."""
    with _LOCK:
        forgotten = [ring for ring in _RINGS.values() if not ring.handles]
        for ring in forgotten:
            _forget(ring)
    for ring in forgotten:
        _shut_quietly(ring)


def _shut_quietly(ring: Ring) -> None:
    try:
        ring.shut()
    except StrapdownError as error:
        _log.warning("%s", error)


def _keep() -> None:
    """Start the thread that tends links, unless it runs."""
    global _keeper  # noqa: PLW0603 (one for the process)
    with _LOCK:
        if _keeper is None:
            _keeper = threading.Thread(target=_tend, name="strapdown-topics", daemon=True)
            _keeper.start()


def _tend() -> None:
    """Tend all links until none is left, or the interpreter ends."""
    global _keeper  # noqa: PLW0603 (as _keep)
    while not _ending.wait(TEND_S):
        with _LOCK:
            linked = [ring for ring in _RINGS.values() if ring.link not in (None, NO_LINK)]
            if not linked:
                _keeper = None
                return
        for ring in linked:
            try:
                ring.tend()
            except StrapdownError as error:
                _log.warning("topic %r: %s", ring.channel.name, error)
        del linked, ring
        _shut_forgotten()


def _check_alike(there: Channel, wanted: Channel, *, any_capacity: bool) -> None:
    name, carried, given = there.name, there.form.msg_type, wanted.form.msg_type
    if carried is not given:
        raise TransportError(
            f"topic {name!r} carries {_type_name(carried)}, got {_type_name(given)}: "
            "give this topic another name"
        )
    if not any_capacity and wanted.capacity != there.capacity:
        raise TransportError(
            f"topic {name!r} holds {there.capacity} messages, got a capacity of "
            f"{wanted.capacity}: leave the capacity to the first handle"
        )
    if wanted.reliable != there.reliable:
        has, got = (RELIABILITIES[channel.reliable] for channel in (there, wanted))
        raise TransportError(
            f"topic {name!r} has reliability={has!r}, got {got!r}: "
            "all handles on a topic need the same"
        )


def _type_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _start_anew_after_fork() -> None:
    """Empty the rings of a forked child: no links, and new locks, which no thread holds."""
    global _keeper, _ending
    _keeper, _ending = None, threading.Event()
    for ring in list(_RINGS.values()):
        if ring.link not in (None, NO_LINK):
            # It belongs to the parent: not even the exit of this process may close it.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(ring.link))
        ring.clear()
    _LOCK.release()


@atexit.register
def _shut_all() -> None:
    with _LOCK:
        rings = list(_RINGS.values())
        _RINGS.clear()
        keeper = _keeper
    for ring in rings:
        _shut_quietly(ring)
    _ending.set()
    if keeper is not None:
        keeper.join(CLOSE_WAIT_S)  # it may be shutting a ring, which must not go on meanwhile


os.register_at_fork(
    before=_LOCK.acquire,
    after_in_parent=_LOCK.release,
    after_in_child=_start_anew_after_fork,
)
