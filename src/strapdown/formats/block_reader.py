"""Reading a long recording block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strapdown.formats.recording import Recording
    from strapdown.formats.reports import ReadReport

__all__ = ["BlockReader", "WholeFile"]


class BlockReader(Protocol):
    """A recording that comes in blocks."""

    @property
    def report(self) -> ReadReport:
        """An account of the reading, complete after the last block."""
        ...

    def __iter__(self) -> Iterator[Recording]:
        """Yield the blocks, each later than the one before."""
        ...


class WholeFile:
    """A recording as its only block.

    Parameters
    ----------
    recording : Recording
        What was read.
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
