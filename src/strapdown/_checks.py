"""Checks of arguments: shapes, finite values and names, with uniform messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from enum import StrEnum

    from strapdown._typing import ArrayLike, FloatArray

    Named = TypeVar("Named", bound=StrEnum)
    Params = TypeVar("Params")

__all__ = ["as_finite", "as_floats", "as_member", "as_params", "as_three", "require_type"]


def as_floats(value: ArrayLike, name: str, tail: tuple[int, ...]) -> FloatArray:
    """Return ``value`` as a float64 array whose last dimensions are ``tail``.

    Raises
    ------
    ShapeError
        The last dimensions differ, or the value is ragged.
    TypeError
        The value contains something that is not a number.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"expected {name} of shape {_shape(tail)}: {error}") from error
    if array.dtype.kind not in "biuf":
        raise TypeError(f"expected {name} as numbers, got {array.dtype}")
    array = array.astype(np.float64, copy=False)
    if array.ndim < len(tail) or array.shape[array.ndim - len(tail) :] != tail:
        raise ShapeError(f"expected {name} of shape {_shape(tail)}, got {array.shape}")
    return array


def as_finite(value: ArrayLike, name: str, tail: tuple[int, ...]) -> FloatArray:
    """Return a value as :func:`as_floats` does, and require it to be finite.

    Raises
    ------
    ShapeError
        As :func:`as_floats`.
    ValueRangeError
        A value is NaN or infinite; the message names the first one.
    """
    array = as_floats(value, name, tail)
    finite = np.isfinite(array)
    if not finite.all():
        first = tuple(int(i) for i in np.argwhere(~finite)[0])
        index = f"[{','.join(map(str, first))}]" if first else ""
        raise ValueRangeError(f"expected finite {name}, got {name}{index} = {array[first]}")
    return array


def as_three(vector: Sequence[float], name: str) -> tuple[float, float, float]:
    """Return a vector as three floats, for streams, where an array would take too long.

    Raises
    ------
    ShapeError
        There are more or fewer.
    """
    try:
        x, y, z = vector
    except ValueError:
        raise ShapeError(f"expected {name} of 3 components, got {len(vector)}") from None
    return float(x), float(y), float(z)


def as_member(enumeration: type[Named], value: object, kind: str) -> Named:
    """Return the member of a string enumeration that ``value`` is or names.

    Raises
    ------
    UnknownNameError
        There is no such member.
    """
    try:
        return enumeration(str(value))
    except ValueError:
        raise UnknownNameError(kind, str(value), [member.value for member in enumeration]) from None


def require_type(value: object, kinds: tuple[type, ...], name: str, remedy: str) -> None:
    """Raise unless a value is of one of some classes; the message ends with what to do instead.

    Raises
    ------
    TypeError
        It is of another.
    """
    if not isinstance(value, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        shown = f" {value!r:.60}" if isinstance(value, str) else ""
        raise TypeError(
            f"expected {name} as {expected}, got {type(value).__name__}{shown}; {remedy}"
        )


def as_params(params: object, kind: type[Params]) -> Params:
    """Return parameters of a class, or its defaults for None.

    Raises
    ------
    TypeError
        The parameters are of another class.
    """
    if params is None:
        return kind()
    require_type(params, (kind,), "params", f"pass {kind.__name__}(name=value, ...)")
    return cast("Params", params)


def _shape(tail: tuple[int, ...]) -> str:
    return "(" + ", ".join(["...", *map(str, tail)]) + ")"
