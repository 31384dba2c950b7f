"""Layouts of PX4 messages: in memory, in a ULog, and in CDR.

A message class lists its fields once, in the order of the ``.msg`` file, with the types of
:mod:`strapdown.messages._fields`. :func:`uorb` derives the rest:

* **memory and ULog**: fields sorted by the size of their elements, largest first; padded to a
  multiple of 8 bytes. A ULog leaves out the padding at the end.
* **CDR**: fields in the order of the file, each aligned to its own size, after four bytes of
  encapsulation (XCDR version 1, little endian).
* **hash**: FNV-1a of the lines ``type name`` of the file, by which PX4 distinguishes definitions.

References
----------
PX4-Autopilot: ``Tools/msg`` and ``platforms/common/uORB``; ULog file format, PX4 guide;
OMG DDSI-RTPS 2.5, clause 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from strapdown.errors import FormatError, TruncatedError
from strapdown.messages._fields import Field, fields_of, lay_out, record_dtype
from strapdown.messages._record import Record
from strapdown.messages.wire import ENCAPSULATION, byte_order, in_payload, rows_by_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from strapdown._typing import IntArray
    from strapdown.messages.wire import Order, Payload

    Message = TypeVar("Message", bound="UorbMessage")

__all__ = ["UorbMessage", "uorb"]


class UorbMessage(Record):
    """Base of the PX4 messages; :func:`uorb` completes each class.

    Parameters
    ----------
    **fields : int, float or array_like
        Any field by name; the others are 0.

    Raises
    ------
    TypeError
        There is no such field, or an integer field gets something else.
    OverflowError
        An integer does not fit its field.
    ShapeError
        An array field gets another count of numbers.
    """

    __slots__ = ()

    topic: ClassVar[str]
    """Name of its uORB topic."""
    topics: ClassVar[tuple[str, ...]]
    """Every topic of this form; the first is :attr:`topic`."""
    fields: ClassVar[tuple[Field, ...]]
    """In the order of the ``.msg`` file."""
    definition: ClassVar[str]
    """The fields as the ``.msg`` file lists them, a line each; without constants."""
    message_hash: ClassVar[int]
    """FNV-1a of the definition (32 bit)."""
    logged_dtype: ClassVar[np.dtype[np.void]]
    """The bytes of a ULog record as one packed numpy record, without padding at the end."""
    cdr_dtype: ClassVar[np.dtype[np.void]]
    """The bytes of a DDS sample after its encapsulation."""

    def __init__(self, **fields: float | ArrayLike) -> None:
        super().__init__()
        for name, value in fields.items():
            if name not in (self.dtype.names or ()):
                raise TypeError(f"expected fields of {type(self).__name__}, got {name!r}")
            setattr(self, name, value)

    @classmethod
    def ulog_format(cls, topic: str | None = None) -> str:
        """Return the payload of the FORMAT record of a ULog, for a topic of this form."""
        names = cls.logged_dtype.names or ()
        by_name = {field.name: field for field in cls.fields}
        text = "".join(f"{_logged(by_name[name])} {name};" for name in names)
        padding = cls.dtype.itemsize - cls.logged_dtype.itemsize
        if padding:
            text += f"uint8_t[{padding}] _padding0;"
        return f"{topic or cls.topic}:{text}"

    @classmethod
    def from_logged(cls, data: Payload) -> Self:
        """Read the bytes of a ULog DATA record, after its message id.

        Raises
        ------
        FormatError
            There are more bytes than the message has; TruncatedError if fewer.
        """
        _check_size(cls, data, cls.logged_dtype.itemsize)
        return cls.from_bytes(bytes(data) + bytes(cls.dtype.itemsize - len(data)))

    def to_logged(self) -> bytes:
        """Return the bytes of a ULog DATA record, without its message id."""
        return bytes(self)[: self.logged_dtype.itemsize]

    @classmethod
    def from_cdr(cls, data: Payload) -> Self:
        """Read a DDS sample.

        Raises
        ------
        FormatError
            The size is another, or the encapsulation is not plain CDR.
        """
        return cls.from_record(_read_samples(cls, [data])[0])

    def to_cdr(self) -> bytes:
        """Return a DDS sample: XCDR version 1, little endian."""
        return encode_batch(type(self), self.to_numpy().reshape(1))[0]

    def __repr__(self) -> str:
        values = self.to_numpy()
        fields = (f"{field.name}={values[field.name].tolist()}" for field in self.fields)
        return f"{type(self).__name__}({', '.join(fields)})"


def uorb(*topics: str) -> Callable[[type[Message]], type[Message]]:
    """Complete a message class from the fields that it annotates.

    Parameters
    ----------
    *topics : str
        Names of the uORB topics of this form; the first is that of the message.
    """

    def complete(cls: type[Message]) -> type[Message]:
        fields = fields_of(cls)
        cls.topic, cls.topics, cls.fields = topics[0], topics, fields
        cls.definition = "".join(f"{field.spelled} {field.name}\n" for field in fields)
        cls.message_hash = _fnv1a(cls.definition.encode())
        ordered = sorted(fields, key=lambda field: -field.scalar.itemsize)
        cls.logged_dtype = record_dtype(ordered)
        cls.cdr_dtype = record_dtype(fields, aligned=True)
        lay_out(cls, ordered, align=8)
        return cls

    return complete


def _logged(field: Field) -> str:
    """Return the type of a field as the formats of a ULog spell it."""
    kind = "float" if field.kind == "float32" else f"{field.kind}_t"
    return field._replace(kind=kind).spelled


def decode_batch(
    kind: type[UorbMessage], payloads: Sequence[Payload], *, lenient: bool = False
) -> tuple[NDArray[np.void], IntArray]:
    """Read many DDS samples of one type.

    Parameters
    ----------
    kind : type of UorbMessage
        Type of the messages.
    payloads : sequence of bytes-like
        One whole payload each.
    lenient : bool
        Leave out unreadable payloads instead of raising.

    Returns
    -------
    records : (N,) array of kind.dtype
        The messages in the order of ``payloads``.
    malformed : (M,) int64
        Indices of the payloads that were left out.

    Raises
    ------
    FormatError
        As :meth:`UorbMessage.from_cdr`; the message begins with the index of the payload.
    """
    count = len(payloads)
    records, readable = np.zeros(count, kind.dtype), np.ones(count, np.bool_)
    keys = (len(data) << 16 | int.from_bytes(data[:2], "big") for data in payloads)
    for rows in rows_by_key(np.fromiter(keys, np.int64, count)):
        try:
            records[rows] = _read_samples(kind, [payloads[row] for row in rows])
        except FormatError as error:
            if not lenient:
                raise in_payload(int(rows[0]), error) from None
            readable[rows] = False
    return records[readable], np.flatnonzero(~readable)


def encode_batch(kind: type[UorbMessage], records: NDArray[np.void]) -> list[bytes]:
    """Return many messages as DDS samples.

    Parameters
    ----------
    kind : type of UorbMessage
        Type of the messages.
    records : (N,) array of kind.dtype
        The messages.

    Returns
    -------
    list of bytes
        N payloads, as from :meth:`UorbMessage.to_cdr`.
    """
    samples = np.zeros(len(records), _sample(kind, "<"))
    samples["encapsulation"] = np.void(ENCAPSULATION)
    copy_fields(records, samples["message"])
    joined, size = samples.tobytes(), samples.itemsize
    return [joined[at : at + size] for at in range(0, len(joined), size)]


def copy_fields(source: NDArray[np.void], target: NDArray[np.void]) -> None:
    """Copy every field that both records have, by name."""
    theirs = source.dtype.names or ()
    for name in target.dtype.names or ():
        if name in theirs:
            target[name] = source[name]


def _read_samples(kind: type[UorbMessage], payloads: Sequence[Payload]) -> NDArray[np.void]:
    """Read samples that have one size and one encapsulation."""
    order, _ = byte_order(payloads[0])
    _check_size(kind, payloads[0], 4 + kind.cdr_dtype.itemsize)
    samples = np.frombuffer(b"".join(payloads), _sample(kind, order))
    records = np.zeros(len(payloads), kind.dtype)
    copy_fields(samples["message"], records)
    return records


def _sample(kind: type[UorbMessage], order: Order) -> np.dtype[np.void]:
    return np.dtype([("encapsulation", "V4"), ("message", kind.cdr_dtype.newbyteorder(order))])


def _check_size(kind: type[UorbMessage], data: Payload, expected: int) -> None:
    if len(data) != expected:
        raise (TruncatedError if len(data) < expected else FormatError)(
            f"expected {expected} bytes of {kind.__name__}, got {len(data)}",
            offset=min(len(data), expected),
        )


def _fnv1a(data: bytes) -> int:
    """Return the 32-bit hash of Fowler, Noll and Vo, variant 1a."""
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
