"""Live MCAP files: intact after a kill, a full disk, a second writer."""

from __future__ import annotations

import ctypes
import errno
import io
import itertools
import math
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from mcap.reader import make_reader

import strapdown.formats as files
from strapdown.errors import RecordError, ValueRangeError
from strapdown.formats.mcap import live
from strapdown.formats.mcap.bulk import Here, McapFile
from strapdown.formats.mcap.live import LiveMcap, LiveOptions
from strapdown.messages import Imu

pytestmark = pytest.mark.xdist_group("transport")

ANY_DISK = LiveOptions(min_free_bytes=0)


def imu(number: int) -> bytes:
    return bytes(Imu(0.0, 0.0, 9.81, 0.0, 0.0, number * 0.001, number))


def write(file: LiveMcap, channel: int, numbers: range) -> None:
    for number in numbers:
        assert file.write(channel, imu(number), publish_ns=number, log_ns=number + 7)


def stamps(path: Path) -> list[int]:
    return files.open(path).imu["imu"].t_ns.tolist()


def by_library(path: Path) -> list[tuple[int, int, bytes]]:
    """Return the messages that the library mcap reads, with all checksums verified."""
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        return [
            (message.publish_time, message.log_time, message.data)
            for _, _, message in reader.iter_messages()
        ]


def until(condition, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def test_the_library_of_the_format_reads_what_was_written(tmp_path):
    path = tmp_path / "run.mcap"
    with LiveMcap(path, options=ANY_DISK) as file:
        channel = file.add_channel("imu", "horus/Imu")
        write(file, channel, range(1000))
    assert by_library(path) == [(n, n + 7, imu(n)) for n in range(1000)]
    assert file.messages == 1000
    assert file.size == path.stat().st_size
    assert file.dropped == 0


def test_definitions_reach_the_file_before_any_message(tmp_path):
    path = tmp_path / "run.mcap"
    with LiveMcap(path, options=ANY_DISK) as file:
        file.add_channel("imu/data", "sensor_msgs/msg/Imu")
        until(lambda: b"imu/data" in path.read_bytes())
        assert b"std_msgs/Header header" in path.read_bytes()
        assert file.messages == 0


def test_messages_reach_the_file_within_a_quarter_of_a_second_while_it_is_open(tmp_path):
    path = tmp_path / "run.mcap"
    with LiveMcap(path, options=ANY_DISK) as file:
        channel = file.add_channel("imu", "horus/Imu")
        write(file, channel, range(5))
        until(lambda: file.messages == 5, 5.0)
        report = files.open(path, on_error="salvage").report
    assert report.messages == 5


def test_a_channel_may_come_after_messages_of_others(tmp_path):
    path = tmp_path / "run.mcap"
    with LiveMcap(path, options=ANY_DISK) as file:
        first = file.add_channel("imu", "horus/Imu")
        write(file, first, range(3))
        second = file.add_channel("imu2", "horus/Imu")
        write(file, second, range(3, 5))
        write(file, first, range(5, 6))
    recording = files.open(path)
    assert recording.imu["imu"].t_ns.tolist() == [0, 1, 2, 5]
    assert recording.imu["imu2"].t_ns.tolist() == [3, 4]


def test_a_full_queue_drops_and_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "QUEUE", 10)
    path = tmp_path / "run.mcap"
    with LiveMcap(path, options=LiveOptions(min_free_bytes=0, flush_s=60.0)) as file:
        channel = file.add_channel("imu", "horus/Imu")
        taken = [file.write(channel, imu(n), publish_ns=n, log_ns=n) for n in range(25)]
    assert taken.count(False) == file.dropped > 0
    assert len(stamps(path)) == taken.count(True) == 25 - file.dropped


def test_times_that_do_not_fit_are_refused_at_once(tmp_path):
    with LiveMcap(tmp_path / "run.mcap", options=ANY_DISK) as file:
        channel = file.add_channel("imu", "horus/Imu")
        with pytest.raises(ValueRangeError, match="from 0 to 2"):
            file.write(channel, imu(0), publish_ns=-1, log_ns=0)
        with pytest.raises(ValueRangeError, match="from 0 to 2"):
            file.write(channel, imu(0), publish_ns=0, log_ns=2**64)


def test_nothing_is_taken_once_it_is_closed(tmp_path):
    with LiveMcap(tmp_path / "run.mcap", options=ANY_DISK) as file:
        channel = file.add_channel("imu", "horus/Imu")
        write(file, channel, range(3))
    with pytest.raises(RecordError, match="was closed") as caught:
        file.write(channel, imu(3), publish_ns=3, log_ns=3)
    assert caught.value.messages_safe == 3
    file.close()  # which is no error


@pytest.mark.parametrize(
    "wrong",
    [
        {"split_bytes": 0},
        {"split_s": math.nan},
        {"split_s": -1.0},
        {"min_free_bytes": -1},
        {"flush_s": 0.0},
        {"sync_s": -1.0},
    ],
)
def test_options_that_mean_nothing_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValueRangeError, match=name):
        LiveOptions(**wrong)


def test_files_split_by_size_are_whole_each_and_lose_nothing(tmp_path):
    options = LiveOptions(split_bytes=20_000, min_free_bytes=0, flush_s=0.01)
    with LiveMcap(tmp_path / "run.mcap", options=options) as file:
        channel = file.add_channel("imu", "horus/Imu")
        for start in range(0, 5000, 500):
            write(file, channel, range(start, start + 500))
            time.sleep(0.02)
    names = [path.name for path in file.files]
    assert len(names) > 1
    assert names == [f"run_{number:03d}.mcap" for number in range(len(names))]
    assert [n for path in file.files for n, _, _ in by_library(path)] == list(range(5000))
    assert file.messages == 5000
    assert file.size == sum(path.stat().st_size for path in file.files)


def test_files_split_by_time_hold_the_channels_of_those_before(tmp_path):
    options = LiveOptions(split_s=0.2, min_free_bytes=0, flush_s=0.02)
    with LiveMcap(tmp_path / "run.mcap", options=options) as file:
        channel = file.add_channel("imu", "horus/Imu")
        until(lambda: file.write(channel, imu(1), publish_ns=1, log_ns=1) and len(file.files) > 2)
    assert sum(len(stamps(path)) for path in file.files) == file.messages


def test_nothing_idle_is_split(tmp_path):
    options = LiveOptions(split_s=0.02, min_free_bytes=0, flush_s=0.01)
    with LiveMcap(tmp_path / "run.mcap", options=options) as file:
        file.add_channel("imu", "horus/Imu")
        time.sleep(0.3)
    assert len(file.files) == 1


# One writer at a time, and never over another recording


@pytest.mark.parametrize("options", [ANY_DISK, LiveOptions(split_s=60.0, min_free_bytes=0)])
def test_an_existing_recording_is_left_as_it_is(tmp_path, options):
    with LiveMcap(tmp_path / "run.mcap", options=options) as file:
        write(file, file.add_channel("imu", "horus/Imu"), range(9))
    before = file.files[0].read_bytes()
    with pytest.raises(FileExistsError, match="--force"):
        LiveMcap(tmp_path / "run.mcap", options=options)
    assert file.files[0].read_bytes() == before


def test_force_replaces_a_recording_but_not_one_that_is_being_written(tmp_path):
    path = tmp_path / "run.mcap"
    with LiveMcap(path, options=ANY_DISK) as first:
        write(first, first.add_channel("imu", "horus/Imu"), range(4))
        with pytest.raises(FileExistsError, match="another recorder"):
            LiveMcap(path, force=True, options=ANY_DISK)
    assert stamps(path) == [0, 1, 2, 3]
    with LiveMcap(path, force=True, options=ANY_DISK) as second:
        write(second, second.add_channel("imu", "horus/Imu"), range(5, 7))
    assert stamps(path) == [5, 6]


def test_force_replaces_a_series_as_a_whole(tmp_path):
    for number in range(3):
        (tmp_path / f"run_{number:03d}.mcap").write_bytes(b"old")
    (tmp_path / "run_more.mcap").write_bytes(b"of somebody else")
    options = LiveOptions(split_s=60.0, min_free_bytes=0)
    with LiveMcap(tmp_path / "run.mcap", force=True, options=options) as file:
        write(file, file.add_channel("imu", "horus/Imu"), range(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run_000.mcap", "run_more.mcap"]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_never_replaced(tmp_path, make):
    (tmp_path / "run_000.mcap").write_bytes(b"old")
    make(tmp_path / "run_002.mcap")
    options = LiveOptions(split_s=60.0, min_free_bytes=0)
    with pytest.raises(FileExistsError, match="is not a file"):
        LiveMcap(tmp_path / "run.mcap", force=True, options=options)
    assert (tmp_path / "run_000.mcap").read_bytes() == b"old"
    assert (tmp_path / "run_002.mcap").exists()


# The disk


def test_a_disk_with_too_little_room_is_refused_before_anything_is_replaced(tmp_path):
    path = tmp_path / "run.mcap"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="are to stay free"):
        LiveMcap(path, force=True, options=LiveOptions(min_free_bytes=10**18))
    assert path.read_bytes() == b"old"


def test_the_recording_ends_with_its_summary_where_the_disk_gets_too_full(tmp_path, monkeypatch):
    path = tmp_path / "run.mcap"
    file = LiveMcap(path, options=ANY_DISK)
    channel = file.add_channel("imu", "horus/Imu")
    write(file, channel, range(50))
    until(lambda: file.messages == 50)
    monkeypatch.setattr(file, "_options", LiveOptions(min_free_bytes=10**18))
    until(lambda: file.error is not None)
    with pytest.raises(RecordError, match="are to stay free; 50 messages are safe"):
        file.write(channel, imu(0), publish_ns=0, log_ns=0)
    with pytest.raises(RecordError) as caught:
        file.close()
    assert caught.value.messages_safe == 50
    assert caught.value.bytes_safe == path.stat().st_size
    assert len(by_library(path)) == 50


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_file_that_is_gone_ends_the_recording(tmp_path, how):
    path = tmp_path / "run.mcap"
    file = LiveMcap(path, options=ANY_DISK)
    channel = file.add_channel("imu", "horus/Imu")
    write(file, channel, range(50))
    path.unlink()
    if how == "replaced":
        path.write_bytes(b"another")
    until(lambda: file.error is not None, 5.0)
    with pytest.raises(RecordError, match="moved, replaced or removed") as caught:
        file.close()
    assert caught.value.messages_safe == caught.value.bytes_safe == 0
    assert not path.exists() or path.read_bytes() == b"another"


def test_files_before_one_that_cannot_be_begun_are_whole(tmp_path):
    options = LiveOptions(split_s=0.1, min_free_bytes=0, flush_s=0.02)
    file = LiveMcap(tmp_path / "run.mcap", options=options)
    (tmp_path / "run_002.mcap").mkdir()
    channel = file.add_channel("imu", "horus/Imu")
    given = itertools.count()
    with suppress(RecordError):
        until(lambda: not file.write(channel, imu(next(given)), publish_ns=0, log_ns=0))
    with pytest.raises(RecordError, match="recording ended: File exists") as caught:
        file.close()
    assert len(file.files) == 2
    kept = [data for path in file.files for _, _, data in by_library(path)]
    assert kept == [imu(number) for number in range(caught.value.messages_safe)]
    assert caught.value.bytes_safe == sum(path.stat().st_size for path in file.files)


@pytest.mark.parametrize("behind", [0, 20, 100, 2000])
def test_no_room_for_the_summary_leaves_what_was_written(tmp_path, monkeypatch, behind):
    path = tmp_path / "run.mcap"
    file = LiveMcap(path, options=ANY_DISK)
    channel = file.add_channel("imu", "horus/Imu")
    write(file, channel, range(500))
    until(lambda: file.messages == 500)
    limit, write_bytes = file.size + behind, os.write

    def until_full(handle, data):
        room = limit - os.lseek(handle, 0, os.SEEK_CUR)
        if room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write_bytes(handle, bytes(data)[:room])

    monkeypatch.setattr(os, "write", until_full)
    if behind < 2000:
        with pytest.raises(RecordError, match="500 messages are safe") as caught:
            file.close()
        assert caught.value.bytes_safe == path.stat().st_size == limit - behind
    else:
        file.close()
    assert files.open(path, on_error="salvage").report.messages == 500
    assert not files.open(path, on_error="salvage").report.lost_bytes


def test_room_for_the_summary_is_given_back_at_the_end(tmp_path):
    path = tmp_path / "run.mcap"
    with LiveMcap(path, options=ANY_DISK) as file:
        write(file, file.add_channel("imu", "horus/Imu"), range(500))
        until(lambda: file.messages == 500)
        assert path.stat().st_size == file.size  # what is reserved is no part of the file
    assert path.stat().st_blocks * 512 < path.stat().st_size + 2**16


def test_a_disk_that_cannot_reserve_room_is_written_all_the_same(tmp_path, monkeypatch):
    def refuse(*_arguments):
        ctypes.set_errno(errno.EOPNOTSUPP)
        return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace(fallocate=refuse))
    with LiveMcap(tmp_path / "run.mcap", options=ANY_DISK) as file:
        write(file, file.add_channel("imu", "horus/Imu"), range(500))
    assert len(by_library(tmp_path / "run.mcap")) == 500


@pytest.mark.parametrize("channels", [1, 40])
def test_the_summary_is_never_larger_than_the_room_reserved_for_it(channels):
    file = McapFile(io.BytesIO(), Here(), profile="ros2", library="tests")
    file.add_metadata("strapdown", {"a": "b" * 100})
    schema = file.add_schema("their/Text", "ros2msg", b"string text" * 50)
    for number in range(channels):
        file.add_channel(f"topic {number}", "cdr", schema, {"key": "value"})
    for chunk in range(20):
        reserved = file.ending
        for number in range(channels):
            file.add_message(number + 1, chunk, chunk, b"12345678")
        file.flush()
    before = file.size
    file.finish()
    assert file.size - before <= reserved < file.size - before + 1000 + 20 * channels


NO_ROOM = """
import resource, sys, time
import numpy as np
from strapdown.errors import RecordError
from strapdown.formats.mcap.bulk import Here, McapFile
from strapdown.formats.mcap.live import LiveMcap, LiveOptions
from strapdown.messages import Imu
if sys.argv[2] != "0":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
file = LiveMcap(sys.argv[1], options=LiveOptions(min_free_bytes=0))
channel = file.add_channel("imu", "horus/Imu")
noise, number, end = np.random.default_rng(1), 0, time.monotonic() + 60
try:
    while time.monotonic() < end:
        for _ in range(100):
            message = Imu(*noise.normal(size=6), timestamp_ns=number)
            message.angular_velocity_covariance = noise.normal(size=9)
            file.write(channel, bytes(message), publish_ns=number, log_ns=number)
            number += 1
        time.sleep(0.005)
except RecordError as error:
    print(number, error.messages_safe, error.bytes_safe)
    print(error)
"""


def fill(path: Path, limit: int) -> tuple[int, int, int, str]:
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, path, str(limit)],
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    numbers, line = done.stdout.splitlines()
    given, messages, size = map(int, numbers.split())
    return given, messages, size, line


def check_full(path: Path, messages: int, size: int) -> None:
    assert files.open(path).report.messages == messages > 0  # strictly: it has its summary
    assert len(by_library(path)) == messages
    assert path.stat().st_size == size


def test_a_limit_on_the_size_of_files_leaves_a_complete_file(tmp_path):
    path = tmp_path / "run.mcap"
    given, messages, size, line = fill(path, 2**20)
    assert "File too large" in line
    assert f"{messages} messages are safe ({size} bytes)" in line
    assert given >= messages
    check_full(path, messages, size)


@pytest.mark.parametrize("kilobytes", [900, 1024, 1030])
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a disk of 1 MiB")
def test_a_full_disk_leaves_a_complete_file(tmp_path, kilobytes):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let root mount a disk")
    try:
        _, messages, size, line = fill(disk / "run.mcap", 0)
        assert "No space left on device" in line
        check_full(disk / "run.mcap", messages, size)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
