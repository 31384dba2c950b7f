"""Events that wake the processes that wait for messages of a topic."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import iceoryx2 as iox

if TYPE_CHECKING:
    from strapdown.transport.links.ipc._service import Service

__all__ = ["Bell"]


class Bell:
    """An event that every process on the topic can cause, and wait for."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._notifier: Any = None
        self._listener: Any = None
        self._rung = False  # and not heard yet by this process
        self._timeout = (0.0, iox.Duration.from_nanos(0))

    def ring(self) -> None:
        """Wake waiting threads of this process and others."""
        self._rung = True
        try:  # noqa: SIM105 (suppress takes longer, and somebody waits)
            (self._notifier or self._make_notifier()).notify()
        except iox.NotifierNotifyError:  # some of them are dead
            pass

    def ring_here(self) -> None:
        """Wake the waiting thread of this process, unless it was woken already."""
        if self._listener is not None and not self._rung:
            self.ring()

    def wait(self, timeout_s: float) -> None:
        """Wait for the event; return at once on the first call, which may have missed one."""
        if self._listener is None:
            self._make_notifier()
            with self._lock:
                self._listener = self._service.listener()
            self._rung = False
            return
        if timeout_s != self._timeout[0]:
            self._timeout = (timeout_s, iox.Duration.from_nanos(int(timeout_s * 1e9)))
        try:  # noqa: SIM105 (suppress takes longer, and somebody waits)
            self._listener.timed_wait(self._timeout[1])
        except iox.ListenerWaitError:  # a signal: Python handles it when this returns
            pass
        self._rung = False

    def close(self) -> None:
        """Release the ports of the event."""
        with self._lock:
            self._notifier = self._listener = None

    def _make_notifier(self) -> Any:  # noqa: ANN401 (iceoryx2 has no types)
        with self._lock:
            if self._notifier is None:
                self._notifier = self._service.notifier()
            return self._notifier
