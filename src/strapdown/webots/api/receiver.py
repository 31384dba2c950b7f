"""Receiver: inert, without packets."""

from __future__ import annotations

from strapdown.webots.api import texts
from strapdown.webots.api.sensor import Sensor
from strapdown.webots.api.texts import say

__all__ = ["Receiver"]


class Receiver(Sensor):
    """Receiver of packets from emitters."""

    _function = "receiver"
    _kinds = ("Receiver",)

    def getQueueLength(self) -> int:
        """Return the number of packets in the queue: 0."""
        return self.queue_length

    def nextPacket(self) -> None:
        """Discard the first packet."""

    def getBytes(self) -> bytes:
        """Return the first packet: empty."""
        return self.data

    def getString(self) -> str:
        """Return the first packet as a text: empty."""
        return self.string

    def getData(self) -> str:
        """Return the first packet as a text: empty; an old name."""
        say(texts.DEPRECATED_DATA)
        return self.string

    def getFloats(self) -> tuple[float, ...]:
        """Return the first packet as floats: none."""
        return ()

    def getInts(self) -> tuple[int, ...]:
        """Return the first packet as integers: none."""
        return ()

    def getBools(self) -> tuple[bool, ...]:
        """Return the first packet as booleans: none."""
        return ()

    def getDataSize(self) -> int:
        """Return the size of the first packet: 0."""
        return self.data_size

    def getSignalStrength(self) -> float:
        """Return the signal strength of the first packet: 0."""
        return self.signal_strength

    def getEmitterDirection(self) -> list[float]:
        """Return the direction to the emitter of the first packet: none."""
        return self.emitter_direction

    def getChannel(self) -> int:
        """Return the channel."""
        return self.channel

    def setChannel(self, channel: int) -> None:
        """Set the channel; -1: all."""
        self.channel = channel

    @property
    def queue_length(self) -> int:
        """Number of packets in the queue: 0."""
        return 0

    @property
    def data(self) -> bytes:
        """First packet: empty."""
        return b""

    @property
    def data_size(self) -> int:
        """Size of the first packet: 0."""
        return 0

    @property
    def string(self) -> str:
        """First packet as a text: empty."""
        return ""

    @property
    def signal_strength(self) -> float:
        """Signal strength of the first packet: 0."""
        return 0.0

    @property
    def emitter_direction(self) -> list[float]:
        """Direction to the emitter of the first packet: none."""
        return [0.0, 0.0, 0.0]

    @property
    def channel(self) -> int:
        """Channel; -1: all."""
        return int(self._parameter("channel", "get_channel", 0))

    @channel.setter
    def channel(self, channel: int) -> None:
        self._keep("channel", "set_channel", channel)
