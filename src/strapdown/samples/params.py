"""Parameters of streaming algorithms: checked numbers, passed to kernels by name."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from strapdown._kernels.records import record_like
from strapdown.errors import UnknownNameError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from dataclasses import Field

    from strapdown._kernels.records import Record

__all__ = ["MAY_BE_INFINITE", "MAY_BE_NEGATIVE", "MAY_BE_ZERO", "CheckedParams", "with_values"]

Params = TypeVar("Params")

_SMALLEST: Final = math.ulp(0.0)
_LARGEST: Final = math.nextafter(math.inf, 0.0)

# Metadata of a field; it is positive and finite otherwise. {"most": 1.0} limits it further.
MAY_BE_ZERO: Final = {"zero": True}
MAY_BE_NEGATIVE: Final = {"signed": True}
MAY_BE_INFINITE: Final = {"infinite": True}

_FORMS: Final[Mapping[str, Any]] = {
    "float": 0.0,
    "bool": False,
    "int": 0,
    "float | None": math.nan,
    "tuple[float, float, float] | None": [math.nan] * 3,
}
"""Types of fields that kernels get, in the form of a record."""
_TYPES: Final[dict[type, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}
"""Types of parameters, the narrower first: a bool is also an int."""


@dataclass(frozen=True)
class CheckedParams:
    """Base of the parameters: numbers, flags, and parameters of others, each with a default.

    None is a number or a vector that is not known. Fields of other types are left to the
    subclass.

    Raises
    ------
    ValueRangeError
        A number is not positive, or not finite, and its field does not allow it.
    """

    BESIDE: ClassVar[Mapping[str, Any]] = {}  # further values for kernels, with their defaults

    def __post_init__(self) -> None:
        for entry in fields(self):
            value, form = getattr(self, entry.name), str(entry.type)
            if form in _FORMS and not (value is None and "None" in form):
                _check(entry, value, value if "tuple" in form else (value,))

    @classmethod
    @cache
    def record(cls) -> type[Record]:
        """Return the record type of the parameters in kernels, with the same names."""
        default = cls()
        forms: dict[str, Any] = {}
        for entry in fields(cls):
            value = getattr(default, entry.name)
            if entry.type in _FORMS:
                forms[entry.name] = _FORMS[str(entry.type)]
            elif isinstance(value, CheckedParams):
                forms[entry.name] = value.settings()
        return record_like(cls.__name__, {**forms, **cls.BESIDE})

    def settings(self, **beside: object) -> Record:
        """Return the parameters as a record for kernels, with NaN for None.

        Values of ``BESIDE`` that are not given are attributes, or else have their defaults.
        """
        record = self.record()
        forms = record.fresh()
        values = {n: beside.get(n, getattr(self, n, form)) for n, form in forms.items()}
        return record(**{name: _in_form(forms[name], value) for name, value in values.items()})


def _in_form(form: Any, value: Any) -> Any:  # noqa: ANN401 (of any field)
    """Return a value in the form of a field of a record, which is NaN where None is a value."""
    if value is None:
        return form
    if isinstance(value, CheckedParams):
        return value.settings()
    return [float(number) for number in value] if isinstance(form, list) else type(form)(value)


def _check(entry: Field[Any], value: object, numbers: Iterable[float]) -> None:
    """Require the numbers of a value within the range that its field declares."""
    marks = entry.metadata
    least = 0.0 if "zero" in marks or entry.type == "bool" else _SMALLEST
    least = -_LARGEST if "signed" in marks else least
    most = marks.get("most", math.inf if "infinite" in marks else _LARGEST)
    if all(least <= number <= most for number in numbers):
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
