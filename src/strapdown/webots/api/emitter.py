"""Emitter: inert; its packets are not received."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, SupportsFloat

from strapdown.webots.api import texts
from strapdown.webots.api.device import Device
from strapdown.webots.api.texts import say

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Emitter"]


class Emitter(Device):
    """Transmitter of packets to receivers."""

    CHANNEL_BROADCAST: ClassVar[int] = -1

    _function = "emitter"
    _kinds = ("Emitter",)

    def send(self, message: str | bytes | Sequence[float], length: int | None = None) -> None:
        """Send a packet."""
        if not isinstance(message, str | bytes | list | tuple):
            say(texts.UNSUPPORTED_DATA, type(message))

    def getBufferSize(self) -> int:
        """Return the size of the buffer; -1: unlimited."""
        return self.buffer_size

    def getChannel(self) -> int:
        """Return the channel."""
        return self.channel

    def setChannel(self, channel: int) -> None:
        """Set the channel; -1: all."""
        self.channel = channel

    def getRange(self) -> float:
        """Return the range [m]; -1: unlimited."""
        return self.range

    def setRange(self, range: SupportsFloat) -> None:
        """Set the range [m]."""
        self.range = range

    @property
    def buffer_size(self) -> int:
        """Size of the buffer; -1: unlimited."""
        return int(self._parameter("buffer_size", "get_buffer_size", -1))

    @property
    def channel(self) -> int:
        """Channel; -1: all."""
        return int(self._parameter("channel", "get_channel", 0))

    @channel.setter
    def channel(self, c: int) -> None:
        self._keep("channel", "set_channel", c)

    @property
    def range(self) -> float:
        """Range [m]; -1: unlimited."""
        return self._parameter("range", "get_range", -1.0)

    @range.setter
    def range(self, range: SupportsFloat) -> None:
        self._keep("range", "set_range", range)
