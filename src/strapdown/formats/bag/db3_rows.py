"""Messages of a damaged rosbag2 database: the rows of its intact pages.

The pages of the table ``messages`` are recognised by the form of their rows, also where the pages
above them in the tree are broken.

References
----------
SQLite file format, https://www.sqlite.org/fileformat2.html; rosbag2 storage plug-in sqlite3.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown.formats._salvage import Places
from strapdown.formats.bag.db3_pages import Pages, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from strapdown.formats.bag.db3_pages import Cell, Value

__all__ = ["MAGIC", "Rows", "Topic", "shortfall"]

MAGIC: Final = b"SQLite format 3\0"
_HEAD: Final = re.compile(rb"[\x05-\x09]\0[\x01-\x06\x08\x09]{2}", re.DOTALL)
"""Header of a row of messages: an empty id, topic and time as whole numbers, then the data."""


class Topic(NamedTuple):
    """Name, message type and serialisation of a topic."""

    name: str
    kind: str
    encoding: str


class Rows:
    """The messages of one database, as a storage that rosbags opens and closes.

    Parameters
    ----------
    path : Path
        The file.

    Attributes
    ----------
    path : Path
        As given.
    topics : dict
        By number; empty where they cannot be read.
    found : Counter
        Messages by topic.
    lost : int
        Messages in broken pages between others, or without a topic.
    """

    connections: tuple[()] = ()  # rosbags reads type definitions from here, which are not needed

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topics: dict[int, Topic] = {}
        self.found: Counter[Topic] = Counter()
        self.lost = 0
        self._places = Places()

    def open(self) -> None:
        """Do nothing: the file is opened on reading."""

    def close(self) -> None:
        """Do nothing."""

    @property
    def damage(self) -> list[str]:
        """Damage, one line each."""
        return self._places.lines()

    def messages(self, wanted: Callable[[str, str, str], bool]) -> Iterator[tuple[Topic, bytes]]:
        """Yield the wanted messages in the order of their numbers; never raise for damage."""
        if short := shortfall(self.path):
            self._places.note(short)
        pages = Pages(self.path)
        self.topics = _topics(pages)
        if not self.topics:
            self._places.note("expected tables of messages and topics")
            return
        chosen = {number for number, topic in self.topics.items() if wanted(*topic)}
        seen, leaves = set[int](), sorted(self._leaves(pages))
        most = max((rows for *_, rows in leaves), default=0)
        for _, page, _ in leaves:
            cells, broken = pages.cells(page)
            broken = min(broken, most - len(cells))  # the count of its rows may be damaged, too
            for cell in cells:
                row = _message(pages, cell)
                if row is None or cell.number in seen:
                    broken += 1
                    continue
                seen.add(cell.number)
                number, data = row
                if number not in self.topics:
                    self.lost += 1
                    continue
                self.found[self.topics[number]] += 1
                if number in chosen:
                    yield self.topics[number], data
            if broken:
                self.lost += broken
                self._places.note(f"page {page}: {broken} rows")
        if (between := _between(leaves)) and (unread := pages.unread):
            self.lost += min(between, unread * most)
            self._places.note(f"{unread} pages that may be between others")

    def _leaves(self, pages: Pages) -> Iterator[tuple[int, int, int]]:
        """Yield number of the middle row, page and count of rows of each page with messages."""
        for page in range(2, pages.count + 1):
            cells, _ = pages.cells(page)
            if any(_is_message(pages, cell) for cell in cells):
                middle = sorted(cell.number for cell in cells)[len(cells) // 2]
                yield middle, page, len(cells)


def _between(leaves: list[tuple[int, int, int]]) -> int:
    """Return how many rows are missing between pages; the middle of a page is rarely damaged."""
    firsts = [(middle - rows // 2, rows) for middle, _, rows in leaves]
    return sum(max(two - one - rows, 0) for (one, rows), (two, _) in pairwise(firsts))


def _topics(pages: Pages) -> dict[int, Topic]:
    """Return the topics by number."""
    found = {}
    for number, row in _table(pages, _root(pages, b"topics")):
        _, *texts = row
        if len(texts) >= len(Topic._fields) and all(isinstance(each, bytes) for each in texts[:3]):
            found[number] = Topic(*(str(each, "utf-8", "replace") for each in texts[:3]))  # type: ignore[arg-type]
    return found if _root(pages, b"messages") else {}


def _root(pages: Pages, table: bytes) -> int:
    """Return the first page of a table; 0 where the schema does not name it."""
    for _, row in _table(pages, 1):
        match row:
            case [b"table", name, _, int(root), *_] if name == table:
                return root
    return 0


def _table(pages: Pages, root: int) -> Iterator[tuple[int, list[Value]]]:
    """Yield number and values of the rows of a small table."""
    for page in pages.leaves(root):
        for cell in pages.cells(page)[0]:
            row = values_of(pages.payload(cell) or b"")
            if row:
                yield cell.number, row


def _is_message(pages: Pages, cell: Cell) -> bool:
    """Return whether the header of a row is that of the table of messages."""
    return _HEAD.match(pages.data, cell.start, cell.start + cell.local) is not None


def _message(pages: Pages, cell: Cell) -> tuple[int, bytes] | None:
    """Return topic and data of a message; None where it is broken."""
    if not _is_message(pages, cell):
        return None
    match values_of(pages.payload(cell) or b""):
        case [None, int(topic), int(), bytes(data)]:
            return topic, data
    return None


def shortfall(path: Path) -> str:
    """Return a line if a database file is shorter than its header states, otherwise nothing."""
    with path.open("rb") as file:
        head = file.read(96)
    page, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    if not head.startswith(MAGIC) or head[24:28] != head[92:96]:  # of old writers
        return ""
    expected, size = pages * (65536 if page == 1 else page), path.stat().st_size
    return f"expected {expected} bytes of database, got {size}" if size < expected else ""
