"""Records: named fields of the data of kernels, declared once.

A kernel's state, settings and samples are records. While Python runs the kernel, a record is an
object with attributes: numbers, lists (vectors), lists of rows (matrices), other records and lists
of records. For machine code the same fields are packed into a row of a NumPy structured array.
Both are written ``state.bias[0]``, ``state.covariance[i][j]``, ``state.clock.interval``,
``state.axes[k].limit``.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    RecordArray: TypeAlias = NDArray[np.void]

__all__ = [
    "Matrix",
    "Record",
    "RecordArray",
    "RecordView",
    "Vector",
    "filled",
    "record_like",
    "values_of",
    "vector",
    "zeros",
]

Vector: TypeAlias = list[float]
Matrix: TypeAlias = list[list[float]]

_NUMBERS: Final = {bool: np.bool_, int: np.int64, float: np.float64}


def vector(*values: float) -> Vector:
    """Declare a vector by its initial values."""
    return [float(value) for value in values]


def zeros(rows: int, columns: int) -> Matrix:
    """Declare a matrix of zeros."""
    return [[0.0] * columns for _ in range(rows)]


def filled(size: int, value: float = 0.0) -> Vector:
    """Declare a vector of one value."""
    return [value] * size


class Record:
    """Base of the records: a subclass declares fields by their initial values.

    ``bias: Vector = vector(0.0, 0.0, 0.0)``, ``steps: float = -1.0``, ``clock: Clock = Clock()``.
    A subclass has the fields of its base first.
    """

    _fresh: ClassVar[dict[str, Any]] = {}
    _parts: ClassVar[dict[str, Any]] = {}  # initial values that have to be copied
    _nested: ClassVar[dict[str, Any]] = {}  # initial values that are records, or lists of them

    def __init_subclass__(cls) -> None:
        own = {name: vars(cls)[name] for name in vars(cls).get("__annotations__", ())}
        cls._fresh = {**cls._fresh, **own}
        cls._parts = {n: v for n, v in cls._fresh.items() if isinstance(v, list | Record)}
        cls._nested = {n: v for n, v in cls._parts.items() if _is_nested(v)}
        for name in own:
            delattr(cls, name)

    def __init__(self, **values: Any) -> None:
        if values.keys() - self._fresh.keys():
            unknown = ", ".join(sorted(values.keys() - self._fresh.keys()))
            raise TypeError(f"{type(self).__name__} has no field {unknown}")
        own = self.__dict__
        own.update(self._fresh, **values)
        for name, part in self._parts.items():
            if name not in values:
                own[name] = _copied(part)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # a record changes

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"

    @classmethod
    def fresh(cls) -> Mapping[str, Any]:
        """Return the fields and their initial values."""
        return cls._fresh

    @classmethod
    @cache
    def dtype(cls) -> np.dtype[np.void]:
        """Return the layout of a packed record."""
        return np.dtype([(name, *_form(value)) for name, value in cls._fresh.items()], align=True)

    def packed(self) -> RecordArray:
        """Return an array of this one record."""
        return self.pack([self])

    @classmethod
    def pack(cls, records: Iterable[Record]) -> RecordArray:
        """Return records as an array."""
        return np.array([record.astuple() for record in records], cls.dtype())

    @classmethod
    def unpack(cls, array: RecordArray) -> list[Self]:
        """Return the records of an array."""
        if not len(array):
            return []
        columns = [
            _unpacked(fresh, array[name]) if name in cls._nested else array[name].tolist()
            for name, fresh in cls._fresh.items()
        ]
        return [cls._of(values) for values in zip(*columns, strict=True)]

    def astuple(self) -> tuple[Any, ...]:
        """Return the values of the fields in their order."""
        if not self._nested:
            return tuple(vars(self).values())
        return tuple([_plain(value) for value in vars(self).values()])

    @classmethod
    def _of(cls, values: Iterable[Any]) -> Self:
        record = cls.__new__(cls)
        vars(record).update(zip(cls._fresh, values, strict=True))
        return record

    @classmethod
    def of_values(cls, values: Iterable[float]) -> Self:
        """Return the record with the given :func:`values_of`.

        Raises
        ------
        ValueError
            There are too few values, or too many.
        """
        left = iter(values)
        try:
            record: Self = _rebuilt(cls(), left)
        except StopIteration:
            raise ValueError("too few values") from None
        if next(left, None) is not None:
            raise ValueError("too many values")
        return record


class RecordView:
    """Fields of a packed record, each unpacked when it is first read; not to be changed."""

    def __init__(self, kind: type[Record], array: RecordArray) -> None:
        self._kind, self._array = kind, array

    def __getattr__(self, name: str) -> Any:
        (value,) = _unpacked(self._kind.fresh()[name], self._array[name])
        vars(self)[name] = value
        return value


def values_of(record: Record) -> list[float]:
    """Return every number of a record, in the order of its fields; flags are 0 or 1."""
    return list(_numbers(record.astuple()))


def record_like(name: str, values: Mapping[str, Any]) -> type[Record]:
    """Return a record type whose fields and initial values are those of a mapping."""
    return type(name, (Record,), {"__annotations__": dict.fromkeys(values), **values})


def _form(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Record):
        return (value.dtype(),)
    if not isinstance(value, list):
        return (_NUMBERS[type(value)],)
    if isinstance(value[0], Record):
        return value[0].dtype(), (len(value),)
    return _NUMBERS[type(np.ravel(value)[0].item())], np.shape(value)


def _is_nested(value: Any) -> bool:
    return isinstance(value, Record) or (isinstance(value, list) and isinstance(value[0], Record))


def _copied(value: Any) -> Any:
    """Return a deep copy of a field."""
    if isinstance(value, Record):
        return value._of(map(_copied, vars(value).values()))  # noqa: SLF001
    if isinstance(value, list):
        nested = isinstance(value[0], list | Record)
        return [_copied(part) for part in value] if nested else value.copy()
    return value


def _plain(value: Any) -> Any:
    """Return a field as tuples and numbers."""
    if isinstance(value, Record):
        return value.astuple()
    if isinstance(value, list) and isinstance(value[0], Record):
        return [record.astuple() for record in value]
    return value


def _unpacked(fresh: Any, column: Any) -> list[Any]:
    """Return a field of each record of an array as it is declared."""
    if isinstance(fresh, Record):
        return fresh.unpack(column)
    if isinstance(fresh, list) and isinstance(fresh[0], Record):
        size, flat = len(fresh), fresh[0].unpack(column.ravel())
        return [flat[first : first + size] for first in range(0, len(flat), size)]
    rows: list[Any] = column.tolist()
    return rows


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, tuple | list):
        for part in value:
            yield from _numbers(part)
    else:
        yield value if type(value) is int else float(value)


def _rebuilt(like: Any, left: Iterator[float]) -> Any:
    """Return a field of this form with the next values."""
    if isinstance(like, Record):
        return like._of([_rebuilt(part, left) for part in vars(like).values()])  # noqa: SLF001
    if isinstance(like, list):
        return [_rebuilt(part, left) for part in like]
    return type(like)(next(left))
