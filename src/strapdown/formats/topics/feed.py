"""Interface of a container of messages, and the report of its reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from strapdown.formats.reports import ReadReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strapdown.formats.topics.collector import Topics

__all__ = ["Feed", "report_of"]


class Feed(Protocol):
    """Messages of a file, in order.

    Attributes
    ----------
    form : str
        Name of the format.
    lost_messages, lost_bytes : int
        Losses so far.
    history : tuple of str
        Steps of processing so far.
    has_checksums : bool
        Whether changed values are found; otherwise the report names implausible ones.
    """

    form: str
    lost_messages: int
    lost_bytes: int
    history: tuple[str, ...]
    has_checksums: bool

    def into(self, topics: Topics) -> Iterator[float]:
        """Decode messages, part by part; yield the fraction of the file that is read."""
        ...


def report_of(feed: Feed, topics: Topics) -> ReadReport:
    """Return the report of a file that was read to its end."""
    return ReadReport(
        feed.form,
        messages=topics.messages,
        lost_messages=feed.lost_messages + topics.lost,
        lost_bytes=feed.lost_bytes,
        skipped=topics.skipped,
        notes=tuple(topics.notes),
        damage=tuple(topics.damage),
        coverage=topics.coverage,
    )
