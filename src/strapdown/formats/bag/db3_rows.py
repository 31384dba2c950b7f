"""Rows of a damaged rosbag2 database that SQLite can still reach.

A table is a tree of pages whose leaves hold the rows in the order of their number. SQLite stops
at a page that is broken or beyond the end of a cut file; queries from each following number find
the first intact leaf after it.

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
"""Consecutive numbers tried without effect before the rest of a table is given up."""
_SMALLEST_ROW: Final = 8
"""Least size of a row [bytes]; it bounds the number of rows, which broken pages may exceed."""
_LAST: Final = 2**63 - 1
_QUERY: Final = """
    SELECT rowid, topic_id, iif(wanted(topic_id), data, NULL)
    FROM messages WHERE rowid >= ? ORDER BY rowid LIMIT ?
"""


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
        uri = f"file:{quote(bytes(self.path))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            database.text_factory = lambda raw: raw.decode(errors="replace")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CHUNK)
            try:
                database.execute("PRAGMA writable_schema = ON")  # otherwise a cut file is refused
                database.execute("PRAGMA trusted_schema = OFF")
                self.topics = _topics(database)
            except sqlite3.Error as error:
                self._places.note(f"topics: {error}")
                return
            chosen = {number for number, topic in self.topics.items() if wanted(*topic)}
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
        """Yield topic and data of each row; data only of wanted topics."""
        before = after = failed = 0
        left = self.path.stat().st_size // _SMALLEST_ROW
        alone = False  # one row at a time: an error also discards the row before it
        while left > 0 and failed < _TRIES:
            try:
                start = min(after, _LAST - 1) + 1
                for row, number, data in database.execute(_QUERY, (start, 1 if alone else left)):
                    left -= 1
                    if number not in self.topics or row == after or row <= before:
                        self.lost += 1  # its number or topic is broken, or its page is read twice
                        after += alone
                        continue
                    if row > after:
                        before = after  # otherwise the number of the previous row was wrong
                    after = row
                    self.lost += failed
                    failed = 0
                    yield number, data
            except sqlite3.Error as error:
                if alone:
                    if not failed:
                        self._places.note(f"after row {after}: {error}")
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
    """Return the last bytes of a file cut inside a page, where SQLite continues with zeros."""
    with path.open("rb") as file:
        file.seek(16)
        page = int.from_bytes(file.read(2), "big")
        torn = file.seek(0, os.SEEK_END) % (65536 if page <= 1 else page)
        file.seek(-torn, os.SEEK_END)
        return file.read()


def _is_torn(data: bytes, tail: bytes) -> bool:
    """Return whether a row continues with zeros after the end of the file."""
    begin = data.rstrip(b"\0")
    at = tail.rfind(begin)
    return at >= 0 and len(tail) - at < len(data) and not tail[at + len(begin) :].strip(b"\0")


def shortfall(path: Path) -> str:
    """Return a line if a database file is shorter than its header states, otherwise nothing."""
    with path.open("rb") as file:
        head = file.read(96)
    page, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    if not head.startswith(MAGIC) or head[24:28] != head[92:96]:  # of old writers
        return ""
    expected, size = pages * (65536 if page == 1 else page), path.stat().st_size
    return f"expected {expected} bytes of database, got {size}" if size < expected else ""
