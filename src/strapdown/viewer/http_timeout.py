"""HTTP protocol of the server that closes connections whose request header does not arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport

__all__ = ["HEADER_S", "TimedHttpProtocol"]

HEADER_S: Final = 3.0
"""Longest time from a connection, or the first byte of a further request, to its header [s]."""


class TimedHttpProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with a limit for the header, against clients that send it byte by byte."""

    _timer: TimerHandle | None = None
    _has_header = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override] # as uvicorn
        """Begin to wait for a header."""
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; those between two requests begin a header."""
        if not self._has_header and self._timer is None:
            self._start_timer()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Stop waiting for the header."""
        self._has_header = True
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect the header of a further request."""
        self._has_header = False
        super().on_message_complete()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEADER_S, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
