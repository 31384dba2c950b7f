"""Layouts of DataFlash messages, as FMT messages define them.

References
----------
``libraries/AP_Logger/LogStructure.h`` of ArduPilot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FMT", "FMT_LAYOUT", "HEAD", "NUMBERS", "Layout", "layout_of"]

NUMBERS: Final = "iuf"
"""Kinds of fields that hold one number."""

HEAD: Final = b"\xa3\x95"
"""First bytes of every message."""
FMT: Final = 128
"""Number of the message that defines the others, and itself."""
_PAYLOAD: Final = 3
"""Offset of the fields: after the head and the number of the message."""

_KINDS: Final[dict[str, tuple[Any, ...]]] = {
    "a": ("<i2", (32,)),
    "b": ("i1",),
    "B": ("u1",),
    "h": ("<i2",),
    "H": ("<u2",),
    "i": ("<i4",),
    "I": ("<u4",),
    "q": ("<i8",),
    "Q": ("<u8",),
    "g": ("<f2",),
    "f": ("<f4",),
    "d": ("<f8",),
    "n": ("S4",),
    "N": ("S16",),
    "Z": ("S64",),
    "c": ("<i2",),
    "C": ("<u2",),
    "e": ("<i4",),
    "E": ("<u4",),
    "L": ("<i4",),
    "M": ("u1",),
}
"""Type and shape of a field, by its letter in a format."""
_DIVISORS: Final = {"c": 100.0, "C": 100.0, "e": 100.0, "E": 100.0, "L": 1e7}
"""Divisors that are part of a letter."""


class Layout(NamedTuple):
    """Layout of one message.

    Parameters
    ----------
    kind : int
        Number of the message.
    name : str
        Name of the message, such as ``IMU``.
    dtype : dtype
        The message with its head; fields by name.
    divisors : dict of str to float
        Divisors of the fields of centi-units and of degrees in 1e-7.
    """

    kind: int
    name: str
    dtype: np.dtype[np.void]
    divisors: dict[str, float]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the fields, in order."""
        return self.dtype.names or ()

    def has(self, kinds: str, *columns: str) -> bool:
        """Return whether all these fields exist and hold a value of one of numpy's kinds."""
        return all(name in self.columns and self.dtype[name].kind in kinds for name in columns)


def layout_of(kind: int, size: int, name: bytes, letters: bytes, columns: bytes) -> Layout:
    """Return the layout that the fields of a FMT message define.

    Raises
    ------
    ValueError
        They contradict each other; the text names the field.
    """
    texts = [each.rstrip(b"\0").decode("ascii") for each in (name, letters, columns)]
    title, form, names = texts[0], texts[1], [each for each in texts[2].split(",") if each]
    if unknown := sorted(set(form) - set(_KINDS)):
        raise ValueError(f"expected known letters in the format of {title}, got {unknown[0]!r}")
    if len(names) != len(form) or len(set(names)) != len(names):
        raise ValueError(f"expected {len(form)} distinct columns of {title}, got {len(names)}")
    dtype = np.dtype([(name, *_KINDS[letter]) for name, letter in zip(names, form, strict=True)])
    if _PAYLOAD + dtype.itemsize != size:
        got = _PAYLOAD + dtype.itemsize
        raise ValueError(f"expected fields of {title} in {size} bytes, got {got} bytes of them")
    fields: Mapping[str, Any] = dtype.fields or {}
    placed: Any = {
        "names": names,
        "formats": [fields[each][0] for each in names],
        "offsets": [_PAYLOAD + fields[each][1] for each in names],
        "itemsize": size,
    }
    divisors = {
        each: _DIVISORS[letter]
        for each, letter in zip(names, form, strict=True)
        if letter in _DIVISORS
    }
    return Layout(kind, title, np.dtype(placed), divisors)


FMT_LAYOUT: Final = layout_of(FMT, 89, b"FMT", b"BBnNZ", b"Type,Length,Name,Format,Columns")
"""Layout of the message that defines the others."""
