"""The participant that this process is to iceoryx2, shared by all its topics."""

from __future__ import annotations

import ctypes
import fcntl
import os
import threading
import time
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import iceoryx2 as iox

from strapdown.errors import TransportError
from strapdown.transport.links.ipc._sweep import (
    numbering,
    remove_unfinished,
    remove_unused_services,
    renew,
    sweep,
    unfinished,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "LEAVING_S",
    "BusyError",
    "alone",
    "clean",
    "clean_at_once",
    "config",
    "description",
    "join",
    "keep_for_ever",
    "leave",
    "service_name",
]

_LOCK: Final = threading.RLock()
"""Held by the thread that is alone, or is about to be; a fork waits for it."""
ROOT = Path(f"/tmp/strapdown-{os.getuid()}")  # noqa: S108 (its owner is checked)
"""The same for all processes of this user; in shared memory, files are named after it."""
CLEANING_S = 1.0
RENEWAL_S = 3600.0
PATIENCE_S = 10.0  # for other processes that are just creating or removing
LEAVING_S = 0.5  # the same of a process that closes a topic, which may do so while others open
LONGEST_PAUSE_S = 0.02  # between looks at the lock: many that look take time from its holder
LONGEST_NAME = 240  # iceoryx2 takes 255 bytes

_node: Any = None
_is_alone = False  # whether this process has the lock of ROOT
_topics = 0
_cleaned_s = 0.0
_renewed_s = 0.0

iox.set_log_level_from_env_or(iox.LogLevel.Fatal)  # what fails is raised, and that is enough


class BusyError(TransportError):
    """Another process is creating or removing."""


def config() -> Any:  # noqa: ANN401 (iceoryx2 has no types)
    """Return the paths of the files, which are separate for each user, so none blocks another.

    Raises
    ------
    TransportError
        The directory belongs to another user.
    """
    user = os.getuid()
    with suppress(FileNotFoundError):
        if (owner := ROOT.lstat().st_uid) != user:
            raise TransportError(
                f"{ROOT}: expected a directory of user {user}, got one of user {owner}; remove it"
            )
    settings = iox.config.default()
    settings.global_cfg.root_path = iox.Path.new(str(ROOT))
    settings.global_cfg.prefix = iox.FileName.new(f"{ROOT.name}_")
    settings.global_cfg.creation_timeout = iox.Duration.from_millis(300)
    return settings


@contextmanager
def alone(patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Create, look for or remove while no other process of this user does.

    The lock ends with its process, so whatever is unfinished under it was left by a killed one.
    iceoryx2 would wait for it, as root for ever, so it is removed first.

    Raises
    ------
    BusyError
        Another process keeps the lock.
    TransportError
        There can be no directory.
    """
    global _is_alone  # noqa: PLW0603 (as in join)
    with _LOCK:
        if _is_alone:  # by a caller in this thread
            yield
            return
        with _directory() as directory:
            _lock(directory, patience_s)
            _is_alone = True
            try:
                if unfinished(ROOT):
                    remove_unfinished(ROOT, config())
                yield
            finally:
                _is_alone = False


@contextmanager
def _directory() -> Iterator[int]:
    try:
        ROOT.mkdir(mode=0o700, exist_ok=True)
        directory = os.open(ROOT, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise TransportError(f"iceoryx2 cannot start ({error}): is {ROOT} writable?") from error
    try:
        yield directory
    finally:
        os.close(directory)  # and with it ends the lock


def _lock(directory: int, patience_s: float) -> None:
    """Wait for the lock, so long at most for each process that holds it meanwhile."""
    taken_ns, end_s, pause_s = -1, 0.0, 0.001
    while True:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            now = time.monotonic()
            if taken_ns != (taken_ns := os.fstat(directory).st_mtime_ns):
                end_s = now + patience_s  # another process has taken it
            elif now > end_s:
                raise BusyError(
                    f"{ROOT}: expected other processes to open and close topics within "
                    f"{patience_s:g} s, one of them still does; end it if it is stopped"
                ) from None
            time.sleep(pause_s)
            pause_s = min(1.5 * pause_s, LONGEST_PAUSE_S)
        else:
            os.utime(directory)
            return


def join() -> Any:  # noqa: ANN401 (iceoryx2 has no types)
    """Return the node of this process, for one more topic."""
    global _node, _topics  # noqa: PLW0603 (one a process, because iceoryx2 wants it so)
    settings = config()
    with alone():
        if _node is None:
            _node = _create(settings)
        _clean()
        _topics += 1
        return _node


def _create(settings: Any) -> Any:  # noqa: ANN401 (as join)
    quiet = iox.SignalHandlingMode.Disabled  # signals are the program's own
    builder = iox.NodeBuilder.new().config(settings).signal_handling_mode(quiet)
    try:
        node = builder.create(iox.ServiceType.Ipc)
    except iox.NodeCreationFailure as error:
        raise TransportError(
            f"iceoryx2 cannot start ({error}): are /tmp and /dev/shm writable?"
        ) from error
    for path in numbering(ROOT):
        path.chmod(0o600)  # the one file that iceoryx2 opens to everybody
    return node


def leave() -> None:
    """Take back one :func:`join`."""
    global _node, _topics  # noqa: PLW0603 (as in join)
    with _LOCK:
        _topics -= 1
        if _topics == 0:
            _node = None


def _clean() -> None:
    if _node.try_cleanup_dead_nodes().cleanups:
        with suppress(iox.NodeListFailure, OSError):  # a process is just ending
            sweep(ROOT, config())


def clean() -> None:
    """Release the resources of dead processes, unless that was done a moment ago."""
    global _cleaned_s, _renewed_s  # noqa: PLW0603 (as in join)
    now = time.monotonic()
    if now - _cleaned_s < CLEANING_S:
        return
    _cleaned_s = now
    with suppress(BusyError), alone(patience_s=0.0):
        if _node is not None:
            _clean()
        if now - _renewed_s > RENEWAL_S:
            _renewed_s = now
            renew(ROOT)


def clean_at_once() -> None:
    """Release the resources of dead processes, services that cannot be opened included."""
    with alone():
        remove_unused_services(ROOT, config())
        _clean()


def keep_for_ever(thing: object) -> None:
    """Keep an object for ever: to destroy it in a forked child would destroy the parent's."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def service_name(topic: str) -> Any:  # noqa: ANN401 (iceoryx2 has no types)
    """Return the name of a topic's services."""
    if len(topic) > LONGEST_NAME:
        topic = sha256(topic.encode()).hexdigest()
    return iox.ServiceName.new(f"strapdown/{topic}")


def description(name: str) -> dict[str, str] | None:
    """Return the attributes that a topic was created with; None if nobody uses it.

    Raises
    ------
    TransportError
        As :func:`alone`.
    """
    with alone():
        try:
            details = iox.Service.details(
                service_name(name),
                config(),
                iox.MessagingPattern.PublishSubscribe,
                iox.ServiceType.Ipc,
            )
        except iox.ServiceDetailsError:  # it was not finished
            return None
    if details is None:
        return None
    return {item.key.to_string(): item.value.to_string() for item in details.attributes().values}


def _leave_to_parent() -> None:
    """Forget the node of the parent in a forked child."""
    global _node, _topics
    keep_for_ever(_node)
    _node, _topics = None, 0
    _LOCK.release()


os.register_at_fork(
    before=_LOCK.acquire,
    after_in_parent=_LOCK.release,
    after_in_child=_leave_to_parent,
)
