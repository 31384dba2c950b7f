"""Base of the messages with a fixed memory layout: bytes, numpy views, equality, pickle.

The same bytes are ctypes ``_fields_``, for attributes, and one numpy ``dtype``, in which vectors
and matrices have their names. Both follow from one declaration (:mod:`strapdown.messages._fields`).
"""

from __future__ import annotations

import ctypes
from operator import attrgetter, index
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, overload

import numpy as np

from strapdown.errors import FormatError, ShapeError, TruncatedError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from _typeshed import ReadableBuffer, WriteableBuffer
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Record", "Text", "View", "Whole", "fixed"]

Scalar = TypeVar("Scalar", bound=np.generic)

_alias = type(ctypes.Structure).from_buffer  # Record.from_buffer hides it


class Record(ctypes.LittleEndianStructure):
    """Base of the messages whose bytes are their memory."""

    __slots__ = ()

    dtype: ClassVar[np.dtype[np.void]]
    """The same bytes as one packed numpy record."""

    @classmethod
    def from_bytes(cls, data: ReadableBuffer) -> Self:
        """Copy a message out of exactly as many bytes as it has.

        Raises
        ------
        TruncatedError
            Fewer bytes; ``offset`` is where they end.
        FormatError
            More bytes; ``offset`` is the first one too many.
        """
        expected, got = cls.dtype.itemsize, memoryview(data).nbytes
        if got != expected:
            error = TruncatedError if got < expected else FormatError
            raise error(
                f"expected {expected} bytes for {cls.__name__}, got {got}; "
                "pass the bytes of one message",
                offset=min(got, expected),
                topic=cls.__name__,
            )
        return cls.from_buffer_copy(data)

    @classmethod
    def from_buffer(cls, buffer: WriteableBuffer, offset: int = 0) -> Self:
        """Return a message that lives in ``buffer``: a change of one is seen in the other.

        Parameters
        ----------
        buffer : writable buffer
            Such as a bytearray, shared memory, or an array of ``dtype``; kept alive.
        offset : int
            Byte at which the message begins.

        Raises
        ------
        TruncatedError
            The buffer ends inside the message; ``offset`` is where it ends.
        """
        expected, size = cls.dtype.itemsize, memoryview(buffer).nbytes
        if size - offset < expected:
            raise TruncatedError(
                f"expected {expected} bytes for {cls.__name__} at byte {offset}, "
                f"got {max(size - offset, 0)}; pass a longer buffer or a smaller offset",
                offset=size,
                topic=cls.__name__,
            )
        return _alias(cls, buffer, offset)

    @classmethod
    def from_record(cls, record: NDArray[np.void] | np.void) -> Self:
        """Copy a message out of one element of an array of ``dtype``.

        Raises
        ------
        ShapeError
            It is no single element of that type.
        """
        element = np.asarray(record)
        if element.shape != () or element.dtype != cls.dtype:
            raise ShapeError(
                f"expected one record of {cls.__name__}.dtype, "
                f"got shape {element.shape} of {element.dtype}"
            )
        return cls.from_bytes(element.tobytes())

    @classmethod
    def array(cls, messages: Iterable[Self]) -> NDArray[np.void]:
        """Copy messages into one structured array, shape (N,).

        Raises
        ------
        TypeError
            One of them is of another type; the message names it.
        """
        batch = list(messages)
        for row, message in enumerate(batch):
            if type(message) is not cls:
                got = type(message).__name__
                raise TypeError(f"expected {cls.__name__} messages, got {got} in row {row}")
        return np.frombuffer(bytearray().join(batch), cls.dtype)

    def to_numpy(self) -> NDArray[np.void]:
        """Return the message as a 0-d record array of ``dtype``: a writable view, no copy."""
        return np.ndarray((), self.dtype, self)  # type: ignore[arg-type]  # no Buffer before 3.12

    def __eq__(self, other: object) -> bool:
        """All fields equal, NaN equal to NaN."""
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.to_numpy(), other.to_numpy()
        return bytes(self) == bytes(other) or all(
            np.array_equal(mine[name], theirs[name], equal_nan=mine[name].dtype.kind == "f")
            for name in self.dtype.names or ()
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[[bytes], Self], tuple[bytes]]:
        return self.from_bytes, (bytes(self),)


class Whole(property):
    """A whole number that rejects values that its private ctypes field would wrap.

    ``stamp = Whole(64)`` guards the ctypes field ``_stamp``.
    """

    def __init__(self, bits: int, *, signed: bool = False) -> None:
        super().__init__()
        self._bits = bits
        self._signed = signed

    def __set_name__(self, owner: type[Record], name: str) -> None:
        field, power = f"_{name}", self._bits - self._signed
        least, limit = -(1 << power) if self._signed else 0, 1 << power
        lowest = f"-2**{power}" if self._signed else "0"

        def store(record: Record, value: int) -> None:
            try:
                whole = index(value)
            except TypeError:
                kind = type(value).__name__
                raise TypeError(f"expected {name} as an int, got {kind} {value!r}") from None
            if not least <= whole < limit:
                raise OverflowError(f"expected {lowest} <= {name} < 2**{power}, got {whole}")
            setattr(record, field, whole)

        super().__init__(attrgetter(field), store)


class Text:
    """A name of less than ``size`` bytes of UTF-8, filled up with NUL.

    Bytes that are no UTF-8 read as U+FFFD.
    """

    def __init__(self, size: int) -> None:
        self._size = size

    def __set_name__(self, owner: type[Record], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, record: None, owner: type) -> Self: ...
    @overload
    def __get__(self, record: Record, owner: type) -> str: ...
    def __get__(self, record: Record | None, owner: type) -> Self | str:
        if record is None:
            return self
        stored: bytes = getattr(record, f"_{self._name}")
        return stored.decode(errors="replace")

    def __set__(self, record: Record, name: str) -> None:
        encoded = str.encode(name)
        if len(encoded) >= self._size or b"\0" in encoded:
            raise ValueRangeError(
                f"expected {self._name} of at most {self._size - 1} bytes of UTF-8 without NUL, "
                f"got {len(encoded)} bytes: {name!r}; use a shorter name"
            )
        record.to_numpy()[self._name] = encoded


class View(Generic[Scalar]):
    """A field of the record's ``dtype`` as a writable numpy view that keeps the record alive.

    Parameters
    ----------
    shape : tuple of int
        Shape that may be assigned: (n,), or (n, m) for a matrix; the view is flat.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._matrix = shape if len(shape) > 1 else None

    def __set_name__(self, owner: type[Record], name: str) -> None:
        field = owner.dtype[name]
        self._name, self._scalar, self._shape = name, field.base, field.shape
        self._offset = owner.dtype.fields[name][1]  # type: ignore[index]  # a record has fields

    @overload
    def __get__(self, record: None, owner: type) -> Self: ...
    @overload
    def __get__(self, record: Record, owner: type) -> NDArray[Scalar]: ...
    def __get__(self, record: Record | None, owner: type) -> Self | NDArray[Scalar]:
        if record is None:
            return self
        shape, scalar, offset = self._shape, self._scalar, self._offset
        return np.ndarray(shape, scalar, record, offset)  # type: ignore[arg-type]  # as to_numpy

    def __set__(self, record: Record, value: ArrayLike) -> None:
        wanted = f"expected {self._name} as {self._shape[0]} numbers"
        if self._matrix:
            wanted += f" or a {self._matrix[0]}x{self._matrix[1]} matrix"
        try:
            numbers = np.asarray(value)
        except ValueError as error:
            raise ShapeError(f"{wanted}: {error}") from error
        if numbers.dtype.kind not in "biuf":
            raise TypeError(f"{wanted}, got {numbers.dtype}: {value!r}")
        if numbers.shape not in (self._shape, self._matrix):
            raise ShapeError(f"{wanted}, got {numbers.size} in shape {numbers.shape}")
        self.__get__(record, type(record))[:] = numbers.ravel()


def fixed(*values: float) -> str:
    """Write numbers with three decimals, as horus prints them."""
    return ", ".join(f"{value:.3f}" for value in values).replace("nan", "NaN")
