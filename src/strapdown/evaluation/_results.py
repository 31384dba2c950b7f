"""Base of the results of evaluations: figures for tables, and a dictionary for JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Evaluation"]


@dataclass(frozen=True)
class Evaluation:
    """Result of an evaluation; a subclass declares which figures tables and JSON contain."""

    METRICS: ClassVar[Mapping[str, str]] = {}
    """Columns of a table: name with unit, and the field or property that it shows."""
    DERIVED: ClassVar[tuple[str, ...]] = ()
    """Properties that :meth:`to_dict` adds to the fields."""

    @property
    def metrics(self) -> dict[str, float]:
        """Figures that tables compare, by name with unit."""
        return {name: getattr(self, source) for name, source in self.METRICS.items()}

    def to_dict(self) -> dict[str, object]:
        """Return every field and the derived figures in types of JSON (NaN may occur)."""
        values = asdict(self) | {name: getattr(self, name) for name in self.DERIVED}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }
