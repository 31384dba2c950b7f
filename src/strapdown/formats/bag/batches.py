"""Decoding of the messages of a bag in batches."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from strapdown.formats.topics.collector import Topics

__all__ = ["Key", "add", "decode", "decoded"]

Key: TypeAlias = tuple[str, str, str]
"""Topic, type and encoding."""
_ROWS: Final = 16384
"""Messages decoded at once."""


def decode(topics: Topics, messages: Iterable[tuple[Key, bytes]]) -> None:
    """Decode messages in batches."""
    for _ in decoded(topics, messages):
        pass


def decoded(topics: Topics, messages: Iterable[tuple[Key, bytes]]) -> Iterator[int]:
    """Decode messages in batches; yield the number of messages in each."""
    rest = iter(messages)
    while batch := list(islice(rest, _ROWS)):
        add(topics, batch)
        yield len(batch)


def add(topics: Topics, messages: Iterable[tuple[Key, bytes]]) -> None:
    """Decode messages at once."""
    payloads: dict[Key, list[bytes]] = {}
    for key, data in messages:
        payloads.setdefault(key, []).append(data)
    for key, each in payloads.items():
        topics.add(*key, each)
