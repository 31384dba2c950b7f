"""The rows of a damaged rosbag2 database, as far as SQLite can still reach them.

A table is a tree of pages whose leaves hold the rows in the order of their number. Where a page
is broken or beyond the end of a cut file, SQLite stops; asked for what comes behind the next
number and the next, it finds the first leaf that is whole again.

References
----------
SQLite file format, https://www.sqlite.org/fileformat2.html; rosbag2 storage plug-in sqlite3.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from strapdown.formats._salvage import Places
from strapdown.formats.mcap.records import MAX_CHUNK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["MAGIC", "Rows", "Topic", "shortfall"]

MAGIC: Final = b"SQLite format 3\0"
_TRIES: Final = 2**16
"""Numbers in a row that are tried in vain before the rest of a table is given up."""
_SMALLEST_ROW: Final = 8
"""No file has more rows than this fits in [bytes]; broken pages may seem to have."""
_LAST: Final = 2**63 - 1
_QUERY: Final = """
    SELECT rowid, topic_id, iif(wanted(topic_id), data, NULL)
    FROM messages WHERE rowid >= ? ORDER BY rowid LIMIT ?
"""


class Topic(NamedTuple):
    """What its messages are, and how they are serialised."""

    name: str
    kind: str
    encoding: str


class Rows:
    """The messages of one database; a storage to rosbags, which opens and closes it.

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
        Messages that lie in broken pages between others, or have no topic.
    """

    connections: tuple[()] = ()  # rosbags asks for definitions of types, which we need not

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topics: dict[int, Topic] = {}
        self.found: Counter[Topic] = Counter()
        self.lost = 0
        self._places = Places()

    def open(self) -> None:
        """Do nothing: the file is opened when it is read."""

    def close(self) -> None:
        """Do nothing."""

    @property
    def damage(self) -> list[str]:
        """What is broken, one line each."""
        return self._places.lines()

    def messages(self, wanted: Callable[[str, str], bool]) -> Iterator[tuple[Topic, bytes]]:
        """Yield the wanted messages in the order of their numbers; never raise for damage."""
        if short := shortfall(self.path):
            self._places.note(short)
        uri = f"file:{quote(bytes(self.path))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            database.text_factory = lambda raw: raw.decode(errors="replace")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CHUNK)
            try:
                database.execute("PRAGMA writable_schema = ON")  # or a cut file is refused whole
                database.execute("PRAGMA trusted_schema = OFF")
                self.topics = _topics(database)
            except sqlite3.Error as error:
                self._places.note(f"topics: {error}")
                return
            chosen = {number for number, topic in self.topics.items() if wanted(*topic[1:])}
            database.create_function("wanted", 1, chosen.__contains__)
            tail = _torn_page(self.path)
            for number, data in self._rows(database):
                topic, payload = self.topics[number], data if isinstance(data, bytes) else b""
                if tail and _is_torn(payload, tail):
                    self.lost += 1
                    continue
                self.found[topic] += 1
                if number in chosen:
                    yield topic, payload

    def _rows(self, database: sqlite3.Connection) -> Iterator[tuple[int, object]]:
        """Yield the topic and the data of each row, the data only where they are wanted."""
        before = after = failed = 0
        left = self.path.stat().st_size // _SMALLEST_ROW
        alone = False  # one row at a time: with an error, the row before it does not come either
        while left > 0 and failed < _TRIES:
            try:
                start = min(after, _LAST - 1) + 1
                for row, number, data in database.execute(_QUERY, (start, 1 if alone else left)):
                    left -= 1
                    if number not in self.topics or row == after or row <= before:
                        self.lost += 1  # its number or topic is broken, or its page comes twice
                        after += alone
                        continue
                    if row > after:
                        before = after  # otherwise it was the row before that had a wrong number
                    after = row
                    self.lost += failed
                    failed = 0
                    yield number, data
            except sqlite3.Error as error:
                if alone:
                    if not failed:
                        self._places.note(f"behind row {after}: {error}")
                    after += 1
                    failed += 1
                    left -= 1
                alone = True
            else:
                if not alone:
                    return
                alone = False


def _topics(database: sqlite3.Connection) -> dict[int, Topic]:
    tables = database.execute(
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('messages', 'topics')"
    )
    if tables.fetchone() != (2,):
        raise sqlite3.DatabaseError("expected tables of messages and topics")
    rows = database.execute("SELECT id, name, type, serialization_format FROM topics").fetchall()
    return {
        row[0]: Topic(*row[1:])
        for row in rows
        if isinstance(row[0], int) and all(isinstance(text, str) for text in row[1:])
    }


def _torn_page(path: Path) -> bytes:
    """Return the last bytes of a file that is cut inside a page; SQLite reads on in zeros."""
    with path.open("rb") as file:
        file.seek(16)
        page = int.from_bytes(file.read(2), "big")
        torn = file.seek(0, os.SEEK_END) % (65536 if page <= 1 else page)
        file.seek(-torn, os.SEEK_END)
        return file.read()


def _is_torn(data: bytes, tail: bytes) -> bool:
    """Tell whether a row goes on in zeros where the file ends."""
    begin = data.rstrip(b"\0")
    at = tail.rfind(begin)
    return at >= 0 and len(tail) - at < len(data) and not tail[at + len(begin) :].strip(b"\0")


def shortfall(path: Path) -> str:
    """Say what a database file lacks, by its header; nothing if it is long enough."""
    with path.open("rb") as file:
        head = file.read(96)
    page, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    if not head.startswith(MAGIC) or head[24:28] != head[92:96]:  # of old writers
        return ""
    expected, size = pages * (65536 if page == 1 else page), path.stat().st_size
    return f"expected {expected} bytes of database, got {size}" if size < expected else ""
