"""Common parts of the readers of damaged files: places of damage, and pattern search."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

__all__ = ["WINDOW", "Places", "search"]

WINDOW: Final = 2**20
"""Bytes read at once where content is skipped or searched."""
_DESCRIBED: Final = 20


class Places:
    """Places of damage: the first are described, the others counted."""

    def __init__(self) -> None:
        self._described: list[str] = []
        self._count = 0

    def note(self, what: str) -> None:
        """Add one place."""
        self._count += 1
        if self._count <= _DESCRIBED:
            self._described.append(what)

    def lines(self) -> list[str]:
        """Return one line a place."""
        more = self._count - len(self._described)
        return [*self._described, *([f"and {more} more"] if more else [])]


def search(
    stream: BinaryIO, pattern: re.Pattern[bytes], start: int, stop: int, *, reach: int
) -> Iterator[int]:
    """Yield the offsets at which a pattern with at most ``reach`` bytes of look-ahead matches.

    The caller may move the stream between two of them. An offset may be yielded twice.
    """
    for at in range(start, stop, WINDOW):
        stream.seek(at)
        window = stream.read(min(WINDOW + reach, stop - at))
        for match in pattern.finditer(window):
            yield at + match.start()
