"""Messages of an intact ROS 1 bag by its index, chunk by chunk.

The library keeps the index of all topics as objects.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats.bag.batches import Key, add, decode
from strapdown.formats.bag.chunk_index import ChunkIndex, times_of
from strapdown.messages.cdr import Wire

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from strapdown.formats.bag.chunk_index import Entries
    from strapdown.formats.bag.records import Record
    from strapdown.formats.topics.collector import Topics

__all__ = ["collect_some", "collected_in_order"]

_NEVER_NS: Final = 2**63 - 1
_Timed: TypeAlias = tuple[int, Key, bytes]
"""A message with its time [ns]."""


def collected_in_order(path: Path, topics: Topics) -> Iterator[float]:
    """Decode the wanted messages in the order of their times; yield the fraction of the chunks.

    Raises
    ------
    FormatError
        The bag is damaged, or has no index.
    """
    with path.open("rb") as stream:
        index = ChunkIndex(stream)
        keys = _wanted(index, topics)
        first = [_first_ns(entries, keys.keys()) for _, entries in index.chunks()]
        later = np.minimum.accumulate([*first, _NEVER_NS][::-1])[::-1].tolist()
        found: list[_Timed] = []
        for number, (chunk, entries) in enumerate(index.chunks(), 1):
            found += _messages(index, chunk, entries, keys)
            for connection in sorted(entries.keys() - keys.keys()):
                count = len(entries[connection])
                topics.pass_over(*index.connections[connection], Wire.ROS1, count)
            found.sort(key=itemgetter(0))
            ready = bisect_left(found, later[number], key=itemgetter(0))
            add(topics, ((key, data) for _, key, data in found[:ready]))
            del found[:ready]
            yield number / len(first)


def collect_some(path: Path, topics: Topics) -> bool:
    """Decode the wanted messages; return whether that is possible."""
    found: list[_Timed] = []
    others: Counter[int] = Counter()
    try:
        with path.open("rb") as stream:
            index = ChunkIndex(stream)
            keys = _wanted(index, topics)
            for chunk, entries in index.chunks():
                found += _messages(index, chunk, entries, keys)
                others.update({each: len(entries[each]) for each in entries.keys() - keys.keys()})
    except FormatError:  # the pass over the file reports it
        return False
    for connection, count in sorted(others.items()):
        topics.pass_over(*index.connections[connection], Wire.ROS1, count)
    found.sort(key=itemgetter(0))
    decode(topics, ((key, data) for _, key, data in found))
    return True


def _wanted(index: ChunkIndex, topics: Topics) -> dict[int, Key]:
    """Return topic, type and encoding of the wanted connections by number."""
    return {
        number: (*connection, str(Wire.ROS1))
        for number, connection in index.connections.items()
        if topics.wants(*connection, Wire.ROS1)
    }


def _messages(
    index: ChunkIndex, chunk: Record, entries: Mapping[int, Entries], keys: Mapping[int, Key]
) -> Iterator[_Timed]:
    """Yield the wanted messages of a chunk, connection by connection."""
    for number in sorted(keys.keys() & entries.keys()):
        mine = entries[number]
        times, messages = times_of(mine).tolist(), index.messages(chunk, mine)
        yield from zip(times, [keys[number]] * len(mine), messages, strict=True)


def _first_ns(entries: Mapping[int, Entries], wanted: Collection[int]) -> int:
    """Return the time of the first wanted message of a chunk [ns]."""
    times = (int(times_of(each)[0]) for number, each in entries.items() if number in wanted)
    return min(times, default=_NEVER_NS)
