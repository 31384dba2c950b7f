"""Sequences that are computed block by block, each from the state after the block before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown.errors import ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import AnyArray

    Columns = tuple[AnyArray, ...]
    Carry = Any  # JSON-able; specific to each sequence

__all__ = ["BLOCK", "Blocks", "check_rows"]

BLOCK = 4096
"""Smallest number of rows of a block."""

_CHECKPOINT_EVERY = 16
_KEPT = 4


def check_rows(start: int, count: int) -> None:
    """Refuse samples before the first.

    Raises
    ------
    ValueRangeError
        Start or count is negative.
    """
    if start < 0 or count < 0:
        raise ValueRangeError(f"expected samples from 0 on, got start {start} and count {count}")


class Blocks:
    """Columns of a sequence whose rows depend on the rows before them.

    Blocks begin at whole multiples of their size, regardless of the request, so the rows are the
    same for any chunking. Checkpoints bound the cost of
    going back; going forward computes all blocks between.

    Parameters
    ----------
    rows : int
        Of a block.
    advance : callable
        ``advance(block, carry)`` returns the columns of a block and the state after it; a
        pure function.
    carry : JSON-able
        State before block 0.
    """

    def __init__(
        self, rows: int, advance: Callable[[int, Carry], tuple[Columns, Carry]], carry: Carry
    ) -> None:
        self._rows = rows
        self._advance = advance
        self._first = carry
        self._carries: dict[int, Carry] = {0: carry}
        self._kept: dict[int, tuple[Carry, Columns]] = {}
        self._next = 0, carry

    def rows(self, start: int, count: int) -> Columns:
        """Return rows ``start`` to ``start + count - 1`` of every column."""
        check_rows(start, count)
        first, last = start // self._rows, max(start + count - 1, start) // self._rows
        parts = [self._block(block) for block in range(first, last + 1)]
        inside = slice(start - first * self._rows, start - first * self._rows + count)
        if len(parts) == 1:
            return tuple(column[inside].copy() for column in parts[0])
        return tuple(np.concatenate(columns)[inside] for columns in zip(*parts, strict=True))

    def state(self) -> list[list[Any]]:
        """Return the position of the sequence, as JSON-able values."""
        return [[block, carry] for block, (carry, _) in self._kept.items()]

    def restore(self, state: list[list[Any]]) -> None:
        """Restore a position returned by :meth:`state`."""
        self._carries = {0: self._first} | {int(block): carry for block, carry in state}
        self._kept = {}
        self._next = 0, self._first

    def _block(self, block: int) -> Columns:
        if block in self._kept:
            return self._kept[block][1]
        at, carry = self._next
        if at != block:
            at = max(known for known in self._carries if known <= block)
            carry = self._carries[at]
        while True:
            if at % _CHECKPOINT_EVERY == 0:
                self._carries[at] = carry
            columns, after = self._advance(at, carry)
            if at == block:
                break
            at, carry = at + 1, after
        self._next = block + 1, after
        self._kept[block] = carry, columns
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return columns
