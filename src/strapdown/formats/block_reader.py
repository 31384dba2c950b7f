"""Block-by-block reading of long recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strapdown.formats.recording import Recording
    from strapdown.formats.reports import ReadReport

__all__ = ["BlockReader", "WholeFile"]


class BlockReader(Protocol):
    """A recording that is read in blocks."""

    @property
    def report(self) -> ReadReport:
        """An account of the reading, complete after the last block."""
        ...

    def __iter__(self) -> Iterator[Recording]:
        """Yield the blocks, each later than the previous one."""
        ...


class WholeFile:
    """A recording as its only block.

    Parameters
    ----------
    recording : Recording
        The recording.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    @property
    def report(self) -> ReadReport:
        """An account of the reading."""
        return self._recording.report

    def __iter__(self) -> Iterator[Recording]:
        """Yield the recording."""
        yield self._recording
