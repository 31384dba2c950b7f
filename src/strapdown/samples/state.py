"""Saved states: numbers by name, which JSON represents without loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from strapdown.errors import ValueRangeError

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True)
class SavedState:
    """Base of saved states: first the name of the algorithm, then numbers and tuples of numbers.

    Raises
    ------
    ValueRangeError
        A number is not finite, does not fit in 64 bits, or is not an integer where one is
        declared.
    """

    def __post_init__(self) -> None:
        for entry in fields(self):
            value, form = getattr(self, entry.name), str(entry.type)
            parts = value if form.startswith("tuple") else (value,)
            if not (isinstance(parts, tuple) and all(_fits(part, form) for part in parts)):
                raise ValueRangeError(
                    f"expected finite {entry.name} of a {fields(self)[0].name} state, "
                    f"got {value!r:.200}"
                )

    def to_dict(self) -> dict[str, object]:
        """Return the state in types of JSON, without loss."""
        return {n: list(v) if isinstance(v, tuple) else v for n, v in vars(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Return the state from the dictionary of :meth:`to_dict`.

        Raises
        ------
        ValueRangeError
            The data are no such dictionary.
        """
        values: Any = [data.get(f.name) if isinstance(data, Mapping) else None for f in fields(cls)]
        return cls(*(tuple(v) if isinstance(v, list) else v for v in values))


def _fits(value: object, form: str) -> bool:
    if "str" in form:
        return isinstance(value, str)
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return "float" in form and isinstance(value, float) and math.isfinite(value)
