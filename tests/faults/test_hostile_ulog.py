"""Damaged logs of PX4: only errors of the FormatError family leave the reader."""

from __future__ import annotations

import random
import resource
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from strapdown.errors import FormatError
from strapdown.formats.ulog import reader as ulog

if TYPE_CHECKING:
    from pathlib import Path

MUTANTS = 300
LONGEST_S = 2.0
MOST_MEMORY_KB = 256 * 1024
LOGS = ("golden_ulog", "ulog")


def slice_of_log(data: bytes, size: int) -> bytes:
    """Return the whole records within the first ``size`` bytes, with few of the settings."""
    kept, settings, pos = [data[:16]], 0, 16
    while (stop := pos + 3 + int.from_bytes(data[pos : pos + 2], "little")) <= size:
        settings += data[pos + 2] in b"IMPQ"
        if data[pos + 2] not in b"IMPQ" or settings < 20:
            kept.append(data[pos:stop])
        pos = stop
    return b"".join(kept)


def attempt(path: Path, *, salvage: bool):
    """Return the recording, or None after an error of the family that names the file."""
    try:
        return ulog.read(path, salvage=salvage)
    except FormatError as error:
        complaint = str(error)
    assert complaint.startswith(f"{path}: ")
    return None


@pytest.fixture(scope="module")
def originals(data_dir) -> dict[str, bytes]:
    px4 = data_dir / "px4"
    small = (px4 / "ulog" / "sample_log_small.ulg").read_bytes()
    return {
        "golden_ulog": (px4 / "writer_golden.ulg").read_bytes(),
        "ulog": slice_of_log(small, 80_000),
    }


def mutant(data: bytes, chance: random.Random) -> bytes:
    """Return a copy with one kind of damage."""
    changed = bytearray(data)
    begin = chance.randrange(len(data))
    end = min(len(data), begin + chance.choice((1, 2, 8, 50, 700)))
    match chance.randrange(6):
        case 0:
            del changed[begin:]
        case 1:
            for _ in range(chance.randint(1, 16)):
                changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        case 2:
            changed[begin:begin] = data[begin:end]
        case 3:
            del changed[begin:end]
        case 4:
            changed[begin:end] = bytes([chance.choice((0, 0xFF, 0x20, 0x2C))]) * (end - begin)
        case 5:
            other = chance.randrange(len(data))
            changed[begin:end] = data[other : other + end - begin]
    return bytes(changed)


@pytest.mark.parametrize("kind", LOGS)
def test_only_format_errors_leave_a_reader(kind, originals, stride, tmp_path):
    chance = random.Random(kind)  # noqa: S311 (damage, not secrets)
    path = tmp_path / "mutant"
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    survived = salvaged = 0
    mutants = MUTANTS // stride
    for _ in range(mutants):
        path.write_bytes(mutant(originals[kind], chance))
        start = time.process_time()
        strict = attempt(path, salvage=False)
        lenient = attempt(path, salvage=True)
        assert time.process_time() - start < LONGEST_S
        assert strict is None or (strict.report.lossless and lenient == strict)
        survived += strict is not None
        salvaged += lenient is not None
    assert survived <= salvaged <= mutants
    assert 0 < survived < mutants or stride > 1  # a few may all be harmless, or none
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < MOST_MEMORY_KB


def test_what_salvage_reads_is_a_part_of_what_was_written(originals, tmp_path):
    path, chance = tmp_path / "cut.ulg", random.Random(1)  # noqa: S311 (damage, not secrets)
    path.write_bytes(originals["ulog"])
    whole = ulog.read(path, salvage=False)
    assert len(whole.imu["sensor_combined"]) > 20
    for _ in range(40):
        begin = chance.randrange(len(originals["ulog"]) - 12_000, len(originals["ulog"]))
        path.write_bytes(originals["ulog"][:begin] + originals["ulog"][begin + 500 :])
        got = ulog.read(path, salvage=True)
        stamps = got.imu["sensor_combined"].t_ns
        strange = np.setdiff1d(stamps, whole.imu["sensor_combined"].t_ns)
        assert strange.size <= 1  # a row that is put together from two cannot be told
        assert len(stamps) > len(whole.imu["sensor_combined"]) - 25


def test_every_flipped_bit_of_a_record_size_is_found_and_placed(originals, tmp_path):
    data, path = originals["golden_ulog"], tmp_path / "flipped.ulg"
    pos = 16
    while pos < len(data):
        for bit in range(16):
            changed = bytearray(data)
            changed[pos + bit // 8] ^= 1 << bit % 8
            path.write_bytes(changed)
            with pytest.raises(FormatError) as caught:
                ulog.read(path, salvage=False)
            assert caught.value.offset is not None
            assert caught.value.offset >= pos
        pos += 3 + int.from_bytes(data[pos : pos + 2], "little")


@pytest.mark.parametrize(
    "formats",
    [
        b"".join(b"a%d:" % k + b"a%d[9] x;" % (k + 1) * 9 for k in range(1)),
        b"vehicle_imu:uint64_t timestamp;" + b"float[65535] x;" * 4000,
        b"vehicle_imu:uint64_t timestamp;vehicle_imu[65535] x;",
    ],
)
def test_a_format_that_would_grow_without_end_costs_nothing(formats, originals, tmp_path):
    def record(kind: bytes, payload: bytes) -> bytes:
        return len(payload).to_bytes(2, "little") + kind + payload

    path = tmp_path / "bomb.ulg"
    subscriptions = b"".join(
        record(b"A", b"\0" + k.to_bytes(2, "little") + b"vehicle_imu") for k in range(2000)
    )
    path.write_bytes(originals["golden_ulog"][:16] + record(b"F", formats) + subscriptions)
    start = time.process_time()
    assert not ulog.read(path, salvage=True).increments
    assert time.process_time() - start < LONGEST_S


@pytest.mark.parametrize("filler", [b"\0", b"1", b",", b"\n", b"#", b"D", b"\xff"])
def test_megabytes_of_one_byte_end_quickly(filler, originals, tmp_path):
    path = tmp_path / "filler"
    for kind in LOGS:
        path.write_bytes(originals[kind] + filler * 2_000_000)
        start = time.process_time()
        attempt(path, salvage=True)
        assert time.process_time() - start < 4 * LONGEST_S
