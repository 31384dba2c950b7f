"""Messages of one layout, as their common bytes and the fields that differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from strapdown._typing import AnyArray, ByteArray, IntArray

__all__ = ["Payloads"]


@dataclass(frozen=True)
class Payloads:
    """N messages, not yet serialised.

    Parameters
    ----------
    bare : () structured array
        The common message, with the layout of all, without gaps.
    columns : mapping of str to (N, ...) array
        The fields that differ between messages, at least one.
    """

    bare: NDArray[np.void]
    columns: Mapping[str, AnyArray]

    def behind(self, head: NDArray[np.void], columns: Mapping[str, AnyArray]) -> Payloads:
        """Return messages that begin with ``head``, of which some columns differ."""
        layout = _joined(head.dtype, self.bare.dtype)
        bare = np.frombuffer(head.tobytes() + self.bare.tobytes(), layout).reshape(())
        return Payloads(bare, {**columns, **self.columns})

    def rows(self) -> ByteArray:
        """Return one message a row, (N, size) uint8."""
        count, size = len(next(iter(self.columns.values()))), self.bare.itemsize
        content = np.empty(count * size, np.uint8)
        if count:
            self.scatter(content, np.arange(count) * size)
        return content.reshape(count, size)

    def scatter(self, content: ByteArray, starts: IntArray) -> None:
        """Write each message at its offset in ``starts``, (N,); N is not 0."""
        size = self.bare.itemsize
        fields: Mapping[str, tuple[Any, ...]] = self.bare.dtype.fields or {}
        items = [(0, self.bare.reshape(1).view(f"V{size}"))]
        for name, column in self.columns.items():
            field, offset = fields[name][:2]
            values = np.ascontiguousarray(column, field.base).reshape(-1)
            items.append((offset, values.view(f"V{field.itemsize}")))
        places = len(content) - size + 1
        for offset, values in items:
            # one array item for every offset at which these bytes could begin
            everywhere = np.ndarray((places,), values.dtype, content, offset, (1,))
            everywhere[starts] = values


@lru_cache(maxsize=64)
def _joined(head: np.dtype[np.void], body: np.dtype[np.void]) -> np.dtype[np.void]:
    return np.dtype([*head.descr, *body.descr])
