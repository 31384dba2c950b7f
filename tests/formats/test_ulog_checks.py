"""Rules for valid ULogs, one small log each."""

from __future__ import annotations

import struct
import tracemalloc

import pytest

from strapdown.errors import FormatError, TruncatedError, UnsupportedError
from strapdown.formats.px4 import log as px4_log

SYNC = b"\x2f\x73\x13\x20\x25\x0c\xbb\x12"
FORMAT = b"t:uint64_t timestamp;uint32_t x;"


def record(kind: str, payload: bytes) -> bytes:
    return struct.pack("<HB", len(payload), ord(kind)) + payload


def row(t_us: int, msg_id: int = 0) -> bytes:
    return record("D", struct.pack("<HQI", msg_id, t_us, 5))


def flags(*offsets: int, incompatible: bytes = bytes(8), size: int = 40) -> bytes:
    offsets = (*offsets, 0, 0, 0)[:3]
    return record("B", (bytes(8) + incompatible + struct.pack("<3Q", *offsets) + bytes(8))[:size])


START = record("F", FORMAT), record("A", b"\0\0\0t")


@pytest.fixture
def log(tmp_path):
    def write(*parts: bytes, header: bytes = b"ULog\x01\x12\x35\x01"):
        path = tmp_path / "log.ulg"
        path.write_bytes(header + struct.pack("<Q", 1_000_000) + b"".join(parts))
        return path

    return write


@pytest.mark.parametrize(
    "bad",
    [
        record("A", b"\0\0\0"),
        record("A", b"\0\1\0u"),
        record("A", b"\0\0\0t"),
        record("A", b"\0\1\0t"),
        record("D", struct.pack("<HQ", 0, 5)),
        record("D", struct.pack("<HQIB", 0, 5, 5, 5)),
        row(5, msg_id=3),
        record("S", SYNC[:-1]),
        record("S", SYNC[::-1]),
        record("O", b"\1"),
        record("O", b"\1\0\0"),
        record("R", b"\1"),
        record("R", b"\1\0\0"),
        record("L", b"6" + bytes(7)),
        record("L", b"8" + bytes(8)),
        record("C", b"6\0\0" + bytes(7)),
        record("I", b"\x09int32_t a" + bytes(3)),
        record("I", b"\x09int32_t a" + bytes(5)),
        record("I", b"\x0cint32_t[2] a" + bytes(4)),
        record("I", b"\x07int32_t" + bytes(4)),
        record("I", b"\x50int32_t a" + bytes(4)),
        record("I", b"\x07int3 ab" + bytes(4)),
        record("M", b"\0\x09int32_t a" + bytes(3)),
        record("P", b"\x09uint8_t a" + bytes(1)),
        record("Q", b"\1\x08double a" + bytes(8)),
        flags(),
        record("F", b"late:uint64_t timestamp;"),
    ],
)
def test_a_record_that_breaks_a_rule_is_an_error_at_its_place(bad, log):
    before = (*START, row(2_000_000))
    path = log(*before, bad, *(row(2_000_000 + k) for k in range(5)))
    with pytest.raises(FormatError) as caught:
        px4_log.load(path)
    assert caught.value.offset == 16 + sum(map(len, before))
    salvaged = px4_log.load(path, salvage=True)
    assert salvaged.topics["t", 0].rows == 6
    assert not salvaged.report.lossless


@pytest.mark.parametrize(
    "text",
    [
        b"u:",
        b"u:uint64_t timestamp",
        b"u:uint64_t timestamp;;",
        b"u:uint64_t;",
        b"u u:uint64_t timestamp;",
        b"u:uint64_t timestamp;float x;int8_t x;",
        b"u:uint64_t timestamp;float[0] x;",
        b"u:uint64_t timestamp;float[65536] x;",
        b"u:uint64_t timestamp;float[20000] x;",
        b"u:uint64_t timestamp;float[-1] x;",
        b"u:uint64_t timestamp;float x y;",
        b"u:uint64_t timestamp;u x;",
        b"u:uint64_t timestamp;v x;",
        b"t:uint64_t timestamp;",
    ],
)
def test_a_format_that_cannot_be_is_an_error_even_if_nobody_subscribes_to_it(text, log):
    path = log(record("F", FORMAT), record("F", text), START[1], row(2_000_000))
    with pytest.raises(FormatError) as caught:
        px4_log.load(path)
    assert caught.value.offset == 16 + len(record("F", FORMAT))
    assert px4_log.load(path, salvage=True).topics["t", 0].rows == 1


@pytest.mark.parametrize(
    "text", [b"t:uint32_t timestamp;", b"t:uint64_t[1] timestamp;", b"t:bool x;"]
)
def test_a_topic_needs_a_time(text, log):
    with pytest.raises(FormatError, match="expected a format"):
        px4_log.load(log(record("F", text), START[1]))


def test_a_wide_format_is_read(log):
    wide = b"t:uint64_t timestamp;uint8_t[60000] x;"
    path = log(record("F", wide), START[1], record("D", struct.pack("<HQ", 0, 7) + bytes(60_000)))
    assert px4_log.load(path).rows("t")["x"].shape == (1, 60_000)


def test_a_format_may_hold_one_that_is_defined_later_even_after_damage(log):
    nested = record("F", b"n:uint64_t timestamp;late x;"), record("F", b"late:float y;")
    path = log(nested[0], record("I", b"\x50"), nested[1], *START, row(2_000_000), row(2_000_001))
    read = px4_log.load(path, salvage=True)
    assert read.topics["t", 0].rows == 2
    assert read.report.damage == ()


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (flags(incompatible=b"\2" + bytes(7)), UnsupportedError),
        (flags(incompatible=bytes(7) + b"\1"), UnsupportedError),
        (flags(size=39), FormatError),
        (flags(100), FormatError),
        (flags(incompatible=b"\1" + bytes(7)), FormatError),
        (flags(10, incompatible=b"\1" + bytes(7)), FormatError),
        (flags(110, 110, incompatible=b"\1" + bytes(7)), FormatError),
        (flags(110, 100, incompatible=b"\1" + bytes(7)), FormatError),
        (flags(10**9, incompatible=b"\1" + bytes(7)), TruncatedError),
    ],
)
def test_flags_that_cannot_be_are_an_error(bad, kind, log):
    path = log(bad, *START, row(2_000_000))
    with pytest.raises(kind) as caught:
        px4_log.load(path)
    assert caught.value.offset == 16


def test_longer_flags_of_a_newer_writer_are_read(log):
    read = px4_log.load(log(flags(size=48), *START, row(2_000_000)))
    assert read.counts == {"B": 1, "F": 1, "A": 1, "D": 1}


def test_a_newer_version_is_read_and_noted(log):
    path = log(*START, row(2_000_000), header=b"ULog\x01\x12\x35\x02")
    assert "unknown file version 2, read like version 1" in px4_log.load(path).report.notes


@pytest.mark.parametrize("after", [2, 0])
def test_an_unknown_record_before_two_known_ones_is_passed_over(after, log):
    unknown = record("Z", b"new"), record("Z", b"newer")
    rest = [row(2_000_000) for _ in range(after)]
    path = log(*START, unknown[0], *rest, *unknown[1:], *rest)
    if not after:  # a record after an unknown one cannot be distinguished from damage
        with pytest.raises(FormatError, match="expected a record type, got byte 90"):
            px4_log.load(path)
        return
    read = px4_log.load(path)
    assert (read.counts["D"], read.report.skipped) == (4, {"records of type 90": 2})
    assert f"byte {16 + sum(map(len, START))}: a record" in read.report.notes[0]


def test_stamps_that_go_back_are_an_error_and_salvage_keeps_the_rows(log):
    path = log(*START, row(2_000_000), row(3_000_000), row(2_999_999), row(4_000_000))
    with pytest.raises(FormatError, match="got 2999999 after 3000000 us in row 2") as caught:
        px4_log.load(path)
    assert caught.value.offset == 16 + sum(map(len, START)) + 2 * len(row(0))
    read = px4_log.load(path, salvage=True)
    assert read.topics["t", 0].rows == 4
    assert "never go back" in read.report.damage[0]


def test_stamps_of_another_time_are_noted(log):
    read = px4_log.load(log(*START, row(2_000_000), row(62_000_000), row(122_000_001)))
    assert read.report.notes == (
        "t 0: a stamp more than 60 s after the previous one in 1 rows, first in row 2",
    )


@pytest.mark.parametrize(("step_us", "noted"), [(5_000_000, False), (5_000_001, True)])
def test_data_without_sync_for_more_than_five_seconds_is_noted(step_us, noted, log):
    sync = record("S", SYNC)
    rows = [row(1_000_000), sync, row(1_000_000 + step_us), sync]
    notes = px4_log.load(log(*START, *rows)).report.notes
    assert any("no sync record for 5.0 s" in note for note in notes) == noted
    assert not px4_log.load(log(*START, row(1_000_000), row(9_000_000))).report.notes


def test_after_damage_reading_goes_on_at_the_next_records(log):
    rows = [row(2_000_000 + k) for k in range(6)]
    path = log(*START, rows[0], b"\xff" * 100, record("S", SYNC), *rows[1:])
    read = px4_log.load(path, salvage=True)
    assert (read.counts["D"], read.counts["S"]) == (6, 1)
    assert read.report.lost_bytes == 100


@pytest.mark.parametrize("first", ["part", "whole"])
def test_a_topic_may_be_part_of_another_topic_with_the_padding_at_its_end(first, log):
    part = record("F", b"part:uint64_t timestamp;uint16_t x;uint8_t[6] _padding0;")
    whole = record("F", b"whole:uint64_t timestamp;part[2] p;uint32_t y;uint8_t[4] _padding0;")
    subscriptions = record("A", b"\0\0\0part"), record("A", b"\0\1\0whole")
    rows = (
        record("D", struct.pack("<HQH", 0, 2_000_000, 7)),
        record("D", struct.pack("<HQQH6xQH6xI", 1, 2_000_000, 11, 12, 13, 14, 15)),
    )
    read = px4_log.load(log(part, whole, *subscriptions, *rows))
    read.rows(first)  # the type requested first must not affect the other
    assert read.rows("part").tolist() == [(2_000_000, 7)]
    rows_of_whole = read.rows("whole")
    assert rows_of_whole["p"].tolist() == [[(11, 12), (13, 14)]]
    assert rows_of_whole["y"].tolist() == [15]


@pytest.mark.parametrize("cut", [1, 2, 3, 5, 15])
def test_a_record_of_a_newer_writer_is_passed_over_although_the_file_is_cut_behind_it(cut, log):
    whole = *START, row(2_000_000), record("Z", b"new"), row(2_000_001)
    path = log(*whole, row(2_000_002)[:cut])
    with pytest.raises(TruncatedError) as caught:
        px4_log.load(path)
    assert caught.value.offset == 16 + sum(map(len, whole))
    read = px4_log.load(path, salvage=True)
    assert read.rows("t")["timestamp"].tolist() == [2_000_000, 2_000_001]
    assert (read.report.lost_bytes, read.report.skipped) == (cut, {"records of type 90": 1})


@pytest.mark.parametrize(
    "behind",
    [
        (record("S", SYNC),),
        (record("F", b"u:uint64_t timestamp;float v;"),),
        (record("A", b"\1\1\0t"),),
    ],
    ids=["sync", "format", "subscription"],
)
def test_one_record_that_cannot_be_chance_is_enough_to_go_on_with(behind, log):
    before = (START[0],) if behind[0][2:3] == b"F" else START
    path = log(*before, b"\xff" * 50, *behind)
    read = px4_log.scan_ulog(path, salvage=True)
    assert read.report.lost_bytes == 50
    assert sum(read.counts.values()) == len(before) + 1


def test_the_rows_of_a_format_right_behind_damage_are_read(log):
    other = record("F", b"u:uint64_t timestamp;double v;"), record("A", b"\0\1\0u")
    rows = [record("D", struct.pack("<HQd", 1, 2_000_000 + k, 0.5)) for k in range(3)]
    path = log(START[0], record("I", b"\x50"), *other, *rows)
    assert px4_log.load(path, salvage=True).topics["u", 0].rows == 3


def test_a_log_that_was_appended_to_and_then_cut_keeps_its_parts(log):
    half = row(2_000_001)[:-2]
    parts = [b"".join([*START, row(2_000_000), half]), row(2_000_002), row(2_000_003) * 9]
    begin = 16 + len(flags())
    offsets = [begin + len(parts[0]), begin + len(parts[0]) + len(parts[1]), begin + 2000]
    path = log(flags(*offsets, incompatible=b"\1" + bytes(7)), *parts)
    with pytest.raises(TruncatedError) as caught:
        px4_log.load(path)
    assert caught.value.offset == 16
    read = px4_log.load(path, salvage=True)
    expected = [2_000_000, 2_000_002, *[2_000_003] * 9]
    assert read.rows("t")["timestamp"].tolist() == expected
    assert read.counts["B"] == 1
    assert "offsets of appended parts" in read.report.damage[0]


@pytest.mark.parametrize("head", [b"6", b"6\0\0"], ids=["L", "C"])
def test_a_text_that_swallowed_other_records_is_damage(head, log):
    kind = "L" if len(head) == 1 else "C"
    lines = [head + struct.pack("<Q", 2_000_000) + text for text in (b"good", b"good\0")]
    swallowing = record(kind, lines[0] + row(2_000_001))
    path = log(*START, *(record(kind, line) for line in lines), swallowing, row(2_000_002))
    with pytest.raises(FormatError, match="a level of 0 to 7 and a text") as caught:
        px4_log.load(path)
    assert caught.value.offset == path.stat().st_size - len(swallowing) - len(row(0))
    read = px4_log.load(path, salvage=True)
    assert [line.text.rstrip("\0") for line in read.texts] == ["good", "good"]
    assert 2_000_002 in read.rows("t")["timestamp"]


def test_a_small_file_with_wide_formats_costs_no_memory(log):
    wide = [record("F", b"w%d:uint64_t timestamp;uint8_t[65000] x;" % k) for k in range(15)]
    topics = [record("A", struct.pack("<BH", 0, k) + b"w%d" % k) for k in range(15)]
    path = log(*wide, *topics)
    px4_log.load(path)  # later imports are ignored
    tracemalloc.start()
    px4_log.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**23
