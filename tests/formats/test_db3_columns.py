"""Columns of a database from its pages are those that SQLite gives."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from strapdown.formats.bag import db3_columns
from strapdown.formats.bag.db3_columns import message_columns

TABLE = """
    CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,
                          timestamp INTEGER NOT NULL, data BLOB NOT NULL);
    CREATE INDEX timestamp_idx ON messages (timestamp ASC);
    CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT);
    INSERT INTO topics VALUES(1, 'a', 'b', 'cdr'), (2, 'c', 'd', 'cdr');
"""


@pytest.mark.parametrize("page", [512, 4096, 65536])
@pytest.mark.parametrize("block", [1, 2**14, 2**24])
def test_columns_are_those_that_sqlite_gives(page, block, tmp_path, monkeypatch):
    monkeypatch.setattr(db3_columns, "_BLOCK", block)
    rng, path = np.random.default_rng(page), tmp_path / "a.db3"
    times = [0, 1, -1, 2**7, -(2**7), 2**15, 2**23, 2**31, -(2**31), 2**47, 2**62, 10**18]
    rows = [
        (int(rng.choice([0, 1, 2, 300, 70_000])), times[k % len(times)], rng.bytes(size))
        for k, size in enumerate(rng.integers(1, 2000, 700).tolist())
    ]
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA page_size = {page}")
        database.executescript(TABLE)
        database.executemany(
            "INSERT INTO messages(topic_id, timestamp, data) VALUES(?, ?, ?)", rows
        )
        database.commit()
        expected = database.execute("SELECT id, topic_id, timestamp FROM messages").fetchall()
    found = np.concatenate(list(message_columns(path)))
    assert sorted(map(tuple, found.tolist())) == expected
