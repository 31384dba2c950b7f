"""Times up to which all topics of a file have been read, so that blocks are those of the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.formats.block_reader import NeedsWhole
from strapdown.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Hashable

    from strapdown._typing import IntArray

__all__ = ["END_NS", "TimeCut"]

END_NS: Final = 2**63 - 1
"""Cut after the last block [ns]."""
_SILENT_NS: Final = 2 * NS_PER_S
"""A topic without samples for so long is not waited for [ns]."""
_GUARD_NS: Final = 60 * NS_PER_MS
"""Three times the distance over which samples are joined [ns]."""


class TimeCut:
    """The time before which nothing is expected any more.

    Parameters
    ----------
    margin_ns : int
        Time by which stamps of a topic may go back [ns]; with a margin, samples of topics are
        joined across the cut.
    is_strict : bool
        Whether stamps before the cut are refused.
    """

    def __init__(self, margin_ns: int, *, is_strict: bool = True) -> None:
        self._margin_ns, self._is_strict = margin_ns, is_strict
        self._latest: dict[Hashable, int] = {}
        self._cut_ns = -END_NS

    def see(self, key: Hashable, t_ns: IntArray) -> None:
        """Take the stamps of further rows of a topic.

        Raises
        ------
        NeedsWhole
            One of them is before the cut.
        """
        if not len(t_ns):
            return
        guard_ns = _GUARD_NS if self._margin_ns else 0
        is_late = self._cut_ns > -END_NS and int(t_ns.min()) < self._cut_ns + guard_ns
        if is_late and self._is_strict:
            raise NeedsWhole("stamps go back by more than a second, or between topics")
        self._latest[key] = max(self._latest.get(key, -END_NS), int(t_ns.max()))

    def advance(self) -> int:
        """Return the cut [ns]."""
        if self._latest:
            silent_ns = max(self._latest.values()) - _SILENT_NS
            read_ns = min(max(each, silent_ns) for each in self._latest.values())
            self._cut_ns = max(self._cut_ns, read_ns - self._margin_ns)
        return self._cut_ns
