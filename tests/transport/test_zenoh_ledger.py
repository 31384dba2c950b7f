"""The ledger of a publisher elsewhere, and what travels beside its messages."""

from __future__ import annotations

import struct
from importlib import import_module
from importlib.util import find_spec

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from strapdown.errors import FormatError, UnsupportedError
from strapdown.transport.link import Arrival
from strapdown.transport.links.zenoh import attachment
from strapdown.transport.links.zenoh._source import Source, Sources

GID = bytes(range(16))


@pytest.fixture(scope="module")
def need_zenoh(need_peer):
    need_peer("zenoh", find_spec("zenoh"), "pip install 'strapdown[network]'")
    return import_module("zenoh")


class Books:
    """A sink that writes down what it is told."""

    def __init__(self):
        self.numbers, self.lost, self.notes = [], 0, {}

    def deliver(self, arrivals):
        self.numbers += [arrival.seq for arrival in arrivals]

    def lose(self, messages, *, overwritten=False):
        assert not overwritten
        self.lost += messages

    def note(self, **counts):
        for name, count in counts.items():
            self.notes[name] = self.notes.get(name, 0) + count

    def retained(self):
        return []


def message(seq):
    return Arrival(b"x", seq, GID.hex(), 0, 0)


@given(st.sets(st.integers(1, 60)), st.integers(0, 70))
@example({1, 2, 3}, 4)
def test_what_came_and_what_is_lost_are_all_that_was_sent(numbers, end):
    books = Books()
    source = Source(books, 64)
    came = sorted({0, *numbers})
    for seq in came:
        source.take(message(seq))
    source.learn(0, end)
    assert books.numbers == came
    assert len(books.numbers) + books.lost == max(end, came[-1] + 1)
    assert not books.notes


@given(
    live=st.sets(st.integers(5, 40), min_size=1),
    first=st.integers(0, 20),
    more=st.integers(0, 20),
)
def test_a_late_joiner_gets_what_is_retained_before_what_comes(live, first, more):
    books = Books()
    source = Source(books, 64)
    for seq in sorted(live):
        source.take(message(seq))
    assert books.numbers == []
    end = first + more
    source.learn(first, end, [message(seq) for seq in range(first, end)])
    start = min(first, *live)
    assert books.numbers == sorted(live | set(range(first, end)))
    assert len(books.numbers) + books.lost == max(end, max(live) + 1) - start


def test_a_publisher_that_begins_under_our_eyes_is_heard_at_once():
    books = Books()
    source = Source(books, 4)
    source.take(message(0))
    assert books.numbers == [0]
    assert not source.needs_history


def test_nothing_comes_twice_after_a_connection_comes_back():
    books = Books()
    source = Source(books, 64)
    for seq in range(10):
        source.take(message(seq))
    source.pause()
    source.take(message(15))
    source.take(message(16))
    source.learn(8, 17, [message(seq) for seq in range(8, 17)])
    assert books.numbers == list(range(17))
    assert books.lost == 0


def test_a_gap_while_a_connection_was_away_is_lost():
    books = Books()
    source = Source(books, 64)
    source.take(message(0))
    source.pause()
    source.learn(7, 10, [message(seq) for seq in range(7, 10)])
    assert books.numbers == [0, 7, 8, 9]
    assert books.lost == 6


def test_messages_do_not_wait_for_an_answer_that_does_not_come():
    books = Books()
    source = Source(books, 64)
    source.take(message(5))
    source.give_up()
    source.take(message(7))
    assert books.numbers == [5, 7]
    assert books.lost == 1


def test_messages_that_wait_are_bounded_and_counted():
    books = Books()
    source = Source(books, 3)
    for seq in range(4, 12):
        source.take(message(seq))
    source.learn(4, 12)
    assert books.numbers == [9, 10, 11]
    assert books.lost == 5


def test_what_comes_again_or_late_is_counted_and_left_out():
    books = Books()
    source = Source(books, 8)
    for seq in (0, 1, 1, 3, 2, 4):
        source.take(message(seq))
    assert books.numbers == [0, 1, 3, 4]
    assert books.lost == 1
    assert books.notes == {"duplicates": 1, "out_of_order": 1}


def test_publishers_without_end_take_no_memory_without_end():
    books = Books()
    sources = Sources(books, 4)
    for name in ("alive", "too"):
        sources[name].is_present = True
        sources[name].take(message(0))
    for number in range(2000):
        sources[f"stranger {number}"].take(message(3))
    assert len(sources) < 300
    waiting = len(sources) - 2  # for an answer
    assert books.numbers == [0, 0] + [3] * (2000 - waiting)
    sources["alive"].take(message(1))
    assert books.numbers[-1] == 1
    assert books.lost == 0


def test_an_attachment_is_what_the_serialiser_of_zenoh_writes(need_zenoh):
    ext = need_zenoh.ext
    seq, sent_ns = 2**40 + 3, 1_700_000_000_123_456_789
    theirs = ext.z_serialize((ext.Int64(seq), ext.Int64(sent_ns), [ext.UInt8(b) for b in GID]))
    ours = attachment.pack(seq, sent_ns, GID)
    assert ours == theirs.to_bytes()
    assert len(ours) == 33
    assert attachment.parse(theirs.to_bytes()) == (seq, sent_ns, GID)


def test_an_attachment_with_names_is_refused_with_its_reason(need_zenoh):
    ext = need_zenoh.ext
    named = ext.z_serialize(
        ("sequence_number", ext.Int64(1), "source_timestamp", ext.Int64(2), "source_gid", GID)
    )
    with pytest.raises(UnsupportedError, match="update rmw_zenoh"):
        attachment.parse(named.to_bytes())


@given(st.binary(max_size=64))
@example(struct.pack("<qqB16s", -1, 0, 16, GID))
@example(struct.pack("<qqB16s", 1, 0, 15, GID))
def test_any_bytes_are_an_attachment_or_a_format_error(data):
    try:
        label = attachment.parse(data)
    except FormatError:
        return
    assert attachment.pack(*label) == data
