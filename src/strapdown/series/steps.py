"""Times between stamps, of which memory holds a limited number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._scratch import RowFile

if TYPE_CHECKING:
    from strapdown._typing import AnyArray, IntArray

__all__ = ["Steps"]

_MOST_IN_4_BYTES: Final = 2**32 - 1
_MOST_HELD: Final = 2**24
"""Steps in memory; more are in a temporary file."""


class Steps:
    """Times between stamps that grow in number, the first of many in a file."""

    def __init__(self) -> None:
        self._held: list[AnyArray] = []
        self._file: RowFile | None = None
        self._filed = 0

    def append(self, steps: IntArray) -> None:
        """Append steps, in four bytes each where these suffice."""
        small = not steps.size or steps.max() <= _MOST_IN_4_BYTES
        self._held.append(steps.astype(np.uint32) if small else steps)
        if sum(each.size for each in self._held) > _MOST_HELD:
            self._file = self._file or RowFile(np.empty(0, np.int64))
            self._move_to(self._file)

    def array(self) -> AnyArray:
        """Return all of them."""
        if self._file is not None:
            self._move_to(self._file)
            return self._file.mapped(self._filed)
        self._held = [np.concatenate([np.empty(0, np.uint32), *self._held])]
        return self._held[0]

    def _move_to(self, file: RowFile) -> None:
        for steps in self._held:
            file.append(steps)
            self._filed += steps.size
        self._held.clear()
