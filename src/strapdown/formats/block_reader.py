"""Block-by-block reading of long recordings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

from strapdown.errors import FormatError
from strapdown.formats._series_headers import topics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strapdown.formats.recording import Recording
    from strapdown.formats.reports import ReadReport

__all__ = ["BlockReader", "Continued", "NeedsWhole", "WholeFile"]


class NeedsWhole(FormatError):  # noqa: N818 (a request, not damage)
    """Blocks would differ from the file as a whole: read it with ``open``."""


class BlockReader(Protocol):
    """A recording that is read in blocks."""

    @property
    def report(self) -> ReadReport:
        """An account of the reading, complete after the last block."""
        ...

    @property
    def progress(self) -> float:
        """Fraction of the file that is read so far, from 0 to 1."""
        ...

    def __iter__(self) -> Iterator[Recording]:
        """Yield the blocks, each later than the previous one."""
        ...


class Continued:
    """Blocks, and where they would differ from the whole file, its remaining rows as one.

    Parameters
    ----------
    blocks : BlockReader
        The blocks.
    whole : callable
        Reads the whole file.
    """

    def __init__(self, blocks: BlockReader, whole: Callable[[], Recording]) -> None:
        self._blocks, self._whole = blocks, whole
        self._last: Recording | None = None

    @property
    def report(self) -> ReadReport:
        """An account of the reading, complete after the last block."""
        return self._blocks.report if self._last is None else self._last.report

    @property
    def progress(self) -> float:
        """Fraction of the file that is read so far."""
        return self._blocks.progress if self._last is None else 1.0

    def __iter__(self) -> Iterator[Recording]:
        """Yield the blocks."""
        rows: Counter[str] = Counter()
        try:
            for block in self._blocks:
                yield block
                rows.update({topic: len(series) for _, topic, series in topics(block)})
        except NeedsWhole:
            self._last = self._whole()
            yield self._last.after(rows)


class WholeFile:
    """A recording as its only block.

    Parameters
    ----------
    recording : Recording
        The recording.
    """

    progress = 1.0

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    @property
    def report(self) -> ReadReport:
        """An account of the reading."""
        return self._recording.report

    def __iter__(self) -> Iterator[Recording]:
        """Yield the recording."""
        yield self._recording
