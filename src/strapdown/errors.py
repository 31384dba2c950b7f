"""Exceptions of strapdown.

::

    StrapdownError
    |- FormatError             unreadable input of any kind; .path .offset .topic
    |  |- TruncatedError       the input ends inside a record
    |  |- ChecksumError        a checksum does not match its data
    |  `- UnsupportedError     a known format, but a feature that is not read
    |- ShapeError              an array of the wrong shape               (also ValueError)
    |- TimeOrderError          a stamp repeats or goes back              (also ValueError)
    |- FrameError              frames mixed or missing                   (also ValueError)
    |- ValueRangeError         not finite, or outside the allowed range  (also ValueError)
    |- UnknownNameError        no such topic, filter, convention, ...    (also ValueError)
    |- ConversionLossError     the target cannot represent a value of the source
    |- DeviceError             misuse of a device
    |- TransportError
    |  |- PeerLostError        the other end disconnected
    |  `- BackendMissingError  an optional package is not installed; .extra
    `- RecordError             a recording could not continue; .bytes_safe .messages_safe

Errors of the operating system (a missing file, a permission) and misuse of the language
(``TypeError``, ``OverflowError``) are not wrapped.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

__all__ = [
    "BackendMissingError",
    "ChecksumError",
    "ConversionLossError",
    "DeviceError",
    "FormatError",
    "FrameError",
    "PeerLostError",
    "RecordError",
    "ShapeError",
    "StrapdownError",
    "TimeOrderError",
    "TransportError",
    "TruncatedError",
    "UnknownKeyError",
    "UnknownNameError",
    "UnsupportedError",
    "ValueRangeError",
]


class StrapdownError(Exception):
    """Base of all exceptions of strapdown."""


class FormatError(StrapdownError):
    """Input that cannot be read.

    Parameters
    ----------
    message : str
        Expected and actual input, and a remedy, without the path.
    path : path-like, optional
        The file; its path precedes the message.
    offset : int, optional
        Byte at which reading failed.
    topic : str, optional
        The topic or message type that was being read.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | PathLike[str] | None = None,
        offset: int | None = None,
        topic: str | None = None,
    ) -> None:
        where = "" if path is None else f"{path}: "
        super().__init__(where + message)
        self.message = message
        self.path = None if path is None else Path(path)
        self.offset = offset
        self.topic = topic


class TruncatedError(FormatError):
    """The input ends inside a record."""


class ChecksumError(FormatError):
    """A checksum does not match its data."""


class UnsupportedError(FormatError):
    """A known format with a feature that strapdown does not read."""


class ShapeError(StrapdownError, ValueError):
    """An array or sequence of the wrong shape."""


class TimeOrderError(StrapdownError, ValueError):
    """A time stamp repeats or goes back.

    Parameters
    ----------
    message : str
        The whole line.
    row : int
        Index of the offending sample.
    t_ns, previous_ns : int
        Its stamp and the stamp before it [ns].
    """

    def __init__(self, message: str, *, row: int, t_ns: int, previous_ns: int) -> None:
        super().__init__(message)
        self.row = row
        self.t_ns = t_ns
        self.previous_ns = previous_ns


class FrameError(StrapdownError, ValueError):
    """Frames are mixed, or a conversion was asked of an unnamed frame."""


class ValueRangeError(StrapdownError, ValueError):
    """A value is not finite where it must be, or outside its allowed range."""


class UnknownNameError(StrapdownError, ValueError):
    """A name that is not in the list of known ones; the message gives the nearest.

    Parameters
    ----------
    kind : str
        Noun for the name, such as ``"filter"``.
    name : str
        The unknown name.
    known : iterable of str
        The names that exist.
    nearest : int
        Largest number of them in the message.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], *, nearest: int = 3) -> None:
        known = sorted(known)
        candidates = get_close_matches(name, known, n=nearest, cutoff=0.0)
        choice = ", ".join(map(repr, candidates)) or "none exists"
        super().__init__(f"there is no {kind} {name!r}; the nearest names: {choice}")
        self.kind = kind
        self.name = name
        self.known = tuple(known)


class UnknownKeyError(UnknownNameError, KeyError):
    """An unknown key of a mapping of this package; the message gives the nearest."""

    __str__ = UnknownNameError.__str__


class ConversionLossError(StrapdownError):
    """A conversion whose target cannot represent a value of the source.

    Parameters
    ----------
    message : str
        The whole line.
    lost : tuple of str
        Names of the fields that would be lost.
    """

    def __init__(self, message: str, *, lost: tuple[str, ...]) -> None:
        super().__init__(message)
        self.lost = lost


class DeviceError(StrapdownError):
    """A device was used against its rules."""


class TransportError(StrapdownError):
    """A topic cannot perform the requested operation."""


class PeerLostError(TransportError):
    """The other end of a link disconnected."""


class BackendMissingError(TransportError):
    """A backend needs an optional package that is not installed.

    Parameters
    ----------
    backend : str
        The backend that was asked for.
    extra : str
        The optional dependency of strapdown that installs it; empty for strapdown itself.
    """

    def __init__(self, backend: str, *, extra: str = "") -> None:
        brings = f"strapdown[{extra}]" if extra else "strapdown"
        super().__init__(f"{backend} needs: pip install '{brings}'")
        self.backend = backend
        self.extra = extra


class RecordError(StrapdownError):
    """A recording could not continue.

    Parameters
    ----------
    message : str
        The whole line.
    bytes_safe, messages_safe : int
        Amount that had been written to the file before.
    """

    def __init__(self, message: str, *, bytes_safe: int, messages_safe: int) -> None:
        super().__init__(message)
        self.bytes_safe = bytes_safe
        self.messages_safe = messages_safe
