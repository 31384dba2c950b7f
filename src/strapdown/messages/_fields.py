"""Fields of a message class, declared once as annotations, and the memory layout they give.

A message class lists its fields in order, annotated with the types below; a decorator completes
it: :func:`packed` for the messages of horus, :func:`~strapdown.messages.uorb.uorb` for PX4,
:func:`~strapdown.messages.ros.in_block` for ROS. In memory a scalar is a ctypes field, the fastest
attribute that Python has, and a vector or matrix is a view. ``Annotated[F64x3, "a b c"]`` also
makes the components of a vector attributes.
"""

from __future__ import annotations

import ctypes
import math
import re
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    NamedTuple,
    TypeAlias,
    TypeVar,
    get_type_hints,
)

import numpy as np

from strapdown.messages._record import Record, Text, View, Whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import DTypeLike

    Message = TypeVar("Message", bound=Record)

__all__ = [
    "F32",
    "F64",
    "I8",
    "I32",
    "U8",
    "U32",
    "U64",
    "F32x3",
    "F32x4",
    "F64x3",
    "F64x3x3",
    "F64x4",
    "F64x6x6",
    "Field",
    "I16x32",
    "Text32",
    "U8x3",
    "U32x3",
    "fields_of",
    "lay_out",
    "packed",
    "record_dtype",
]

U8: TypeAlias = Annotated[int, "uint8"]
I8: TypeAlias = Annotated[int, "int8"]
U32: TypeAlias = Annotated[int, "uint32"]
I32: TypeAlias = Annotated[int, "int32"]
U64: TypeAlias = Annotated[int, "uint64"]
F32: TypeAlias = Annotated[float, "float32"]
F64: TypeAlias = Annotated[float, "float64"]
U8x3: TypeAlias = Annotated[View[np.uint8], "uint8[3]"]
U32x3: TypeAlias = Annotated[View[np.uint32], "uint32[3]"]
I16x32: TypeAlias = Annotated[View[np.int16], "int16[32]"]
F32x3: TypeAlias = Annotated[View[np.float32], "float32[3]"]
F32x4: TypeAlias = Annotated[View[np.float32], "float32[4]"]
F64x3: TypeAlias = Annotated[View[np.float64], "float64[3]"]
F64x4: TypeAlias = Annotated[View[np.float64], "float64[4]"]
F64x3x3: TypeAlias = Annotated[View[np.float64], "float64[3x3]"]
F64x6x6: TypeAlias = Annotated[View[np.float64], "float64[6x6]"]
Text32: TypeAlias = Annotated[str, "char[32]"]

_TYPE: Final = re.compile(r"(\w+?)(?:\[(\d+)(?:x(\d+))?\])?")


class Field(NamedTuple):
    """One field of a message."""

    name: str
    kind: str  # of an element, as a .msg file spells it: "float32"
    shape: tuple[int, ...] = ()
    components: tuple[str, ...] = ()  # attributes for the elements of a vector

    @property
    def times(self) -> int:
        """Number of elements; 0 for a scalar."""
        return math.prod(self.shape) if self.shape else 0

    @property
    def scalar(self) -> np.dtype[np.generic]:
        kind = np.dtype("S1" if self.kind == "char" else self.kind)
        return np.dtype(kind.newbyteorder("<").str)  # by its name: where native, numpy's own object

    @property
    def format(self) -> DTypeLike:
        """The field in a numpy record; text is one item, a matrix is flat."""
        if self.kind == "char":
            return f"S{self.times}"
        return (self.scalar, (self.times,)) if self.times else self.scalar

    @property
    def spelled(self) -> str:
        """The type as a ``.msg`` file spells it."""
        return f"{self.kind}[{self.times}]" if self.times else self.kind

    def ctypes_fields(self) -> Iterator[tuple[str, Any]]:
        """Yield the ctypes fields of the same bytes."""
        scalar: Any = (
            ctypes.c_char if self.kind == "char" else np.ctypeslib.as_ctypes_type(self.scalar)  # type: ignore[arg-type]
        )
        if self.components:
            yield from ((name, scalar) for name in self.components)
        else:
            name = self.name if _member(self) is None else f"_{self.name}"
            yield name, scalar * self.times if self.times else scalar


def fields_of(cls: type) -> tuple[Field, ...]:
    """Return the fields that a class annotates, in order.

    Raises
    ------
    TypeError
        A type is spelled wrong.
    """
    hints = get_type_hints(cls, include_extras=True)
    return tuple(
        _field(name, *hints[name].__metadata__)
        for name in cls.__annotations__
        if hasattr(hints[name], "__metadata__")
    )


def lay_out(cls: type[Record], fields: Sequence[Field], align: int = 1) -> None:
    """Store the fields of a message class one after another, padded to a multiple of ``align``.

    Raises
    ------
    TypeError
        ctypes would insert padding to align a field.
    """
    used = sum(field.scalar.itemsize * max(field.times, 1) for field in fields)
    size = -(-used // align) * align
    cls.dtype = record_dtype(fields, size=size)
    padding = [("_padding0", ctypes.c_uint8 * (size - used))] if size > used else []
    cls._fields_ = [*(each for field in fields for each in field.ctypes_fields()), *padding]
    if ctypes.sizeof(cls) != size:
        raise TypeError(
            f"expected fields of {cls.__name__} that are aligned without padding, got {size} bytes "
            f"that ctypes stores in {ctypes.sizeof(cls)}"
        )
    for field in fields:
        if member := _member(field):
            setattr(cls, field.name, member)
            member.__set_name__(cls, field.name)


def packed(cls: type[Message]) -> type[Message]:
    """Complete a message class from the fields that it annotates, without padding."""
    lay_out(cls, fields_of(cls))
    return cls


def record_dtype(
    fields: Sequence[Field], *, aligned: bool = False, size: int | None = None
) -> np.dtype[np.void]:
    """Return fields one after another, each aligned to its element size on request."""
    offsets, at = [], 0
    for field in fields:
        if aligned:
            at = -(-at // field.scalar.itemsize) * field.scalar.itemsize
        offsets.append(at)
        at += field.scalar.itemsize * max(field.times, 1)
    return np.dtype(
        {
            "names": [field.name for field in fields],
            "formats": [field.format for field in fields],
            "offsets": offsets,
            "itemsize": at if size is None else size,
        }
    )


def _member(field: Field) -> View[np.generic] | Whole | Text | None:
    """Return the attribute that guards a field; a plain float needs none."""
    if field.kind == "char":
        return Text(field.times)
    if field.times:
        return View[np.generic](field.shape)
    if field.scalar.kind == "f":
        return None
    return Whole(8 * field.scalar.itemsize, signed=field.scalar.kind == "i")


def _field(name: str, spelled: str, components: str = "") -> Field:
    match = _TYPE.fullmatch(spelled)
    if match is None:
        raise TypeError(f"expected a type such as 'float32[3]' of {name}, got {spelled!r}")
    shape = tuple(int(each) for each in match.groups()[1:] if each)
    return Field(name, match[1], shape, tuple(components.split()))
