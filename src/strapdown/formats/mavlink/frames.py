"""Frames in bytes: pymavlink decodes and checks them, and losses are counted."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from strapdown.formats.mavlink.messages import dialect

if TYPE_CHECKING:
    from strapdown.formats.mavlink.messages import WireMessage

__all__ = ["Decoder", "SourceCount", "end_of_frame"]

_V1, _V2 = 0xFE, 0xFD
_SIGNED: Final = 1
_SEQUENCE: Final = 256


@dataclass
class SourceCount:
    """An account of the frames of one sender.

    Parameters
    ----------
    messages : int
        Frames received.
    lost : int
        Frames that are missing by the sequence number.
    late : int
        Frames received twice, or after a later one (these also count as ``lost``).
    """

    messages: int = 0
    lost: int = 0
    late: int = 0
    _expected: int | None = field(default=None, init=False, repr=False)

    def count(self, sequence: int) -> None:
        """Take the sequence number of the next frame."""
        self.messages += 1
        ahead = 0 if self._expected is None else (sequence - self._expected) % _SEQUENCE
        if ahead < _SEQUENCE // 2:
            self.lost += ahead
            self._expected = (sequence + 1) % _SEQUENCE
        else:
            self.late += 1


class Decoder:
    """Decoder of frames of version 1 and 2, with counts.

    Attributes
    ----------
    sources : dict of (int, int) to SourceCount
        By system and component.
    bad_bytes : int
        Bytes that belong to no frame.

    Raises
    ------
    BackendMissingError
        pymavlink is not installed.
    """

    def __init__(self) -> None:
        module = dialect()
        self.sources: dict[tuple[int, int], SourceCount] = {}
        self.bad_bytes = 0
        self._error = module.MAVError
        self._decode = module.MAVLink(None).decode

    def losses(self) -> list[str]:
        """Return a line for each sender of which messages are missing, by their numbers."""
        return [
            f"sys{system}/comp{component}: {count.lost} messages are missing by their sequence "
            f"numbers, {count.messages} came"
            for (system, component), count in sorted(self.sources.items())
            if count.lost
        ]

    def take(self, data: bytes, at: int, *, is_lost: bool) -> tuple[WireMessage, int] | None:
        """Return and count the message of the frame at a byte, and where the frame ends.

        A message that pymavlink does not know has a name that begins with ``UNKNOWN``. Its
        checksum cannot be checked, so it counts only in the place of a frame: not where the
        bytes before were none (``is_lost``).

        Returns
        -------
        tuple or None
            None: there is no whole frame, and one more bad byte.
        """
        message = None
        end = end_of_frame(data, at)
        if end is not None and end <= len(data):
            with suppress(self._error):
                message = self._decode(bytearray(data[at:end]))
        if end is None or message is None or (is_lost and message.get_type().startswith("UNKNOWN")):
            self.bad_bytes += 1
            return None
        sender = at + 2 if data[at] == _V1 else at + 4
        sequence, system, component = data[sender : sender + 3]
        self.sources.setdefault((system, component), SourceCount()).count(sequence)
        return message, end

    def datagram(self, data: bytes) -> list[WireMessage]:
        """Return the messages in a datagram; bytes outside of frames are skipped and counted."""
        messages = []
        at, is_lost = 0, False
        while at < len(data):
            taken = self.take(data, at, is_lost=is_lost)
            is_lost = taken is None
            if taken is None:
                at += 1
            else:
                messages.append(taken[0])
                at = taken[1]
        return messages


def end_of_frame(data: bytes, at: int) -> int | None:
    """Return where a frame ends by its header; None where none begins."""
    head = data[at : at + 3]
    if len(head) < 3 or head[0] not in {_V1, _V2}:
        return None
    if head[0] == _V1:
        return at + 8 + head[1]
    return at + 12 + head[1] + (13 if head[2] & _SIGNED else 0)
