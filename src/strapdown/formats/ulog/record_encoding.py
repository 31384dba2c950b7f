"""Encoding of ULog records, singly or many at once, and interleaving of topics by stamp.

A record is ``u16 size, u8 type, payload``; the size is that of the payload.

References
----------
PX4 ULog file format, https://docs.px4.io/main/en/dev_log/ulog_file_format.html
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.formats.ulog.message_formats import LARGEST
from strapdown.formats.ulog.payload_checks import SYNC_PAYLOAD, TOPIC_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from strapdown._typing import ByteArray, IntArray
    from strapdown.messages.uorb import UorbMessage

__all__ = [
    "SYNC",
    "Form",
    "Rows",
    "data",
    "form_of",
    "interleaved",
    "record",
    "setting",
    "single",
]

_HEAD: Final = struct.Struct("<HB")
_DATA_HEAD: Final = struct.Struct("<HBH")
_LONGEST_KEY: Final = 255
_LATEST: Final = 2**63 - 1
_SYNC_EVERY_US: Final = 500_000

_SCALARS: Final = {
    "i1": "int8_t",
    "u1": "uint8_t",
    "i2": "int16_t",
    "u2": "uint16_t",
    "i4": "int32_t",
    "u4": "uint32_t",
    "i8": "int64_t",
    "u8": "uint64_t",
    "f4": "float",
    "f8": "double",
    "b1": "bool",
}
_CODES: Final = dict(zip(_SCALARS.values(), "bBhHiIqQfd?", strict=True))
_KEY: Final = re.compile(r"[!-~]+")
_FIELD: Final = re.compile(r"\w+", re.ASCII)


def record(kind: str, payload: bytes) -> bytes:
    """Return a complete record.

    Raises
    ------
    ValueRangeError
        The payload is longer than its size field allows.
    """
    if len(payload) > LARGEST:
        raise ValueRangeError(
            f"expected {LARGEST} bytes at most in a record of type {kind}, got {len(payload)}"
        )
    return _HEAD.pack(len(payload), ord(kind)) + payload


SYNC: Final = record("S", SYNC_PAYLOAD)
"""Sync record, by which a reader finds records again after damage."""


def setting(name: str, value: str | bytes | float, kind: str | None = None) -> bytes:
    """Return the payload of an information or a parameter: a key ``type name`` and a value.

    Parameters
    ----------
    name : str
        Without spaces.
    value : str, bytes, int or float
        Text becomes ``char[n]``, bytes ``uint8_t[n]``.
    kind : str, optional
        Type of a number; by default ``float``, or the first of ``uint32_t``, ``int32_t``,
        ``uint64_t`` and ``int64_t`` that holds it.

    Raises
    ------
    ValueRangeError
        The name or the number does not fit, there is no such type, or the text is empty.
    """
    if isinstance(value, str | bytes):
        packed = value.encode() if isinstance(value, str) else value
        kind = f"{'char' if isinstance(value, str) else 'uint8_t'}[{len(packed)}]"
    else:
        kind, packed = _number(value, kind)
    key = f"{kind} {name}"
    if not packed or not _KEY.fullmatch(name) or len(key) > _LONGEST_KEY:
        raise ValueRangeError(
            f"expected a key of {_LONGEST_KEY} ASCII characters at most without spaces, and a "
            f"value, got {key!r}"
        )
    return bytes([len(key)]) + key.encode() + packed


def _number(value: float, kind: str | None) -> tuple[str, bytes]:
    """Return the type of a number and its bytes."""
    whole = ("uint32_t", "int32_t", "uint64_t", "int64_t")
    tried = [kind] if kind else (["float"] if isinstance(value, float | np.floating) else whole)
    for each in tried:
        try:
            return each, struct.pack("<" + _CODES[each], value)
        except (KeyError, struct.error, OverflowError):
            continue
    raise ValueRangeError(f"expected a number of type {' or '.join(tried)}, got {value!r}")


class Form(NamedTuple):
    """Types and formats with which the rows of a topic are written."""

    given: np.dtype[np.void]
    """Type of the rows as passed."""
    packed: np.dtype[np.void]
    """The same fields without gaps, little endian."""
    size: int
    """Bytes of a row without the padding at its end."""
    texts: tuple[str, ...]
    """FORMAT strings, those of nested types first."""


def form_of(kind: type[UorbMessage] | np.dtype[np.void], topic: str) -> Form:
    """Return the form of a message class, or of a structured type.

    Parameters
    ----------
    kind : type of UorbMessage, or numpy dtype
        Fields of a dtype are numbers, bool, text (``S``, as ``char[n]``) or structures, or
        arrays of one dimension of these.
    topic : str
        Name of the topic; that of a nested type is ``topic_field``.

    Raises
    ------
    ValueRangeError
        A name or a type is not allowed in a ULog, or there is no ``uint64 timestamp``.
    """
    if isinstance(kind, np.dtype):
        packed, texts = _formats(topic, kind)
        form = Form(kind, packed, packed.itemsize, tuple(texts))
    else:
        texts = [kind.ulog_format(topic)]
        form = Form(kind.dtype, kind.dtype, kind.logged_dtype.itemsize, tuple(texts))
    names = form.packed.names or ()
    if "timestamp" not in names or form.packed["timestamp"] != np.uint64:
        raise ValueRangeError(f"expected a field timestamp of uint64 in {topic}, got {texts[-1]}")
    return form


def _formats(topic: str, dtype: np.dtype[np.void]) -> tuple[np.dtype[np.void], list[str]]:
    """Return the packed type, and its FORMAT strings."""
    fields: list[tuple[str, np.dtype[np.generic], tuple[int, ...]]] = []
    texts: list[str] = []
    text = ""
    for name in dtype.names or ():
        base, shape = dtype[name].subdtype or (dtype[name], ())
        times = shape
        if base.names:
            kind = f"{topic}_{name}"
            base, nested = _formats(kind, base)
            texts += nested
        elif base.kind == "S":
            kind, times = "char", shape or (base.itemsize,)
        else:
            kind, base = _SCALARS.get(base.str[1:], ""), base.newbyteorder("<")
        if not kind or len(shape) > 1 or not _FIELD.fullmatch(name):
            raise ValueRangeError(f"expected a field that ULog knows, got {name!r} of {base}")
        fields.append((name, base, shape))
        text += f"{kind}[{times[0]}] {name};" if times else f"{kind} {name};"
    if not fields or not TOPIC_NAME.fullmatch(topic):
        raise ValueRangeError(f"expected a topic with fields, got {topic!r} of {dtype}")
    return np.dtype(fields), [*texts, f"{topic}:{text}"]


@dataclass(frozen=True)
class Rows:
    """Complete records of one size.

    Parameters
    ----------
    t_us : (N,) int64
        Their times, never decreasing [us].
    records : (N,) void
        Their bytes.
    msg_id : int, optional
        Message id of data records.
    """

    t_us: IntArray
    records: NDArray[np.void]
    msg_id: int | None = None

    def __len__(self) -> int:
        return len(self.t_us)

    def __getitem__(self, rows: slice) -> Rows:
        return Rows(self.t_us[rows], self.records[rows], self.msg_id)


def single(t_us: int, records: bytes) -> Rows:
    """Return one record, or several that belong together, as one row."""
    return Rows(np.array([t_us]), np.frombuffer(records, f"V{len(records)}"))


def data(msg_id: int, rows: NDArray[np.void], size: int) -> Rows:
    """Return data records, sorted by ``timestamp``.

    Parameters
    ----------
    msg_id : int
        Message id of the subscription.
    rows : (N,) structured array
        Packed, with ``timestamp`` [us].
    size : int
        Bytes of a row that are written, without padding.

    Raises
    ------
    ValueRangeError
        A stamp reaches 2^63 us.
    """
    t_us = rows["timestamp"].astype(np.int64)
    if np.any(t_us < 0):
        raise ValueRangeError(f"expected stamps up to {_LATEST} us, got {rows['timestamp'].max()}")
    if np.any(np.diff(t_us) < 0):
        order = np.argsort(t_us, kind="stable")
        t_us, rows = t_us[order], rows[order]
    records = np.empty((len(rows), _DATA_HEAD.size + size), np.uint8)
    head = _DATA_HEAD.pack(size + 2, ord("D"), msg_id)
    records[:, : _DATA_HEAD.size] = np.frombuffer(head, np.uint8)
    records[:, _DATA_HEAD.size :] = _as_bytes(rows)[:, :size]
    return Rows(t_us, records.view(f"V{records.shape[1]}")[:, 0], msg_id)


def interleaved(parts: Sequence[Rows], before: int | None) -> tuple[ByteArray, int]:
    """Return records in the order of their stamps, with a sync record at each half second.

    Parameters
    ----------
    parts : sequence of Rows
        At equal stamps, earlier parts come first. At least one row.
    before : int, optional
        The half second of the previous record.

    Returns
    -------
    data : (N,) uint8
        The bytes.
    last : int
        The half second of the last record.
    """
    t_us = np.concatenate([part.t_us for part in parts])
    order = np.argsort(t_us, kind="stable")
    halves = t_us[order] // _SYNC_EVERY_US
    begins = np.diff(halves, prepend=halves[0] if before is None else before) != 0
    sizes = np.repeat([part.records.itemsize for part in parts], [len(part) for part in parts])
    ends = np.cumsum(sizes[order] + begins * len(SYNC))
    target = np.empty(ends[-1], np.uint8)
    starts = np.empty_like(ends)
    starts[order] = ends - sizes[order]
    syncs = starts[order[begins]] - len(SYNC)
    _place(target, syncs, np.full(len(syncs), np.void(SYNC)))
    first = 0
    for part in parts:
        _place(target, starts[first : first + len(part)], part.records)
        first += len(part)
    return target, int(halves[-1])


def _place(target: ByteArray, starts: IntArray, records: NDArray[np.void]) -> None:
    """Copy records to their offsets, through a view with one record at every byte."""
    if len(records):
        places = len(target) - records.itemsize + 1
        np.ndarray((places,), records.dtype, target, strides=(1,))[starts] = records


def _as_bytes(rows: NDArray[np.void]) -> ByteArray:
    return np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), rows.itemsize)
