"""Damaged files of every format: errors of one family, no invented row, no hang, little memory.

Mutants come from fixed seeds. Readers of third parties give ``struct.error``, ``ZstdError``,
``AssertionError``, ``KeyError`` and more on such files.
"""

from __future__ import annotations

import struct
import time
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.errors import FormatError, TruncatedError

MUTANTS = 5000
LONGEST_S = 1.0
LONGEST_MAGIC = 64
"""Bytes from which every format is recognised."""
GUARDED = {"mcap zstd", "mcap lz4", "mcap plain", "npz", "parquet"}
"""Formats whose rows have a checksum: they are read as they were written, or not."""
CHECKED = {*GUARDED, "bag bz2"}
"""Formats that do not give a row with other numbers; of a bag, an index may leave rows out."""
ENDLESS = {"csv", "tum", "euroc", "euroc truth", "ulog"}
"""Formats without an end: a file that is cut between two rows is whole."""
MAY_BE_CUT = {"euroc", "euroc truth"}
"""Formats of other programs whose last number may be cut, which is noted."""
PACKED = {"bag bz2", "bag lz4"}
"""Formats that give the rows of the first part of a chunk that is cut."""
CORPUS = Path(__file__).parent / "corpus"


def flip_bits(data, rng):
    damaged = bytearray(data)
    for _ in range(int(rng.integers(1, 17))):
        damaged[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return damaged


def cut(data, rng):
    return data[: int(rng.integers(len(data)))]


def repeat(data, rng):
    start, stop = sorted(rng.integers(len(data), size=2))
    return data[:stop] + data[start:]


def remove(data, rng):
    start, stop = sorted(rng.integers(len(data), size=2))
    return data[:start] + data[stop:]


def swap(data, rng):
    a, b, c = sorted(rng.integers(len(data), size=3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def edit_length(data, rng):
    at = int(rng.integers(len(data) - 8))
    number = (0, 2**31, 2**32 - 1, 2**63, 2**64 - 1, len(data))[int(rng.integers(6))]
    return data[:at] + struct.pack("<Q", number) + data[at + 8 :]


def overwrite(data, rng):
    start, stop = sorted(rng.integers(len(data), size=2))
    return data[:start] + rng.bytes(stop - start) + data[stop:]


def fill(data, rng):
    start = int(rng.integers(len(data)))
    stop = min(len(data), start + int(rng.choice([1, 2, 8, 50, 700])))
    return data[:start] + bytes([rng.choice([0, 0xFF, 0x20, 0x2C])]) * (stop - start) + data[stop:]


MUTATIONS = [flip_bits, cut, repeat, remove, swap, edit_length, overwrite, fill]


@pytest.fixture
def attempt(tmp_path, rows, monkeypatch):
    """Write bytes, summarise and read them, and return both recordings, None for an error."""
    monkeypatch.setattr("strapdown.formats.long_files._LARGE", 0)
    path = tmp_path / "a"
    path.touch()

    def read(data, kind, true_rows):
        with path.open("r+b") as file:  # truncating first is slow
            file.write(data)
            file.truncate()
        found, complaints = [], []
        for way in files.files.OnError:
            start = time.process_time()
            try:
                found.append(files.open(path, on_error=way))
            except FormatError as error:
                complaints.append(str(error))
                found.append(None)
            assert time.process_time() - start < LONGEST_S
        strict, back = found
        with suppress(FormatError):
            counted = sum(topic.clock.samples for topic in files.summarize(path).topics)
            assert kind not in GUARDED or strict is None or counted == len(true_rows)
        assert all(line.startswith(f"{path}: ") for line in complaints)
        if strict is not None:
            got = rows(strict)
            assert len(got) <= 2 * len(true_rows) or kind in ENDLESS  # a bag may say all twice
            assert kind not in GUARDED or got == true_rows or not got
            assert kind not in CHECKED or set(got) <= set(true_rows)
            assert strict.report.lossless
        if back is not None:
            got = rows(back)
            assert back.report.lost_messages >= 0
            assert back.report.lost_bytes <= len(data)
            assert kind not in CHECKED or whole(got, kind) <= set(true_rows)
            assert kind not in CHECKED or strict is not None or not back.report.lossless
        return strict, back

    return read


def invented(rows, sample):
    """Return how many rows are not of the file."""
    return len(whole(rows, sample.kind) - set(sample.rows))


def whole(rows, kind):
    """Return the rows, without those of arrays of which one is lost."""
    return {row for row in rows if kind != "npz" or None not in row}


@pytest.mark.filterwarnings("default::UserWarning:numpy")
@pytest.mark.usefixtures("in_256_mib")
def test_no_mutant_gives_a_foreign_error_or_an_invented_row(sample, attempt, stride):
    rng = np.random.default_rng(zlib.crc32(sample.kind.encode()))
    survived = salvaged = 0
    mutants = MUTANTS // stride**2
    for number in range(mutants):
        mutant = bytes(MUTATIONS[number % len(MUTATIONS)](sample.data, rng))
        strict, back = attempt(mutant, sample.kind, sample.rows)
        survived += strict is not None
        salvaged += back is not None
    assert survived <= salvaged
    assert survived < mutants
    assert survived > 0 or stride > 1  # a few may all be harmful


@pytest.mark.usefixtures("in_256_mib")
def test_of_a_file_cut_anywhere_all_rows_before_the_cut_are_read(sample, rows, tmp_path, stride):
    path, ends = tmp_path / "cut", np.array(sample.ends(), int)
    for size in range(1, len(sample.data), stride * max(1, stride // 2)):
        path.write_bytes(sample.data[:size])
        if sample.kind in ENDLESS:
            with suppress(FormatError):
                assert invented(rows(files.open(path)), sample) <= (sample.kind in MAY_BE_CUT)
        else:
            is_known = size >= LONGEST_MAGIC and sample.kind != "db3"  # SQLite finds it its own way
            with pytest.raises(TruncatedError if is_known else FormatError):
                files.open(path)
        try:
            got = rows(files.open(path, on_error="salvage"))
        except FormatError:
            got = []
        assert invented(got, sample) <= (sample.kind in MAY_BE_CUT)
        if len(ends):
            count = int((ends <= size).sum())
            assert got[:count] == sample.rows[:count]
            if sample.kind not in PACKED:
                assert len(got) <= count + (sample.kind in ENDLESS)  # a last line without its end


@pytest.mark.parametrize("sample", sorted(GUARDED), indirect=True)
def test_a_flipped_bit_is_found_where_rows_have_a_checksum(sample, attempt, stride):
    found, bits = 0, 8 * len(sample.data)
    step = 1 if stride == 1 else bits // 80 | 1  # odd, so that it comes to every bit of a byte
    for bit in range(0, bits, step):
        data = bytearray(sample.data)
        data[bit // 8] ^= 1 << bit % 8
        strict, _ = attempt(data, sample.kind, sample.rows)  # which compares the rows
        found += strict is None
    assert found > 0


@pytest.mark.parametrize("start", [b"", b"\x89MCAP0\r\n", b"#ROSBAG V2.0\n", b"SQLite format 3\0",
                                   b"PAR1", b"PK\x03\x04", b"ULog\x01\x12\x35"])  # fmt: skip
def test_noise_is_a_format_error_or_holds_nothing(start, attempt):
    rng = np.random.default_rng(8)
    for size in range(0, 4000, 80):
        attempt(start + rng.bytes(size), "mcap plain", [])


@pytest.mark.parametrize("filler", [b"\0", b"1", b",", b"\n", b"#", b"D", b"\xff"])
def test_megabytes_of_one_byte_end_quickly(sample, filler, tmp_path, stride):
    if stride > 1 and filler not in b"\0,":
        return
    path = tmp_path / "filler"
    path.write_bytes(sample.data + filler * 2_000_000)
    start = time.process_time()
    with suppress(FormatError):
        files.open(path, on_error="salvage")
    assert time.process_time() - start < 4 * LONGEST_S


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*")), ids=lambda path: path.name)
@pytest.mark.usefixtures("in_256_mib")
def test_inputs_of_a_campaign_are_read_or_refused(path, attempt):
    attempt(path.read_bytes(), "csv", [])
