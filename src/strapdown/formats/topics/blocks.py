"""Messages of a container as a recording in blocks, with the rows and the report of the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport
from strapdown.formats.topics.block_rows import BlockRows
from strapdown.formats.topics.collector import Topics
from strapdown.formats.topics.feed import report_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from strapdown.formats.topics.content import Content
    from strapdown.formats.topics.feed import Feed

__all__ = ["MessageBlocks"]


class MessageBlocks:
    """Block-by-block reader of a container of messages, in bounded memory.

    Parameters
    ----------
    path : Path
        The file.
    feed : Feed
        Its messages.
    salvage : bool
        Count what cannot be decoded instead of raising.
    only : frozenset of str, optional
        The only topics to read, with what joins their series.

    Raises
    ------
    NeedsWhole
        During iteration: blocks would differ from the whole.
    FormatError
        As the reader of the format.
    """

    def __init__(
        self, path: Path, feed: Feed, *, salvage: bool, only: frozenset[str] | None = None
    ) -> None:
        self._path, self._feed = path, feed
        self._topics = Topics(path, salvage=salvage, only=only)
        self.report = ReadReport(feed.form)
        self.progress = 0.0

    def __iter__(self) -> Iterator[Recording]:
        """Read the file from its beginning; a block holds the topics that have rows in it."""
        rows, feed, topics = BlockRows(self._topics), self._feed, self._topics
        history: tuple[str, ...] | None = None
        for self.progress in feed.into(topics):
            if (content := rows.take(is_last=False)) is not None:
                history = feed.history if history is None else history
                yield self._block(content, rows)
        if (content := rows.take(is_last=True)) is not None:
            yield self._block(content, rows)
        if history not in {None, feed.history}:
            raise NeedsWhole("the file describes its processing after its first rows")
        rows.account(report_doubts=not feed.has_checksums)
        self.report = report_of(feed, topics)

    def _block(self, content: Content, rows: BlockRows) -> Recording:
        """Return the rows of a block as a recording."""
        return Recording(
            self._path,
            ReadReport(self._feed.form),
            *content,
            sensor_combined=rows.combined,
            history=self._feed.history,
        )
