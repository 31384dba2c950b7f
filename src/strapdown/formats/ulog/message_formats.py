"""Formats that a ULog defines: grammar, sizes and numpy types.

References
----------
PX4 ULog file format, https://docs.px4.io/main/en/dev_log/ulog_file_format.html
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["LARGEST", "Formats", "Setting", "Value", "setting"]

Value: TypeAlias = "int | float | str | bytes | tuple[int | float, ...]"
"""Value of an information; char is text, uint8_t[n] is bytes."""

LARGEST: Final = 65_535
"""Largest payload of a record, and so of a format [bytes]."""
_DEEPEST: Final = 16
_BASIC: Final = {
    "int8_t": "i1",
    "uint8_t": "u1",
    "bool": "u1",
    "char": "S1",
    "int16_t": "<i2",
    "uint16_t": "<u2",
    "int32_t": "<i4",
    "uint32_t": "<u4",
    "float": "<f4",
    "int64_t": "<i8",
    "uint64_t": "<u8",
    "double": "<f8",
}
_FORMAT: Final = re.compile(r"([\w/-]+):((?:[^;]+;)+)", re.ASCII)
_FIELD: Final = re.compile(r"([\w/-]+)(?:\[(\d{1,5})\])? (\w+)", re.ASCII)
_KEY: Final = re.compile(r"(\w+)(?:\[(\d{1,5})\])? ([!-~]+)", re.ASCII)


class _Field(NamedTuple):
    kind: str
    times: int | None  # None for a scalar
    name: str

    @classmethod
    def of(cls, match: re.Match[str]) -> _Field:
        return cls(match[1], None if match[2] is None else int(match[2]), match[3])

    @property
    def is_padding(self) -> bool:
        return self.name.startswith("_padding")


class Setting(NamedTuple):
    """An information or a parameter."""

    kind: str
    name: str
    value: Value


def setting(payload: bytes) -> Setting | None:
    """Read a length, a key ``type name`` and a value; return None where the sizes disagree."""
    key, value = payload[1 : 1 + payload[0]], payload[1 + payload[0] :]
    match = _KEY.fullmatch(key.decode("ascii", "replace"))
    if match is None or match[1] not in _BASIC:
        return None
    scalar = np.dtype(_BASIC[match[1]])
    if len(value) != scalar.itemsize * int(match[2] or 1):
        return None
    held: Value
    if match[1] == "char":
        held = value.decode("utf-8", "replace")
    elif match[2] is None:
        held = np.frombuffer(value, scalar)[0].item()
    else:
        held = value if match[1] == "uint8_t" else tuple(np.frombuffer(value, scalar).tolist())
    return Setting(match[1] if match[2] is None else f"{match[1]}[{match[2]}]", match[3], held)


class Formats:
    """The formats by name, with sizes and numpy types.

    Attributes
    ----------
    text : dict of str to str
        The fields of each format, as text of the file.
    """

    def __init__(self) -> None:
        self.text: dict[str, str] = {}
        self._fields: dict[str, list[_Field]] = {}
        self._sizes = {kind: np.dtype(code).itemsize for kind, code in _BASIC.items()}
        self._unsound: set[str] = set()
        self._dtypes: dict[tuple[str, int], np.dtype[np.void]] = {}

    def add(self, payload: bytes) -> str | None:
        """Add a format; return the reason where it is invalid, otherwise None."""
        name, _, text = payload.decode("ascii", "replace").partition(":")
        found = [_FIELD.fullmatch(each) for each in text.split(";")[:-1]]
        fields = [_Field.of(each) for each in found if each]
        names = {each.name for each in fields if each.times != 0}
        if not self.is_format(payload) or len(names) < len(found):
            return "expected a format of different fields"
        if self._fields.setdefault(name, fields) != fields:
            return f"expected one format of {name}"
        self.text[name] = text
        self._unsound.clear()  # it may define a type that was unknown
        return None

    @staticmethod
    def is_format(payload: bytes) -> bool:
        """Return whether a payload has the form ``name:type field;...``."""
        return _FORMAT.fullmatch(payload.decode("ascii", "replace")) is not None

    def size(self, name: str, depth: int = 0) -> int:
        """Return the size of a type [bytes]; 0 where it is unknown, recursive or above 64 KiB."""
        if name in self._sizes:
            return self._sizes[name]
        if depth > _DEEPEST or name not in self._fields or name in self._unsound:
            return 0
        total = 0
        for each in self._fields[name]:
            size = self.size(each.kind, depth + 1)
            total += (each.times or 1) * size
            if not size or total > LARGEST:
                self._unsound.add(name)
                return 0
        self._sizes[name] = total
        return total

    def least(self, name: str) -> int:
        """Return the size of a format without the padding at its end, which a row may omit."""
        trailing = takewhile(lambda each: each.is_padding, reversed(self._fields[name]))
        return self.size(name) - sum((each.times or 1) * self.size(each.kind) for each in trailing)

    def timestamp_at(self, name: str) -> int | None:
        """Return the offset of the field ``uint64_t timestamp`` in a row, or None."""
        at = 0
        for each in self._fields[name]:
            if each == _Field("uint64_t", None, "timestamp"):
                return at
            at += (each.times or 1) * self.size(each.kind)
        return None

    def dtype(self, name: str) -> np.dtype[np.void]:
        """Return a valid format as a packed numpy type.

        Arrays are subarrays, char[n] is text of n bytes, nested formats are nested types;
        padding occupies its bytes but has no name, and trailing padding is left out.
        """
        return self._dtype(name, self.least(name))

    def _dtype(self, name: str, itemsize: int) -> np.dtype[np.void]:
        known = self._dtypes.get((name, itemsize))  # a topic may also be a field of another one
        if known is not None:
            return known
        names, formats, offsets, at = [], [], [], 0
        for each in self._fields[name]:
            if not each.is_padding:
                names.append(each.name)
                formats.append(self._column(each))
                offsets.append(at)
            at += (each.times or 1) * self.size(each.kind)
        dtype = np.dtype(
            {"names": names, "formats": formats, "offsets": offsets, "itemsize": itemsize}
        )
        self._dtypes[name, itemsize] = dtype
        return dtype

    def _column(self, field: _Field) -> DTypeLike:
        if field.kind == "char":
            return f"S{field.times or 1}"
        base = _BASIC.get(field.kind) or self._dtype(field.kind, self.size(field.kind))
        return base if field.times is None else (base, (field.times,))
