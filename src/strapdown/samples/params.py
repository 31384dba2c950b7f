"""Parameters of streaming algorithms: checked numbers, passed to kernels by name."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from strapdown._kernels.records import record_like
from strapdown.errors import UnknownNameError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import Field
    from typing import Any

    from strapdown._kernels.records import Record

__all__ = ["MAY_BE_INFINITE", "MAY_BE_NEGATIVE", "MAY_BE_ZERO", "CheckedParams", "with_values"]

Params = TypeVar("Params")

_SMALLEST: Final = math.ulp(0.0)
_LARGEST: Final = math.nextafter(math.inf, 0.0)

# Metadata of a field; it is positive and finite otherwise.
MAY_BE_ZERO: Final = {"least": 0.0}
MAY_BE_NEGATIVE: Final = {"least": -_LARGEST}
MAY_BE_INFINITE: Final = {"most": math.inf}

_FORMS: Final = {"float": 0.0, "bool": False, "int": 0}
_TYPES: Final[dict[type, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}
"""Types of parameters, the narrower first: a bool is also an int."""


@dataclass(frozen=True)
class CheckedParams:
    """Base of the parameters: fields that are numbers or flags, each with a default.

    Fields of other types are left to the subclass.

    Raises
    ------
    ValueRangeError
        A number is not positive, or not finite, and its field does not allow it.
    """

    BESIDE: ClassVar[Mapping[str, float]] = {}  # attributes, not fields, that kernels get too

    def __post_init__(self) -> None:
        for entry in fields(self):
            if entry.type in _FORMS:
                _check(entry, getattr(self, entry.name))

    @classmethod
    @cache
    def record(cls) -> type[Record]:
        """Return the record type of the parameters in kernels, with the same names."""
        forms = {e.name: _FORMS[str(e.type)] for e in fields(cls) if e.type in _FORMS}
        return record_like(cls.__name__, {**forms, **cls.BESIDE})

    def settings(self) -> Record:
        """Return the parameters as a record for kernels."""
        record = self.record()
        values = {name: type(form)(getattr(self, name)) for name, form in record.fresh().items()}
        return record(**values)


def _check(entry: Field[Any], value: float) -> None:
    """Require a number within the range that its field declares."""
    least = 0.0 if entry.type == "bool" else entry.metadata.get("least", _SMALLEST)
    most = entry.metadata.get("most", _LARGEST)
    if least <= value <= most:
        return
    words = {_LARGEST: ["finite"], math.inf: []}.get(most, [f"up to {most:g}"])
    words += {_SMALLEST: ["positive"], 0.0: ["not negative"]}.get(least, [])
    raise ValueRangeError(f"expected {entry.name} {' and '.join(words)}, got {value}")


def with_values(params: Params, values: Mapping[str, object], where: str) -> Params:
    """Return parameters with other values, as read from a file or a command line.

    Parameters
    ----------
    params : data class
        Parameters of an algorithm; a class of a plugin need not be one of ours.
    values : mapping
        New values by name.
    where : str
        Their source, for messages.

    Raises
    ------
    UnknownNameError
        There is no such parameter.
    ValueRangeError
        A value is of another type, or outside its range.
    """
    anything: Any = params
    known = [each.name for each in fields(anything)]
    for name, value in values.items():
        if name not in known:
            raise UnknownNameError(f"parameter of {type(params).__name__}", name, known)
        _check_type(name, value, getattr(params, name), where)
    try:
        made: Params = replace(anything, **values)
    except ValueRangeError as error:
        raise ValueRangeError(f"{where}: {error}") from error
    return made


def _check_type(name: str, value: object, usual: object, where: str) -> None:
    """Raise unless a value has the type of the usual one; a float may be a whole number."""
    kind = next((kind for kind in _TYPES if isinstance(usual, kind)), None)
    if kind is None:  # of an estimator of a plugin
        raise ValueRangeError(
            f"{where}: {name} is no number, flag or text; set it in Python, as params of the class"
        )
    accepted = (int, float) if kind is float else kind
    if isinstance(value, accepted) and isinstance(value, bool) is (kind is bool):
        return
    raise ValueRangeError(f"{where}: expected {name} as {_TYPES[kind]}, got {value!r}")
