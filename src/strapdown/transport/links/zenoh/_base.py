"""Common base of links over zenoh."""

from __future__ import annotations

import os
import secrets
from abc import abstractmethod
from logging import getLogger
from typing import TYPE_CHECKING, ClassVar

from strapdown.errors import TransportError
from strapdown.transport.link import Link
from strapdown.transport.links.zenoh import attachment
from strapdown.transport.links.zenoh._session import CLOSING_S, join, leave, message_of, within

if TYPE_CHECKING:
    import zenoh

    from strapdown.errors import FormatError
    from strapdown.transport.link import Channel, Sink
    from strapdown.transport.links.zenoh._session import Declared, Endpoints

__all__ = ["SessionLink"]

_log = getLogger(__name__)


class SessionLink(Link):
    """One topic on a session of zenoh; it is joined at once.

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

    is_network: ClassVar[bool] = True

    def __init__(self, endpoints: Endpoints, channel: Channel, sink: Sink) -> None:
        self._channel = channel
        self._sink = sink
        self._gid = secrets.token_bytes(attachment.GID_SIZE)
        self._declared: list[Declared] = []
        self._endpoints = endpoints
        self._process = os.getpid()
        self._session = join(endpoints)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave, and give the session back."""
        if self._process != os.getpid():  # a child: zenoh's threads stayed with the parent
            return
        within(self._patience(), self._leave)
        leave(self._endpoints)

    @abstractmethod
    def _open(self) -> None:
        """Declare what there is to declare."""

    def _patience(self) -> float:
        return CLOSING_S

    def _leave(self) -> None:
        for declared in reversed(self._declared):
            declared.undeclare()

    def _cannot_send(self, error: zenoh.ZError) -> TransportError:
        return TransportError(
            f"topic {self._channel.name!r}: zenoh cannot send: {message_of(error)}"
        )

    def _note_malformed(self, error: FormatError) -> None:
        self._sink.note(malformed=1)
        _log.debug("topic %r: %s", self._channel.name, error)
