"""Layout of messages in memory and between processes: one form for each type."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from strapdown import messages
from strapdown.errors import UnknownNameError
from strapdown.messages import RosImu
from strapdown.messages._record import Record
from strapdown.messages._serial import RosMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown._typing import AnyArray

__all__ = ["MESSAGE_TYPES", "WireForm", "message_type", "wire_form"]

Message = TypeVar("Message")

_IN_CDR: Final[tuple[type[Any], ...]] = (RosImu, RosMessage)
"""Types of messages with a frame name, whose copies are CDR."""
MESSAGE_TYPES: Final[Mapping[str, type[Any]]] = {
    name: kind
    for name, kind in ((name, getattr(messages, name)) for name in sorted(messages.__all__))
    if isinstance(kind, type) and issubclass(kind, (Record, *_IN_CDR))
}
"""Types of messages that can leave the process, by name."""


@dataclass(frozen=True)
class WireForm(Generic[Message]):
    """Form of the private copy of a message, which a topic stores and passes between processes.

    Parameters
    ----------
    msg_type : type
    name : str
        Name of the type in other processes, such as ``"Imu"``.
    encode : callable
        Makes the copy.
    decode : callable
        Makes a separate message from it; raises FormatError where it is malformed.
    size : int or None
        Bytes of every copy; None where they differ.
    can_leave : bool
        Whether the copies are bytes that other processes understand.
    """

    msg_type: type[Message]
    name: str
    encode: Callable[[Message], Any]
    decode: Callable[[Any], Message]
    size: int | None = None
    can_leave: bool = True

    @property
    def dtype(self) -> AnyArray | None:
        """The numpy dtype of a copy, where all have the same layout."""
        return getattr(self.msg_type, "dtype", None) if self.size else None


def wire_form(msg_type: type[Message]) -> WireForm[Message]:
    """Return the form of a message type; types of a user stay within the process."""
    name = msg_type.__qualname__
    if issubclass(msg_type, Record):
        size = msg_type.dtype.itemsize
        encode = cast("Callable[[Message], Any]", bytes)
        return WireForm(msg_type, name, encode, msg_type.from_buffer_copy, size)
    if issubclass(msg_type, _IN_CDR):
        kind = cast("Any", msg_type)
        return WireForm(msg_type, name, kind.to_cdr, kind.from_cdr)
    return WireForm(msg_type, name, copy.deepcopy, copy.deepcopy, can_leave=False)


def message_type(name: str) -> type[Any]:
    """Return the type of messages with this name.

    Raises
    ------
    UnknownNameError
        There is none; the message gives the nearest.
    """
    if name not in MESSAGE_TYPES:
        raise UnknownNameError("message type", name, MESSAGE_TYPES)
    return MESSAGE_TYPES[name]
